// What authors are told when sizes do not fit: the word that they wrote, the sizes, and their line.
#include "check.hpp"
#include <arraygpu/views.hpp>

using namespace arraygpu;
namespace view = arraygpu::views;
using std::make_tuple;
using floats = std::vector<float>;
using places = std::vector<std::int64_t>;

// The statement of this line fails with these words and this line; with its column where compilers say columns.
#define SAYS(text, ...)                                                                                                           \
    do {                                                                                                                          \
        CHECK_THROWS(AGPU_ERROR_SHAPE, text, __VA_ARGS__);                                                                        \
        CHECK_THROWS(AGPU_ERROR_SHAPE, "messages.cpp:" + std::to_string(__LINE__) + (ARRAYGPU_COLUMN ? ":" : ")"), __VA_ARGS__);  \
    } while (false)

static const auto add = [](auto a, auto b) { return a + b; };
static const auto add_both = [](auto a, auto b) { return make_tuple(std::get<0>(a) + std::get<0>(b), std::get<1>(a) + std::get<1>(b)); };
static const auto is_positive = [](auto v) { return v > 0; };

struct arrays {
    gpu_vector<float> one{1}, three{1, 2, 3}, other{4, 5, 6}, four{1, 2, 3, 4}, none{floats{}};
    gpu_vector<std::int64_t> to{places{0, 1, 2, 3}}, no_offsets{places{}};
    gpu_matrix<float> wide{{1, 2, 3}, {4, 5, 6}}, large{gpu_matrix<float>(floats(16, 1.0f), 4, 4)};
    gpu_tensor3<float> two_planes{floats(8, 1.0f), 2, 2, 2}, three_planes{floats(12, 1.0f), 3, 2, 2};
};

/// Operators have no line of their own.
static void elements(const arrays &a) {
    gpu_vector<float> r;
    CHECK_THROWS(AGPU_ERROR_SHAPE, "operator +: v0, v1: the lengths 3 and 4 differ", r = a.three + a.four);
    CHECK_THROWS(AGPU_ERROR_SHAPE, "operator *: v0, v1: the lengths 3 and 4 differ", r = a.three * a.four + a.one);
    CHECK_THROWS(AGPU_ERROR_SHAPE, "operator +: v1, v2: the lengths 3 and 4 differ", r = a.three * (2 * a.other) + a.four);
    CHECK_THROWS(AGPU_ERROR_SHAPE, "operator /: v1, v2: the lengths 3 and 4 differ", r = a.three - a.other / a.four);
    CHECK_THROWS(AGPU_ERROR_SHAPE, "operator -: v0, v1", r = exp(a.three) - a.four / 2);
    CHECK_THROWS(AGPU_ERROR_SHAPE, "operator %: v0, v1", r = a.three % a.four);
    CHECK_THROWS(AGPU_ERROR_SHAPE, "operator &&: v0, v1", eval(a.three > 0 && a.four > 0));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "min: v0, v1", r = min(a.three, a.four));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "clamp: v0, v1", r = clamp(a.three, 0, a.four));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "fma: v0, v1", r = fma(a.three, a.three, a.four));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "mul_add: v0, v1", r = mul_add(a.three, a.three, a.four));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "where: v0, v1", r = where(a.three > 0, a.three, a.four));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "hypot: v0, v1", r = hypot(a.three, a.four));
    // what needs the elements has a line, and is not what is wrong
    SAYS("operator +: v0, v1", eval(sum(a.three + a.four)));
    SAYS("operator +: v0, v1", eval(sort(a.three + a.four)));
    SAYS("map: v0, v1", eval(sum(map(add, a.three, a.four))));
}

static void joined(const arrays &a) {
    const auto both = make_tuple(+a.three, +a.four);
    const auto zeros = make_tuple(0.0f, 0.0f);
    SAYS("dot: v0, v1: the lengths 3 and 4 differ", eval(dot(a.three, a.four)));
    SAYS("map: rows of v0, v1: the lengths 2 and 4 differ", eval(map(add, a.wide, a.large)));
    SAYS("reduce: v0, v1", eval(reduce(both, zeros, add_both)));
    SAYS("fold: v0, v1", eval(fold(both, 0.0f, [](auto s, auto e) { return s + std::get<0>(e) * std::get<1>(e); })));
    SAYS("reduce_noncommutative: v0, v1", eval(reduce_noncommutative(both, zeros, add_both)));
    SAYS("inclusive_scan: v0, v1", eval(inclusive_scan(both, zeros, add_both)));
    SAYS("exclusive_scan: v0, v1", eval(exclusive_scan(both, zeros, add_both)));
    SAYS("segmented_reduce: v0, v1", eval(segmented_reduce(both, a.to, zeros, add_both)));
    const auto matrices = make_tuple(+a.wide, +a.large);
    SAYS("reduce_rows: rows of v0, v1: the lengths 2 and 4 differ", eval(reduce_rows(matrices, zeros, add_both)));
    SAYS("inclusive_scan_cols: rows of v0, v1", eval(inclusive_scan_cols(matrices, zeros, add_both)));
    SAYS("dot: v0, v1: the lengths 3 and 4 differ", eval(map_rows([&](auto row) { return dot(row, a.four); }, a.wide)));
    // columns of the left factor, rows of the right one
    SAYS("matmul: columns of v0, rows of v1: the lengths 3 and 4 differ", eval(matmul(a.wide, a.large)));
    SAYS("matmul: columns of v0, rows of v0: the lengths 3 and 2 differ", eval(matmul(a.wide, a.wide)));
    SAYS("matmul of planes: v0, v1: the lengths 2 and 3 differ", eval(matmul(a.two_planes, a.three_planes)));
    SAYS("sort_by_key: v0, v1: the lengths 3 and 4 differ", eval(sort_by_key(a.three, a.four)));
    SAYS("filter: v0, v1", filter(both, [](auto x, auto y) { return x > y; }).to_vector());
    SAYS("partition: v0, v1", eval(partition(both, [](auto x, auto y) { return x < y; })));
    SAYS("reduce_by_key: v1, v0: the lengths 4 and 3 differ", std::get<1>(reduce_by_key(a.to, a.three, 0)).to_vector());
    SAYS("scatter: v0, v1: the lengths 4 and 3 differ", eval(scatter(a.three, 5, a.to, 0)));
    SAYS("scatter_reduce: v1, v0: the lengths 4 and 3 differ", eval(scatter_reduce(a.three, 5, unordered(a.to), 0)));
}

