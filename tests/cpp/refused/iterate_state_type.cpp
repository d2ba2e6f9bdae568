// says: nothing converts by itself, so write cast<T>(x)
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &v) {
    return arraygpu::iterate(3, v, [](auto x) { return arraygpu::cast<double>(x); });
}
