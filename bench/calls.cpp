// What a call on the CPU costs when there is nothing to compute, and how calls of several threads get on with each
// other: one element, through the C interface of the shared library. `--rows FILE` appends the figures.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <kernels.h>
#include <kernels.hpp>
#include <memory>
#include <thread>
#include <vector>

// Nanoseconds of `calls` calls of f.
template <class F> static double round_of(F f, int calls) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) f();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

// Nanoseconds a call, the median of 41 rounds.
template <class F> static double nanoseconds(F f) {
    constexpr int rounds = 41, calls = 5000;
    std::vector<double> all;
    for (int r = 0; r < rounds; ++r) all.push_back(round_of(f, calls) / calls);
    std::nth_element(all.begin(), all.begin() + rounds / 2, all.end());
    return all[rounds / 2];
}

// What a thread calls with: buffers of its own, in a context that all share.
struct vectors {
    const arraygpu::context &cpu;
    const arraygpu::gpu_vector<float> x{{1}, cpu}, y{{2}, cpu};
    arraygpu::gpu_vector<float> out{{0}, cpu};
    const agpu_view vx = arraygpu::gpu_vector_view<const float>(x).c_view();
    const agpu_view vy = arraygpu::gpu_vector_view<const float>(y).c_view();
    const agpu_view vout = arraygpu::gpu_vector_view<float>(out).c_view();

    void saxpy() { kernels_saxpy(nullptr, 2.5f, vx, vy, vout); }
    float rmse() {
        float result = 0;
        kernels_rmse(nullptr, vx, vy, &result);
        return result;
    }
};

// Calls per microsecond of the functions that `make()` returns, one for each of the threads that run at once; the best of some rounds.
template <class Make> static double throughput(unsigned threads, Make make) {
    constexpr int rounds = 9, turns = 100000;
    double best = 0;
    for (int r = 0; r < rounds; ++r) {
        std::atomic<unsigned> ready{0};
        std::vector<double> took(threads);
        std::vector<std::thread> all;
        for (unsigned t = 0; t < threads; ++t) {
            all.emplace_back([&, t] {
                auto turn = make();
                turn();
                ++ready;
                while (ready < threads) {}
                took[t] = round_of(turn, turns);
            });
        }
        for (std::thread &t : all) t.join();
        double sum = 0;
        for (const double ns : took) sum += turns / ns * 1e3;
        best = std::max(best, sum);
    }
    return best;
}

// About as many instructions as a call has, on registers only: what the machine's threads leave each other.
static unsigned registers_only(unsigned x) {
    for (int i = 0; i < 250; ++i) {
        x = x * 1664525 + 1013904223;
        x ^= x >> 7;
    }
    return x;
}

int main(int argc, char **argv) {
    std::FILE *rows = argc == 3 && std::strcmp(argv[1], "--rows") == 0 ? std::fopen(argv[2], "a") : nullptr;
    const auto row = [rows](const char *name, unsigned threads, double figure, const char *unit) {
        std::printf("%-18s %2u threads %9.2f %s\n", name, threads, figure, unit);
        if (rows) std::fprintf(rows, "{\"name\":\"call %s\",\"impl\":\"arraygpu\",\"n\":1,\"threads\":%u,\"%s\":%.2f}\n", name, threads, unit, figure);
    };
    const arraygpu::context cpu = arraygpu::context::cpu(1);
    vectors v{cpu};
    int64_t count = 0;
    row("saxpy", 1, nanoseconds([&] { v.saxpy(); }), "ns");
    row("rmse", 1, nanoseconds([&] { v.rmse(); }), "ns");
    row("agpu_buffer_count", 1, nanoseconds([&] { agpu_buffer_count(v.vx.buffer, &count); }), "ns");
    const auto call = [&cpu] {
        return [own = std::shared_ptr<vectors>(new vectors{cpu})] { own->saxpy(); };
    };
    const auto alone = [] {
        // what nobody reads would not be computed
        return [x = std::make_shared<std::atomic<unsigned>>(1u)] { *x = registers_only(*x); };
    };
    const auto scale = [&](const char *name, auto make) {
        const double one = throughput(1, make);
        row(name, 1, one, "calls_per_us");
        for (unsigned threads = 2; threads <= std::min(16u, std::thread::hardware_concurrency()); threads *= 2) {
            const double all = throughput(threads, make);
            row(name, threads, all, "calls_per_us");
            row(name, threads, all / one / threads, "of_linear");
        }
    };
    scale("saxpy", call);
    scale("registers only", alone);
    if (rows) std::fclose(rows);
}
