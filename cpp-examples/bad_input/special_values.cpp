// Infinities, NaNs, zeros of both signs, vectors of nothing; reads out of range and divisions by zero.
#include "../common/data.hpp"
#include "../common/reference.hpp"
#include "expect.hpp"
#include <checks.hpp>
#include <examples.hpp>
#include <limits>

using vector = arraygpu::gpu_vector<float>;
using host = std::vector<float>;

static const float inf = std::numeric_limits<float>::infinity();

// The one NaN that results have: 0x7fc00000 (docs/semantics.md, 2.4).
static bool is_the_nan(float x) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits == 0x7fc00000u;
}

static float nan_with(std::uint32_t bits) {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

static void infinities_and_nans_through_sums() {
    for (const std::size_t n : {3, 130, 2050, 100003}) {
        host x = data::uniform(n, 1);
        x[n / 2] = inf;
        CHECK(checks::reductions(vector(x)).sum == inf);
        CHECK(checks::reductions(vector(x)).greatest == inf);
        x[n - 1] = -inf;
        CHECK(is_the_nan(checks::reductions(vector(x)).sum)); // inf - inf, wherever the two meet
        CHECK(checks::reductions(vector(x)).least == -inf);
        x[0] = nan_with(0xffc12345u);
        const auto all = checks::reductions(vector(x));
        CHECK(is_the_nan(all.sum) && is_the_nan(all.product) && is_the_nan(all.least) && is_the_nan(all.greatest));
        CHECK(is_the_nan(checks::in_order(vector(x))));
        CHECK(is_the_nan(examples::sdot(vector(x), vector(x))));
    }
    // also a NaN that is only moved becomes the one NaN, a signalling one without a trap
    for (const std::uint32_t bits : {0xffc12345u, 0x7f800001u, 0x7fc00000u, 0xffffffffu}) {
        const host x = {1, nan_with(bits), -0.0f};
        const host moved = checks::reversed(vector(x)).to_host();
        CHECK(check::same_bits(moved[0], -0.0f) && is_the_nan(moved[1]) && moved[2] == 1);
    }
}

static void the_order_shows() {
    // a fixed order of additions is a fixed result, whatever the parts cancel to
    const host x = {1e30f, 1, -1e30f, 1};
    CHECK(checks::reductions(vector(x)).sum == reference::sum(x));
    CHECK(checks::in_order(vector(x)) == ((1e30f + 1) + -1e30f) + 1);
    // -0 + -0 is -0, but the initial 0 joins: +0
    CHECK_EXACT_VALUE(checks::reductions(vector(host{-0.0f, -0.0f})).sum, 0.0f);
    CHECK_EXACT_VALUE(checks::reductions(vector(host{0.0f, -0.0f, 0.0f})).least, -0.0f);
    CHECK_EXACT_VALUE(checks::reductions(vector(host{-0.0f, 0.0f, -0.0f})).greatest, 0.0f);
    // subnormals stay
    CHECK_EXACT_VALUE(checks::reductions(vector(host{0x1p-149f, 0x1p-149f})).sum, 0x1p-148f);
}

static void vectors_of_nothing() {
    const vector none(0);
    const auto all = checks::reductions(none);
    CHECK_EXACT_VALUE(all.sum, 0.0f);
    CHECK(all.product == 1 && all.least == inf && all.greatest == -inf);
    CHECK(checks::in_order(none) == 0);
    CHECK(examples::sdot(none, none) == 0);
    CHECK(checks::add(none, none).size() == 0);
    CHECK(checks::twice(none).to_host().empty());
    CHECK(checks::reversed(none).size() == 0);
    CHECK(checks::pick(none, arraygpu::gpu_vector<std::int64_t>(0)).size() == 0);
    const auto above = checks::count_above(arraygpu::gpu_vector<double>(0), 1.0);
    CHECK(above.count == 0 && !above.any);
    const auto options = examples::black_scholes(none, none, none, 0.1f, 0.1f);
    CHECK(options.call.size() == 0 && options.put.size() == 0);
}

// A GPU says what happened when its results are asked for.
static void records() {
    const vector x(host{10, 20, 30});
    using indices = arraygpu::gpu_vector<std::int64_t>;
    CHECK_EXACT(checks::pick(x, indices(std::vector<std::int64_t>{2, 0, 2, 1})).to_host(), (host{30, 10, 30, 20}));
    CHECK_ERROR(AGPU_ERROR_RECORD, ({"pick"}), checks::pick(x, indices(std::vector<std::int64_t>{0, 3})).to_host());
    CHECK_ERROR(AGPU_ERROR_RECORD, ({"pick"}), checks::pick(x, indices(std::vector<std::int64_t>{0, -1})).to_host());
    CHECK_ERROR(AGPU_ERROR_RECORD, ({"pick"}), checks::pick(x, indices(std::vector<std::int64_t>{INT64_MIN, INT64_MAX})).to_host());

    using ints = arraygpu::gpu_vector<std::int32_t>;
    const std::vector<std::int32_t> a = {7, -7, INT32_MIN, 9}, b = {2, 2, -1, 3};
    CHECK_EXACT(checks::quotient(ints(a), ints(b)).to_host(), (std::vector<std::int32_t>{3, -3, INT32_MIN, 3}));
    CHECK_ERROR(AGPU_ERROR_RECORD, ({"quotient"}), checks::quotient(ints(a), ints(std::vector<std::int32_t>{1, 1, 0, 1})).to_host());
    // the next call starts afresh
    CHECK_EXACT(checks::quotient(ints(a), ints(b)).to_host(), (std::vector<std::int32_t>{3, -3, INT32_MIN, 3}));

    const auto above = checks::count_above(arraygpu::gpu_vector<double>(std::vector<double>{1, 5, NAN, 7}), 4.0);
    CHECK(above.count == 2 && above.any);
}

int main() {
    infinities_and_nans_through_sums();
    the_order_shows();
    vectors_of_nothing();
    records();
    return check::finish("special_values");
}
