// says: something else stands in the place of a complex number: complex(re, im) makes one
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<std::complex<float>> &z) {
    return reduce(z, std::complex<float>(), [](auto a, auto b) { return abs(a * b); });
}
