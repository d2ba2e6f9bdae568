// A context with a limit of memory, with the program's allocator, and with the program's threads.
#include "check.hpp"
#include <arraygpu.hpp>
#include <atomic>
#include <cstdlib>
#include <examples.hpp>
#include <stdexcept>
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

// The temporaries of a call in the program's memory: asked for once, used again and again.
static void a_workspace() {
    const context c(on_the_cpu());
    gpu_vector<float> x(floats(100000, 1.5f), c), y(floats(100000, 2.0f), c);
    std::int64_t bytes = -1;
    const auto step = [&](const arraygpu::call_options &options) { examples::saxpy(options, 2.0f, x, y, y.view()); };
    step(arraygpu::call_options(c).ask_workspace(bytes));
    CHECK(bytes >= 0 && y.to_host() == floats(100000, 2.0f));
    bytes = -1;
    CHECK(examples::saxpy(arraygpu::call_options(c).ask_workspace(bytes), 2.0f, x, y).empty() && bytes >= 0); // makes nothing
    // an output that lies across an input is computed elsewhere
    const auto shifted = [&](const arraygpu::call_options &options) {
        examples::saxpy(options, 2.0f, arraygpu::subview(x, 0, 99999), arraygpu::subview(y, 0, 99999), arraygpu::subview(y, 1, 100000));
    };
    shifted(arraygpu::call_options(c).ask_workspace(bytes));
    CHECK(bytes >= 4 * 99999);
    void *memory = std::aligned_alloc(256, std::size_t(bytes));
    CHECK_THROWS(AGPU_ERROR_OUT_OF_MEMORY, "workspace", shifted(arraygpu::call_options(c).workspace(memory, 256)));
    const std::int64_t before = c.memory().peak;
    for (int i = 0; i < 3; i++) shifted(arraygpu::call_options(c).workspace(memory, std::size_t(bytes)));
    CHECK(c.memory().peak == before && y.to_host()[5] == 11.0f);
    std::free(memory);
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

// A pool that has no thread any more: what runs tasks waits for those that were started, and calls the others.
static void run_without_threads(void *user, std::int64_t tasks, void (*task)(void *, std::int64_t), void *data) noexcept {
    std::int64_t started = 0;
    std::vector<std::thread> threads;
    try {
        for (; started < tasks; started++) {
            if (started == 2) throw std::runtime_error("no thread");
            threads.emplace_back([=] { task(data, started); });
        }
    } catch (const std::exception &) {
        *static_cast<std::atomic<int> *>(user) += 1;
    }
    for (; started < tasks; started++) task(data, started);
    for (auto &t : threads) t.join();
}

static void failing_threads() {
    std::atomic<int> failed{0};
    agpu_context_options options = on_the_cpu();
    options.threads = 4;
    options.run_tasks = run_without_threads;
    options.user = &failed;
    const context ours(options), one = context::cpu(1);
    floats host(3000000);
    for (std::size_t i = 0; i < host.size(); i++) host[i] = float(i % 1013) * 0.1f - 40.0f;
    const auto sum = [&](const context &c) {
        const gpu_vector<float> x(host, c), y(host.size(), c);
        return examples::rmse(x, y);
    };
    CHECK(sum(ours) == sum(one) && failed > 0);
}

int main() {
    failing_threads();
    a_limit();
    an_allocator();
    a_workspace();
    threads();
    return failures == 0 ? 0 : 1;
}
