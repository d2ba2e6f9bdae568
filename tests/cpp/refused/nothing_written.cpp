// says: none of these can be written
#include <arraygpu/views.hpp>
void f(const arraygpu::gpu_vector<float> &v) { arraygpu::for_each(v, [](auto) {}); }
