// says: the states of a matrix cannot be collected
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_matrix<float> &m) {
    return arraygpu::iterate_collect(3, m, [](auto x) { return x + 1; });
}
