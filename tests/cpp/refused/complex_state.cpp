// says: a step gives something else in the place of complex numbers
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<std::complex<float>> &z) {
    return arraygpu::iterate(3, z, [](auto a) { return abs(a); });
}
