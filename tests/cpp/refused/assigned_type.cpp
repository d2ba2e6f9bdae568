// says: the expression has another element type
#include <arraygpu/expr.hpp>
void f(arraygpu::gpu_vector<double> &d, const arraygpu::gpu_vector<float> &v) { d = v * 2; }
