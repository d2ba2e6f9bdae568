// says: sort takes no axis: it orders vectors
#include <arraygpu/expr.hpp>
void f(const arraygpu::gpu_vector<float> &v) { sort(v, 0); }
