// Reductions and folds of tuples, places of extremes, means, if_else: values against loops of the host; how many kernels; errors.
#include "check.hpp"
#include "numbers.hpp"
#include <arraygpu/views.hpp>
#include <algorithm>
#include <cmath>
#include <cstring>

namespace gpu = arraygpu;
namespace view = arraygpu::views;
using namespace arraygpu;
using std::get;
using floats = std::vector<float>;
using places = std::vector<std::int64_t>;

static floats numbers(std::size_t n, unsigned seed) {
    floats v(n);
    for (float &x : v) {
        seed = seed * 1664525u + 1013904223u;
        x = float(seed >> 8) / float(1 << 24) * 8 - 3;
    }
    return v;
}
static bool same(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }
template <class E> static floats vector_of(const E &e) { return gpu_vector<float>(e).to_host(); }
template <class E> static places places_of(const E &e) { return gpu_vector<std::int64_t>(e).to_host(); }

/// Sums of both components.
struct add {
    template <class A, class B> auto operator()(const A &a, const B &b) const {
        return std::make_tuple(get<0>(a) + get<0>(b), get<1>(a) + get<1>(b));
    }
};

static void reductions() {
    for (const std::size_t n : {0, 1, 7, 2049, 10000}) {
        const gpu_vector<float> x(numbers(n, 1)), w(numbers(n, 2));
        const auto [sum_of, weight] = eval(reduce(std::forward_as_tuple(x * w, w), std::make_tuple(0, 0), add{}));
        CHECK(same(sum_of, float(sum(x * w))) && same(weight, float(sum(w))));
        // the same of views, and from other initial values
        const auto [a, b] = view::zip(x, w) | gpu::reduce(std::make_tuple(1.5f, 2), add{});
        CHECK(same(float(a), 1.5f + float(sum(x))) && same(float(b), 2 + float(sum(w))));
        // components of several types that depend on each other: the greatest element and how often it is there
        const gpu_vector<std::int64_t> ones(std::vector<std::int64_t>(n, 1));
        const auto [most, count] = eval(reduce(std::forward_as_tuple(floor(x), ones), std::make_tuple(-INFINITY, 0), [](const auto &p, const auto &q) {
            const auto &u = get<0>(p), &v = get<0>(q);
            return std::make_tuple(max(u, v), where(u >= v, get<1>(p), 0) + where(v >= u, get<1>(q), 0));
        }));
        CHECK(same(most, float(max(floor(x)))) && count == std::int64_t(n ? eval(sum(cast<std::int64_t>(floor(x) == max(floor(x))))) : 0));
    }
    const gpu_vector<float> x{1, 2, 3}, y{10, 20, 30};
    CHECK(kernels(get<0>(reduce(std::tie(x, y), std::make_tuple(0, 0), add{}))) == 1);
    // nested, with pairs, and with one component
    const auto nested = reduce(std::make_tuple(std::make_pair(+x, +y), x * y), std::make_pair(std::make_tuple(0, 1), 0), [](auto a, auto b) {
        return std::make_pair(std::make_tuple(get<0>(get<0>(a)) + get<0>(get<0>(b)), get<1>(get<0>(a)) * get<1>(get<0>(b))), get<1>(a) + get<1>(b));
    });
    const auto values = eval(nested);
    CHECK(get<0>(get<0>(values)) == 6 && get<1>(get<0>(values)) == 6000 && get<1>(values) == 140);
    const auto [only] = reduce(std::tie(x), std::make_tuple(4), [](auto a, auto b) { return std::make_tuple(get<0>(a) + get<0>(b)); });
    CHECK(float(only) == 10);
    const expr<float, 1> e = x;
    const auto twelve = std::make_tuple(e, e + 1, e + 2, e + 3, e + 4, e + 5, e + 6, e + 7, e + 8, e + 9, e + 10, e + 11);
    const auto sums = reduce(twelve, std::make_tuple(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), [](const auto &a, const auto &b) {
        return std::apply(
            [&b](const auto &...u) { return std::apply([&](const auto &...v) { return std::make_tuple(u + v...); }, b); }, a);
    });
    CHECK(float(get<0>(sums)) == 6 && float(get<11>(sums)) == 39);
    // of views: positions, endless views, functions with tuples
    const auto [sum_of, last] = x | view::enumerate | view::transform([](auto i, auto v) { return std::make_tuple(v * v, i); }) |
                                gpu::reduce(std::make_tuple(0, 0), [](auto a, auto b) { return std::make_tuple(get<0>(a) + get<0>(b), max(get<1>(a), get<1>(b))); });
    CHECK(float(sum_of) == 14 && eval(last) == 2);
    const auto with_twos = reduce(view::zip(x, view::repeat(2.0f), view::zip(view::iota(5))), std::make_tuple(0, 0, std::make_tuple(0)), [](auto a, auto b) {
        return std::make_tuple(get<0>(a) + get<0>(b), get<1>(a) + get<1>(b), std::make_tuple(get<0>(get<2>(a)) + get<0>(get<2>(b))));
    });
    CHECK(float(get<1>(with_twos)) == 6 && eval(get<0>(get<2>(with_twos))) == 18);
    // inside of a function, for each element
    const gpu_vector<float> moments = map([&](auto c) {
        const auto both = reduce(std::forward_as_tuple(x * c, y), std::make_tuple(0, 0), add{});
        return get<0>(both) + get<1>(both);
    }, x);
    CHECK(same(moments.to_host(), {66, 72, 78}));
    // several results of one run
    float total = 0;
    gpu_vector<float> doubled;
    gpu::tie(total, doubled) = std::make_tuple(sum(x), x * 2);
    CHECK(total == 6 && same(doubled.to_host(), {2, 4, 6}));
    float least = 0, greatest = 0;
    gpu::tie(least, greatest, total) = std::make_tuple(minmax(x), sum(y));
    CHECK(least == 1 && greatest == 3 && total == 60);
}

