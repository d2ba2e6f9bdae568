// says: the condition stands before the step
#include <arraygpu/expr.hpp>
auto f(const arraygpu::expr<float> &x) {
    return arraygpu::loop_while(std::make_tuple(x, x), [](auto a, auto b) { return std::make_tuple(b, a); }, [](auto a, auto b) { return a < b; });
}
