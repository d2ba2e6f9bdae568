// Iterations of C++ expressions against the same functions of a package, to the bit: states, numbers of steps, conditions, collected states, errors.
#include "../check.hpp"
#include "../numbers.hpp"
#include <arraygpu/views.hpp>
#include <steps.hpp>

using namespace arraygpu;
using std::get;
using floats = std::vector<float>;

template <class A, class B> static bool equal(const A &a, const B &b) { return same(a.to_host(), b.to_host()); }

// a diffusion with ends that are kept
template <class U> static auto diffused(const U &u, float c) {
    const auto n = std::int64_t(u.size());
    const auto inner = slice(u, 1, n - 1) + c * ((slice(u, 0, n - 2) + slice(u, 2, n)) - 2 * slice(u, 1, n - 1));
    return generate(n, [=](auto i) { return if_else(i == 0 || i == n - 1, at(u, i), at(inner, max(i, 1) - 1)); });
}

static void states() {
    for (const std::size_t n : {0, 1, 7, 3000}) {
        const gpu_vector<float> x(some_numbers(n)), w(floats(n, 0.75f));
        for (const std::int64_t k : {0, 1, 5}) {
            // an array; what is read from outside; a scalar that the host knows, and one that only the device knows
            const gpu_vector<float> relaxed = iterate(k, x, [&](auto u) { return w * u + 0.5f * (sum(w) - u); });
            CHECK(equal(relaxed, steps::relaxed(x, w, 0.5f, k)));
            // two states, a tuple or its components
            const auto spring = [](auto u, auto v) { return std::make_tuple(u + 0.125f * v, v - 0.125f * u); };
            const auto [u, v] = eval(iterate(k, std::tie(x, w), spring));
            const auto [p, q] = eval(iterate(k, std::make_pair(+x, +w), [&](auto s) { return spring(get<0>(s), get<1>(s)); }));
            const auto want = steps::spring(x, w, k);
            CHECK(equal(u, want.u) && equal(v, want.v) && equal(p, want.u) && equal(q, want.v));
            // the number of the step
            const gpu_vector<float> series = iterate_indexed(k, x, [](auto t, auto r) { return r * 0.5f + cast<float>(t); });
            CHECK(equal(series, steps::series(x, k)));
            // collected states
            if (k > 0) CHECK(equal(gpu_matrix<float>(iterate_collect(k, x, [](auto r) { return r * r - 0.5f; })), steps::orbit(x, k)));
        }
        // a scalar beside an array
        const auto [scaled, factor] = eval(iterate(4, std::make_tuple(+x, 1.0f), [](auto u, auto s) { return std::make_tuple(u * s, s * 0.5f + 0.25f); }));
        const auto want = steps::scaled(x, 4);
        CHECK(equal(scaled, want.u) && factor == want.s);
    }
    const gpu_vector<float> x(some_numbers(3000));
    CHECK(equal(gpu_vector<float>(iterate(9, x, [](auto u) { return diffused(u, 0.25f); })), steps::diffused(x, 9)));
    // lists of states
    const std::array<gpu_vector<float>, 3> three{gpu_vector<float>{1, 2}, gpu_vector<float>{3, 4}, gpu_vector<float>{5, 6}};
    const auto turned = iterate(2, three, [](auto s) { return std::array{s[1], s[2], s[0]}; });
    CHECK(same(gpu_vector<float>(turned[0]).to_host(), {5, 6}));
    const std::vector<expr<float, 1>> some(three.begin(), three.end());
    const auto sums = iterate(2, some, [](auto s) {
        for (std::size_t i = 1; i < s.size(); ++i) s[i] = s[i] + s[i - 1];
        return s;
    });
    CHECK(same(gpu_vector<float>(sums[2]).to_host(), {14, 20}));
    // the most states of a tuple, which go around
    const gpu_vector<float> two{1, 2};
    const auto sixteen = std::make_tuple(two + 0, two + 1, two + 2, two + 3, two + 4, two + 5, two + 6, two + 7, two + 8, two + 9, two + 10, two + 11, two + 12, two + 13, two + 14, two + 15);
    const auto around = iterate(5, sixteen, [](const auto &s) {
        return std::apply([](auto first, auto... rest) { return std::make_tuple(rest..., first); }, s);
    });
    CHECK(same(gpu_vector<float>(get<0>(around)).to_host(), {6, 7}) && same(gpu_vector<float>(get<15>(around)).to_host(), {5, 6}));
    // matrices; a step that only moves elements; an iteration in the step of another
    const gpu_matrix<float> m{{1, 2}, {3, 4}};
    CHECK(same(gpu_matrix<float>(iterate(3, m, [](auto a) { return transpose(a) + 1; })).to_host(), {4, 6, 5, 7}));
    const gpu_vector<float> nested = iterate(2, x, [&](auto u) { return iterate_indexed(3, u, [&](auto t, auto v) { return v + u * cast<float>(t) + x; }); });
    CHECK(equal(nested, steps::nested(x)));
    // scalars alone: Fibonacci's numbers, collected
    const auto fibonacci = iterate_collect(6, std::make_tuple(std::int64_t(0), std::int64_t(1)), [](auto a, auto b) { return std::make_tuple(b, a + b); });
    CHECK((gpu_vector<std::int64_t>(get<0>(fibonacci)).to_host() == std::vector<std::int64_t>{1, 1, 2, 3, 5, 8}));
}

