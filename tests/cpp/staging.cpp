// Staged values: numbers of the host that become a part of programs.
#include "check.hpp"
#include <arraygpu/expr.hpp>
#include <climits>
#include <string>
#include <type_traits>

using namespace arraygpu;

static_assert(std::is_same_v<decltype(stage(2) * 3), staged<int>>);
static_assert(std::is_same_v<decltype(stage(2.0f) + stage(1)), staged<float>>);
static_assert(std::is_same_v<decltype(stage(2) < 3), staged<bool>>);
static_assert(std::is_same_v<decltype(stage(2) * std::declval<expr<float, 1>>()), expr<float, 1>>);
static_assert(stage(7) / 2 == 3 && int(-stage(7)) == -7);
static_assert(std::is_same_v<decltype(cast<float>(stage(7))), staged<float>> && cast<int>(stage(2.5)) == 2);

// staged and plain numbers stand where numbers may
static void numbers() {
    const gpu_vector<float> v{0.25f, 2};
    const auto is = [](const auto &e, const auto &expected) { return eval(e).to_host() == expected; };
    CHECK(is(repeat(stage(1.0f), 2) + v, std::vector<float>{1.25f, 3}));
    CHECK(is(select(v > 1, stage(1), stage(2)), std::vector<int>{2, 1}) && is(where(v > 1, stage(1), 2), std::vector<int>{2, 1}));
    CHECK(is(if_else(v > 1, 1, stage(2)), std::vector<int>{2, 1}));
    CHECK(is(clamp(0.5f, 0.0f, v), std::vector<float>{0.25f, 0.5f}) && is(clamp(stage(0.5f), v, 1.0f), std::vector<float>{0.5f, 1}));
    static_assert(std::is_same_v<decltype(select(true, stage(1), 2.5f)), staged<float>> && std::is_same_v<decltype(select(true, 1, 2.5f)), float>);
    CHECK(select(stage(2) > 1, stage(1), 2).value() == 1 && select(false, 1, 2) == 2 && where(true, 1, 2.5) == 1);
}

int main() {
    numbers();
    const gpu_vector<float> v{1, 2, 3};
    const auto n = stage(v.size());
    CHECK(n == 3u && stage([&] { return v.size() * 2; }) == 6u);
    const auto even = stage([](auto x) { return x % 2 == 0; }, n + 1);
    static_assert(std::is_same_v<decltype(even), const staged<bool>>);
    CHECK(bool(even));
    int turns = 0;
    for (std::size_t i = 0; i < n; ++i) ++turns;
    CHECK(turns == 3);
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "divided by 0", stage(7) / (n - 3u));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "divided by 0", stage(7) % stage(0));
    CHECK(int(stage(INT_MIN) / stage(-1)) == INT_MIN && int(stage(INT_MIN) % -1) == 0 && int(stage(-7) / 2) == -3);

    // embedded: the program says it, and is another for another value
    const auto fused = [&](auto x) { return program_text(v * x, "fused"); };
    CHECK(fused(stage(2.5f)).find("2.5f32") != std::string::npos && fused(2.5f).find("2.5f32") == std::string::npos);
    CHECK(fused(stage(2.5f)) != fused(stage(3.5f)) && fused(2.5f) == fused(3.5f));
    CHECK((eval(v * n).to_host() == std::vector<float>{3, 6, 9}));
    CHECK((eval(v * (n / 2)).to_host() == std::vector<float>{1, 2, 3}));

    // a loop of staged length, and one that C++ unrolls
    const auto power = [&](const auto &k) {
        return eval(map([&](auto x) { return loop_for(k, 1.0f, [&](auto, auto p) { return p * x; }); }, v)).to_host();
    };
    CHECK((power(stage(3)) == std::vector<float>{1, 8, 27} && power(3) == power(stage(3))));
    const auto unrolled = map(
        [&](auto x) {
            expr<float> p = 1.0f;
            for (std::size_t i = 0; i < n; ++i) p *= x;
            return p;
        },
        v);
    CHECK(eval(unrolled).to_host() == power(3));
    const std::string straight = program_text(unrolled, "fused");
    CHECK(straight.find("fold") == std::string::npos);
    // the compiler unrolls the staged loop: it is the same program
    CHECK(program_text(map([&](auto x) { return loop_for(stage(3), 1.0f, [&](auto, auto p) { return p * x; }); }, v), "fused") == straight);
    std::printf("staging: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures;
}
