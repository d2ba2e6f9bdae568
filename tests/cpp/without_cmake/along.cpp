// Words along rows, columns and planes of arrays of three dimensions against the same functions of a package, to the bit.
#include "../check.hpp"
#include "../numbers.hpp"
#include <along.hpp>
#include <arraygpu/expr.hpp>

using namespace arraygpu;

template <class A, class B> static bool equal(const A &a, const B &b) { return same_bits(a.to_host(), b.to_host()); }
template <class E, class B> static bool gives(const E &e, const B &b) { return equal(eval(e), b); }

// the words of one axis
#define WORDS(lines)                                                                                                              \
    {                                                                                                                             \
        const auto want = along::lines(x);                                                                                        \
        CHECK(gives(map_##lines([](auto part) { return max(abs(part)); }, x), want.most));                                        \
        CHECK(gives(reduce_##lines(x, 0.5f, [](auto a, auto b) { return a + b; }), want.reduced));                                \
        CHECK(gives(sum_##lines(x), want.sum) && gives(cast<float>(mean_##lines(cast<half>(x))), want.halves));                   \
        const auto extremes = along::extremes_of_##lines(x);                                                                      \
        const auto [least, greatest] = eval(minmax_##lines(x));                                                                   \
        CHECK(equal(least, extremes.least) && equal(greatest, extremes.greatest));                                                \
        CHECK(gives(argmin_##lines(x), extremes.at) && gives(argmax_##lines(-x), extremes.at));                                   \
        const auto moments = along::moments_of_##lines(x);                                                                        \
        CHECK(gives(variance_##lines(x, 1), moments.variance) && gives(stddev_##lines(x), moments.deviation));                    \
        CHECK(gives(norm_##lines(x), moments.norm) && gives(log_sum_exp_##lines(x), moments.logs));                               \
        const auto shapes = along::shapes_of_##lines(x);                                                                          \
        CHECK(gives(softmax_##lines(x), shapes.softmax) && gives(normalise_##lines(x), shapes.unit));                             \
        CHECK(gives(inclusive_scan_##lines(x, 0.25f), shapes.scan));                                                              \
    }

int main() {
    const std::size_t shapes[][3] = {{1, 1, 1}, {3, 4, 5}, {2, 70, 90}, {5, 1, 300}, {2, 0, 3}, {2, 3, 0}, {0, 2, 2}};
    for (const auto &[planes, rows, cols] : shapes) {
        const gpu_tensor3<float> x(some_numbers(planes * rows * cols), planes, rows, cols);
        const gpu_tensor3<float> w(some_numbers(planes * rows * cols, 300, 0.5f), planes, rows, cols);
        WORDS(rows)
        WORDS(cols)
        WORDS(planes)
        const auto want = along::tuples(x, w);
        const auto add = [](auto a, auto b) { return std::make_tuple(std::get<0>(a) + std::get<0>(b), std::get<1>(a) + std::get<1>(b)); };
        const auto both = std::make_tuple(x * w, +w);
        const auto [a, b] = eval(reduce_rows(both, std::make_tuple(0, 0), add));
        const auto [c, d] = eval(reduce_cols(both, std::make_tuple(0, 0), add));
        const auto [e, f] = eval(reduce_planes(both, std::make_tuple(0, 0), add));
        CHECK(equal(a, want.a) && equal(b, want.b) && equal(c, want.c) && equal(d, want.d) && equal(e, want.e) && equal(f, want.f));
    }
    std::printf("along: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures;
}
