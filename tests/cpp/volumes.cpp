// Arrays of three dimensions in expressions, with plain loops as the reference: assignments, parts, indices, stencils, structs, errors. Windows and
// margins of vectors and matrices, which are the same words.
#include "check.hpp"
#include "numbers.hpp"
#include <arraygpu/views.hpp>

using namespace arraygpu;
using std::get;
using floats = std::vector<float>;

struct cell {
    float heat;
    std::int32_t kind;
};
AGPU_RECORD(cell, heat, kind)

static const std::size_t P = 4, R = 5, C = 7;
static gpu_tensor3<float> some(float shift = 1.25f) { return gpu_tensor3<float>(some_numbers(P * R * C, 400, shift), P, R, C); }
/// What f gives for each plane, row and column.
template <class F> static floats filled(std::size_t planes, std::size_t rows, std::size_t cols, F f) {
    floats all;
    for (std::size_t k = 0; k < planes; ++k)
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < cols; ++j) all.push_back(f(k, i, j));
    return all;
}
/// The element of an array of P x R x C.
struct host {
    floats all;
    float operator()(std::size_t k, std::size_t i, std::size_t j) const { return all[(k * R + i) * C + j]; }
};

static void assignments() {
    const gpu_tensor3<float> a = some(), b = some(0.5f);
    const host x{a.to_host()}, y{b.to_host()};
    const auto joined = [&](std::size_t k, std::size_t i, std::size_t j) { return 0.5f * x(k, i, j) + std::abs(y(k, i, j)); };
    gpu_tensor3<float> c = 0.5f * a + abs(b);
    CHECK(same(c.to_host(), filled(P, R, C, joined)) && kernels(0.5f * a + abs(b)) == 1);
    // in place, with another size, through views that overlap what is read
    const agpu_buffer *handle = c.c_buffer();
    c = c - 0.5f * a;
    CHECK(c.c_buffer() == handle && same(c.to_host(), filled(P, R, C, [&](auto k, auto i, auto j) { return joined(k, i, j) - 0.5f * x(k, i, j); })));
    c = slice_planes(a, 1, 3);
    CHECK(c.extent(0) == 2 && c.extent(2) == C && same(c.to_host(), filled(2, R, C, [&](auto k, auto i, auto j) { return x(k + 1, i, j); })));
    c = +a;
    c.view().slice(0, 1, 4) = slice_planes(c, 0, 3) * 2;
    CHECK(same(c.to_host(), filled(P, R, C, [&](auto k, auto i, auto j) { return k ? 2 * x(k - 1, i, j) : x(k, i, j); })));
    c = +a;
    c += b;
    c.view().plane(0, 0) *= 2.0f;
    CHECK(same(c.to_host(), filled(P, R, C, [&](auto k, auto i, auto j) { return (k ? 1.0f : 2.0f) * (x(k, i, j) + y(k, i, j)); })));
    // several results of one run; a view with strides as an operand; new arrays in the context of another
    gpu_tensor3<float> d;
    float total = 0;
    assign(c, a + 1, d, gpu_tensor3_view<const float>(a).transpose(0, 2) * 2, total, sum(a - a));
    CHECK(total == 0 && d.extent(0) == C && same(d.to_host(), filled(C, R, P, [&](auto k, auto i, auto j) { return 2 * x(j, i, k); })));
    arraygpu::tie(c, d) = std::make_tuple(a * 2, b * 2);
    CHECK(same(d.to_host(), filled(P, R, C, [&](auto k, auto i, auto j) { return 2 * y(k, i, j); })));
    const gpu_tensor3<bool> positive = a > 0;
    CHECK(positive.to_host()[0] == (x(0, 0, 0) > 0) && eval(any(a > 0)) && !eval(all(a > 0)));
    CHECK(same(gpu_tensor3<float>(where(a > 0, a, -1.0f)).to_host(), filled(P, R, C, [&](auto k, auto i, auto j) { return x(k, i, j) > 0 ? x(k, i, j) : -1.0f; })));
    CHECK(gpu_tensor3<float>(gpu_tensor3<float>(0, 3, 2) + 1).empty());
    // in the background
    auto later = arraygpu::async([&] { return a * 3; });
    CHECK(same(later.get().to_host(), filled(P, R, C, [&](auto k, auto i, auto j) { return 3 * x(k, i, j); })));
    auto whole = arraygpu::async([&] { return a.clone(); });
    CHECK(same(whole.get().to_host(), x.all));
}

