// says: named: arrays, views and gpu_scalar have names; an expression is none of them
#include <arraygpu/expr.hpp>
auto f(const arraygpu::expr<std::complex<float>, 1> &z) { return arraygpu::named("z", z); }
