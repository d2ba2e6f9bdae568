// says: this cannot be the state of an iteration
#include <arraygpu/expr.hpp>
auto f(const char *x) {
    return arraygpu::iterate(3, x, [](auto v) { return v; });
}
