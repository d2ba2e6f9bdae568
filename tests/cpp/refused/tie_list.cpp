// says: the results of a std::vector of expressions are a std::vector
#include <arraygpu/expr.hpp>
void f(arraygpu::gpu_vector<float> &a, arraygpu::gpu_vector<float> &b) {
    arraygpu::tie(a, b) = std::make_tuple(std::vector{+a}, +b);
}