static void parts(const arrays &a) {
    SAYS("slice of v0: s0: the slice stops at 5, past the length 3", eval(slice(a.three, 1, 5)));
    SAYS("the stride is 0, it must be 1 or more", eval(slice(a.three, 0, 3, 0)));
    SAYS("slice_rows of v0: s0: the slice stops at 3, past the length 2", eval(slice_rows(a.wide, 0, 3)));
    SAYS("slice_cols of v0: the slice stops at 1, before its start 2", eval(slice_cols(a.wide, 2, 1)));
    SAYS("row of v0: s0: the index 2 is outside of the length 2", eval(row(a.wide, 2)));
    SAYS("col of v0: s0: the index -1 is negative", eval(col(a.wide, -1)));
    SAYS("plane of v0: s0: the index 2 is outside of the length 2", eval(plane(a.two_planes, 2)));
    SAYS("padded of v0: s0: the margin -1 is negative", eval(padded(a.three, -1, 0, boundary::clamp)));
    SAYS("with_slice of v0: the part stops at 5, past the length 3", eval(with_slice(a.three, 1, a.four)));
    SAYS("with_block of v0: s0: the part starts at -1, below 0", eval(with_block(a.wide, -1, 0, a.wide)));
    SAYS("windows(5): the array has 3 elements", windows(a.three, 5));
    SAYS("windows(2): the array has 1 element", windows(a.one, 2));
    SAYS("weighted_sum(4): the array has 3 elements", weighted_sum(a.three, floats{1, 2, 3, 4}));
    const auto kept = filter(a.three, is_positive);
    SAYS("with_len of v0: s1: 5 elements cannot be kept of 3", eval(kept.with_len(5)));
    SAYS("with_len of v0: the number of elements is -1, below 0", eval(kept.with_len(-1)));
    CHECK_THROWS(AGPU_ERROR_RECORD, "with_len: the number of elements that are kept is 3, not 1", eval(kept.with_len(1)));
    SAYS("segmented_inclusive_scan of v1: there are 0 offsets", eval(segmented_inclusive_scan(a.three, a.no_offsets, 0)));
}

static void lengths(const arrays &a) {
    SAYS("iota: s0: the length -1 is negative", eval(iota(-1)));
    SAYS("repeat: s0: the length -1 is negative", eval(repeat(1.0f, -1)));
    SAYS("generate: s0: the length -1 is negative", eval(generate(-1, [](auto i) { return i; })));
    SAYS("spread_rows: s0: the length -1 is negative", eval(spread_rows(a.three, -1)));
    SAYS("histogram: s0: the length -1 is negative", eval(histogram(a.to, -1)));
    const auto twice = [](auto x) { return x * 2; };
    SAYS("iterate: s0: the number of steps is -1, it must be 0 or more", eval(iterate(-1, a.three, twice)));
    // the same program, by another word in another line
    SAYS("iterate_indexed: s0: the number of steps is -1", eval(iterate_indexed(-1, a.three, [](auto, auto x) { return x * 2; })));
    SAYS("iterate_collect: s0: the number of steps is -1", eval(iterate_collect(-1, a.three, twice)));
    SAYS("iterate_while: s0", eval(iterate_while(-1, a.three, [](auto x) { return sum(x) < 9; }, twice).check_every(1)));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "iterate_collect: the state before and after a step: the lengths always differ",
                 eval(iterate_collect(1, a.three, [](auto x) { return slice(x, 1, 3); })));
}

static void ranges(arrays &a) {
    CHECK_THROWS(AGPU_ERROR_SHAPE, "zip: view 0 has 3 elements, view 1 has 4", view::zip(a.three, a.four));
    gpu_vector<float> out;
    SAYS("transform: view 0 has 1 element, view 1 has 4", transform(a.one, a.four, out, add));
    SAYS("take: from 0 to -1 by 1 of 3 elements", a.three | view::take(-1));
    SAYS("stride: from 0 to 1 by 0 of 1 element", a.one | view::stride(0));
    SAYS("slice: to 9 of a view of 1 element", a.one | view::slice(0, 9));
    SAYS("chunk: a view of 3 elements is no whole number of chunks of 2", a.three | view::chunk(2));
    SAYS("repeat: -1 times", view::repeat(1.0f, -1));
    SAYS("take: from 0 to -1 by 1 of 4 elements", a.four | actions::take(-1));
    gpu_vector<float> list;
    CHECK_THROWS(AGPU_ERROR_SHAPE, "1 result of 2 expressions", tie(list) = (std::vector{+a.three, +a.four}));
}

int main() {
    arrays a;
    elements(a);
    joined(a);
    parts(a);
    lengths(a);
    ranges(a);
    std::printf("messages: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures;
}
