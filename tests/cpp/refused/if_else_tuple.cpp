// says: if_else of a tuple and a scalar
#include <arraygpu/expr.hpp>
auto f(const arraygpu::expr<float> &x) { return arraygpu::if_else(x > 0, std::make_tuple(x, x), x); }
