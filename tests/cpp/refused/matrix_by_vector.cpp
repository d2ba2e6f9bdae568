// says: a matrix by a vector is map_rows([&](auto row) { return dot(row, v); }, m)
#include <arraygpu/expr.hpp>
void f(arraygpu::gpu_vector<float> &v, const arraygpu::gpu_matrix<float> &m) { v = arraygpu::matmul(m, v); }
