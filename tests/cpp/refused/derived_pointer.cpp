// says: pointer_to
#include <arraygpu.hpp>
struct base { float x; };
struct derived : base { float y; };
AGPU_RECORD(base, x)
void f(const arraygpu::gpu_vector<base> &v, derived *host) { v.copy_to(host, v.size()); }
