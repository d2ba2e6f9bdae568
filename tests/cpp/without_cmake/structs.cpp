// Arrays of structs: records of a package as its callers have them, in C++ and in C.
#include "../bodies.hpp"
#include "../check.hpp"
#include <complex>
#include <sky.hpp>

using complex = std::complex<float>;
using vector = arraygpu::gpu_vector<sky::body>;

static std::vector<sky::body> bodies(std::size_t n) { return some_bodies<sky::body>(n); }
static bool same(const sky::body &a, const sky::body &b) { return same_bodies(a, b); }

static sky::body moved(sky::body b, double dt) {
    b.at[0] += dt * b.at[1];
    b.light.is_on = !b.light.is_on;
    return b;
}

static void check_moved(const std::vector<sky::body> &before, const std::vector<sky::body> &after, double dt) {
    CHECK(after.size() == before.size());
    for (std::size_t i = 0; i < before.size(); ++i) CHECK(same(after[i], moved(before[i], dt)));
}

static void vectors_of_structs() {
    for (const std::size_t n : {0, 1, 2, 100, 5000}) {
        const std::vector<sky::body> host = bodies(n);
        vector all(host);
        CHECK(all.size() == n && all.empty() == (n == 0));
        // a new array
        const vector made = sky::moved(all, 0.5);
        check_moved(host, made.to_host(), 0.5);
        // into an array that is there, and in place
        vector out(n);
        sky::moved(all, 0.5, out);
        check_moved(host, out.to_host(), 0.5);
        sky::moved(all, 0.5, all);
        check_moved(host, all.to_host(), 0.5);
        check_moved(host, all.clone().to_host(), 0.5);
        // the class of the sum of a field, and a struct by value
        const sky::body first = n > 0 ? host[0] : sky::body{};
        CHECK(same(sky::brightest(vector(host), first), n > 1 ? host[n - 1] : first));
    }
}

static void parts_of_vectors() {
    const std::vector<sky::body> host = bodies(10);
    vector all(host);
    const auto every_third = arraygpu::subview(all, 1, 10, 3);
    CHECK(every_third.size() == 3 && every_third.stride() == 3);
    const std::vector<sky::body> part = every_third.to_host();
    check_moved(part, sky::moved(every_third, 2.0).to_host(), 2.0);
    sky::moved(every_third, 2.0, every_third);
    const std::vector<sky::body> after = all.to_host();
    for (std::size_t i = 0; i < host.size(); ++i) CHECK(same(after[i], i % 3 == 1 ? moved(host[i], 2.0) : host[i]));
    // memory of the caller
    std::vector<sky::body> own = host;
    vector wrapped = vector::wrap(own.data(), own.size(), arraygpu::context::cpu());
    sky::moved(wrapped, 2.0, wrapped);
    check_moved(host, own, 2.0);
}

static void matrices_of_structs() {
    using matrix = arraygpu::gpu_matrix<sky::body>;
    const std::vector<sky::body> host = bodies(12);
    matrix all(host, 3, 4);
    CHECK(all.rows() == 3 && all.cols() == 4 && all.leading_dimension() == 4);
    const auto check_turned = [&](const std::vector<sky::body> &found) {
        CHECK(found.size() == 12);
        for (std::size_t i = 0; i < found.size(); ++i) CHECK(same(found[i], moved(host[i % 3 * 4 + i / 3], 0.5)));
    };
    const matrix made = sky::turned(all, 0.5);
    CHECK(made.rows() == 4 && made.cols() == 3);
    check_turned(made.to_host());
    check_turned(made.clone().to_host());
    matrix out(4, 3);
    sky::turned(all, 0.5, out);
    check_turned(out.to_host());
    // through views: in place, as rows and columns
    sky::turned(all, 0.5, out.view());
    sky::turned(all.view().transpose(), 0.5, all);
    for (std::size_t i = 0; i < host.size(); ++i) CHECK(same(all.to_host()[i], moved(host[i], 0.5)));
    check_moved(std::vector<sky::body>(host.begin() + 4, host.begin() + 8), all.view().row(1).to_host(), 0.5);
    CHECK(same(all.view().col(2).to_host()[1], moved(host[6], 0.5)) && all.view().col(2).stride() == 4);
    const std::vector<std::int16_t> kinds = sky::kinds(arraygpu::subview(all, 1, 3, 0, 4, 1, 2)).to_host();
    CHECK(kinds.size() == 2 && kinds[0] == host[4].kind + host[6].kind && kinds[1] == host[8].kind + host[10].kind);
    // memory of the caller, with a gap behind each row
    std::vector<sky::body> own = host;
    const matrix wrapped = matrix::wrap(own.data(), 3, 3, 4, arraygpu::context::cpu());
    CHECK(wrapped.leading_dimension() == 4 && sky::kinds(wrapped).to_host()[1] == host[4].kind + host[5].kind + host[6].kind);
    CHECK(matrix(0, 5).empty() && sky::turned(matrix(0, 5), 0.5).rows() == 5);
}

