// says: a number with a fraction beside integers
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<int> &v) { return v * arraygpu::stage(2.5); }
