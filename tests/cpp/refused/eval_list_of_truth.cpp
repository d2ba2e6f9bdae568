// says: a std::vector of truth values has no references to its elements
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<bool> &x) { return eval(std::vector{any(x), all(x)}); }
