// What goes on with the elements that a filter keeps: functions of several vectors, scans, filters of what is kept, runs, vectors of a known number.
#include "check.hpp"
#include "numbers.hpp"
#include <arraygpu/views.hpp>

using namespace arraygpu;
using std::get;
using floats = std::vector<float>;
using whole = std::vector<std::int64_t>;

struct weighed {
    float value;
    std::int32_t weight;
};
AGPU_RECORD(weighed, value, weight)

static const auto is_positive = [](auto v) { return v > 0; };
static const auto add = [](auto a, auto b) { return a + b; };

/// The elements that a condition keeps, on the host.
template <class T, class F> static std::vector<T> kept_of(const std::vector<T> &all, F keeps) {
    std::vector<T> some;
    for (const T &one : all)
        if (keeps(one)) some.push_back(one);
    return some;
}

static void functions() {
    for (const std::size_t n : {0u, 1u, 70u, 5000u}) {
        const floats host = some_numbers(n);
        const gpu_vector<float> x(host);
        const floats want = kept_of(host, [](float v) { return v > 0; });
        const auto kept = filter(x, is_positive);
        // places beside the elements, and their partial sums
        const auto beside = map([](auto v, auto i, auto s) { return std::make_tuple(v - cast<float>(i), s); }, kept, kept.indices(), inclusive_scan(kept, 0.5f));
        const auto [shifted, sums] = beside.to_vector();
        const gpu_vector<float> alone(want), scanned = inclusive_scan(alone, 0.5f);
        CHECK(same(sums.to_host(), scanned.to_host()) && shifted.size() == want.size());
        for (std::size_t i = 0, k = 0; i < n; ++i)
            if (host[i] > 0) {
                CHECK(shifted.to_host()[k] == host[i] - float(i));
                ++k;
                if (k == 20) break;
            }
        CHECK(same(inclusive_scan(kept, 1.0f, [](auto a, auto b) { return max(a, b); }).to_host(),
                   gpu_vector<float>(inclusive_scan(alone, 1.0f, [](auto a, auto b) { return max(a, b); })).to_host()));
    }
    const gpu_vector<float> x{3, -1, 2, 5, -4};
    const auto kept = filter(x, is_positive), other = filter(x, is_positive);
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "map: these elements are kept by two filters", map(add, kept, other));
    // of tuples a function takes the tuple beside others, and the components alone
    const auto pairs = filter(std::make_tuple(+x, x * 2), [](auto a, auto) { return a > 0; });
    CHECK(same(map([](auto pair, auto i) { return get<0>(pair) * get<1>(pair) + cast<float>(i); }, pairs, pairs.indices()).to_host(), {18, 10, 53}));
    CHECK(same(map([](auto a, auto b) { return a - b; }, pairs).to_host(), {-3, -2, -5}));
}

static void filters_of_filters() {
    const gpu_vector<std::int64_t> x(whole{4, 0, 3, 6, 0, 12});
    // the second condition is not computed where the first one does not hold
    const auto kept = filter(filter(x, [](auto v) { return v != 0; }), [](auto v) { return 12 / v < 4; });
    CHECK(kept.to_host() == whole({4, 6, 12}) && kept.indices().to_host() == whole({0, 3, 5}) && std::int64_t(kept.count()) == 3);
    CHECK(std::int64_t(reduce(kept, 100, add)) == 122);
    // what is left out is not computed: its quotient would leave a record
    const gpu_vector<std::int64_t> by{2, 0, 3};
    const auto quotients = filter(std::make_tuple(12 / by, +by), [](auto, auto d) { return d != 0; });
    const auto both = [](auto a, auto b) { return std::make_tuple(std::get<0>(a) + std::get<0>(b), std::get<1>(a) + std::get<1>(b)); };
    CHECK(std::get<0>(eval(reduce(quotients, std::make_tuple(0, 0), both))) == 10);
    CHECK_THROWS(AGPU_ERROR_RECORD, "kept.cpp:" + std::to_string(__LINE__), filter(x, [](auto v) { return 12 / v < 4; }).to_host());
    const std::vector<weighed> host{{1, 5}, {-2, 4}, {3, 1}, {4, 3}};
    const auto heavy = filter(filter(gpu_vector<weighed>(host), [](auto w) { return w.value > 0; }), [](auto w) { return w.weight > 1; });
    CHECK(heavy.to_host().size() == 2 && heavy.to_host()[1].value == 4 && heavy.indices().to_host() == whole({0, 3}));
    const auto nothing = filter(filter(x, [](auto v) { return v > 99; }), is_positive);
    CHECK(nothing.to_host().empty());
}

static void runs() {
    const gpu_vector<std::int32_t> x(std::vector<std::int32_t>{5, 0, 5, 7, 0, 0, 7, 5});
    const auto kept = filter(x, [](auto v) { return v != 0; });
    CHECK(unique(kept).to_host() == std::vector<std::int32_t>({5, 7, 5}));
    const auto [values, counts] = run_lengths(kept);
    CHECK(values.to_host() == std::vector<std::int32_t>({5, 7, 5}) && counts.to_host() == whole({2, 2, 1}) && values.indices().to_host() == whole({0, 3, 7}));
    // runs of what is kept, of which something else is reduced
    const gpu_vector<float> weights{1, 100, 2, 4, 100, 100, 8, 16};
    const auto both = filter(std::make_tuple(+x, +weights), [](auto v, auto) { return v != 0; });
    const auto keys = map([](auto v, auto) { return v; }, both);
    const auto [groups, sums] = reduce_by_key(keys, map([](auto, auto w) { return w; }, both), 0.5f, add);
    CHECK(groups.to_host() == std::vector<std::int32_t>({5, 7, 5}) && same(sums.to_host(), {3.5f, 12.5f, 16.5f}));
    // without a function it is the sum, as of vectors
    CHECK(same(std::get<1>(reduce_by_key(keys, map([](auto, auto w) { return w; }, both), 0.5f)).to_host(), {3.5f, 12.5f, 16.5f}));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "reduce_by_key: these elements are kept by two filters", reduce_by_key(keys, kept, 0, add));
    CHECK(unique(filter(gpu_vector<float>(), is_positive)).to_host().empty());
}

