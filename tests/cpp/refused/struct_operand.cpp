// says: AGPU_RECORD(T, ..) names its fields
#include <arraygpu/expr.hpp>
struct body { float mass; int kind; };
namespace arraygpu::detail {
template <> struct type_of<::body> : record_type<::body> {};
}
auto f(const arraygpu::gpu_vector<body> &v) {
    return v + v;
}
