// says: at: an index for each axis of the array
#include <arraygpu/expr.hpp>
using volume = arraygpu::gpu_tensor3<float>;
void f(const volume &x) { arraygpu::at(x, 1, 2); }
