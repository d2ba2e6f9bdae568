// says: something else stands in the place of a struct: make_record<T>(..) makes one of its fields
#include <arraygpu/expr.hpp>
struct body { float x, v; int kind; };
AGPU_RECORD(body, x, v, kind)
auto f(const arraygpu::gpu_vector<body> &bodies) {
    return arraygpu::reduce(bodies, body{}, [](auto a, auto b) { return a.x + b.x; });
}
