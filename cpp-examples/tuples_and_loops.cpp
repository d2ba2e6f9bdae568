// Loops of an element and tuples, written as expressions and compiled while the program runs: the Mandelbrot set, roots by Newton's method, mean
// and variance in one pass, the nearest points.
#include "common/check.hpp"
#include "common/launches.hpp"
#include <algorithm>
#include <arraygpu/views.hpp>
#include <numeric>

namespace gpu = arraygpu;
namespace view = arraygpu::views;
using std::get;

static void mandelbrot() {
    constexpr int rows = 61, cols = 83, most = 200;
    constexpr float height = 2.4f / rows, width = 3.2f / cols;
    // each element has its own number of steps
    const gpu::gpu_matrix<int> steps = gpu::generate(rows, cols, [&](auto i, auto j) {
        const auto cy = gpu::cast<float>(i) * height - 1.2f, cx = gpu::cast<float>(j) * width - 2.2f;
        const auto last = gpu::loop_while(
            std::make_tuple(0.0f, 0.0f, 0), [&](auto x, auto y, auto k) { return x * x + y * y <= 4 && k < most; },
            [&](auto x, auto y, auto k) { return std::make_tuple(x * x - y * y + cx, 2 * x * y + cy, k + 1); });
        return get<2>(last);
    });
    std::vector<int> want;
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < cols; ++j) {
            const float cy = float(i) * height - 1.2f, cx = float(j) * width - 2.2f;
            float x = 0, y = 0;
            int k = 0;
            for (; x * x + y * y <= 4 && k < most; ++k) {
                const float next = x * x - y * y + cx;
                y = 2 * x * y + cy;
                x = next;
            }
            want.push_back(k);
        }
    }
    CHECK_EXACT(steps.to_host(), want);
}

static void newton() {
    const gpu::gpu_vector<double> a{8, 27, 2, 1e-9, 1e9};
    const auto root = [](auto v, int limit) {
        const auto last = gpu::loop_while_at_most(
            limit, std::make_tuple(v, 2 * v), [](auto x, auto before) { return abs(x - before) > 1e-14 * abs(x); },
            [&](auto x, auto) { return std::make_tuple(x - (x * x * x - v) / (3 * x * x), x); });
        return get<0>(last);
    };
    const std::vector<double> found = gpu::eval(gpu::map([&](auto v) { return root(v, 100); }, a)).to_host();
    const std::vector<double> numbers = a.to_host();
    for (std::size_t i = 0; i < numbers.size(); ++i) CHECK(std::fabs(found[i] - std::cbrt(numbers[i])) <= 1e-15 * 4 * found[i]);
    // what does not come to an end is an error, with the line of the loop
    bool stopped = false;
    try {
        static_cast<void>(gpu::eval(gpu::map([&](auto v) { return root(v, 4); }, a)));
        gpu::synchronize();
    } catch (const gpu::error &e) {
        stopped = std::string(e.what()).find("tuples_and_loops.cpp") != std::string::npos;
    }
    CHECK(stopped);
}

static void moments() {
    std::vector<double> numbers(10000);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 1e6 + double(i % 7);
    const gpu::gpu_vector<double> x(numbers);
    // sums of x and of its square, about a number near to the mean
    const auto d = x - gpu::at(x, 0);
    const auto sums = gpu::reduce(std::forward_as_tuple(d, d * d), std::make_tuple(0, 0), [](auto a, auto b) {
        const auto [s, q] = a;
        const auto [t, r] = b;
        return std::make_tuple(s + t, q + r);
    });
    const auto mean = get<0>(sums) / x.size();
    double m = 0, v = 0;
    CHECK(check::launches([&] { gpu::tie(m, v) = std::make_tuple(mean + gpu::at(x, 0), get<1>(sums) / x.size() - mean * mean); }) == 1);
    CHECK(std::fabs(m - double(gpu::mean(x))) < 1e-6 && std::fabs(v - double(gpu::variance(x))) < 1e-9);
}

static void nearest() {
    std::vector<float> hx(500), hy(500);
    for (int i = 0; i < 500; ++i) hx[std::size_t(i)] = float(i * 37 % 101), hy[std::size_t(i)] = float(i * 53 % 503);
    const gpu::gpu_vector<float> px(hx), py(hy), qx{0, 50, 99}, qy{0, 50, 1};
    // the best one by a reduction, for each of the queries
    const auto distances = [&](auto x, auto y) { return (px - x) * (px - x) + (py - y) * (py - y); };
    const gpu::gpu_vector<std::int64_t> best = gpu::map([&](auto x, auto y) { return gpu::argmin(distances(x, y)); }, qx, qy);
    // the best three by a fold, whose accumulator is three pairs of a distance and a number
    const auto three = gpu::map(
        [&](auto x, auto y) {
            const auto none = std::make_tuple(HUGE_VALF, std::int64_t(-1));
            const auto all = gpu::fold(distances(x, y) | view::enumerate, std::make_tuple(none, none, none), [](auto nearest, auto element) {
                const auto [number, distance] = element;
                const auto item = std::make_tuple(distance, number);
                const auto [a, b, c] = nearest;
                const auto before = [d = distance](const auto &other) { return d < get<0>(other); };
                return std::make_tuple(gpu::if_else(before(a), item, a), gpu::if_else(before(a), a, gpu::if_else(before(b), item, b)),
                                       gpu::if_else(before(b), b, gpu::if_else(before(c), item, c)));
            });
            return std::make_tuple(get<1>(get<0>(all)), get<1>(get<1>(all)), get<1>(get<2>(all)));
        },
        qx, qy);
    const auto [first, second, third] = gpu::eval(three);
    const std::vector<float> fx = qx.to_host(), fy = qy.to_host();
    for (std::size_t q = 0; q < fx.size(); ++q) {
        std::vector<std::size_t> order(hx.size());
        std::iota(order.begin(), order.end(), std::size_t(0));
        const auto distance = [&](std::size_t i) { return (hx[i] - fx[q]) * (hx[i] - fx[q]) + (hy[i] - fy[q]) * (hy[i] - fy[q]); };
        std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return distance(i) < distance(j); });
        CHECK(first.to_host()[q] == std::int64_t(order[0]) && second.to_host()[q] == std::int64_t(order[1]));
        CHECK(third.to_host()[q] == std::int64_t(order[2]) && best.to_host()[q] == std::int64_t(order[0]));
    }
}

int main() {
    mandelbrot();
    newton();
    moments();
    nearest();
    return check::finish("tuples_and_loops");
}
