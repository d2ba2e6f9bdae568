// says: these are no order of the axes 0, 1 and 2
#include <arraygpu/expr.hpp>
using volume = arraygpu::gpu_tensor3<float>;
auto f(const volume &x) { return arraygpu::permute<0, 2, 2>(x); }
