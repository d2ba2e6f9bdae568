// Where calls run: the caller's current CUDA context, his streams and captures, threads, and several devices.
#include "gpu.hpp"
#include <checks.hpp>
#include <examples.hpp>
#include <functional>
#include <thread>
#include <utility>

using arraygpu::context;
using arraygpu::gpu_scalar;
using arraygpu::gpu_vector;
using arraygpu::subview;
using floats = std::vector<float>;

static floats on_cpu(float a, const floats &x, const floats &y) {
    const auto cpu = context::cpu();
    return examples::saxpy(a, gpu_vector<float>(x, cpu), gpu_vector<float>(y, cpu)).to_host();
}
static float on_cpu(const floats &x, const floats &y) {
    const auto cpu = context::cpu();
    return examples::rmse(gpu_vector<float>(x, cpu), gpu_vector<float>(y, cpu));
}

static floats backwards(const floats &v) { return floats(v.rbegin(), v.rend()); }

// One of every kind of call; none may change the thread's current context.
static void every_kind_of_call(const char *what) {
    void *const before = cuda::current();
    const auto step = [&](const char *name, const std::function<void()> &call) {
        try {
            call();
        } catch (const arraygpu::error &) { // meant, where it comes; the rest is checked elsewhere
        }
        if (cuda::current() != before) check::fail(__FILE__, __LINE__, std::string(what) + ": " + name + " changed the current context");
        cuda::must("cuCtxSetCurrent", before);
    };
    const auto unused = [](auto &&value) { static_cast<void>(value); };
    agpu_context *handle = nullptr;
    agpu_context_options options{};
    options.size = sizeof options;
    options.device = AGPU_DEVICE_CUDA;
    step("agpu_context_create", [&] { arraygpu::check(agpu_context_create(&options, &handle)); });
    agpu_buffer *buffers[3] = {};
    for (auto &b : buffers) step("agpu_buffer_create", [&] { arraygpu::check(agpu_buffer_create(handle, AGPU_F32, 3000, &b)); });
    auto x = gpu_vector<float>::adopt(buffers[0]), y = gpu_vector<float>::adopt(buffers[1]), out = gpu_vector<float>::adopt(buffers[2]);
    floats host(3000, 1);
    void *pinned = nullptr;
    const agpu_call call{sizeof call, handle, nullptr, nullptr, 0, nullptr};
    float result = 0;
    step("copy from host", [&] { x.copy_from(host); });
    step("copy to host", [&] { unused(x.to_host()); });
    step("strided copy", [&] { unused(subview(x, 0, 3000, 3).to_host()); });
    step("fill", [&] { y.fill(2); });
    step("copy", [&] { out.copy_from(x); });
    step("overlapping copy", [&] { subview(out, 1, 3000).copy_from(subview(out, 0, 2999)); });
    step("copy to the CPU", [&] { gpu_vector<float>(3000, context::cpu()).copy_from(x); });
    step("call", [&] { examples::saxpy(2, x, y, out); });
    step("call through a temporary", [&] { checks::reversed(x, x); });
    step("scalar result", [&] { examples::rmse(x, y, result); });
    step("scalar on the device", [&] { arraygpu::check(examples_rmse_device(&call, x.c_view(), y.c_view(), subview(out, 0, 1).c_view())); });
    step("new result", [&] { unused(examples::saxpy(2, x, y)); });
    step("agpu_host_alloc", [&] { arraygpu::check(agpu_host_alloc(handle, 12000, &pinned)); });
    step("asynchronous copies", [&] {
        arraygpu::check(agpu_copy_to_host_async(pinned, x.c_view(), 3000, &call));
        arraygpu::check(agpu_copy_from_host_async(y.c_view(), pinned, 3000, &call));
    });
    step("agpu_context_synchronize", [&] { arraygpu::check(agpu_context_synchronize(handle)); });
    step("agpu_host_free", [&] { arraygpu::check(agpu_host_free(pinned)); });
    step("agpu_buffer_wrap", [&] {
        agpu_buffer *wrapped = nullptr;
        arraygpu::check(agpu_buffer_wrap(handle, AGPU_F32, x.data() + 1, 5, &wrapped));
        arraygpu::check(agpu_buffer_free(wrapped));
    });
    step("host memory", [&] { unused(gpu_vector<float>::wrap(host.data(), 5, context::cuda())); });
    step("no memory", [&] { unused(gpu_vector<float>(std::size_t(1) << 50, context::cuda())); });
    step("two outputs that overlap", [&] { checks::sum_and_difference(x, y, out, out); });
    step("no such device", [&] { unused(context::cuda(1 << 20)); });
    step("error record", [&] {
        agpu_buffer *index = nullptr;
        arraygpu::check(agpu_buffer_create(handle, AGPU_I64, 1, &index));
        auto far = gpu_vector<std::int64_t>::adopt(index);
        far.fill(-1);
        checks::pick(x, far, subview(out, 0, 1));
        unused(out.to_host());
    });
    step("agpu_context_free", [&] { arraygpu::check(agpu_context_free(handle)); });
    for (auto *v : {&x, &y, &out}) step("agpu_buffer_free", [&] { arraygpu::check(agpu_buffer_free(v->release())); });
}

