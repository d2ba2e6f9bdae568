// says: this view is not writable
#include <arraygpu/expr.hpp>
struct body { float mass; int kind; };
namespace arraygpu::detail {
template <> struct type_of<::body> : record_type<::body> {};
}
void f(const arraygpu::gpu_vector<body> &v) {
    arraygpu::field(v, &body::mass) = 2 * arraygpu::field(v, &body::mass);
}
