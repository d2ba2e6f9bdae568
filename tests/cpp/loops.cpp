// Loops of an element: values against loops of the host, to the bit; numbers of steps, limits, states, records.
#include "check.hpp"
#include "numbers.hpp"
#include <arraygpu/views.hpp>
#include <cmath>

namespace view = arraygpu::views;
using namespace arraygpu;
using std::get;
using floats = std::vector<float>;
using counts = std::vector<std::int64_t>;

static void counted() {
    for (const std::size_t n : {0, 1, 7, 3000}) {
        const floats hx = some_numbers(n);
        const gpu_vector<float> x(hx);
        // 1 + 2x + 3x^2 .. by a recurrence; the state is a tuple or its components
        const gpu_vector<float> series = map([](auto v) {
            return get<0>(loop_for(9, std::make_tuple(0.0f, 1.0f), [&](auto i, auto s, auto p) { return std::make_tuple(s + cast<float>(i + 1) * p, p * v); }));
        }, x);
        floats want = hx;
        for (float &v : want) {
            float s = 0, p = 1;
            for (int i = 0; i < 9; ++i) s = s + float(i + 1) * p, p = p * v;
            v = s;
        }
        CHECK(same(series.to_host(), want));
        // each element has its own number of steps; of a negative one the state is the first
        const gpu_vector<float> powers = map([](auto v) {
            return loop_for(cast<int>(v * 4), v, [&](auto, auto s) { return s * v; });
        }, x);
        want = hx;
        for (float &v : want) {
            float s = v;
            for (int i = 0; i < int(v * 4); ++i) s = s * v;
            v = s;
        }
        CHECK(same(powers.to_host(), want) && kernels(map([](auto v) { return loop_for(5, v, [](auto, auto s) { return s * s; }); }, x)) == 1);
    }
    // states change at once
    const auto [a, b] = eval(loop_for(3, std::make_pair(1, 2), [](auto, auto s) { return std::make_pair(get<1>(s), get<0>(s)); }));
    CHECK(a == 2 && b == 1);
    CHECK(eval(loop_for(std::size_t(5), std::int64_t(0), [](auto i, auto s) { return s + i; })) == 10);
    CHECK(float(loop_for(stage(4), 1.0f, [](auto, auto s) { return s * 2; })) == 16 && float(loop_for(-1, 3.0f, [](auto, auto s) { return s * 2; })) == 3);
    // a loop in a loop, which reads an array
    const gpu_vector<float> table{1, 2, 3};
    const gpu_vector<float> sums = map([&](auto k) {
        return loop_for(k, 0.0f, [&](auto i, auto s) { return s + loop_for(i + 1, 0.0f, [&](auto j, auto t) { return t + at(table, j); }); });
    }, gpu_vector<std::int64_t>{0, 1, 2, 3});
    CHECK(same(sums.to_host(), {0, 1, 4, 10}));
    // as a function of the elements of views, and in a reduction
    const gpu_vector<float> tens = table | view::transform([](auto v) { return loop_for(2, v, [](auto, auto s) { return s * 10; }); });
    CHECK(same(tens.to_host(), {100, 200, 300}));
    CHECK(float(sum(map([](auto v) { return loop_for(3, v, [](auto, auto s) { return s + 1; }); }, table))) == 15);
    const auto [low, high] = eval(reduce(table | view::transform([](auto v) { return loop_for(2, std::make_tuple(v, v), [](auto, auto s, auto t) {
        return std::make_tuple(s / 2, t * 2);
    }); }), std::make_tuple(0, 0), [](auto u, auto v) { return std::make_tuple(get<0>(u) + get<0>(v), get<1>(u) + get<1>(v)); }));
    CHECK(low == 1.5f && high == 24);
    // the most states of a tuple, which go around; and as many in tuples and std::arrays of them
    const auto around = [](auto, const auto &s) {
        return std::apply([](auto first, auto... rest) { return std::make_tuple(rest..., first); }, s);
    };
    const auto from = [](auto v) { return std::make_tuple(v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7, v + 8, v + 9, v + 10, v + 11); };
    CHECK(same(gpu_vector<float>(map([&](auto v) { return get<2>(loop_for(8, from(v), around)); }, table)).to_host(), {11, 12, 13}));
    const auto nested = [](auto v) { return std::make_tuple(std::make_tuple(v, v + 1), std::array{v + 2, v + 3}, std::make_tuple(v + 4)); };
    const auto turned = [](auto, const auto &s) {
        const auto [pair, two, one] = s;
        return std::make_tuple(std::make_tuple(get<1>(pair), two[0]), std::array{two[1], get<0>(one)}, std::make_tuple(get<0>(pair)));
    };
    CHECK(same(gpu_vector<float>(map([&](auto v) { return get<1>(loop_for(3, nested(v), turned))[1]; }, table)).to_host(), {2, 3, 4}));
}

static std::int64_t steps_of(std::int64_t n) {
    std::int64_t k = 0;
    for (; n > 1; ++k) n = n % 2 ? 3 * n + 1 : n / 2;
    return k;
}

