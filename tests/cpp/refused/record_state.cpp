// says: a step gives something else in the place of structs: make_record<T>(..) makes them of their fields
#include <arraygpu/expr.hpp>
struct body { float x, v; int kind; };
AGPU_RECORD(body, x, v, kind)
auto f(const arraygpu::gpu_vector<body> &bodies) {
    return arraygpu::iterate(3, bodies, [](auto b) { return b.x; });
}
