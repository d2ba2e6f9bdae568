// says: loop_for(n, init, f), whose f takes the number of the step first
#pragma GCC diagnostic error "-Wdeprecated-declarations"
#include <arraygpu/expr.hpp>
auto f(const arraygpu::expr<float> &x) {
    return arraygpu::loop(3, x, [](auto a, auto) { return a; });
}
