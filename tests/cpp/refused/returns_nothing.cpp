// says: the function returns nothing
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &v) { return arraygpu::map([](auto x) { x = x + 1; }, v); }
