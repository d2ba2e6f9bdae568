// says: a tuple has 1 to 12 components; each may be a tuple again
#include <arraygpu/expr.hpp>
auto f(const arraygpu::expr<float> &x) {
    return arraygpu::loop_for(3, std::make_tuple(x, x, x, x, x, x, x, x, x, x, x, x, x), [](auto, const auto &a) { return a; });
}
