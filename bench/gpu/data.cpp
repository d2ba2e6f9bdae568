#include "data.hpp"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

void parallel(std::size_t n, const std::function<void(std::size_t, std::size_t)> &piece) {
    const std::size_t workers = std::max(1u, std::thread::hardware_concurrency());
    const std::size_t step = n / workers + 1;
    std::vector<std::thread> threads;
    for (std::size_t begin = 0; begin < n; begin += step) threads.emplace_back(piece, begin, std::min(n, begin + step));
    for (std::thread &t : threads) t.join();
}

static std::uint32_t mixed(std::uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

std::vector<float> numbers(std::size_t n, unsigned seed) {
    std::vector<float> out(n);
    parallel(n, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            out[i] = float(mixed(std::uint32_t(i) * 2654435761u + seed * 0x9e3779b9u + 12345u) >> 8) * 0x1p-23f - 1;
    });
    return out;
}

// A sum of f(i), in double.
template <class F> static double total(std::size_t n, F f) {
    std::mutex mutex;
    double sum = 0;
    parallel(n, [&](std::size_t begin, std::size_t end) {
        double part = 0;
        for (std::size_t i = begin; i < end; ++i) part += f(i);
        const std::lock_guard<std::mutex> lock(mutex);
        sum += part;
    });
    return sum;
}

// The greatest |result[i] - f(i)| / max(|f(i)|, least).
template <class F> static double worst(std::size_t n, const float *result, double least, F f) {
    std::mutex mutex;
    double most = 0;
    parallel(n, [&](std::size_t begin, std::size_t end) {
        double part = 0;
        for (std::size_t i = begin; i < end && !std::isnan(part); ++i) {
            const double right = f(i), e = std::fabs(result[i] - right) / std::max(std::fabs(right), least);
            if (!(e <= part)) part = e;
        }
        const std::lock_guard<std::mutex> lock(mutex);
        if (!(part <= most)) most = part;
    });
    return most;
}

double error_of(const test_case &c, const inputs &x, const float *result, int flags) {
    const std::size_t n = x.a.size();
    const std::string name = c.name;
    const auto a = [&](std::size_t i) { return double(x.a[i]); };
    const auto b = [&](std::size_t i) { return double(x.b[i]); };
    const auto z = [&](std::size_t i) { return double(x.c[i]); };
    const auto square = [](double v) { return v * v; };
    if (name == "copy") return worst(n, result, 1, a);
    if (name == "vadd") return worst(n, result, 1, [&](std::size_t i) { return a(i) + b(i); });
    if (name == "expr2") return worst(n, result, 1, [&](std::size_t i) { return 0.12 * a(i) + 7.54 * b(i); });
    if (name == "saxpy") return worst(n, result, 1, [&](std::size_t i) { return alpha * a(i) + b(i); });
    if (name == "expr3")
        return worst(n, result, 1, [&](std::size_t i) { return (b(i) - (a(i) + 3.75 * z(i)) + z(i) - 0.24 * b(i)) / 27.51 + a(i) - 0.25 * b(i); });
    if (name == "sum") return std::fabs(*result - total(n, a)) / total(n, [&](std::size_t i) { return std::fabs(a(i)); });
    if (name == "dot")
        return std::fabs(*result - total(n, [&](std::size_t i) { return a(i) * b(i); })) / total(n, [&](std::size_t i) { return std::fabs(a(i) * b(i)); });
    if (name == "rmse") {
        const double squares = total(n, [&](std::size_t i) { return square(a(i) - b(i)); });
        const double right = flags & PEER_SQUARES ? squares : std::sqrt(squares / double(n));
        return std::fabs(*result - right) / right;
    }
    const double norm = std::sqrt(total(n, [&](std::size_t i) { return square(a(i)); }));
    return worst(n, result, 1 / norm, [&](std::size_t i) { return a(i) / norm; });
}
