// says: the function takes neither the element
#include <arraygpu/views.hpp>
auto f(const arraygpu::gpu_vector<float> &v) { return arraygpu::views::transform(v, [](auto x, auto y) { return x + y; }); }
