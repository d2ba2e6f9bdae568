// Words of vectors and of lines, with plain loops as the reference: gather, outer, sums in order, parts of floats, blocks of matrices, and rows, columns and
// planes of structs and complex numbers.
#include "check.hpp"
#include "numbers.hpp"
#include <arraygpu/views.hpp>
#include <cmath>
#include <complex>

using namespace arraygpu;
using floats = std::vector<float>;
using numbers = std::vector<std::int64_t>;

struct cell {
    float heat;
    std::int32_t kind;
};
AGPU_RECORD(cell, heat, kind)

// structs and complex numbers of the host stand on both sides of a choice, as numbers do
static void choices() {
    const gpu_vector<float> v{0.25f, 2};
    const auto cells = eval(if_else(v > 1, cell{1, 2}, cell{3, 4})).to_host();
    CHECK(cells[0].heat == 3 && cells[0].kind == 4 && cells[1].heat == 1 && cells[1].kind == 2);
    const auto z = eval(select(v > 1, std::complex<float>(1, 2), std::complex<float>(3))).to_host();
    CHECK((z == std::vector<std::complex<float>>{3, {1, 2}}));
    CHECK(if_else(true, cell{1, 2}, cell{3, 4}).kind == 2 && where(false, cell{1, 2}, cell{3, 4}).kind == 4);
}

static void vectors() {
    const floats host = some_numbers(70);
    const gpu_vector<float> x(host), y{1, -2, 0.5f};
    const gpu_vector<std::int64_t> some_places(numbers{69, 0, 3, 3});
    CHECK(same(gpu_vector<float>(gather(x, some_places)).to_host(), {host[69], host[0], host[3], host[3]}));
    CHECK(same(gpu_vector<float>(gather(2 * x, cast<std::int32_t>(some_places) - 0)).to_host(), {2 * host[69], 2 * host[0], 2 * host[3], 2 * host[3]}));
    CHECK_THROWS(AGPU_ERROR_RECORD, "words.cpp:" + std::to_string(__LINE__), eval(gather(x, some_places + 1)).to_host());
    CHECK(gpu_vector<float>(gather(x, gpu_vector<std::int64_t>())).empty());
    const gpu_vector<cell> cells(std::vector<cell>{{1, 10}, {2, 20}});
    const gpu_vector<cell> turned = gather(cells, gpu_vector<std::int64_t>{1, 1, 0});
    CHECK(turned.size() == 3 && turned.to_host()[1].kind == 20 && turned.to_host()[2].heat == 1);

    const gpu_matrix<float> pairs = outer(x, y, [](auto a, auto b) { return a * b + 1; });
    CHECK(pairs.rows() == 70 && pairs.cols() == 3 && kernels(outer(x, y, [](auto a, auto b) { return a * b + 1; })) == 1);
    floats want;
    for (const float a : host)
        for (const float b : {1.0f, -2.0f, 0.5f}) want.push_back(a * b + 1);
    CHECK(same(pairs.to_host(), want));
    const auto [sums, kinds] = eval(outer(y, cells, [](auto a, auto c) { return std::make_tuple(a + c.heat, c.kind); }));
    CHECK(same(sums.to_host(), {2, 3, -1, 0, 1.5f, 2.5f}) && kinds.to_host()[3] == 20);
    CHECK(gpu_matrix<float>(outer(gpu_vector<float>(), y, [](auto a, auto b) { return a + b; })).empty());
    const auto nearest = argmin_rows(outer(x, y, [](auto a, auto b) { return abs(a - b); }));
    std::int64_t least = 0;
    for (int j = 1; j < 3; ++j) least = std::abs(host[5] - y.to_host()[std::size_t(j)]) < std::abs(host[5] - y.to_host()[std::size_t(least)]) ? j : least;
    CHECK(std::int64_t(at(nearest, 5)) == least);

    float total = 0;
    for (const float a : host) total += a;
    CHECK(float(sum_in_order(x)) == total && float(sum_in_order(gpu_vector<float>())) == 0 && std::int64_t(sum_in_order(some_places)) == 75);
    // halves are summed as floats
    const gpu_vector<half> small(std::vector<half>(3000, half(1.0f)));
    CHECK(float(eval(sum_in_order(small))) == 3000);
}

