// says: map_rows takes the function first: map_rows(f, m)
#include <arraygpu/expr.hpp>
void f(arraygpu::gpu_vector<float> &v, const arraygpu::gpu_matrix<float> &m) { v = arraygpu::map_rows(m, [](auto row) { return sum(row); }); }
