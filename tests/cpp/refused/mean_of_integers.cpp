// says: write cast<float>(x) around integers
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<int> &x) { return arraygpu::mean(x); }
