// says: the function returns nothing: return the new value
#include <arraygpu/expr.hpp>
auto f(const arraygpu::expr<float> &x) {
    return arraygpu::loop_for(3, x, [](auto, auto a) { a += 1; });
}
