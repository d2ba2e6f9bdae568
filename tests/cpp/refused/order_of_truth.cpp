// says: truth values have no order
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &x) { return arraygpu::argmin(x > 0); }
