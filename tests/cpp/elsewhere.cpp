// A program of contexts of its own, where the default one cannot be opened.
#include "check.hpp"
#include <arraygpu/views.hpp>
#include <cstdlib>

struct body {
    float mass;
    int kind;
};
AGPU_RECORD(body, mass, kind)

using namespace arraygpu;
using floats = std::vector<float>;
using complexes = std::vector<std::complex<float>>;

// results of several values and tuples are made where their arrays are
static void results(const context &here) {
    const gpu_vector<float> x(floats{1, 2, 3}, here);
    const gpu_vector<std::complex<float>> z(complexes{{1, 2}, {3, 4}}, here);
    const gpu_vector<body> bodies(std::vector<body>(5), here);
    const auto [sum, doubled, total] = eval(std::make_tuple(x + 1.0f, std::make_tuple(z + z, +x), arraygpu::sum(x)));
    CHECK(sum.to_host() == floats{2, 3, 4} && std::get<0>(doubled).to_host() == complexes{{2, 4}, {6, 8}} && total == 6);
    CHECK(eval(z * z).to_host()[0] == std::complex<float>(-3, 4) && eval(reverse(bodies)).size() == 5);
    const std::complex<float> first = eval(at(z, 0));
    CHECK(first == std::complex<float>(1, 2));
    const gpu_matrix<float> m(floats{1, 2, 3, 4}, 2, 2, here);
    const auto [turned, both] = eval(std::make_tuple(transpose(m), complex(m, m)));
    CHECK(turned.to_host() == floats{1, 3, 2, 4} && both.rows() == 2);
}

// a call that only asks for its workspace makes nothing, and leaves what it would write
static void workspaces(const context &here) {
    gpu_vector<float> x(floats(1000, 1), here), old(floats{5}, here);
    const gpu_matrix<float> m(floats(100, 1), 10, 10, here);
    const gpu_tensor3<float> t(floats(8, 1), 2, 2, 2, here);
    std::int64_t bytes = -1;
    const auto asked = [&] {
        bytes = -1;
        return call_options(here).ask_workspace(bytes);
    };
    CHECK(eval(asked(), x + 1.0f).empty() && bytes == 0);
    CHECK(eval(asked(), materialize(x + 1.0f) + inclusive_scan(x, 0.0f)).empty() && bytes > 0);
    CHECK(eval(asked(), matmul(m, m)).empty() && bytes >= 0);
    CHECK(eval(asked(), t * 2.0f).empty() && bytes >= 0);
    CHECK(eval(asked(), complex(x, x)).empty() && bytes >= 0);
    const auto [a, b] = eval(asked(), std::make_tuple(x + 1.0f, complex(m, m)));
    CHECK(a.empty() && b.empty() && b.rows() == 0 && bytes >= 0);
    CHECK(old.to_host() == floats{5} && x.to_host() == floats(1000, 1));
    x = x + 1.0f;
    CHECK(x.to_host() == floats(1000, 2));
}

static void nothing_adopted(const context &here) {
    auto v = gpu_vector<float>::adopt(nullptr);
    auto m = gpu_matrix<body>::adopt(nullptr);
    auto t = gpu_tensor3<float>::adopt(nullptr);
    CHECK(v.empty() && v.data() == nullptr && m.empty() && m.rows() == 0 && t.empty());
    const gpu_vector<float> x(floats{1, 2}, here);
    v = x * 2.0f;
    CHECK(v.to_host() == floats{2, 4});
}

int main() {
    // a machine with a GPU opens that as the default: the results are the same
#ifdef _WIN32
    _putenv_s("ARRAYGPU_DEVICE", "cuda");
#else
    setenv("ARRAYGPU_DEVICE", "cuda", 1);
#endif
    const context here = context::cpu(1);
    results(here);
    workspaces(here);
    nothing_adopted(here);
    std::printf("elsewhere: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures;
}
