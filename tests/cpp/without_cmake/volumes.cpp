// Arrays of three dimensions in C++ expressions against the same functions of a package, to the bit: orders of axes, stencils with each boundary,
// iterations, reductions of planes and rows, products of planes.
#include "../check.hpp"
#include "../numbers.hpp"
#include <arraygpu/views.hpp>
#include <volumes.hpp>

using namespace arraygpu;
using std::get;

template <class A, class B> static bool equal(const A &a, const B &b) { return same_bits(a.to_host(), b.to_host()); }
static gpu_tensor3<float> some(std::size_t planes, std::size_t rows, std::size_t cols, float shift = 1.25f) {
    return gpu_tensor3<float>(some_numbers(planes * rows * cols, 400, shift), planes, rows, cols);
}
struct shape {
    std::size_t planes, rows, cols;
};

// the neighbours of 7 points in windows of 3 x 3 x 3
template <class W> static auto laplace(const W &w) {
    const auto around = (w[0][1][1] + w[2][1][1]) + (w[1][0][1] + w[1][2][1]) + (w[1][1][0] + w[1][1][2]);
    return around - 6 * w[1][1][1];
}
template <class U, class B> static auto laplace_of(const U &u, const B &boundary) {
    return laplace(windows3(padded(u, {1, 1}, {1, 1}, {1, 1}, boundary), 3, 3, 3));
}

static void orders() {
    const gpu_tensor3<float> x = some(2, 3, 5);
    const auto want = volumes::orders(x);
    CHECK(equal(gpu_tensor3<float>(permute<0, 1, 2>(x)), x));
    CHECK(equal(gpu_tensor3<float>(permute<0, 2, 1>(x)), want.a));
    CHECK(equal(gpu_tensor3<float>(permute<1, 0, 2>(x)), want.b));
    CHECK(equal(gpu_tensor3<float>(permute<1, 2, 0>(x)), want.c));
    CHECK(equal(gpu_tensor3<float>(permute<2, 0, 1>(x)), want.d));
    CHECK(equal(gpu_tensor3<float>(permute<2, 1, 0>(x)), want.e));
    const auto turned = permute<2, 0, 1>(x);
    CHECK(turned.planes() == 5 && turned.rows() == 2 && turned.cols() == 3 && turned.size() == 30 && turned.extent(2) == 3);
}

static void stencils() {
    for (const shape s : {shape{1, 1, 1}, {2, 3, 5}, {4, 1, 33}, {7, 8, 40}}) {
        const gpu_tensor3<float> x = some(s.planes, s.rows, s.cols);
        const auto want = volumes::edges(x);
        CHECK(equal(gpu_tensor3<float>(laplace_of(x, boundary::clamp)), want.clamped));
        CHECK(equal(gpu_tensor3<float>(laplace_of(x, boundary::mirror)), want.mirrored));
        CHECK(equal(gpu_tensor3<float>(laplace_of(x, boundary::wrap)), want.wrapped));
        CHECK(equal(gpu_tensor3<float>(laplace_of(x, boundary::constant(0.5f))), want.constant));
    }
    const gpu_tensor3<float> x = some(5, 6, 37);
    const float weights[2][2][3] = {{{0.1f, 0.2f, 0.3f}, {0.4f, 0.5f, 0.6f}}, {{-0.1f, -0.2f, -0.3f}, {-0.4f, -0.5f, 0.7f}}};
    const auto want = volumes::weighted(x);
    CHECK(equal(gpu_tensor3<float>(weighted_sum3(x, weights)), want));
    CHECK(equal(gpu_tensor3<float>(weighted_sum3(x, {{{0.1f, 0.2f, 0.3f}, {0.4f, 0.5f, 0.6f}}, {{-0.1f, -0.2f, -0.3f}, {-0.4f, -0.5f, 0.7f}}})), want));
    CHECK(equal(gpu_tensor3<float>(cast<float>(weighted_sum3(cast<half>(x), weights))), volumes::weighted_halves(x)));
    const auto along_rows = materialize(weighted_sum3(x, {{{0.25f, 0.5f, 0.25f}}}));
    const auto stages = weighted_sum3(along_rows, {{{0.25f}}, {{0.5f}}, {{0.25f}}});
    CHECK(equal(gpu_tensor3<float>(stages), volumes::stages(x)));
    CHECK(kernels(laplace_of(x, boundary::clamp)) == 1 && kernels(stages) == 2);
    // on GPUs planes pass through registers, and steps share a launch, as in a package
    CHECK(explain(laplace_of(x, boundary::clamp)).find("stencil of volumes, plane by plane") != std::string::npos);
    const auto steps = iterate(8, x, [](auto u) { return u + 0.1f * laplace_of(u, boundary::constant(0)); });
    CHECK(explain(steps).find("temporal blocking") != std::string::npos);
}

