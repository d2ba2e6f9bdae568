// says: the function returns nothing: return the new value
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &v) {
    return arraygpu::iterate(3, v, [](auto) {});
}
