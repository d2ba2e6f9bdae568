// says: a sum or product of truth values: write cast<int>(x)
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_tensor3<bool> &x) { return arraygpu::sum_planes(x); }
