// says: weights are a list of numbers for a vector, of rows of numbers for a matrix, of planes of rows
#include <arraygpu/expr.hpp>
using volume = arraygpu::gpu_tensor3<float>;
auto f(const volume &x) { return arraygpu::weighted_sum3(x, std::vector<float>{1, 2}); }