static void parts() {
    const gpu_tensor3<float> a = some();
    const host x{a.to_host()};
    const auto part = slice_cols(slice_rows(slice_planes(a, 1, 4, 2), 1, 5), 0, 7, 3);
    CHECK(part.planes() == 2 && part.rows() == 4 && part.cols() == 3);
    CHECK(same(gpu_tensor3<float>(part).to_host(), filled(2, 4, 3, [&](auto k, auto i, auto j) { return x(1 + 2 * k, 1 + i, 3 * j); })));
    CHECK(same(gpu_tensor3<float>(reverse_cols(reverse_rows(reverse(a)))).to_host(), floats(x.all.rbegin(), x.all.rend())));
    CHECK(same(gpu_matrix<float>(plane(a, 2)).to_host(), filled(1, R, C, [&](auto, auto i, auto j) { return x(2, i, j); })));
    CHECK(same(gpu_vector<float>(col(plane(permute<1, 0, 2>(a), 3), 6)).to_host(), filled(P, 1, 1, [&](auto k, auto, auto) { return x(k, 3, 6); })));
    CHECK(float(at(a, 3, 4, 6)) == x(3, 4, 6));
    // elements by traced indices
    const auto around = generate(P, R, C, [&](auto k, auto i, auto j) { return at(a, clamp(k - 1, 0, P - 1), i, j) + at(a, k, i, C - 1 - j); });
    CHECK(same(gpu_tensor3<float>(around).to_host(), filled(P, R, C, [&](auto k, auto i, auto j) { return x(k ? k - 1 : 0, i, j) + x(k, i, C - 1 - j); })));
    const auto [sums, products] = eval(map([](auto u, auto v) { return std::make_tuple(u + v, u * v); }, a, a));
    CHECK(products.to_host()[9] == x.all[9] * x.all[9] && sums.extent(1) == R);
    const auto depth = map_rows([](auto v) { return std::make_tuple(min(v), max(v)); }, permute<1, 2, 0>(a));
    CHECK(get<0>(depth).rows() == R && get<0>(depth).cols() == C);
    CHECK(float(max(get<1>(depth) - get<0>(depth))) > 0);
    CHECK(float(reduce(a, 0, [](auto u, auto v) { return u + v; })) == float(sum(a)));
    float folded = 0;
    for (const float v : x.all) folded = folded * 0.5f + v;
    CHECK(float(fold(a, 0.0f, [](auto s, auto v) { return s * 0.5f + v; })) == folded);
}

static void truth_values() {
    std::vector<bool> some(2 * 3 * 4);
    for (std::size_t i = 0; i < some.size(); ++i) some[i] = i % 3 == 0;
    const gpu_tensor3<bool> t(some, 2, 3, 4);
    CHECK(t.to_host() == some && eval(!t).to_host()[1]);
}

