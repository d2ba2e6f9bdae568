// says: truth values have no order: use any, all, or cast<int>(x)
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &x) { return arraygpu::max(x > 0); }
