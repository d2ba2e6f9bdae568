// says: use select(condition, a, b)
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &v) {
    return arraygpu::map([](auto x) {
        if (x > 0) return x;
        return -x;
    }, v);
}
