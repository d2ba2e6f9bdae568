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

static void volumes_of_structs() {
    using volume = arraygpu::gpu_tensor3<sky::body>;
    const std::vector<sky::body> host = bodies(24);
    volume all(host, 2, 3, 4);
    CHECK(all.size() == 24 && all.extent(0) == 2 && all.extent(1) == 3 && all.extent(2) == 4);
    CHECK(same_bodies(all.to_host(), host) && same_bodies(all.clone().to_host(), host));
    // permuted: (k, i, j) is (i, j, k) of the operand
    const auto check_swapped = [&](const std::vector<sky::body> &found) {
        CHECK(found.size() == 24);
        for (std::size_t i = 0; i < found.size(); ++i) CHECK(same(found[i], moved(host[i % 6 * 4 + i / 6], 0.5)));
    };
    const volume made = sky::swapped(all, 0.5);
    CHECK(made.extent(0) == 4 && made.extent(1) == 2 && made.extent(2) == 3);
    check_swapped(made.to_host());
    volume out(4, 2, 3);
    sky::swapped(all, 0.5, out);
    check_swapped(out.to_host());
    // through views whose strides are those of other axes, into every second column of a larger volume
    const auto turned = all.view().transpose(0, 1);
    CHECK(turned.stride(0) == 4 && turned.stride(1) == 12 && turned.stride(2) == 1);
    volume wide(4, 3, 4);
    sky::swapped(turned, 0.5, wide.view().slice(2, 0, 3, 2));
    const std::vector<sky::body> columns = wide.to_host();
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const std::size_t k = i / 12, r = i / 4 % 3, p = i % 4;
        CHECK(same(columns[i], p % 2 ? sky::body{} : moved(host[p / 2 * 12 + r * 4 + k], 0.5)));
    }
    // neighbours, in place: what is read is what was there before
    sky::lit_by_neighbours(all, 0.5, all);
    const std::vector<sky::body> after = all.to_host();
    for (std::size_t i = 0; i < host.size(); ++i) {
        sky::body b = host[i];
        b.light = host[i % 4 ? i - 1 : i + 3].light;
        CHECK(same(after[i], moved(b, 0.5)));
    }
    // parts: a plane along each axis, and fields
    for (int axis = 0; axis < 3; ++axis) {
        const auto plane = all.view().plane(axis, 1);
        const std::vector<sky::body> part = plane.to_host();
        const std::size_t step = axis == 0 ? 12 : axis == 1 ? 4 : 1;
        CHECK(part.size() * all.extent(axis) == 24);
        for (std::size_t i = 0; i < part.size(); ++i) {
            const std::size_t at = axis == 0 ? 12 + i : axis == 1 ? i / 4 * 12 + step + i % 4 : i * 4 + step;
            CHECK(same(part[i], after[at]));
        }
    }
    arraygpu::gpu_tensor3<std::int16_t> kinds(arraygpu::field(all, &sky::body::kind));
    for (std::size_t i = 0; i < host.size(); ++i) CHECK(kinds.to_host()[i] == host[i].kind);
    arraygpu::field(all.view().slice(1, 1, 3), &sky::body::at, 1).fill(7.0);
    for (std::size_t i = 0; i < host.size(); ++i) CHECK(all.to_host()[i].at[1] == (i / 4 % 3 ? 7.0 : after[i].at[1]));
    volume part(2, 2, 2);
    part.copy_from(all.view().slice(1, 1, 3).slice(2, 0, 4, 2));
    const std::vector<sky::body> taken = part.to_host(), whole_now = all.to_host();
    for (std::size_t i = 0; i < 8; ++i) CHECK(same(taken[i], whole_now[i / 4 * 12 + (1 + i / 2 % 2) * 4 + i % 2 * 2]));
    std::int16_t sum = 0;
    for (std::size_t i = 12; i < 24; ++i) sum = std::int16_t(sum + host[i].kind);
    CHECK(sky::kinds_of_planes(all).to_host()[1] == sum);
    CHECK(volume(2, 0, 5).empty() && sky::swapped(volume(2, 0, 5), 0.5).extent(0) == 5);
    // a copy between parts of volumes: no two axes follow one another
    volume target(3, 4, 5);
    target.view().slice(0, 0, 3, 2).slice(1, 0, 3).slice(2, 1, 5).copy_from(all.view());
    const std::vector<sky::body> copied = target.to_host(), now = all.to_host();
    for (std::size_t i = 0; i < copied.size(); ++i) {
        const std::size_t p = i / 20, r = i / 5 % 4, c = i % 5;
        CHECK(same(copied[i], p % 2 || r == 3 || c == 0 ? sky::body{} : now[p / 2 * 12 + r * 4 + c - 1]));
    }
}

