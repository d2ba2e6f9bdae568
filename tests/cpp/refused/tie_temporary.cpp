// says: a temporary that is no view would be gone together with the result in it
#include <arraygpu/expr.hpp>
void f(arraygpu::gpu_vector<float> &a) { arraygpu::tie(a, arraygpu::gpu_vector<float>(3)) = std::make_tuple(+a, 2 * a); }