/// The composition of the functions a x + b, which is not commutative.
struct compose {
    template <class P, class Q> auto operator()(const P &p, const Q &q) const {
        return std::make_tuple(get<0>(p) * get<0>(q), get<1>(p) * get<0>(q) + get<1>(q));
    }
};

static void ordered_reductions() {
    for (const std::size_t n : {0, 1, 15, 16, 17, 130, 2049, 40000}) {
        // integers wrap, so that the order of joins does not matter, only that of the elements
        std::vector<std::int64_t> ha(n), hb(n);
        for (std::size_t i = 0; i < n; ++i) ha[i] = std::int64_t(i % 7) * 2 + 1, hb[i] = std::int64_t(i % 11) - 5;
        const gpu_vector<std::int64_t> a(ha), b(hb);
        std::int64_t factor = 3, rest = 2;
        for (std::size_t i = 0; i < n; ++i) {
            factor = std::int64_t(std::uint64_t(factor) * std::uint64_t(ha[i]));
            rest = std::int64_t(std::uint64_t(rest) * std::uint64_t(ha[i]) + std::uint64_t(hb[i]));
        }
        const auto found = eval(reduce_noncommutative(std::tie(a, b), std::make_tuple(3, 2), compose{}));
        CHECK(get<0>(found) == factor && get<1>(found) == rest);
        const auto [f, r] = view::zip(a, b) | gpu::reduce_noncommutative(std::make_tuple(3, 2), compose{});
        CHECK(eval(f) == factor && eval(r) == rest);
        // of one array: its last element that is not 0
        const auto last = [](auto u, auto v) { return select(v == 0, u, v); };
        const std::int64_t want = n ? hb[n - 1] ? hb[n - 1] : hb[n - 2] : 9;
        CHECK(eval(reduce_noncommutative(b, 9, last)) == want);
        CHECK(eval(b | gpu::reduce_noncommutative(9, last)) == want);
    }
    // a matrix counts row by row; the sums of floats are those of the tree of semantics 5.17
    const gpu_matrix<float> m{{1, 2}, {3, 0}};
    CHECK(float(reduce_noncommutative(m, 0, [](auto u, auto v) { return select(v == 0, u, v); })) == 3);
    const gpu_vector<double> x{1, 2}, y{1, 2, 3};
    CHECK_THROWS(AGPU_ERROR_SHAPE, "reduce_noncommutative: v0, v1", eval(reduce_noncommutative(std::tie(x, y), std::make_tuple(0, 0), compose{})));
}

