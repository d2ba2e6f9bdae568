// says: a step gives more or fewer states than it gets
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &v) {
    return arraygpu::iterate(3, std::tie(v, v), [](auto x, auto y) { return std::make_tuple(x, y, x); });
}
