// says: a step gives a state of another rank than it gets
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &v) {
    return arraygpu::iterate(3, v, [](auto x) { return sum(x); });
}
