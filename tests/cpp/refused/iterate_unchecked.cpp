// says: nodiscard
#include <arraygpu/expr.hpp>
#pragma GCC diagnostic error "-Wunused-result"
void f(const arraygpu::gpu_vector<float> &v) {
    arraygpu::iterate_while(3, v, [](auto x) { return max(x) > 0; }, [](auto x) { return x; });
}
