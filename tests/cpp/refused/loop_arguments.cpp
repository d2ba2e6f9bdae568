// says: the function takes neither the state of the loop
#include <arraygpu/expr.hpp>
auto f(const arraygpu::expr<float> &x) {
    return arraygpu::loop_for(3, std::make_tuple(x, x), [](auto a) { return a; });
}
