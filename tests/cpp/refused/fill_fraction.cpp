// says: a number with a fraction beside integers
#include <arraygpu/views.hpp>
void f(arraygpu::gpu_vector<int> &v) { arraygpu::fill(v, 2.7); }