static void iterations() {
    for (const std::int64_t k : {0, 1, 2, 5}) {
        const gpu_tensor3<float> u = some(6, 7, 21), before = some(6, 7, 21, 1);
        const float c = 0.1f;
        const auto [now, then] = eval(iterate(k, std::tie(u, before), [&](auto u, auto before) {
            return std::make_tuple(2 * u - before + c * laplace_of(u, boundary::clamp), u);
        }));
        const auto want = volumes::wave(u, before, c, k);
        CHECK(equal(now, want.now) && equal(then, want.then));
        const gpu_tensor3<float> relaxed = iterate(k, u, [](auto u) {
            const auto inner = slice_cols(slice_rows(slice_planes(u, 1, 5), 1, 6), 1, 20);
            return with_block(u, 1, 1, 1, inner + 0.125f * laplace(windows3(u, 3, 3, 3)));
        });
        CHECK(equal(relaxed, volumes::relaxed(u, k)));
        const gpu_matrix<float> m(some_numbers(15), 3, 5);
        if (k > 0) CHECK(equal(gpu_tensor3<float>(iterate_collect(k, m, [](auto m) { return m * m - 0.5f; })), volumes::history(m, k)));
    }
    const gpu_tensor3<float> u = some(5, 5, 9);
    const auto next = [](auto u) { return u + 0.125f * laplace_of(u, boundary::mirror); };
    const auto [settled, steps] = eval(iterate_while(50, u, [&](auto u) { return max(abs(next(u) - u)) > 0.01f; }, next).check_every(3));
    const auto want = volumes::settled(u, 0.01f);
    CHECK(equal(settled, want.result) && steps == want.steps && steps > 0);
}

static void reductions() {
    for (const shape s : {shape{1, 1, 1}, {3, 4, 5}, {2, 70, 90}}) {
        const gpu_tensor3<float> x = some(s.planes, s.rows, s.cols);
        const auto [total, average, spread, most, squares] = eval(std::make_tuple(sum(x), mean(x), variance(x, 1), argmax(x), dot(x, x)));
        const auto want = volumes::sums(x);
        CHECK(same({total, average, spread, squares}, {want.sum, want.mean, want.variance, want.product}) && most == want.where_);
        const auto [sums, means, greatest] = eval(std::make_tuple(sum_planes(x), mean_planes(x), map_planes([](auto m) { return argmax(m); }, x)));
        const auto planes = volumes::planes(x);
        CHECK(equal(sums, planes.sums) && equal(means, planes.means) && equal(greatest, planes.greatest));
        const auto [rows, through] = eval(std::make_tuple(sum_rows(x), map_rows([](auto v) { return mean(v); }, permute<1, 2, 0>(x))));
        const auto lines = volumes::lines(x);
        CHECK(equal(rows, lines.rows) && equal(through, lines.through) && equal(gpu_matrix<float>(mean_rows(permute<1, 2, 0>(x))), lines.through));
        CHECK(equal(gpu_tensor3<float>(matmul(x, permute<0, 2, 1>(x))), volumes::products(x, x)));
        const gpu_matrix<float> m(some_numbers(s.rows * s.cols), s.rows, s.cols);
        const auto numbers = generate(s.planes, s.rows, s.cols, [](auto k, auto i, auto j) { return cast<float>(k * 100 + i * 10 + j); });
        CHECK(equal(gpu_tensor3<float>(spread_planes(m, s.planes) * x + reverse_planes(numbers)), volumes::made(m, x)));
    }
}

int main() {
    orders();
    stencils();
    iterations();
    reductions();
    std::printf("volumes: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures;
}
