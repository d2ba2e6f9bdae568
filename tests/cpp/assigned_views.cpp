// What is assigned to a view: a temporary one gets the elements, one with a name shows others.
#include "check.hpp"
#include <arraygpu/views.hpp>
#include <complex>

struct body {
    float mass;
    int kind;
};
AGPU_RECORD(body, mass, kind)

using namespace arraygpu;
using floats = std::vector<float>;

static void temporary_views() {
    gpu_vector<float> a{0, 0, 0, 0};
    const gpu_vector<float> b{1, 2, 3};
    subview(a, 0, 3) = b;
    CHECK(a.to_host() == floats{1, 2, 3, 0});
    subview(a, 1, 4) = subview(a, 0, 3); // they overlap
    CHECK(a.to_host() == floats{1, 1, 2, 3});
    subview(a, 0, 2) = gpu_vector<float>{8, 9};
    subview(a, 0, 4, 3) = +subview(a, 1, 3);
    CHECK(a.to_host() == floats{9, 9, 2, 2});
    CHECK_THROWS(AGPU_ERROR_SHAPE, "3", subview(a, 0, 2) = b);
    gpu_matrix<float> m{{1, 2, 3}, {4, 5, 6}};
    m.view().row(0) = b;
    m.view().row(1) = m.view().row(0);
    m.view().col(2) = gpu_vector<float>{7, 8};
    CHECK(m.to_host() == floats{1, 2, 7, 1, 2, 8});
    subview(m, 0, 1, 0, 3) = subview(m, 1, 2, 0, 3);
    CHECK(m.to_host() == floats{1, 2, 8, 1, 2, 8});
    gpu_tensor3<float> x(2, 2, 3);
    x.view().plane(0, 1) = m;
    x.view().slice(0, 0, 1) = x.view().slice(0, 1, 2);
    CHECK(x.to_host() == floats{1, 2, 8, 1, 2, 8, 1, 2, 8, 1, 2, 8});
}

static void fields_and_parts() {
    const gpu_vector<float> b{1, 2, 3};
    gpu_vector<std::complex<float>> z(3);
    real(z) = b;
    imag(z) = real(z);
    CHECK(z.to_host()[2] == std::complex<float>(3, 3));
    gpu_vector<body> bodies(3);
    field(bodies, &body::mass) = b;
    CHECK(bodies.to_host()[2].mass == 3 && bodies.to_host()[0].mass == 1);
    gpu_vector<std::complex<float>> w(2);
    subview(w, 0, 2) = subview(z, 1, 3);
    CHECK(w.to_host()[0] == std::complex<float>(2, 2));
}

static void views_with_names() {
    gpu_vector<float> a{1, 2, 3, 4};
    auto v = subview(a, 0, 2);
    v = subview(a, 2, 4);
    gpu_vector_view<const float> w = v;
    w = subview(a, 1, 3);
    CHECK(v.to_host() == floats{3, 4} && w.to_host() == floats{2, 3} && a.to_host() == floats{1, 2, 3, 4});
    static_assert(std::is_trivially_copyable_v<gpu_vector_view<float>> && std::is_copy_assignable_v<gpu_matrix_view<float>>);
}

// Several results of one run, in temporary views, beside arrays and numbers.
static void tied() {
    using single = std::complex<float>;
    gpu_vector<single> z(std::vector<single>{{1, 2}, {3, 4}});
    tie(real(z), imag(z)) = std::make_tuple(+imag(z), +real(z)); // both read what was there before
    CHECK(z.to_host() == std::vector<single>{{2, 1}, {4, 3}});
    gpu_vector<body> b(std::vector<body>{{1, 2}, {3, 4}});
    float total = 0;
    tie(field(b, &body::mass), total, field(b, &body::kind)) =
        std::make_tuple(cast<float>(field(b, &body::kind)), sum(field(b, &body::mass)), cast<int>(2 * field(b, &body::mass)));
    CHECK(total == 4 && b.to_host()[1].mass == 4 && b.to_host()[1].kind == 6 && b.to_host()[0].kind == 2);
    gpu_vector<float> a{1, 2, 3, 4}, c;
    tie(subview(a, 0, 2), subview(a, 2, 4)) = std::array{slice(a, 2, 4), slice(a, 0, 2)};
    CHECK(a.to_host() == floats{3, 4, 1, 2});
    tie(subview(a, 0, 2), c) = std::vector{2 * subview(a, 2, 4), +a};
    CHECK(a.to_host() == floats{2, 4, 1, 2} && c.to_host() == floats{3, 4, 1, 2});
    gpu_matrix<float> m(floats{1, 2, 3, 4}, 2, 2);
    const auto all = m.view();
    tie(m.view().row(0), all.row(1), subview(b, 0, 1)) = std::make_tuple(row(m, 1), row(m, 0), slice(b, 1, 2));
    CHECK(m.to_host() == floats{3, 4, 1, 2} && b.to_host()[0].kind == 6);
    CHECK_THROWS(AGPU_ERROR_SHAPE, "", tie(subview(a, 0, 3), c) = std::make_tuple(+a, +a));
}

int main() {
    temporary_views();
    tied();
    fields_and_parts();
    views_with_names();
    std::printf("assigned views: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures;
}