static void bits() {
    const gpu_vector<float> x{1, -0.0f, INFINITY, NAN, -NAN, 1.5e-45f};
    const std::vector<std::uint32_t> bits = gpu_vector<std::uint32_t>(to_bits(x)).to_host();
    CHECK(bits == (std::vector<std::uint32_t>{0x3f800000, 0x80000000, 0x7f800000, 0x7fc00000, 0x7fc00000, 1}));
    CHECK(same(vector_of(from_bits(to_bits(-x))), vector_of(-x)));
    const gpu_vector<double> d{1, NAN};
    CHECK(gpu_vector<std::uint64_t>(to_bits(d)).to_host() == (std::vector<std::uint64_t>{0x3ff0000000000000, 0x7ff8000000000000}));
    CHECK(double(sum(from_bits(to_bits(d) & 0x7fe0000000000000))) == double(sum(from_bits(gpu_vector<std::uint64_t>{0x3fe0000000000000, 0x7fe0000000000000}))));
    // half of the exponent: the square root's first guess, for each element
    const gpu_vector<float> guess = map([](auto a) { return from_bits((to_bits(a) >> 1u) + 0x1fc00000u); }, gpu_vector<float>{4, 16});
    CHECK(same(guess.to_host(), {2, 4}));
}

static void folds() {
    const gpu_vector<float> x{1, 2, -1, 3, 4, 5, -2, 1}, y{1, 0, 1, 0, 1, 0, 1, 0};
    const auto longest = [](auto state, auto a) {
        const auto run = if_else(a > 0, get<1>(state) + 1, 0);
        return std::make_tuple(max(get<0>(state), run), run);
    };
    const auto runs = fold(x, std::make_tuple(std::int64_t(0), std::int64_t(0)), longest);
    CHECK(eval(get<0>(runs)) == 3 && eval(get<1>(runs)) == 1);
    // one accumulator over the elements of several arrays, in order
    const float horner = fold(std::tie(x, y), 1.0f, [](auto s, auto e) { return s * get<1>(e) + get<0>(e); });
    float want = 1;
    const floats hx = x.to_host(), hy = y.to_host();
    for (std::size_t i = 0; i < hx.size(); ++i) want = want * hy[i] + hx[i];
    CHECK(horner == want);
    const auto both = fold(view::zip(x, y), std::make_pair(0.0f, std::int32_t(7)), [](auto s, auto e) {
        return std::make_pair(get<0>(s) / 2 + get<0>(e) * get<1>(e), get<1>(s) * 3 + cast<std::int32_t>(get<0>(e)));
    });
    const auto power_of_two = [](auto s, auto e) { return s * 2 + get<0>(e); };
    CHECK(float(view::zip(x, y) | gpu::fold(0.0f, power_of_two)) == float(x | gpu::fold(0.0f, [](auto s, auto e) { return s * 2 + e; })));
    float first = 0;
    std::int32_t second = 7;
    for (std::size_t i = 0; i < hx.size(); ++i) first = first / 2 + hx[i] * hy[i], second = second * 3 + std::int32_t(hx[i]);
    CHECK(same(float(get<0>(both)), first) && eval(get<1>(both)) == second);
}

static void lines() {
    const gpu_matrix<float> m{{1, 2, 3}, {5, 4, 0}}, n{{1, 1, 1}, {1, 2, 3}}, none(2, 0);
    const auto rows = reduce_rows(std::forward_as_tuple(m, m * n), std::make_tuple(0, 0), add{});
    CHECK(same(vector_of(get<0>(rows)), {6, 9}) && same(vector_of(get<1>(rows)), {6, 13}) && kernels(get<1>(rows)) == 1);
    const auto [sums, squares] = eval(reduce_cols(std::forward_as_tuple(m, m * m), std::make_tuple(0, 0), add{}));
    CHECK(same(sums.to_host(), {6, 6, 3}) && same(squares.to_host(), {26, 20, 9}));
    CHECK(same(vector_of(reduce_rows(m, 1, [](auto a, auto b) { return a * b; })), {6, 0}));
    CHECK(same(vector_of(get<1>(reduce_rows(std::tie(none, none), std::make_tuple(3, 4), add{}))), {4, 4}));
    const gpu_matrix<float> other(3, 2);
    CHECK_THROWS(AGPU_ERROR_SHAPE, "v1", eval(get<0>(reduce_rows(std::tie(m, other), std::make_tuple(0, 0), add{}))));
    // equal programs are one, but the line is that of this call
    const gpu_vector<double> x{1, 2}, y{1, 2, 3};
    const auto line = "tuples.cpp:" + std::to_string(__LINE__ + 1);
    const auto both = reduce(std::tie(x, y), std::make_tuple(0, 0), add{});
    CHECK_THROWS(AGPU_ERROR_SHAPE, "reduce: v0, v1", eval(both));
    CHECK_THROWS(AGPU_ERROR_SHAPE, line, eval(both));
}

