// says: a field that is an array: say which element
#include <arraygpu.hpp>
struct body { float at[3]; };
namespace arraygpu::detail {
template <> struct type_of<::body> : record_type<::body> {};
}
auto f(const arraygpu::gpu_vector<body> &v) {
    return arraygpu::field(v, &body::at);
}
