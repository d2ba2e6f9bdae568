// says: planes are of arrays of three dimensions
#include <arraygpu/expr.hpp>
using volume = arraygpu::gpu_tensor3<float>;
auto f(const arraygpu::gpu_matrix<float> &m) { return (m + 1).planes(); }
