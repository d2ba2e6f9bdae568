// says: the function returns nothing
#include <arraygpu/views.hpp>
auto f(const arraygpu::gpu_vector<float> &v) { return arraygpu::views::transform(v, [](auto) {}); }