static void extremes() {
    const float nan = NAN, inf = INFINITY;
    const gpu_vector<float> x{3, -0.0f, 0, 7, 7}, none, nans{1, nan, -5, nan}, infinite{inf, inf}, low{-inf, -inf};
    CHECK(eval(argmin(x)) == 1 && eval(argmax(x)) == 3 && eval(argmin(none)) == -1 && eval(argmax(none)) == -1);
    CHECK(eval(argmin(nans)) == 1 && eval(argmax(nans)) == 1 && eval(argmin(infinite)) == 0 && eval(argmax(low)) == 0);
    CHECK(eval(argmin(reverse(x))) == 2 && eval(argmax(x | view::stride(3))) == 1 && kernels(argmin(x * x)) == 1);
    const gpu_vector<std::uint8_t> bytes(std::vector<std::uint8_t>{255, 255, 0, 0});
    CHECK(eval(argmin(bytes)) == 2 && eval(argmax(bytes)) == 0);
    const gpu_vector<half> halves{half(2), half(1)};
    CHECK(eval(argmin(halves)) == 1 && float(eval(mean(halves))) == 1.5f);
    const floats many = numbers(20000, 3);
    const gpu_vector<float> large(many);
    const auto [value, at_place] = eval(std::make_tuple(min(large), argmin(large)));
    CHECK(same(value, many[std::size_t(at_place)]) && at_place == std::min_element(many.begin(), many.end()) - many.begin());
    const auto [least, greatest] = eval(minmax(x));
    CHECK(least == 0 && greatest == 7 && kernels(get<0>(minmax(x)), get<1>(minmax(x)), argmin(x), mean(x)) == 1);
    const auto [no_least, no_greatest] = eval(minmax(none));
    CHECK(no_least == inf && no_greatest == -inf);
    CHECK(float(mean(x)) == 3.4f && std::isnan(float(mean(none))) && same(float(mean(large)), float(sum(large) / 20000)));
    const gpu_matrix<float> m{{3, 1, 1}, {2, 4, 0}}, empty(2, 0);
    CHECK(eval(argmin(m)) == 5 && eval(argmax(m)) == 4 && float(mean(m)) == float(11.0f / 6));
    CHECK((places_of(argmin_rows(m)) == places{1, 2}) && (places_of(argmax_rows(m)) == places{0, 1}));
    CHECK((places_of(argmin_cols(m)) == places{1, 0, 1}) && (places_of(argmax_cols(m)) == places{0, 1, 0}));
    CHECK((places_of(argmin_rows(empty)) == places{-1, -1}));
    CHECK(same(vector_of(get<0>(minmax_rows(m))), {1, 0}) && same(vector_of(get<1>(minmax_rows(m))), {3, 4}));
    CHECK(same(vector_of(get<0>(minmax_cols(m))), {2, 1, 0}) && same(vector_of(get<1>(minmax_cols(m))), {3, 4, 1}));
    CHECK(same(vector_of(mean_rows(m)), {float(5.0f / 3), 2}) && same(vector_of(mean_cols(m)), {2.5f, 2.5f, 0.5f}));
}

