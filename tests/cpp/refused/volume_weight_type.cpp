// says: a number with a fraction beside integers
#include <arraygpu/expr.hpp>
using volume = arraygpu::gpu_tensor3<float>;
auto f(const arraygpu::gpu_tensor3<int> &x) { return arraygpu::weighted_sum3(x, {{{0.5f}}}); }
