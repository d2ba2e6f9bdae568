// says: a tuple of a vector and a matrix
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &x, const arraygpu::gpu_matrix<float> &m) {
    return arraygpu::reduce(std::tie(x, m), std::make_tuple(0, 0), [](auto a, auto) { return a; });
}