static void stencils() {
    const gpu_vector<float> v{1, 2, 4, 8};
    CHECK(same(gpu_vector<float>(weighted_sum(v, {0.5f, 0.25f})).to_host(), {1, 2, 4}));
    CHECK(same(gpu_vector<float>(weighted_sum(v, std::array<float, 2>{0.5f, 0.25f})).to_host(), {1, 2, 4}));
    CHECK(same(gpu_vector<float>(weighted_sum(v, std::vector{stage(0.5f), stage(0.25f)})).to_host(), {1, 2, 4}));
    const auto w = windows(v, 2);
    CHECK(w.size() == 2 && same(gpu_vector<float>(w[1] - w[0]).to_host(), {1, 2, 4}));
    CHECK(same(gpu_vector<float>(padded(v, 2, 1, boundary::mirror)).to_host(), {2, 1, 1, 2, 4, 8, 8}));
    CHECK(same(gpu_vector<float>(padded(v, 0, 100, boundary::constant(0))).to_host(), gpu_vector<float>(with_slice(repeat(0.0f, 104), 0, v)).to_host()));
    CHECK(same(gpu_vector<float>(with_slice(v, 1, windows(v, 3)[0] * 3)).to_host(), {1, 3, 6, 8}));
    const gpu_matrix<float> m{{1, 2, 3}, {4, 5, 6}};
    const auto w2 = windows2(m, 2, 2);
    CHECK(same(gpu_matrix<float>(w2[0][0] + w2[1][1]).to_host(), {6, 8}));
    CHECK(same(gpu_matrix<float>(weighted_sum2(m, {{0.5f, 0.0f}, {0.0f, 0.5f}})).to_host(), {3, 4}));
    CHECK(same(gpu_matrix<float>(padded(m, {1, 0}, {0, 1}, boundary::wrap)).to_host(), {4, 5, 6, 4, 1, 2, 3, 1, 4, 5, 6, 4}));
    CHECK(same(gpu_matrix<float>(with_block(m, 1, 1, slice_cols(weighted_sum2(m, {{1.0f}, {1.0f}}), 1, 3))).to_host(), {1, 2, 3, 4, 7, 9}));
    const std::vector<cell> some_cells{{1, 10}, {2, 20}};
    const gpu_vector<cell> cells(some_cells);
    const gpu_vector<cell> wider = padded(cells, 1, 1, boundary::constant(cell{7, 70}));
    CHECK(same(gpu_vector<float>(+field(wider, &cell::heat)).to_host(), {7, 1, 2, 7}) && field(wider, &cell::kind).to_host()[3] == 70);
    // a width that is a parameter: one program for all widths, of vectors, matrices, structs, and in steps
    std::string first;
    for (std::int64_t k = 0; k < 5; ++k) {
        const expr<std::int64_t> by(k);
        const auto wide = padded(v, by, by + 1, boundary::constant(0.5f));
        if (k == 0) first = program_text(wide, "core");
        CHECK(program_text(wide, "core") == first && program_text(padded(v, k, k + 1, boundary::constant(0.5f)), "core") != first);
        CHECK(same(gpu_vector<float>(wide).to_host(), gpu_vector<float>(padded(v, k, k + 1, boundary::constant(0.5f))).to_host()));
        const auto smooth = [&](const auto &width) { return weighted_sum2(padded(m, {width, 1}, {0, width}, boundary::clamp), {{0.5f, 0.25f}, {1.0f, 2.0f}}); };
        if (k > 0) CHECK(same(gpu_matrix<float>(smooth(by)).to_host(), gpu_matrix<float>(smooth(k)).to_host()));
        CHECK(field(gpu_vector<cell>(padded(cells, by, 0, boundary::clamp)), &cell::kind).to_host() == field(gpu_vector<cell>(padded(cells, k, 0, boundary::clamp)), &cell::kind).to_host());
    }
    const auto shifted = [&](const auto &width) { return iterate(2, v, [&](auto x) { return slice(padded(x, width, 0, boundary::wrap), 0, 4) * 0.5f; }); };
    CHECK(same(gpu_vector<float>(shifted(expr<std::int64_t>(1))).to_host(), gpu_vector<float>(shifted(1)).to_host()));
    CHECK(same(gpu_vector<float>(padded(v, expr<std::int64_t>(4) / 2, 0, boundary::mirror)).to_host(), {2, 1, 1, 2, 4, 8}));
    enum { once = 1 };
    CHECK(same(gpu_vector<float>(padded(v, once, std::integral_constant<int, 1>(), boundary::mirror)).to_host(), {1, 1, 2, 4, 8, 8}));
    CHECK(same(gpu_matrix<float>(padded(m, {}, {0, once}, boundary::wrap)).to_host(), gpu_matrix<float>(padded(m, {0, 0}, {0, 1}, boundary::wrap)).to_host()));
    const std::array<std::int64_t, 2> sides{1, 0};
    CHECK(same(gpu_matrix<float>(padded(m, sides, {{0, 0}}, boundary::clamp)).to_host(), {1, 2, 3, 1, 2, 3, 4, 5, 6}));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "the margin -2 is negative", eval(padded(v, expr<std::int64_t>(-2), 0, boundary::clamp)));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "is computed by a reduction", eval(padded(v, cast<std::int64_t>(sum(v)), 0, boundary::clamp)));
    // how GPUs keep them: the outermost hint counts, and no bit changes
    const auto slope = w[1] - w[0];
    const auto line = [](const auto &e) { return program_text(e, "core").substr(0, program_text(e, "core").find('\n')); };
    CHECK(line(slope).find("stencil") == std::string::npos && line(stencil(slope, stencil_hint::tile)).find(" stencil tile {") != std::string::npos);
    CHECK(line(stencil(stencil(slope, stencil_hint::tile) * 2, stencil_hint::window)).find(" stencil window {") != std::string::npos);
    CHECK(line(iterate(2, v, [](auto x) { return stencil(slice(padded(x, 1, 0, boundary::clamp), 0, 4), stencil_hint::direct); })).find(" stencil direct {") != std::string::npos);
    CHECK(same(gpu_vector<float>(stencil(slope, stencil_hint::rows)).to_host(), gpu_vector<float>(slope).to_host()));
    CHECK(stencil(wider, stencil_hint::planes).heat.c_node() && explain(stencil(slope, stencil_hint::tile)).find("the author asked for tile") != std::string::npos);
    // of volumes: the largest of 27 neighbours, with plain loops
    const gpu_tensor3<float> a = some();
    const host x{a.to_host()};
    const auto near = windows3(padded(a, {1, 1}, {1, 1}, {1, 1}, boundary::clamp), 3, 3, 3);
    auto most = near[0][0][0];
    for (const auto &plane : near)
        for (const auto &row : plane)
            for (const auto &one : row) most = max(most, one);
    const auto clamped = [](std::size_t i, std::size_t d, std::size_t n) { return i + d == 0 ? 0 : i + d - 1 < n ? i + d - 1 : n - 1; };
    CHECK(same(gpu_tensor3<float>(most).to_host(), filled(P, R, C, [&](auto k, auto i, auto j) {
                   float of = x(k, i, j);
                   for (std::size_t d = 0; d < 27; ++d) of = std::max(of, x(clamped(k, d / 9, P), clamped(i, d / 3 % 3, R), clamped(j, d % 3, C)));
                   return of;
               })));
}