static void current_context_of_the_caller() {
    // the driver must have started
    const auto gpu = context::cuda();
    cuda::must("cuCtxSetCurrent", static_cast<void *>(nullptr));
    every_kind_of_call("none");
    {
        const cuda::primary here;
        every_kind_of_call("the device's");
    }
    void *other = nullptr;
    cuda::must("cuCtxCreate_v2", &other, 0u, 0);
    every_kind_of_call("another");
    // and a stream of it is none that calls can use
    {
        const cuda::stream stream;
        gpu_vector<float> x(10, gpu);
        CHECK_ERROR(AGPU_ERROR_INVALID_ARGUMENT, ({"saxpy", "call.stream is not a stream of the primary context of CUDA device 0"}),
                    examples::saxpy({gpu, stream.raw}, 2, x, x, x));
    }
    CHECK(cuda::current() == other);
    cuda::must("cuCtxDestroy_v2", other);
    std::thread([] { every_kind_of_call("a new thread"); }).join();
}

static void streams_of_the_caller() {
    const cuda::primary here;
    const auto gpu = context::cuda();
    const floats hx = data::uniform(100003, 1), hy = data::uniform(100003, 2);
    const gpu_vector<float> x(hx, gpu), y(hy, gpu);
    gpu_vector<float> out(hx.size(), gpu);
    const cuda::stream blocking(0), free_running;
    for (void *raw : {blocking.raw, free_running.raw, reinterpret_cast<void *>(1), reinterpret_cast<void *>(2), gpu.stream()}) {
        out.fill(0);
        examples::saxpy({gpu, raw}, 3, x, y, out);
        checks::reversed({gpu, raw}, out, out);
        const float difference = examples::rmse({gpu, raw}, x, y);
        auto twice = checks::twice({gpu, raw}, out);
        const floats expected = backwards(on_cpu(3, hx, hy));
        CHECK_EXACT(out.to_host(), expected);
        CHECK_EXACT_VALUE(difference, on_cpu(hx, hy));
        CHECK(twice.to_host()[7] == 2 * expected[7]);
    }
    // streams that come and go with work on them: a handle may return for another stream
    floats expected = hy;
    out.copy_from(y);
    for (int i = 0; i < (play::sanitized() ? 14 : 50); ++i) {
        const cuda::stream brief(i % 2);
        examples::saxpy({gpu, brief.raw}, 0.5f, x, out, out);
        if (i % 7 == 0) static_cast<void>(examples::rmse({gpu, brief.raw}, x, out));
        expected = on_cpu(0.5f, hx, expected);
    }
    CHECK_EXACT(out.to_host(), expected);
}

// Captures calls into a graph, and runs it.
class graph {
public:
    graph(void *stream, const std::function<void()> &calls) : stream_(stream) {
        void *made = nullptr;
        cuda::must("cuStreamBeginCapture_v2", stream, 0u); // the mode that forbids most, to all threads
        calls();
        cuda::must("cuStreamEndCapture", stream, &made);
        cuda::must("cuGraphInstantiateWithFlags", &ready_, made, 0ull);
        cuda::must("cuGraphDestroy", made);
    }
    graph(const graph &) = delete;
    ~graph() { cuda::call("cuGraphExecDestroy", ready_); }
    void run() const { run_on(stream_); }
    void run_on(void *stream) const {
        cuda::must("cuGraphLaunch", ready_, stream);
        cuda::must("cuStreamSynchronize", stream);
    }

private:
    void *stream_, *ready_ = nullptr;
};

