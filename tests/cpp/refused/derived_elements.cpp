// says: no matching
#include <arraygpu.hpp>
#include <vector>
struct base { float x; };
struct derived : base { float y; };
AGPU_RECORD(base, x)
auto f(const std::vector<derived> &host) { return arraygpu::gpu_vector<base>(host); }
