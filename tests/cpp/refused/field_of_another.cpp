// says: this is a field of another struct
#include <arraygpu.hpp>
struct body { float mass; int kind; };
struct other { float mass; };
namespace arraygpu::detail {
template <> struct type_of<::body> : record_type<::body> {};
}
auto f(const arraygpu::gpu_vector<body> &v) {
    return arraygpu::field(v, &other::mass);
}
