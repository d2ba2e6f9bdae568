// says: a scalar stands in the place of a tuple
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &x, const arraygpu::gpu_vector<float> &y) {
    return arraygpu::reduce(std::tie(x, y), 0.0f, [](auto a, auto) { return a; });
}
