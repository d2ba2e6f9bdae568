// says: or structs that a package or AGPU_RECORD describes
#include <arraygpu/expr.hpp>
struct body { float x, v; int kind; };
void f(const std::vector<body> &host) {
    arraygpu::gpu_vector<body> bodies(host);
}
