// says: the function takes neither the state of the loop
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &v) {
    return arraygpu::iterate(3, v, [](auto t, auto x) { return x * t; });
}
