// says: nothing converts by itself, so write cast<T>(x) around one of them
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &v) {
    return arraygpu::inclusive_scan(v, 0, [](auto a, auto b) { return arraygpu::cast<double>(a + b); });
}
