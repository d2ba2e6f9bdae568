// says: a step gives one array or scalar in the place of several
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &v) {
    return arraygpu::iterate(3, std::tie(v, v), [](auto x, auto y) { return x + y; });
}
