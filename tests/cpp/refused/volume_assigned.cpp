// says: the expression has another rank than what it is assigned to
#include <arraygpu/expr.hpp>
using volume = arraygpu::gpu_tensor3<float>;
void f(const volume &x, arraygpu::gpu_matrix<float> &m) { m = x + 1; }
