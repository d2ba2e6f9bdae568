// says: a tuple has more or fewer components than the one in whose place it stands
#include <arraygpu/expr.hpp>
auto f(const arraygpu::expr<float> &x) {
    return arraygpu::loop_for(3, std::make_tuple(x, x), [](auto, auto a, auto b) { return std::make_tuple(a, b, b); });
}
