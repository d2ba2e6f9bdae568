// says: a std::vector of numbers is in the memory of the host: copy it by gpu_vector<T>(v)
#include <arraygpu/expr.hpp>
auto f(const std::vector<float> &v) {
    return arraygpu::iterate(3, v, [](auto x) { return x; });
}
