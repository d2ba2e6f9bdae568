// A context with a limit of memory, with the program's allocator, and with the program's threads.
#include "check.hpp"
#include <arraygpu.hpp>
#include <atomic>
#include <cstdlib>
#include <examples.hpp>
#include <thread>

using arraygpu::context;
using arraygpu::gpu_vector;
using floats = std::vector<float>;

static agpu_context_options on_the_cpu() {
    agpu_context_options options{};
    options.device = AGPU_DEVICE_CPU;
    return options;
}

static void a_limit() {
    agpu_context_options options = on_the_cpu();
    options.memory_limit = 1 << 20;
    context c(options);
    gpu_vector<float> x(200000, c);
    CHECK_THROWS(AGPU_ERROR_OUT_OF_MEMORY, "limit", gpu_vector<float>(200000, c));
    CHECK(c.memory().in_use == 800000);
    CHECK(gpu_vector<float>(1000, c).size() == 1000);
}

static std::atomic<std::size_t> out{0}, calls{0};

static void *allocate(void *, std::size_t bytes, std::size_t alignment) {
    out += bytes;
    calls++;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release(void *, void *memory, std::size_t bytes) {
    out -= bytes;
    std::free(memory);
}

static void an_allocator() {
    agpu_context_options options = on_the_cpu();
    options.allocate = allocate;
    options.release = release;
    {
        context c(options);
        const gpu_vector<float> x(floats{1, 2, 3}, c), y(floats{10, 20, 30}, c);
        CHECK(examples::saxpy(2.0f, x, y).to_host() == (floats{12, 24, 36}));
        CHECK(calls >= 3 && out > 0);
    }
    CHECK(out == 0);
}

static void run(void *user, std::int64_t tasks, void (*task)(void *, std::int64_t), void *data) {
    *static_cast<std::atomic<int> *>(user) += 1;
    std::vector<std::thread> threads;
    for (std::int64_t i = 0; i < tasks; i++) threads.emplace_back([=] { task(data, i); });
    for (auto &t : threads) t.join();
}

static void threads() {
    std::atomic<int> jobs{0};
    agpu_context_options options = on_the_cpu();
    options.threads = 4;
    options.run_tasks = run;
    options.user = &jobs;
    context ours(options), one = context::cpu(1);
    floats host(3000000);
    for (std::size_t i = 0; i < host.size(); i++) host[i] = float(i % 1013) * 0.1f - 40.0f;
    const auto rmse = [&](context &c) {
        const gpu_vector<float> x(host, c), y(host.size(), c);
        return examples::rmse(x, y);
    };
    CHECK(rmse(ours) == rmse(one));
    CHECK(jobs > 0);
}

int main() {
    a_limit();
    an_allocator();
    threads();
    return failures == 0 ? 0 : 1;
}
