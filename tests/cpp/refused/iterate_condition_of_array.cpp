// says: the condition of an iteration is one truth value: any(..) or all(..)
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &v) {
    return arraygpu::iterate_while(3, v, [](auto x) { return x > 0; }, [](auto x) { return x; }).check_every(1);
}
