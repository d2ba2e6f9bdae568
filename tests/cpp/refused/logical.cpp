// says: compare the numbers first
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &v) { return v && v; }
