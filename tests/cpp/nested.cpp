// Runs within a run: the function of the program that runs tasks computes expressions, of other contexts, before it returns, as a thread of a pool does
// that takes another task while it waits.
#include "check.hpp"
#include "numbers.hpp"
#include <arraygpu/views.hpp>
#include <functional>
#include <thread>

namespace gpu = arraygpu;
using floats = std::vector<float>;

static std::function<void()> meanwhile;
static int depth = 0, deepest = 0;

static void run_tasks(void *, std::int64_t tasks, void (*task)(void *, std::int64_t), void *data) {
    deepest = ++depth > deepest ? depth : deepest;
    std::thread other([=] {
        for (std::int64_t i = 1; i < tasks; ++i) task(data, i);
    });
    if (meanwhile) meanwhile();
    task(data, 0);
    other.join();
    --depth;
}

static gpu::context with_tasks() {
    agpu_context_options options{};
    options.device = AGPU_DEVICE_CPU;
    options.threads = 2;
    options.run_tasks = run_tasks;
    return gpu::context(options);
}

int main() {
    const gpu::context outer = with_tasks(), inner = with_tasks();
    const std::size_t n = 3000000;
    const floats ha = some_numbers(n), hb = some_numbers(n), few = some_numbers(20);
    const gpu::gpu_vector<float> a(ha, outer), b(hb, outer);
    const gpu::gpu_vector<float> x(few, inner), y(few, inner), z(few, inner), many(ha, inner);
    floats expected(n);
    for (std::size_t i = 0; i < n; ++i) expected[i] = ha[i] * hb[i];

    int runs = 0;
    meanwhile = [&] {
        if (depth > 2) return;
        // of more arguments than the outer run, and of fewer; known and new; with a result of its own
        const gpu::gpu_vector<float> t = x + y + z + float(++runs);
        const float sum = gpu::sum(x);
        const float later = gpu::async([](const auto &v) { return gpu::max(v); }, x).get();
        CHECK(t.to_host()[3] == few[3] + few[3] + few[3] + float(runs) && sum == sum && later >= few[0]);
        if (depth == 1) CHECK(gpu::gpu_vector<float>(many * 2).to_host()[7] == ha[7] * 2);
    };
    for (int i = 0; i < 3; ++i) {
        const gpu::gpu_vector<float> r = a * b;
        CHECK(same(r.to_host(), expected));
        float most = 0;
        gpu::gpu_vector<float> both;
        gpu::tie(most, both) = std::make_tuple(gpu::max(a * b), a - b);
        CHECK(both.to_host()[5] == ha[5] - hb[5]);
    }
    meanwhile = {};
    CHECK(runs > 0 && deepest > 1);
    const gpu::gpu_vector<float> after = a * b;
    CHECK(same(after.to_host(), expected));
    std::printf("nested: %s, %d runs\n", failures == 0 ? "ok" : "FAILED", runs);
    return failures;
}
