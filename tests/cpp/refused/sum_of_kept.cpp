// says: sum is of vectors, and what a filter keeps is none: write reduce(kept, 0)
#include <arraygpu/expr.hpp>
float f(const arraygpu::gpu_vector<float> &v) { return sum(filter(v, [](auto a) { return a > 0; })); }
