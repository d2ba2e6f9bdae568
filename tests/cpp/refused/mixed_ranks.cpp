// says: a vector beside a matrix
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &v, const arraygpu::gpu_matrix<float> &m) { return m * v; }
