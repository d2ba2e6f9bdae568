// says: scans, sorts, filters and segments are of vectors
#include <arraygpu/expr.hpp>
auto f(const arraygpu::gpu_matrix<float> &m) { return arraygpu::inclusive_scan(m, 0); }
