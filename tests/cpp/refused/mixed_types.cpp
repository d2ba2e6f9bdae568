// says: nothing converts by itself, so write cast<T>(x)
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &v, const arraygpu::gpu_vector<double> &w) { return v + w; }
