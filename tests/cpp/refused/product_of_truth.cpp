// says: a sum or product of truth values: write cast<int>(x)
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<bool> &x) { return arraygpu::product(x); }
