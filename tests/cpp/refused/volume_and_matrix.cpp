// says: a matrix beside an array of three dimensions: repeat it with
#include <arraygpu/expr.hpp>
using volume = arraygpu::gpu_tensor3<float>;
auto f(const volume &x, const arraygpu::gpu_matrix<float> &m) { return x * m; }