static void parts_of_floats() {
    const floats host{0.75f, -12, 0, 1e-40f, INFINITY};
    const gpu_vector<float> x(host);
    const auto [mantissa, power] = eval(frexp(x));
    for (std::size_t i = 0; i < 4; ++i) {
        int n = 0;
        CHECK(mantissa.to_host()[i] == std::frexp(host[i], &n) && power.to_host()[i] == n);
    }
    CHECK(same(gpu_vector<float>(ldexp(mantissa, power)).to_host(), host));
    CHECK(same(gpu_vector<float>(ldexp(mantissa, cast<float>(power))).to_host(), host));
    // an exponent that no half has
    const gpu_vector<half> tiny = ldexp(cast<half>(gpu_vector<float>{1, 2}), gpu_vector<std::int32_t>{-24, 70000});
    CHECK(float(tiny.to_host()[0]) == std::ldexp(1.0f, -24) && std::isinf(float(tiny.to_host()[1])));
    CHECK(float(eval(ldexp(at(x, 0), 3))) == 6);
}

static void blocks() {
    const gpu_matrix<float> m(some_numbers(30), 5, 6);
    const floats host = m.to_host();
    const gpu_matrix<float> inner = slice(m, 1, 4, 2, 6), every = slice(m, 0, 5, 1, 6, 2, 3);
    CHECK(inner.rows() == 3 && inner.cols() == 4 && inner.to_host()[5] == host[2 * 6 + 3]);
    CHECK(every.rows() == 3 && every.cols() == 2 && every.to_host()[3] == host[2 * 6 + 4]);
    CHECK_THROWS(AGPU_ERROR_SHAPE, "the slice stops at 7, past the length 6", eval(slice(m, 1, 4, 2, 7)));
}

static void lines_of_several_values() {
    const gpu_tensor3<float> re(some_numbers(60), 3, 4, 5), im(some_numbers(60, 300), 3, 4, 5);
    const gpu_tensor3<std::complex<float>> z = complex(re, im);
    const gpu_vector<std::complex<float>> planes = sum_planes(z);
    const gpu_matrix<std::complex<float>> rows = sum_rows(z), cols = sum_cols(z);
    CHECK(planes.size() == 3 && planes.to_host()[1].imag() == gpu_vector<float>(sum_planes(im)).to_host()[1]);
    CHECK(rows.cols() == 4 && rows.to_host()[6].real() == gpu_matrix<float>(sum_rows(re)).to_host()[6]);
    CHECK(cols.cols() == 5 && cols.to_host()[6].imag() == gpu_matrix<float>(sum_cols(im)).to_host()[6]);
    // a function of the rows of a matrix of complex numbers, and of the planes of an array of structs
    const auto energy = map_rows([](auto row) { return sum(norm_sqr(row)); }, plane(z, 1));
    const auto direct = sum_rows(plane(re, 1) * plane(re, 1) + plane(im, 1) * plane(im, 1));
    CHECK(same(gpu_vector<float>(energy).to_host(), gpu_vector<float>(direct).to_host()) && kernels(energy) == 1);
    const gpu_matrix<std::complex<float>> conjugate = map_cols([](auto col) { return conj(sum(col)); }, z);
    CHECK(conjugate.to_host()[6] == std::conj(cols.to_host()[6]));
    const std::vector<cell> host{{1, 3}, {2, 1}, {4, 1}, {8, 0}};
    const gpu_tensor3<cell> cells(host, 2, 1, 2);
    const gpu_vector<cell> joined = reduce_planes(cells, cell{0, 0}, [](auto a, auto b) {
        a.heat = a.heat + b.heat;
        a.kind = max(a.kind, b.kind);
        return a;
    });
    CHECK(joined.to_host()[0].heat == 3 && joined.to_host()[0].kind == 3 && joined.to_host()[1].heat == 12 && joined.to_host()[1].kind == 1);
    const auto [heat, kind] = eval(map_planes([](auto p) { return std::make_tuple(max(p.heat), min(p.kind)); }, cells));
    CHECK(same(heat.to_host(), {2, 8}) && kind.to_host()[0] == 1 && kind.to_host()[1] == 0);
    // parts in functions of elements: the deviation of each element from the mean of its plane
    const auto means = mean_planes(re);
    const auto off = generate(3, 4, 5, [&](auto k, auto i, auto j) { return at(re, k, i, j) - at(means, k); });
    CHECK(std::abs(float(sum(off))) < 1e-4f);
}

int main() {
    choices();
    vectors();
    parts_of_floats();
    blocks();
    lines_of_several_values();
    std::printf("words: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures;
}
