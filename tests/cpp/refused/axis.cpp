// says: sum takes no axis, which is in the name: sum_rows(x), sum_cols(x), sum_planes(x)
#include <arraygpu/expr.hpp>
void f(const arraygpu::gpu_matrix<float> &m) { sum(m, 0); }