static void known_numbers() {
    const gpu_vector<float> x{3, -1, 2, 5, -4}, w{1, 10, 100};
    const auto kept = filter(x, is_positive);
    const gpu_vector<float> three = kept.with_len(3);
    CHECK(same(three.to_host(), {3, 2, 5}) && float(dot(kept.with_len(3), w)) == 523);
    CHECK_THROWS(AGPU_ERROR_RECORD, "with_len: the number of elements that are kept is 3, not 2", eval(kept.with_len(2)));
    CHECK_THROWS(AGPU_ERROR_RECORD, "with_len: the number of elements that are kept is 3, not 4", eval(kept.with_len(4)));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "6 elements cannot be kept of 5", eval(kept.with_len(6)));
    CHECK_THROWS(AGPU_ERROR_RECORD, "with_len: the number of elements that are kept is 3, not 0", eval(kept.with_len(0)));
    CHECK(gpu_vector<float>(filter(x, [](auto v) { return v > 9; }).with_len(0)).empty());
    const auto [values, places] = eval(filter(std::make_tuple(+x, iota(5)), [](auto v, auto) { return v > 0; }).with_len(3));
    CHECK(same(values.to_host(), {3, 2, 5}) && places.to_host() == whole({0, 2, 3}));
    const gpu_vector<weighed> all(std::vector<weighed>{{1, 5}, {-2, 4}});
    const gpu_vector<weighed> one = filter(all, [](auto e) { return e.value < 0; }).with_len(1);
    CHECK(one.to_host()[0].weight == 4);
    // of a vector whose length is computed with it
    const gpu_vector<std::int64_t> where{0, 3, 1, 2};
    const expr<std::int64_t> five = 5;
    const auto placed = scatter(gpu_vector<float>{1, -2, 3, 4}, five, where, 0.0f);
    const auto some = filter(placed, [](auto v) { return v > 0; });
    CHECK(same(map([](auto v) { return 2 * v; }, some).to_host(), {2, 6, 8}) && float(reduce(some, 0.0f)) == 8);
    CHECK(same(inclusive_scan(some, 0.0f).to_host(), {1, 4, 8}) && same(filter(some, [](auto v) { return v > 1; }).to_host(), {3, 4}));
    CHECK(same(unique(some).to_host(), {1, 3, 4}));
}

/// The same words behind what `views::filter` keeps.
static void piped() {
    const auto larger = [](auto a, auto b) { return max(a, b); };
    for (const std::size_t n : {0u, 1u, 70u, 5000u}) {
        const floats host = some_numbers(n);
        const gpu_vector<float> x(host), alone(kept_of(host, [](float v) { return v > 0; }));
        const auto kept = x | views::filter(is_positive);
        CHECK(same((kept | views::inclusive_scan(0.5f, add)).to_host(), gpu_vector<float>(inclusive_scan(alone, 0.5f, add)).to_host()));
        CHECK(same((kept | views::exclusive_scan(0.5f, add)).to_host(), gpu_vector<float>(exclusive_scan(alone, 0.5f, add)).to_host()));
        CHECK(same(exclusive_scan(kept, 2).to_host(), gpu_vector<float>(exclusive_scan(alone, 2)).to_host()));
        const float grown = kept | views::inclusive_scan(0.0f, larger) | reduce(0.0f, add), want = reduce(inclusive_scan(alone, 0.0f, larger), 0.0f, add);
        CHECK(grown == want);
        const auto whole_numbers = kept | views::transform([](auto v) { return floor(v); });
        CHECK(same((whole_numbers | views::unique).to_host(), unique(floor(alone)).to_host()));
        CHECK(same((kept | views::filter([](auto v) { return v > 1; })).to_host(), filter(alone, [](auto v) { return v > 1; }).to_host()));
    }
    const gpu_vector<float> x{3, -1, 3, -5, 3, 4, -2, 4};
    CHECK(same((x | views::filter(is_positive) | views::unique | views::exclusive_scan(10.0f, add)).to_host(), {10, 13}));
    const auto pairs = views::zip(x, x | views::transform([](auto v) { return 2 * v; })) | views::filter([](auto v, auto) { return v < 0; });
    const auto both = [](auto a, auto b) { return std::make_tuple(get<0>(a) + get<0>(b), get<1>(a) + get<1>(b)); };
    const auto [sums, doubled] = (pairs | views::inclusive_scan(std::make_tuple(0, 0), both)).to_vector();
    CHECK(same(sums.to_host(), {-1, -6, -8}) && same(doubled.to_host(), {-2, -12, -16}));
    const auto [before, behind] = (pairs | views::exclusive_scan(std::make_tuple(1, 2), both)).to_vector();
    CHECK(same(before.to_host(), {1, 0, -5}) && same(behind.to_host(), {2, 0, -10}));
    // in place, the vector has the size of what is left
    gpu_vector<float> in_place{3, -1, 3, 4};
    in_place | actions::filter(is_positive) | actions::unique | actions::inclusive_scan(0.0f, add);
    CHECK(same(in_place.to_host(), {3, 7}));
}

int main() {
    functions();
    piped();
    filters_of_filters();
    runs();
    known_numbers();
    std::printf("kept: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures;
}
