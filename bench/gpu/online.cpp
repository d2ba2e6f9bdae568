// What is compiled while the program runs: from an expression to PTX, the first call, a warm call, and the kernels beside those that were generated ahead of time.
// Rows for the JSON file, beside those of the peer `jit.cu` in the same run. With `disk` as the argument, only first calls whose machine code is on disk.
#include "driver.hpp"
#include <algorithm>
#include <arraygpu/expr.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <kernels.hpp>
#include <string>
#include <vector>

namespace gpu = arraygpu;
using vec = gpu::gpu_vector<float>;

static double now() { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
static double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}
static bool failed = false;
static void row(const char *kernel, const char *impl, const char *step, const std::vector<double> &ms, bool ok = true) {
    failed = failed || !ok;
    std::printf("{\"name\":\"jit\",\"kernel\":\"%s\",\"impl\":\"%s\",\"step\":\"%s\",\"median_ms\":%.5f,\"min_ms\":%.5f,\"runs\":%zu,\"ok\":%s}\n", kernel,
                impl, step, median(ms), *std::min_element(ms.begin(), ms.end()), ms.size(), ok ? "true" : "false");
    std::fflush(stdout);
}

// a structure of its own for each `version`: a staged value is a constant in the code
static auto saxpy(float a, const vec &x, const vec &y, int version) { return a * x + gpu::stage(1 + version / 1024.0f) * y; }

