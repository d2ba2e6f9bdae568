// says: nothing converts by itself, so write cast<T>(z)
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<std::complex<float>> &z, const arraygpu::gpu_vector<std::complex<double>> &w) {
    return z * w;
}
