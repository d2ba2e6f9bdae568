// says: this value is computed on the device
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &v) { return arraygpu::stage(arraygpu::sum(v)); }
