// says: write cast<std::int64_t>(offsets)
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_vector<float> &v, const arraygpu::gpu_vector<int> &offsets) {
    return arraygpu::segmented_reduce(v, offsets, 0);
}
