// says: map takes the function first: map(f, x)
#include <arraygpu/expr.hpp>
void f(arraygpu::gpu_vector<float> &v) { v = arraygpu::map(v, [](auto a) { return 2 * a; }); }
