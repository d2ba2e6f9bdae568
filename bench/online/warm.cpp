// What a warm call of an expression costs beside the same function generated ahead of time, and its parts. One element, on the CPU: the rest is
// nothing.
#include <algorithm>
#include <arraygpu/views.hpp>
#include <chrono>
#include <cstdio>
#include <kernels.hpp>
#include <vector>

namespace gpu = arraygpu;

/// Nanoseconds a call, the median of 21 rounds.
template <class F> static double nanoseconds(F f) {
    std::vector<double> rounds;
    for (int r = 0; r < 21; ++r) {
        constexpr int calls = 20000;
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; ++i) f();
        rounds.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / calls);
    }
    std::nth_element(rounds.begin(), rounds.begin() + 10, rounds.end());
    return rounds[10];
}
static void row(const char *name, double ns, double beside = 0) {
    std::printf("%-46s %8.0f ns", name, ns);
    if (beside) std::printf("   %+.0f ns", ns - beside);
    std::printf("\n");
}

int main() {
    const gpu::context cpu = gpu::context::cpu(1);
    const gpu::gpu_vector<float> x({1}, cpu), y({2}, cpu);
    gpu::gpu_vector<float> out({0}, cpu);
    float a = 2, result = 0;

    const gpu::gpu_vector_view<const float> vx(x), vy(y);
    const gpu::gpu_vector_view<float> vout(out);
    const double generated = nanoseconds([&] { kernels::saxpy(a, vx, vy, vout); });
    row("saxpy, generated", generated);
    row("out = a * x + y", nanoseconds([&] { out = a * x + y; }), generated);
    const auto functor = [a](const auto &u, const auto &v) { return a * u + v; };
    row("gpu::transform(zip(x, y), out, functor)", nanoseconds([&] { gpu::transform(gpu::views::zip(x, y), out, functor); }), generated);
    const auto stored = a * x + y;
    row("out = stored expression", nanoseconds([&] { out = stored; }), generated);
    row("  building it", nanoseconds([&] { static_cast<void>(a * x + y); }));
    gpu::detail::encoder key;
    const gpu::detail::output to{stored.c_node().get(), gpu::detail::to_view(out.c_view())};
    row("  its key", nanoseconds([&] { gpu::detail::encode(key, &to, 1); }));
    std::vector<agpu_arg> arguments = key.arguments();
    arguments.push_back(to.to);
    bool known = false;
    row("  looking it up and running it", nanoseconds([&] {
            gpu::check(agpu_run_remembered(key.bytes().data(), std::int64_t(key.bytes().size()), nullptr, arguments.data(),
                                           std::int32_t(arguments.size()), &known));
        }));
    std::printf("  its key has %zu bytes\n", key.bytes().size());

    const double rmse = nanoseconds([&] { result = kernels::rmse(vx, vy); });
    row("rmse, generated", rmse);
    row("float(sqrt(sum((x - y) * (x - y)) / n))", nanoseconds([&] { result = sqrt(gpu::sum((x - y) * (x - y)) / x.size()); }), rmse);
    return known ? 0 : 1;
}
