// says: the states of an array of three dimensions cannot be collected
#include <arraygpu/expr.hpp>
using volume = arraygpu::gpu_tensor3<float>;
auto f(const volume &x) {
    return arraygpu::iterate_collect(3, x, [](auto u) { return u + 1; });
}
