// says: the width of a margin is an integer
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &v) { return arraygpu::padded(v, 1.5, 0, arraygpu::boundary::clamp); }
