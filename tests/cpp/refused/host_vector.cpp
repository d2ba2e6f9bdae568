// says: arraygpu::copy(v) brings a std::vector to the device
#include <arraygpu/views.hpp>
auto f(const std::vector<float> &v) { return arraygpu::views::transform(v, [](auto x) { return x; }); }