static void several_values() {
    gpu_tensor3<std::complex<float>> z = complex(some(), some(0.5f));
    const gpu_tensor3<std::complex<float>> w = z * conj(z);
    CHECK(z.to_host()[5].imag() == some(0.5f).to_host()[5] && w.to_host()[5].imag() == 0);
    real(z) = imag(z) * 2;
    CHECK(z.to_host()[8].real() == 2 * z.to_host()[8].imag());
    gpu_tensor3<cell> cells = generate(2, 2, 3, [](auto k, auto i, auto j) { return make_record<cell>(cast<float>(k + i), cast<std::int32_t>(j)); });
    cells = map([](auto c) {
        c.heat += cast<float>(c.kind);
        return c;
    }, reverse_planes(cells));
    CHECK(same(gpu_tensor3<float>(+field(cells, &cell::heat)).to_host(), {1, 2, 3, 2, 3, 4, 0, 1, 2, 1, 2, 3}));
    const gpu_tensor3<cell> later = iterate(3, cells, [](auto all) {
        all.heat = 0.5f * all.heat;
        return all;
    });
    CHECK(later.to_host()[5].heat == 0.5f && later.to_host()[5].kind == 2 && eval(at(cells, 0, 1, 2)).heat == 4);
    CHECK(float(sum((+cells).heat)) == 24);
}

static void errors() {
    const gpu_tensor3<float> a = some(), turned = permute<2, 1, 0>(a);
    gpu_tensor3<float> c(2, 2, 2);
    CHECK_THROWS(AGPU_ERROR_SHAPE, "planes of v0, v1: the lengths 4 and 7 differ", c = a + turned);
    CHECK_THROWS(AGPU_ERROR_SHAPE, "4 x 5 x 7", c.view() = a * 2);
    CHECK_THROWS(AGPU_ERROR_OUT_OF_BOUNDS, "windows3(3, 1, 1)[3]: the window has 3 planes, which are numbered from 0", windows3(a, 3, 1, 1)[3]);
    CHECK_THROWS(AGPU_ERROR_OUT_OF_BOUNDS, "windows3(3, 2, 1)[1][2]: the window has 2 rows", windows3(a, 3, 2, 1)[1][2]);
    CHECK_THROWS(AGPU_ERROR_SHAPE, "windows3(1, 6, 1): the array is 4 x 5 x 7", windows3(a, 1, 6, 1));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "windows3(1, 0, 1): a window has an element", windows3(a, 1, 0, 1));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "weighted_sum3: the rows of the weights have 1 and 2 weights",
                 weighted_sum3(a, std::vector<std::vector<floats>>{{{1}, {2, 3}}}));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "weighted_sum3: the planes of the weights have 1 and 2 rows",
                 weighted_sum3(a, std::vector<std::vector<floats>>{{{1}}, {{2}, {3}}}));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "weighted_sum: it needs a weight", weighted_sum(gpu_vector<float>{1}, floats{}));
    const int line = __LINE__ + 1;
    const auto wide = padded(a, {5, 0}, {1, 1}, {1, 1}, boundary::wrap);
    CHECK_THROWS(AGPU_ERROR_SHAPE, "padded of v0: the margin needs 5 or more elements, the length is 4", eval(wide));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "volumes.cpp:" + std::to_string(line), eval(wide));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "padded of v0: s0: the margin -1 is negative", eval(padded(a, {-1, 0}, {1, 1}, {1, 1}, boundary::clamp)));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "the margin needs 1 or more elements, the length is 0", eval(padded(gpu_tensor3<float>(2, 0, 3), {0, 0}, {1, 0}, {0, 0}, boundary::clamp)));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "with_block of v0: the part always stops 1 or more past the end", eval(with_block(a, 1, 0, 0, a)));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "the slice stops at 5, past the length 4", eval(slice_planes(a, 0, 5)));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "the index 4 is outside of the length 4", eval(plane(a, 4)));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "matmul of planes: v0: the lengths always differ", eval(matmul(a, slice_planes(permute<0, 2, 1>(a), 0, 3))));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "always differ", eval(iterate(2, a, [](auto u) { return slice_planes(u, 0, 3); })));
}

int main() {
    assignments();
    parts();
    truth_values();
    stencils();
    several_values();
    errors();
    std::printf("volumes: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures == 0 ? 0 : 1;
}
