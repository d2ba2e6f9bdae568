// says: the function returns references to its own variables
#include <arraygpu/expr.hpp>
auto f(const arraygpu::expr<float> &x) {
    return arraygpu::loop_for(3, std::make_tuple(x, x), [](auto, auto a, auto b) { return std::tie(b, a); });
}
