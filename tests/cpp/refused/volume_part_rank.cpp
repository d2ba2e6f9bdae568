// says: the part has another rank than the array
#include <arraygpu/expr.hpp>
using volume = arraygpu::gpu_tensor3<float>;
auto f(const volume &x, const arraygpu::gpu_matrix<float> &m) { return arraygpu::with_block(x, 0, 0, 0, m); }
