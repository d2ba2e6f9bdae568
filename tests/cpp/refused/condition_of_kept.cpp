// says: the condition of a filter is a truth value
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &v) {
    return arraygpu::filter(arraygpu::filter(v, [](auto x) { return x > 0; }), [](auto x) { return x - 1; });
}
