// says: planes are of arrays of three dimensions
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_matrix<float> &m) {
    return arraygpu::reduce_planes(m, 0, [](auto a, auto b) { return a + b; });
}
