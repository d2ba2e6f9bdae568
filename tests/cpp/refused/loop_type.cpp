// says: nothing converts by itself, so write cast<T>(x)
#include <arraygpu/expr.hpp>
auto f(const arraygpu::expr<float> &x) {
    return arraygpu::loop_for(3, x, [](auto i, auto) { return i; });
}
