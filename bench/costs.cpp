// Costs beside the throughput: memory beyond inputs and outputs, and what a call costs when there is nothing to do.
#include "bench.hpp"

#include <algorithm>
#include <cstring>
#include <kernels.h>
#include <kernels.hpp>

// A field of /proc/self/status in KiB, such as "VmHWM:".
static long status_field(const char *field) {
    long kib = -1;
    if (std::FILE *file = std::fopen("/proc/self/status", "r")) {
        char line[256];
        while (std::fgets(line, sizeof line, file)) {
            if (std::strncmp(line, field, std::strlen(field)) == 0) std::sscanf(line + std::strlen(field), "%ld", &kib);
        }
        std::fclose(file);
    }
    return kib;
}

// Sets the peak (VmHWM) back to the present.
static bool reset_peak() {
    std::FILE *file = std::fopen("/proc/self/clear_refs", "w");
    if (!file) return false;
    const bool written = std::fputs("5", file) >= 0;
    return std::fclose(file) == 0 && written;
}

long extra_memory(const test_case &c, arrays &d, int threads) {
    if (!reset_peak()) return -1;
    const long before = status_field("VmRSS:"); // inputs and outputs are in it: all their pages were written
    c.ours(d, threads);
    return std::max(0L, status_field("VmHWM:") - before);
}

// Nanoseconds a call, the median of 21 rounds.
template <class F> static double nanoseconds(F f) {
    std::vector<double> rounds;
    for (int r = 0; r < 21; ++r) {
        constexpr int calls = 5000;
        const double begin = now_ms();
        for (int i = 0; i < calls; ++i) f();
        rounds.push_back((now_ms() - begin) * 1e6 / calls);
    }
    return median(rounds);
}

void call_overhead(std::FILE *json) {
    float host[3] = {1, 2, 3}, result = 0;
    arraygpu::gpu_vector<float> x(std::vector<float>{1}), y(std::vector<float>{2}), out(1);
    const arraygpu::gpu_vector_view<const float> vx(x), vy(y);
    const arraygpu::gpu_vector_view<float> vout(out);
    const agpu_view cx = vx.c_view(), cy = vy.c_view(), cout = vout.c_view();

    const double direct_saxpy = nanoseconds([&] { hand::saxpy_of_one(alpha, host, host + 1, host + 2); });
    const double direct_rmse = nanoseconds([&] { hand::rmse_of_one(host, host + 1, 1, &result); });
    const struct {
        const char *name, *impl;
        double ns;
    } rows[] = {
        {"saxpy", "C", nanoseconds([&] { kernels_saxpy(nullptr, alpha, cx, cy, cout); }) - direct_saxpy},
        {"saxpy", "C++, output given", nanoseconds([&] { kernels::saxpy(alpha, vx, vy, vout); }) - direct_saxpy},
        {"saxpy", "C++, new vector", nanoseconds([&] { (void)kernels::saxpy(alpha, vx, vy); }) - direct_saxpy},
        {"rmse", "C", nanoseconds([&] { kernels_rmse(nullptr, cx, cy, &result); }) - direct_rmse},
        {"rmse", "C++", nanoseconds([&] { result = kernels::rmse(vx, vy); }) - direct_rmse},
    };
    std::printf("\na call at n = 1, beyond a direct C call (wanted: below 2000 ns)\n");
    for (const auto &r : rows) {
        std::printf("  %-8s %-20s %8.0f ns\n", r.name, r.impl, r.ns);
        std::fprintf(json, "{\"name\":\"overhead %s\",\"impl\":\"%s\",\"n\":1,\"threads\":0,\"ns\":%.1f}\n", r.name, r.impl, r.ns);
    }
}