// `used`: the stream and the functions were used before.
static void capture(bool used) {
    const cuda::primary here;
    const auto gpu = context::cuda();
    const cuda::stream stream;
    const std::size_t n = 300007;
    gpu_vector<float> x(n, gpu), y(n, gpu), out(n, gpu);
    gpu_scalar<float> difference(gpu);
    const arraygpu::call_options on(gpu, stream.raw);
    const auto calls = [&] {
        examples::saxpy(on, 2, x, y, out);
        checks::reversed(on, out, out);
        examples::rmse(on, x, y, difference);
    };
    if (used) calls();
    gpu.synchronize();
    float result = -1;
    const graph both(stream.raw, [&] {
        // what must wait is refused, and spoils nothing
        CHECK_ERROR(AGPU_ERROR_INVALID_ARGUMENT, ({"rmse", "captured", "give a view"}), examples::rmse(on, x, y, result));
        CHECK_ERROR(AGPU_ERROR_INVALID_ARGUMENT, ({"saxpy", "captured", "give an output"}), examples::saxpy(on, 2, x, y));
        CHECK_ERROR(AGPU_ERROR_INVALID_ARGUMENT, ({"captured", "only once"}), arraygpu::then(on, [] {}));
        calls();
        // other calls go on meanwhile
        const gpu_vector<float> aside(floats{1, 2}, gpu);
        CHECK_EXACT(examples::saxpy(1, aside, aside).to_host(), (floats{2, 4}));
    });
    CHECK(result == -1);
    for (std::uint32_t run = 0; run < 3; ++run) {
        const floats hx = data::uniform(n, 10 + run), hy = data::uniform(n, 20 + run);
        x.copy_from(hx), y.copy_from(hy);
        both.run();
        CHECK_EXACT(out.to_host(), backwards(on_cpu(2, hx, hy)));
        CHECK_EXACT_VALUE(difference.get(), on_cpu(hx, hy));
    }
    gpu.synchronize();
}

static void captures_on_a_stream_that_was_used() { capture(true); }
static void captures_first_thing_on_a_new_stream() { capture(false); }

// A graph with nothing but the one call.
static void captures_of_one_call() {
    const cuda::primary here;
    const auto gpu = context::cuda();
    const cuda::stream first, second;
    gpu_vector<float> x(5000, gpu), y(5000, gpu);
    gpu_scalar<float> difference(gpu);
    gpu.synchronize();
    const graph add(first.raw, [&] { examples::saxpy({gpu, first.raw}, 1, x, y, y); });
    const graph compare(second.raw, [&] { examples::rmse({gpu, second.raw}, x, y, difference); });
    for (float run : {1.0f, 2.0f, 3.0f}) {
        x.fill(run), y.fill(100);
        gpu.synchronize();
        add.run(), add.run(), compare.run();
        CHECK_EXACT(y.to_host(), floats(5000, 100 + 2 * run));
        CHECK(difference.get() == 100 + run);
    }
}

// A graph holds the code of a version for a staged length that others have replaced, and the workspace of a stream that was freed.
static void captures_of_what_is_gone() {
    const cuda::primary here;
    const auto gpu = context::cuda();
    const cuda::stream other;
    const floats host = data::uniform(100003, 5);
    const gpu_vector<float> x(host, gpu);
    gpu_scalar<float> total(gpu);
    gpu.synchronize();
    arraygpu::stream lent(gpu);
    void *const raw = lent.c_stream();
    const graph captured(raw, [&] { examples::total_staged(lent, x, total); });
    lent = arraygpu::stream(gpu); // the captured one is freed
    std::vector<arraygpu::stream> more;
    for (std::int64_t i = 0; i < 40; ++i) {
        more.emplace_back(gpu);
        CHECK(more.back().c_stream() != raw);
        gpu_scalar<float> shorter(gpu);
        examples::total_staged(more.back(), subview(x, 0, 50000 + i), shorter);
        if (i % 2) more.clear();
    }
    gpu.synchronize();
    captured.run_on(other.raw);
    CHECK_EXACT_VALUE(total.get(), examples::total_staged(gpu_vector<float>(host, context::cpu())));
    gpu.synchronize();
}

