// says: truth values have no order: use any, all, or cast<int>(x)
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<bool> &x) { return arraygpu::min(x, !x); }
