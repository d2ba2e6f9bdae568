// says: a real number beside complex ones: scale(z, x) multiplies both parts
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<std::complex<float>> &z) {
    return z * 2.0f;
}
