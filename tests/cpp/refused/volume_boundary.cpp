// says: the boundary is boundary::clamp, boundary::mirror, boundary::wrap or boundary::constant(value)
#include <arraygpu/expr.hpp>
using volume = arraygpu::gpu_tensor3<float>;
auto f(const volume &x) { return arraygpu::padded(x, {1, 1}, {1, 1}, {1, 1}, 0.0f); }