static void conditions() {
    for (const std::size_t n : {1, 7, 3000}) {
        const gpu_vector<float> a(floats(n, 3.0f));
        const gpu_vector<float> x = abs(gpu_vector<float>(some_numbers(n))) + 1;
        for (const std::int64_t every : {1, 2, 5}) {
            const auto next = [&](auto u) { return 0.5f * (u + a / u); };
            const auto roots = iterate_while(100, x, [&](auto u) { return max(abs(next(u) - u)) > 1e-4f; }, next).check_every(every);
            const auto [root, count] = eval(roots);
            const auto matches = [&root = root, &count = count](const auto &want) { return equal(root, want.root) && count == want.steps; };
            CHECK(every == 1 ? matches(steps::roots1(x, a, 1e-4f)) : every == 2 ? matches(steps::roots2(x, a, 1e-4f)) : matches(steps::roots5(x, a, 1e-4f)));
        }
    }
    // it ends before the first step, and at the limit
    const gpu_vector<float> x{8, 4};
    const auto halved = [&](std::int64_t limit, float end) {
        return iterate_while(limit, x, [=](auto u) { return max(u) > end; }, [](auto u) { return u / 2; }).check_every(2);
    };
    CHECK(same(eval(get<0>(halved(9, 8))).to_host(), {8, 4}) && eval(get<1>(halved(9, 8))) == 0);
    CHECK(same(eval(get<0>(halved(3, 1))).to_host(), {1, 0.5f}) && eval(get<1>(halved(3, 1))) == 3);
    const int line = __LINE__ + 1;
    const auto endless = iterate_while(5, x, [](auto u) { return all(u > 0); }, [](auto u) { return u + 1; }).check_every(1);
    CHECK_THROWS(AGPU_ERROR_RECORD, "still holds at its limit of steps", eval(get<1>(endless)));
    CHECK_THROWS(AGPU_ERROR_RECORD, "iterations.cpp:" + std::to_string(line), eval(get<0>(endless)).to_host());
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "1 or more steps", iterate_while(5, x, [](auto) { return true; }, [](auto u) { return u; }).check_every(0));
}

static void programs() {
    // numbers, sizes and arrays are no part of a program
    gpu_vector<float> x(some_numbers(100)), y(some_numbers(3000));
    const auto damped = [](const gpu_vector<float> &v, float c, std::int64_t k) { return iterate(k, v, [&](auto u) { return c * u + 1; }); };
    CHECK(equal(gpu_vector<float>(damped(x, 0.5f, 2)), gpu_vector<float>(0.5f * (0.5f * x + 1) + 1)));
    CHECK(equal(gpu_vector<float>(damped(y, 0.25f, 1)), gpu_vector<float>(0.25f * y + 1)));
    // a function of the elements may have an iteration that does not depend on them
    const gpu_vector<float> shifted = map([&](auto v) { return v + sum(iterate(2, x, [](auto u) { return u * 0.5f; })); }, x);
    CHECK(equal(shifted, gpu_vector<float>(x + sum(x * 0.25f))));
    // results that are written over the state
    x = iterate(2, x, [](auto u) { return reverse(u) + 1; });
    CHECK(same(x.to_host(), gpu_vector<float>(gpu_vector<float>(some_numbers(100)) + 2).to_host()));
    CHECK(explain(damped(x, 0.5f, 2)).find("step") != std::string::npos);
}

static void errors() {
    const gpu_vector<float> x{1, 2, 3};
    const int line = __LINE__ + 1;
    const auto shorter = iterate(2, x, [](auto u) { return slice(u, 1, 3); });
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "iterate: the state before and after a step: the lengths always differ", eval(shorter));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "iterations.cpp:" + std::to_string(line), eval(shorter));
    const gpu_vector<float> other{1, 2};
    CHECK_THROWS(AGPU_ERROR_SHAPE, "3 and 2", eval(iterate(2, x, [&](auto) { return other * 2; })));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "2", eval(iterate(2, x, [&](auto u) { return u + other; })));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "the number of steps is -1, it must be 0 or more", eval(iterate(-1, x, [](auto u) { return u; })));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "cannot depend on the element", map([&](auto v) { return sum(iterate(2, x, [&](auto u) { return u * v; })); }, x));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "cannot depend on the element",
                 map([&](auto v) { return sum(iterate(cast<int>(v), x, [&](auto u) { return u * 2; })); }, x));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "number of steps", eval(iterate(cast<int>(sum(x)), x, [](auto u) { return u; })));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "loop_for and loop_while for loops", iterate(2, x, [](auto u) { return u * float(sum(u)); }));
    const std::vector<expr<float, 1>> two{+x, +x};
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "the step gives 1 state of 2", iterate(1, two, [](auto s) { s.pop_back(); return s; }));
}

int main() {
    states();
    conditions();
    programs();
    errors();
    std::printf("iterations: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures;
}