template <class E> static auto normal(const E &d) {
    const auto k = 1.0f / (1.0f + 0.2316419f * abs(d));
    const auto poly = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    const auto c = 0.39894228f * exp(-0.5f * d * d) * poly;
    return select(d > 0.0f, 1.0f - c, c);
}
// the formulas of jit.cu
static auto black_scholes(const vec &s, const vec &x, const vec &t, float rate, float volatility, int version) {
    const auto q = sqrt(gpu::stage(1 + version / 1024.0f) * t);
    const auto d1 = (log(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * q);
    const auto d2 = d1 - volatility * q;
    const auto e = x * exp(-rate * t);
    const auto n1 = normal(d1), n2 = normal(d2);
    return std::make_tuple(s * n1 - e * n2, e * (1.0f - n2) - s * (1.0f - n1));
}

static std::vector<float> numbers(std::size_t n, float low, float high, unsigned seed) {
    std::vector<float> v(n);
    for (float &x : v) {
        seed = seed * 1664525u + 1013904223u;
        x = low + (high - low) * float(seed >> 8) / 16777216.0f;
    }
    return v;
}

struct program {
    agpu_program *handle = nullptr;
    ~program() { static_cast<void>(agpu_program_free(handle)); }
};

/// From nodes to the PTX of the version that runs: what no driver has a part in.
template <class... E> static double to_ptx(const std::function<std::tuple<E...>(int)> &make, int version) {
    const double begin = now();
    const auto e = make(version);
    gpu::detail::encoder key;
    const char *text = nullptr;
    const auto compile = [&](const auto &...each) {
        const gpu::detail::output outputs[] = {{each.c_node().get(), {}}...};
        const gpu::detail::program made = gpu::detail::compiled(key, outputs, sizeof...(each));
        gpu::check(agpu_program_text(made.get(), "first_ptx", &text));
    };
    std::apply(compile, e);
    const double time = now() - begin;
    if (!std::strstr(text, ".entry")) failed = true;
    return time;
}

constexpr int STRUCTURES = 20;

int main(int count, char **arguments) {
    const bool disk = count > 1 && std::strcmp(arguments[1], "disk") == 0;
    const gpu::context device = gpu::context::cuda();
    constexpr std::size_t small = 1 << 16;
    const vec s(numbers(small, 5, 30, 1), device), x(numbers(small, 1, 100, 2), device), t(numbers(small, 0.25f, 10, 3), device);
    vec out(small, device), put(small, device);
    device.synchronize();

    using one = std::tuple<gpu::expr<float, 1>>;
    using two = std::tuple<gpu::expr<float, 1>, gpu::expr<float, 1>>;
    const std::function<one(int)> make_saxpy = [&](int version) { return one(saxpy(2.5f, x, s, version)); };
    const std::function<two(int)> make_options = [&](int version) { return two(black_scholes(s, x, t, 0.02f, 0.3f, version)); };
    const auto run_saxpy = [&](int version) { out = std::get<0>(make_saxpy(version)); };
    const auto run_options = [&](int version) { gpu::tie(out, put) = make_options(version); };
    const auto calls = [&](const auto &run, const char *kernel, const char *step) {
        std::vector<double> ms;
        for (int v = 0; v <= STRUCTURES; ++v) {
            const double begin = now();
            run(v);
            device.synchronize();
            if (v > 0) ms.push_back(now() - begin);
        }
        row(kernel, "arraygpu", step, ms);
    };
    if (disk) {
        calls(run_saxpy, "saxpy", "first_call_from_disk");
        calls(run_options, "blackscholes", "first_call_from_disk");
        return failed;
    }
    std::vector<double> text_saxpy, text_options;
    for (int v = 0; v <= STRUCTURES; ++v) {
        const double a = to_ptx(make_saxpy, 1000 + v), b = to_ptx(make_options, 1000 + v);
        if (v > 0) text_saxpy.push_back(a), text_options.push_back(b);
    }
    row("saxpy", "arraygpu", "build_to_ptx", text_saxpy);
    row("blackscholes", "arraygpu", "build_to_ptx", text_options);
    calls(run_saxpy, "saxpy", "cold_first_call");
    calls(run_options, "blackscholes", "cold_first_call");

    // the formulas of `kernels::options`
    const auto prices = [](const vec &a, const vec &b, const vec &c, vec &call, vec &put) {
        const float rate = 0.02f, volatility = 0.3f;
        const auto spread = (volatility * 1.41421356237f) * sqrt(c);
        const auto e1 = mul_add(rate + 0.5f * volatility * volatility, c, log(a / b)) / spread;
        const auto e2 = mul_add(spread, -0.5f, e1);
        const auto discounted = b * exp(-rate * c);
        const auto f1 = erf(e1), f2 = erf(e2);
        const auto n1 = mul_add(f1, 0.5f, 0.5f), m1 = mul_add(f1, -0.5f, 0.5f), n2 = mul_add(f2, 0.5f, 0.5f), m2 = mul_add(f2, -0.5f, 0.5f);
        gpu::tie(call, put) = std::make_tuple(mul_add(a, n1, -(discounted * n2)), mul_add(discounted, m2, -(a * m1)));
    };
    // warm calls, on the host: as many as the device's queue takes without waiting
    const auto warm = [&](const auto &run) {
        std::vector<double> ms;
        for (int r = 0; r < 21; ++r) {
            device.synchronize();
            const double begin = now();
            for (int i = 0; i < 200; ++i) run();
            ms.push_back((now() - begin) / 200);
        }
        return ms;
    };
    const gpu::gpu_vector_view<const float> vx(x), vs(s);
    const gpu::gpu_vector_view<float> vout(out);
    row("saxpy", "arraygpu ahead of time", "warm_call", warm([&] { kernels::saxpy(2.5f, vx, vs, vout); }));
    row("saxpy", "arraygpu", "warm_call", warm([&] { out = 2.5f * x + s; }));
    row("blackscholes", "arraygpu", "warm_call", warm([&] { run_options(1); }));
    const gpu::gpu_vector_view<const float> vt(t);
    const gpu::gpu_vector_view<float> vput(put);
    row("options", "arraygpu ahead of time", "warm_call", warm([&] { kernels::options(vs, vx, vt, 0.02f, 0.3f, vout, vput); }));
    row("options", "arraygpu", "warm_call", warm([&] { prices(s, x, t, out, put); }));

    // the kernels: 2^26 elements, side by side, the events of the stream they run on
    constexpr std::size_t n = 1 << 26;
    const vec a(numbers(n, 5, 30, 4), device), b(numbers(n, 1, 100, 5), device), c(numbers(n, 0.25f, 10, 6), device);
    vec r1(n, device), r2(n, device);
    gpu::gpu_scalar<float> number(device);
    cu::event begin = nullptr, end = nullptr;
    const auto &driver = cu::driver();
    void *primary = nullptr;
    cu::check(driver.Init(0), "cuInit");
    cu::check(driver.DevicePrimaryCtxRetain(&primary, 0), "cuDevicePrimaryCtxRetain");
    cu::check(driver.CtxSetCurrent(primary), "cuCtxSetCurrent");
    cu::check(driver.EventCreate(&begin, 0), "cuEventCreate");
    cu::check(driver.EventCreate(&end, 0), "cuEventCreate");
    const cu::stream stream = static_cast<cu::stream>(device.stream());
    const auto timed = [&](const auto &run) {
        cu::check(driver.EventRecord(begin, stream), "cuEventRecord");
        run();
        cu::check(driver.EventRecord(end, stream), "cuEventRecord");
        device.synchronize();
        float ms = 0;
        cu::check(driver.EventElapsedTime(&ms, begin, end), "cuEventElapsedTime");
        return double(ms);
    };
    const auto pair = [&](const char *name, const auto &ahead, const auto &online, const auto &result) {
        std::vector<double> first, second;
        ahead();
        const auto expected = result();
        online();
        const bool same = result() == expected;
        for (int i = 0; i < 15; ++i) {
            first.push_back(timed(ahead));
            second.push_back(timed(online));
        }
        row(name, "arraygpu ahead of time", "kernel", first);
        row(name, "arraygpu", "kernel", second, same);
    };
    const auto r1_bits = [&] { return r1.to_host(); };
    pair("saxpy", [&] { kernels::saxpy(2.5f, a, b, r1); }, [&] { r1 = 2.5f * a + b; }, r1_bits);
    pair("expr3", [&] { kernels::expr3(a, b, c, r1); }, [&] { r1 = (b - (a + 3.75f * c) + c - 0.24f * b) / 27.51f + a - 0.25f * b; }, r1_bits);
    const auto number_bits = [&] { return number.get(); };
    pair("rmse", [&] { kernels::rmse(a, b, number); }, [&] { number = sqrt(gpu::sum((a - b) * (a - b)) / n); }, number_bits);
    pair("options", [&] { kernels::options(a, b, c, 0.02f, 0.3f, r1, r2); }, [&] { prices(a, b, c, r1, r2); }, r1_bits);
    const auto by_polynomial = [&] { gpu::tie(r1, r2) = black_scholes(a, b, c, 0.02f, 0.3f, 0); };
    by_polynomial();
    std::vector<double> polynomial;
    for (int i = 0; i < 15; ++i) polynomial.push_back(timed(by_polynomial));
    row("blackscholes", "arraygpu", "kernel", polynomial);
    return failed;
}
