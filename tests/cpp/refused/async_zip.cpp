// says: async: a view of tuples or windows is no array
#include <arraygpu/views.hpp>
auto f(const std::vector<float> &v) {
    return arraygpu::async([](const auto &x) { return arraygpu::views::zip(x, x); }, v);
}
