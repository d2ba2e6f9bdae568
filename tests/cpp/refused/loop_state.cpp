// says: an array cannot be the state of a loop of an element
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &v) {
    return arraygpu::loop_for(3, v + v, [](auto, auto x) { return x; });
}
