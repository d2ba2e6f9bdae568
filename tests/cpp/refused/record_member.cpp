// says: no member named
#include <arraygpu/expr.hpp>
struct body { float x, v; int kind; };
AGPU_RECORD(body, x, v, kind)
auto f(const arraygpu::gpu_vector<body> &bodies) {
    return arraygpu::map([](auto b) { return b.x + b.speed; }, bodies);
}
