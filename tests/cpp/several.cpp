// Several results of one run, however they are put together: tuples, pairs, arrays and lists of expressions, also those that iterations give.
#include "check.hpp"
#include <arraygpu/views.hpp>

namespace gpu = arraygpu;
using std::get;
using floats = std::vector<float>;
using on_device = gpu::gpu_vector<float>;

static void of_the_host() {
    const on_device x{1, 2, 3}, y{4, 5, 6};
    on_device a, b;
    gpu::tie(a, b) = std::make_pair(x + y, x - y);
    CHECK(a.to_host() == floats({5, 7, 9}) && b.to_host() == floats({-3, -3, -3}));
    gpu::tie(a, b) = std::array{+y, +x};
    CHECK(a.to_host() == floats({4, 5, 6}) && b.to_host() == floats({1, 2, 3}));
    gpu::tie(a, b) = std::vector{+x, +y};
    CHECK(a.to_host() == floats({1, 2, 3}) && b.to_host() == floats({4, 5, 6}));
    float total = 0;
    std::vector<on_device> list;
    gpu::tie(total, list) = std::make_tuple(sum(x), std::vector{x + x, y + y, x + y});
    CHECK(total == 6 && list.size() == 3 && list[2].to_host() == floats({5, 7, 9}));
    const agpu_buffer *there = list[1].c_buffer();
    gpu::tie(list) = std::vector{+x, +y, x - y};
    CHECK(list[1].to_host() == floats({4, 5, 6}) && list[1].c_buffer() == there);

    const auto nested = eval(std::make_pair(sum(x), std::array{max(x), min(y)}));
    static_assert(std::is_same_v<decltype(nested), const std::tuple<float, std::array<float, 2>>>);
    CHECK(get<0>(nested) == 6 && get<1>(nested)[0] == 3 && get<1>(nested)[1] == 4);
    const floats sums = eval(std::vector{sum(x), sum(y)});
    CHECK(sums == floats({6, 15}));
    const auto mixed = gpu::eval({}, std::make_tuple(std::vector{std::make_pair(+x, sum(x)), std::make_pair(+y, sum(y))}, y + 1));
    static_assert(std::is_same_v<decltype(mixed), const std::tuple<std::vector<std::tuple<on_device, float>>, on_device>>);
    CHECK(get<1>(get<0>(mixed)[1]) == 15 && get<0>(get<0>(mixed)[0]).to_host() == floats({1, 2, 3}) && get<1>(mixed).to_host() == floats({5, 6, 7}));
    CHECK(eval(std::vector<gpu::expr<float, 1>>()).empty());
    CHECK_THROWS(AGPU_ERROR_SHAPE, "2 results of 3 expressions", gpu::tie(a, b) = (std::vector{+x, +y, +x}));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "3 results of 2 expressions", gpu::tie(list) = (std::vector{+x, +y}));
}

static void of_iterations() {
    const on_device x{1, 2, 3}, y{4, 5, 6};
    const auto pair = eval(gpu::iterate(3, std::array{+x, +y}, [](auto s) { return std::array{s[1], s[0]}; }));
    static_assert(std::is_same_v<decltype(pair), const std::array<on_device, 2>>);
    CHECK(pair[0].to_host() == floats({4, 5, 6}) && pair[1].to_host() == floats({1, 2, 3}));
    const auto list = eval(gpu::iterate(1, std::vector{+x, +y}, [](auto s) { return std::vector{s[1], s[0]}; }));
    static_assert(std::is_same_v<decltype(list), const std::vector<on_device>>);
    CHECK(list.size() == 2 && list[0].to_host() == floats({4, 5, 6}) && list[1].to_host() == floats({1, 2, 3}));
    const auto each = eval(gpu::iterate_collect(2, std::vector{+x, +y}, [](auto s) { return std::vector{s[1], s[0] * 2}; }));
    CHECK(each.size() == 2 && each[1].to_host() == floats({2, 4, 6, 8, 10, 12}));

    const auto below = [](const auto &s) { return sum(s[0]) < 20; };
    const auto [states, steps] = eval(gpu::iterate_while(9, std::array{+x, +y}, below, [](auto s) { return std::array{s[0] * 2, s[1]}; }).check_every(1));
    CHECK(steps == 2 && states[0].to_host() == floats({4, 8, 12}) && states[1].to_host() == floats({4, 5, 6}));
    const auto [listed, also] = eval(gpu::iterate_while(9, std::vector{+x, +y}, below, [](auto s) { return std::vector{s[0] * 2, s[1]}; }).check_every(1));
    CHECK(also == 2 && listed[0].to_host() == floats({4, 8, 12}) && listed[1].to_host() == floats({4, 5, 6}));
    on_device a, b;
    gpu::tie(a, b) = gpu::iterate(1, std::vector{+x, +y}, [](auto s) { return std::vector{s[1], s[0]}; });
    CHECK(a.to_host() == floats({4, 5, 6}) && b.to_host() == floats({1, 2, 3}));
}

int main() {
    of_the_host();
    of_iterations();
    std::printf("several: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures;
}
