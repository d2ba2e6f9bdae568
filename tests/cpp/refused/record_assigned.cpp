// says: the expression has another element type
#include <arraygpu/expr.hpp>
struct body { float x, v; int kind; };
AGPU_RECORD(body, x, v, kind)
struct light { float bright; };
AGPU_RECORD(light, bright)
void f(const arraygpu::gpu_vector<body> &bodies, arraygpu::gpu_vector<light> &lights) {
    lights = +bodies;
}