static void conditions() {
    counts from, want;
    for (std::int64_t i = 0; i < 2100; ++i) from.push_back(i), want.push_back(steps_of(i));
    const gpu_vector<std::int64_t> n(from);
    const auto collatz = [](auto first) {
        return get<1>(loop_while(
            std::make_tuple(first, std::int64_t(0)), [](auto m, auto) { return m > 1; },
            [](auto m, auto k) { return std::make_tuple(if_else((m & 1) == 0, m / 2, 3 * m + 1), k + 1); }));
    };
    CHECK(gpu_vector<std::int64_t>(map(collatz, n)).to_host() == want && kernels(map(collatz, n)) == 1);
    // greatest common divisor, with a tuple as one argument, and a truth value as a state
    const auto gcd = [](auto a, auto b) {
        const auto last = loop_while(std::make_pair(a, b), [](auto s) { return get<1>(s) != 0; }, [](auto s) { return std::make_pair(get<1>(s), get<0>(s) % get<1>(s)); });
        return get<0>(last);
    };
    CHECK((gpu_vector<int>(map(gcd, gpu_vector<int>{48, 7, 0}, gpu_vector<int>{36, 0, 5})).to_host() == std::vector<int>{12, 7, 5}));
    const auto until = loop_while(std::make_tuple(true, 0), [](auto on, auto) { return on; }, [](auto, auto k) { return std::make_tuple(k < 4, k + 1); });
    CHECK(eval(get<1>(until)) == 5 && !eval(get<0>(until)));
    // nested states
    const auto nested = loop_while_at_most(9, std::make_tuple(std::make_tuple(1.0f, 2.0f), std::int64_t(0)), [](auto, auto k) { return k < 3; },
                                           [](auto both, auto k) { return std::make_tuple(std::make_tuple(get<1>(both), get<0>(both) + get<1>(both)), k + 1); });
    CHECK(float(get<1>(get<0>(nested))) == 8);
}

static void limits() {
    const auto halve = [](auto v) { return v / 2; };
    const auto large = [](auto v) { return v > 1; };
    // as many steps as the limit are allowed; the limit may be data
    CHECK(float(loop_while_at_most(3, 8.0f, large, halve)) == 1);
    const gpu_vector<float> x{8, 16, 1};
    const gpu_vector<int> enough{3, 4, 0}, little{3, 3, 0};
    CHECK(float(loop_while_at_most(INT64_MAX, 8.0f, large, halve)) == 1);
    const auto of = [&](auto v, auto limit) { return loop_while_at_most(limit, v, large, halve); };
    CHECK(same(gpu_vector<float>(map(of, x, enough)).to_host(), {1, 1, 1}));
    // records come with what waits
    CHECK_THROWS(AGPU_ERROR_RECORD, "element 1", eval(map(of, x, little)).to_host());
    CHECK_THROWS(AGPU_ERROR_RECORD, "loops.cpp:" + std::to_string(__LINE__), eval(map([&](auto v) { return loop_while_at_most(2, v, large, halve); }, x)).to_host());
    CHECK_THROWS(AGPU_ERROR_RECORD, "loops.cpp:" + std::to_string(__LINE__), eval(loop_while(1.0f, [](auto v) { return v > 0; }, [](auto v) { return v; })));
    // where the value is not taken, no record is left
    CHECK(same(gpu_vector<float>(map([&](auto v) { return if_else(v < 16, loop_while_at_most(3, v, large, halve), 0); }, x)).to_host(), {1, 0, 1}));
    const auto traced = [](auto v) { return loop_for(3, v, [](auto, auto s) { return float(s); }); };
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "loop_for and loop_while for loops", map(traced, x));
}

// std::array as a state, and elements of it at indices that only the element knows
static void small_arrays() {
    const gpu_vector<std::int64_t> numbers{1930, 777, 122211, 0};
    const auto digits = [](auto v) {
        const auto last = loop_while(std::make_tuple(v, std::array<std::int64_t, 10>{}), [](auto m, auto) { return m > 0; }, [](auto m, auto seen) {
            return std::make_tuple(m / 10, with_at(seen, m % 10, at(seen, m % 10) + 1));
        });
        const auto seen = get<1>(last);
        return loop_for(10, std::make_pair(std::int64_t(-1), std::int64_t(-1)), [&](auto d, auto most, auto twice) {
            return std::make_tuple(if_else(at(seen, d) > 0, d, most), if_else(at(seen, d) >= 2, d, twice));
        });
    };
    const auto [most, twice] = eval(map(digits, numbers));
    CHECK((most.to_host() == counts{9, 7, 2, -1} && twice.to_host() == counts{-1, 7, 2, -1}));
    const gpu_vector<float> x{1, 2, 3};
    const auto powers = map([](auto v) { return std::array{v, v * v, v * v * v}; }, x);
    CHECK(same(gpu_vector<float>(powers[2]).to_host(), {1, 8, 27}));
    const gpu_vector<std::int64_t> which{0, 2, 1, 3};
    const auto of = [](auto k) { return at(std::array<float, 3>{5, 6, 7}, k); };
    CHECK(same(gpu_vector<float>(map(of, slice(which, 0, 3))).to_host(), {5, 7, 6}));
    CHECK_THROWS(AGPU_ERROR_RECORD, "element 3", eval(map(of, which)).to_host());
    const auto turned = loop_for(2, std::array<float, 3>{1, 2, 3}, [](auto i, auto a) { return with_at(std::array{a[1], a[2], a[0]}, i, 10 * a[0]); });
    CHECK(float(turned[0]) == 3 && float(turned[1]) == 100 && float(turned[2]) == 10);
}

// the old name, whose function takes the state first
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void old_name() {
    const gpu_vector<float> x{1, 2, 3};
    CHECK(same(gpu_vector<float>(map([](auto v) { return loop(3, v, [](auto s, auto i) { return s * 2 + cast<float>(i); }); }, x)).to_host(), {12, 20, 28}));
}
#pragma GCC diagnostic pop

int main() {
    old_name();
    small_arrays();
    counted();
    conditions();
    limits();
    std::printf("loops: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures;
}
