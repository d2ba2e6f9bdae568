// says: matmul of a matrix and of an array of planes
#include <arraygpu/expr.hpp>
using volume = arraygpu::gpu_tensor3<float>;
auto f(const volume &x, const arraygpu::gpu_matrix<float> &m) { return arraygpu::matmul(x, m); }
