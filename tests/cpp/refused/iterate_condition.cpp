// says: the condition of an iteration is a truth value: compare the numbers first
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &v) {
    return arraygpu::iterate_while(3, v, [](auto x) { return sum(x); }, [](auto x) { return x; }).check_every(1);
}