static void volumes_of_complex_numbers() {
    using number = std::complex<double>;
    const std::vector<number> host = {{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}, {11, 12}, {13, 14}, {15, 16}};
    const arraygpu::gpu_tensor3<number> z(host, 2, 2, 2);
    const auto [turned, sums] = sky::turned_numbers(z, number(0, 1));
    for (std::size_t i = 0; i < host.size(); ++i) CHECK(turned.to_host()[i] == host[i] * number(0, 1));
    for (std::size_t i = 0; i < 4; ++i) CHECK(sums.to_host()[i] == (host[2 * i] + host[2 * i + 1]) * number(0, 1));
    arraygpu::gpu_tensor3<double> imaginary(arraygpu::imag(z));
    CHECK(imaginary.to_host() == (std::vector<double>{2, 4, 6, 8, 10, 12, 14, 16}));
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
    // a volume is bytes of rank 4: not of another struct, not with gaps in a struct, not of fewer axes
    const std::int64_t cells[] = {1, 3, 1, std::int64_t(sizeof(sky_body))};
    agpu_buffer *volume = nullptr, *kinds = nullptr;
    arraygpu::check(agpu_buffer_create_array(nullptr, AGPU_U8, 4, cells, &volume));
    agpu_view whole{};
    arraygpu::check(agpu_buffer_view(volume, &whole));
    CHECK(sky_kinds_of_planes_new(nullptr, whole, &kinds) == AGPU_OK);
    arraygpu::check(agpu_buffer_free(kinds));
    const auto refused = [](const agpu_view &cells) {
        agpu_buffer *kinds = nullptr;
        return sky_kinds_of_planes_new(nullptr, cells, &kinds);
    };
    CHECK(refused(view) != AGPU_OK);
    agpu_view bad = whole;
    bad.extent[3] -= 1;
    CHECK(refused(bad) == AGPU_ERROR_TYPE_MISMATCH);
    bad = whole, bad.stride[3] = 2, bad.extent[1] = 1;
    CHECK(refused(bad) == AGPU_ERROR_TYPE_MISMATCH);
    bad = whole, bad.stride[1] = std::int64_t(sizeof(sky_body)) + 1;
    CHECK(refused(bad) == AGPU_ERROR_TYPE_MISMATCH);
    bad = whole, bad.extent[0] = 2;
    CHECK(refused(bad) == AGPU_ERROR_OUT_OF_BOUNDS);
    bad = whole, bad.rank = 5, bad.extent[4] = bad.stride[4] = 1;
    CHECK(refused(bad) != AGPU_OK);
    CHECK(agpu_buffer_create_array(nullptr, AGPU_F32, 4, cells, &kinds) == AGPU_ERROR_INVALID_ARGUMENT);
    arraygpu::check(agpu_buffer_free(volume));
    // numbers are no structs of numbers, whether the view says what they are or not
    const std::int64_t numbers[] = {3, std::int64_t(sizeof(sky_complex_f32))};
    arraygpu::check(agpu_buffer_create_array(nullptr, AGPU_F32, 2, numbers, &volume));
    arraygpu::check(agpu_buffer_view(volume, &whole));
    sky_complex_f32 sum{};
    CHECK(sky_total(nullptr, whole, &sum) != AGPU_OK);
    whole.element = agpu_element{};
    CHECK(sky_total(nullptr, whole, &sum) != AGPU_OK);
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "no view of whole structs", arraygpu::real(arraygpu::gpu_vector_view<const complex>(whole)));
    arraygpu::check(agpu_buffer_free(volume));
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
    volumes_of_structs();
    volumes_of_complex_numbers();
    scalars_on_the_device();
    complex_numbers();
    wrong_views();
    return failures != 0;
}