static void results() {
    const gpu_vector<float> x{3, -1, 4}, y{1, 2, 3};
    const auto both = map([](auto u, auto v) { return std::make_tuple(u + v, std::make_pair(cast<int>(u) * 2, true)); }, x, y);
    const auto [sums, rest] = eval(both);
    CHECK(same(sums.to_host(), {4, 1, 7}) && (get<0>(rest).to_host() == std::vector<int>{6, -2, 8}) && get<1>(rest).to_host()[2]);
    CHECK(kernels(get<0>(both), get<0>(get<1>(both))) == 1);
    const auto [squares] = eval(generate(4, [](auto i) { return std::make_tuple(i * i); }));
    CHECK((squares.to_host() == places{0, 1, 4, 9}));
    const auto [rows, products] = eval(generate(2, 3, [](auto i, auto j) { return std::make_pair(i, cast<float>(i * j)); }));
    CHECK(rows.rows() == 2 && (rows.to_host() == places{0, 0, 0, 1, 1, 1}) && same(products.to_host(), {0, 0, 0, 0, 1, 2}));
}

static void layouts() {
    // views with strides, transposed matrices, results in the place of what they are computed from
    const floats hx = numbers(5001, 7);
    gpu_vector<float> x(hx);
    const auto odd = subview(x, 1, 5001, 2), even = subview(x, 0, 5000, 2);
    const auto [s, t] = eval(reduce(std::tie(odd, even), std::make_tuple(0, 0), add{}));
    CHECK(same(s, float(sum(odd))) && same(t, float(sum(even))) && eval(argmin(odd)) == eval(argmin(gpu_vector<float>(odd))));
    const gpu_matrix<float> m(numbers(67 * 70, 8), 67, 70);
    CHECK(places_of(argmin_rows(m.view().transpose())) == places_of(argmin_cols(m)) && places_of(argmax_cols(transpose(m))) == places_of(argmax_rows(m)));
    const auto [rows, squares] = eval(reduce_rows(std::forward_as_tuple(m.view().transpose(), transpose(m * m)), std::make_tuple(0, 0), add{}));
    CHECK(same(rows.to_host(), vector_of(sum_cols(m))) && same(squares.to_host(), vector_of(sum_cols(m * m))));
    gpu_vector<float> y(numbers(5001, 9));
    const floats hy = y.to_host();
    gpu::tie(x, y) = if_else(x < y, std::tie(x, y), std::tie(y, x));
    const floats low = x.to_host(), high = y.to_host();
    bool sorted = true;
    for (std::size_t i = 0; i < hx.size(); ++i) sorted = sorted && low[i] == std::min(hx[i], hy[i]) && high[i] == std::max(hx[i], hy[i]);
    CHECK(sorted);
    const agpu_buffer *there = x.c_buffer();
    x = map([](auto v) { return loop_for(2, v, [](auto i, auto u) { return u + cast<float>(i); }); }, x);
    CHECK(x.c_buffer() == there && same(x.to_host()[17], low[17] + 0 + 1));
}

static void choices() {
    const gpu_vector<float> x{1, -2, 3};
    CHECK(same(vector_of(if_else(x > 0, x, 0)), {1, 0, 3}) && same(vector_of(map([](auto v) { return if_else(v > 0, v, -v); }, x)), {1, 2, 3}));
    const auto [low, high] = eval(if_else(x > 0, std::make_tuple(-x, std::tie(x)), std::make_pair(+x, std::make_tuple(-x))));
    CHECK(same(low.to_host(), {-1, -2, -3}) && same(get<0>(high).to_host(), {1, 2, 3}));
    // what is not taken leaves no record
    CHECK(same(vector_of(map([&x](auto i) { return if_else(i < 3, at(x, i), 0); }, gpu_vector<int>{0, 5})), {1, 0}));
    CHECK(if_else(true, 1, 2) == 1);
    // functions for longer values
    const auto [q, r] = eval(map([](auto a, auto b) {
        return if_else(b == 0, [&] { return std::make_tuple(0, a); }, [&] { return std::make_tuple(a / b, a % b); });
    }, gpu_vector<int>{7, 7}, gpu_vector<int>{2, 0}));
    CHECK((q.to_host() == std::vector<int>{3, 0}) && (r.to_host() == std::vector<int>{1, 7}));
}

int main() {
    reductions();
    ordered_reductions();
    bits();
    folds();
    lines();
    extremes();
    results();
    layouts();
    choices();
    std::printf("tuples: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures;
}