static void threads() {
    const cuda::primary here;
    const auto gpu = context::cuda();
    const cuda::stream streams[2];
    std::string wrong[2];
    const auto work = [&](unsigned t) {
        const floats hx = data::uniform(30011 + t, 1 + t), hy = data::uniform(30011 + t, 3 + t);
        const gpu_vector<float> x(hx, gpu), y(hy, gpu);
        gpu_vector<float> out(hx.size(), gpu);
        const floats sum = on_cpu(float(t) + 2, hx, hy);
        const float difference = on_cpu(hx, hy), same = on_cpu(hx, sum);
        const arraygpu::call_options own(gpu, streams[t].raw), common(gpu);
        for (int i = 0; i < (play::sanitized() ? 20 : 200); ++i) {
            examples::saxpy(i % 3 ? own : common, float(t) + 2, x, y, out);
            if (examples::rmse(i % 2 ? own : common, x, out) != same) wrong[t] = "rmse of x and the sum, call " + std::to_string(i);
            if (examples::rmse(i % 2 ? common : own, x, y) != difference) wrong[t] = "rmse, call " + std::to_string(i);
            if (i % 10 == 0 && out.to_host() != sum) wrong[t] = "saxpy, call " + std::to_string(i);
            out.fill(0);
        }
    };
    const auto guarded = [&](unsigned t) {
        try {
            work(t);
        } catch (const std::exception &e) {
            wrong[t] = e.what();
        }
    };
    std::thread one(guarded, 0), two(guarded, 1);
    one.join(), two.join();
    for (const auto &w : wrong)
        if (!w.empty()) check::fail(__FILE__, __LINE__, w);
}

static void several_devices() {
    if (arraygpu::device_count() < 2) return;
    const context contexts[] = {context::cuda(0), context::cuda(1)};
    const floats hx = data::uniform(100003, 1), hy = data::uniform(100003, 2);
    const gpu_vector<float> x0(hx, contexts[0]), y0(hy, contexts[0]), x1(hx, contexts[1]), y1(hy, contexts[1]);
    CHECK(contexts[0].device() == AGPU_DEVICE_CUDA && contexts[1].device() == AGPU_DEVICE_CUDA + 1);
    CHECK_EXACT(examples::saxpy(2, x0, y0).to_host(), on_cpu(2, hx, hy));
    CHECK_EXACT(examples::saxpy(2, x1, y1).to_host(), on_cpu(2, hx, hy));
    CHECK_EXACT_VALUE(examples::rmse(x0, y0), examples::rmse(x1, y1));
    CHECK_ERROR(AGPU_ERROR_WRONG_CONTEXT, ({"rmse", "x, y", "different contexts"}), examples::rmse(x0, y1));
    CHECK_ERROR(AGPU_ERROR_WRONG_CONTEXT, ({"rmse", "x", "call's context"}), examples::rmse({contexts[1]}, x0, y0));
    CHECK_ERROR(AGPU_ERROR_INVALID_ARGUMENT, ({"agpu_buffer_wrap", "memory of CUDA device 0", "CUDA device 1"}),
                gpu_vector<float>::wrap(const_cast<float *>(x0.data()), 5, contexts[1]));
    // copies there and back, also of every third element and of what is still being computed
    gpu_vector<float> there(hx.size(), contexts[1]), back(hx.size(), contexts[0]);
    const auto sum = examples::saxpy(3, x0, y0);
    there.copy_from(sum);
    checks::reversed(there, there);
    back.copy_from(there);
    floats expected = backwards(on_cpu(3, hx, hy));
    CHECK_EXACT(back.to_host(), expected);
    subview(back, 0, 99999, 3).copy_from(subview(x1, 1, 66667, 2));
    for (std::size_t i = 0; i < 33333; ++i) expected[3 * i] = hx[1 + 2 * i];
    CHECK_EXACT(back.to_host(), expected);
}

int main(int count, char **arguments) {
    return play::main(count, arguments,
                      {
                          {"current context of the caller", current_context_of_the_caller},
                          {"streams of the caller", streams_of_the_caller},
                          {"captures on a stream that was used", captures_on_a_stream_that_was_used},
                          {"captures first thing on a new stream", captures_first_thing_on_a_new_stream},
                          {"captures of one call", captures_of_one_call},
                          {"captures of what is gone", captures_of_what_is_gone},
                          {"threads", threads},
                          {"several devices", several_devices},
                      },
                      {});
}