static void scalars_on_the_device() {
    const std::vector<sky::body> host = bodies(5);
    arraygpu::gpu_scalar<sky::body> result;
    sky::brightest(vector(host), host[0], result);
    CHECK(same(result.get(), host[4]));
}

static void complex_numbers() {
    const std::vector<complex> a = {{1, 2}, {3, -1}, {0, 0.5f}}, b = {{2, 0}, {0, 1}, {-1, 4}};
    const arraygpu::gpu_vector<complex> x(a), y(b);
    const std::vector<complex> product = sky::product(x, y, complex(0, 1)).to_host();
    CHECK(product.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) CHECK(product[i] == a[i] * b[i] * complex(0, 1));
    CHECK(sky::total(x) == a[0] + a[1] + a[2]);
    const arraygpu::gpu_matrix<complex> turn{{{0, 1}, {0, 0}}, {{1, 0}, {0, -1}}};
    const std::vector<complex> twice = sky::matrix_product(turn, turn).to_host();
    CHECK(twice == (std::vector<complex>{{-1, 0}, {0, 0}, {0, 0}, {-1, 0}}));
}

// What is no array of these structs is refused.
static void wrong_views() {
    agpu_buffer *bytes = nullptr;
    arraygpu::check(agpu_buffer_create(nullptr, AGPU_U8, 100, &bytes));
    agpu_view view{};
    arraygpu::check(agpu_buffer_view(bytes, &view));
    vector out(3);
    CHECK(sky_moved(nullptr, view, 1.0, out.c_view()) == AGPU_ERROR_TYPE_MISMATCH);
    arraygpu::check(agpu_buffer_free(bytes));
    // in C: bytes with an axis more
    const std::int64_t extents[] = {3, std::int64_t(sizeof(sky_body))};
    arraygpu::check(agpu_buffer_create_array(nullptr, AGPU_U8, 2, extents, &bytes));
    arraygpu::check(agpu_buffer_view(bytes, &view));
    CHECK(sky_moved(nullptr, view, 1.0, out.c_view()) == AGPU_OK);
    agpu_buffer *made = nullptr;
    CHECK(sky_moved_new(nullptr, view, 1.0, &made) == AGPU_OK);
    std::int64_t count = 0;
    arraygpu::check(agpu_buffer_count(made, &count));
    CHECK(count == 3 * std::int64_t(sizeof(sky_body)));
    arraygpu::check(agpu_buffer_free(made));
    vector shorter(2);
    CHECK(sky_moved(nullptr, view, 1.0, shorter.c_view()) == AGPU_ERROR_SHAPE);
    view.extent[0] = 4;
    CHECK(sky_moved(nullptr, view, 1.0, out.c_view()) == AGPU_ERROR_OUT_OF_BOUNDS);
    view.extent[0] = 3;
    view.offset = 4;
    CHECK(sky_moved(nullptr, view, 1.0, out.c_view()) != AGPU_OK);
    arraygpu::check(agpu_buffer_free(bytes));
}

int main() {
    vectors_of_structs();
    parts_of_vectors();
    matrices_of_structs();
    scalars_on_the_device();
    complex_numbers();
    wrong_views();
    return failures != 0;
}
