// says: the condition of a loop is a truth value: compare the numbers first
#include <arraygpu/expr.hpp>
auto f(const arraygpu::expr<float> &x) {
    return arraygpu::loop_while(x, [](auto v) { return v; }, [](auto v) { return v - 1; });
}
