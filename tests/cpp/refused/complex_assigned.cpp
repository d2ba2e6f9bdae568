// says: the expression has another element type
#include <arraygpu/expr.hpp>
void f(const arraygpu::gpu_vector<std::complex<float>> &z, arraygpu::gpu_vector<std::complex<double>> &w) {
    w = z + z;
}
