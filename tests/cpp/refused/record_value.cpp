// says: make_record: a value has another type or rank than its field
#include <arraygpu/expr.hpp>
struct body { float x, v; int kind; };
AGPU_RECORD(body, x, v, kind)
auto f(const arraygpu::gpu_vector<float> &x) {
    return arraygpu::map([&](auto a) { return arraygpu::make_record<body>(a, std::make_tuple(a), 0); }, x);
}
