// What is freed while a GPU still works with it, processes that end without freeing anything, and a device that has failed.
#include "gpu.hpp"
#include <checks.hpp>
#include <examples.hpp>
#include <memory>
#include <optional>
#include <thread>

using arraygpu::context;
using arraygpu::gpu_scalar;
using arraygpu::gpu_vector;
using arraygpu::subview;
using floats = std::vector<float>;

// So many elements that the GPU is busy for long after the calls have returned.
static std::size_t many() { return play::sanitized() ? 1 << 16 : 1 << 26; }
constexpr int CALLS = 100;

static void add_often(const arraygpu::call_options &options, const gpu_vector<float> &x, gpu_vector<float> &y) {
    for (int i = 0; i < CALLS; ++i) examples::saxpy(options, 1, x, y, y);
}

static bool all(const floats &v, float value) {
    for (const float x : v)
        if (x != value) return false;
    return !v.empty();
}

static void context_freed_while_work_is_queued() {
    const std::size_t n = many();
    std::optional<context> gpu(context::cuda());
    gpu_vector<float> x(n, *gpu), y(n, *gpu);
    gpu_scalar<float> norm(*gpu);
    x.fill(1);
    add_often({}, x, y);
    examples::rmse(x, y, norm);
    agpu_context *const handle = gpu->c_context();
    gpu.reset();
    CHECK(agpu_context_synchronize(handle) == AGPU_ERROR_INVALID_HANDLE);
    agpu_context *of = nullptr;
    CHECK_STATUS(AGPU_ERROR_INVALID_HANDLE, ({"agpu_buffer_context", "context was freed"}), agpu_buffer_context(x.c_buffer(), &of));
    // its buffers go on
    CHECK(norm.get() == CALLS - 1);
    CHECK(all(y.to_host(), CALLS));
    add_often({}, x, y);
    checks::reversed(subview(y, 0, 1000), subview(y, 0, 1000));
    CHECK(all(y.to_host(), 2 * CALLS));
    add_often({}, x, y); // and the last of them is freed with work on it
}

static void context_freed_with_work_on_a_stream_of_the_caller() {
    const cuda::primary here;
    const std::size_t n = many();
    const cuda::memory block(4 * n);
    {
        const cuda::stream stream;
        std::optional<context> gpu(context::cuda());
        gpu_vector<float> x(n, *gpu), y = gpu_vector<float>::wrap(block.floats(), n, *gpu);
        x.fill(1), y.fill(0);
        add_often({*gpu, stream.raw}, x, y);
        gpu.reset();
    } // the buffers go, and with the last of them what the context had; then the stream
    cuda::must("cuCtxSynchronize");
    floats host(n);
    cuda::must("cuMemcpyDtoH_v2", static_cast<void *>(host.data()), block.address, std::size_t(4 * n));
    CHECK(all(host, CALLS));
}

static void buffers_freed_while_work_is_queued() {
    const cuda::primary here;
    const auto gpu = context::cuda();
    const std::size_t n = many();
    const cuda::stream stream;
    gpu_vector<float> y(n, gpu);
    for (void *raw : {static_cast<void *>(nullptr), stream.raw}) {
        y.fill(0);
        {
            gpu_vector<float> x(n, gpu);
            x.fill(1);
            add_often({gpu, raw}, x, y);
        }
        // the same memory, most likely
        gpu_vector<float> next(n, gpu);
        next.fill(77);
        CHECK(all(y.to_host(), CALLS));
        CHECK(all(next.to_host(), 77));
    }
    // the output is freed, too, and a new vector that nobody wanted
    gpu_vector<float> x(n, gpu);
    static_cast<void>(examples::saxpy({gpu, stream.raw}, 1, x, x));
    { gpu_vector<float> out(n, gpu); add_often({gpu, stream.raw}, x, out); }
    gpu.synchronize();
}

// The ways for a process to end with work in the queue. Nobody waits.
static std::optional<context> kept_context;
static std::optional<gpu_vector<float>> kept_vectors[2];
static std::optional<gpu_scalar<float>> kept_scalar;

static void leave() {
    const std::string how = play::argument;
    const context gpu = context::cuda();
    gpu_vector<float> x(many(), gpu), y(many(), gpu);
    x.fill(1);
    add_often({}, x, y);
    if (how == "forgotten" || how == "exit") {
        agpu_context *forgotten = nullptr;
        agpu_context_options options{};
        options.size = sizeof options;
        options.device = AGPU_DEVICE_CUDA;
        arraygpu::check(agpu_context_create(&options, &forgotten));
        agpu_buffer *buffer = nullptr;
        arraygpu::check(agpu_buffer_create(forgotten, AGPU_F32, 1 << 20, &buffer));
        void *pinned = nullptr;
        arraygpu::check(agpu_host_alloc(forgotten, 1 << 20, &pinned));
        x.release(), y.release();
    } else {
        // objects that go after main, when the driver may have gone
        kept_scalar.emplace(gpu);
        kept_context.emplace(context::cuda());
        kept_vectors[0].emplace(std::move(x));
        kept_vectors[1].emplace(floats(1000, 1), *kept_context);
        examples::rmse(*kept_vectors[0], y, *kept_scalar);
        if (how == "thread") std::thread([] { checks::reversed(*kept_vectors[1], *kept_vectors[1]); }).join();
    }
    if (how == "exit") std::exit(check::failures);
}

static void processes_that_end() {
    for (const char *how : {"forgotten", "exit", "static", "thread"}) {
        const int status = play::child("leave", how);
        if (status != 0) check::fail(__FILE__, __LINE__, std::string(how) + ": " + std::to_string(status));
    }
}

// A device that has failed: from here on nothing runs on it in this process, which still ends as it should.
static void fault() {
    const cuda::primary here;
    std::optional<context> gpu(context::cuda()), bystander(context::cuda());
    const auto cpu = context::cpu();
    const std::size_t n = 1 << 24;
    gpu_vector<float> x(n, *gpu), y(n, *gpu), other(1000, *bystander);
    arraygpu::pinned_vector<float> pinned(1000, 1.0f, arraygpu::pinned_allocator<float>(*gpu));
    gpu_scalar<float> scalar(*gpu);
    examples::saxpy(2, x, y, y);
    gpu->synchronize();

    cuda::memory block(4 * n);
    // of memory that was freed behind the library's back, or past the end of what there is
    const bool freed = play::argument == "freed";
    const std::size_t length = freed ? n : std::size_t(1) << 34;
    agpu_buffer *wrapped = nullptr;
    const agpu_status status = agpu_buffer_wrap(gpu->c_context(), AGPU_F32, block.floats(), std::int64_t(length), &wrapped);
    if (!freed && status == AGPU_ERROR_INVALID_ARGUMENT) return; // as good: the library has asked how long it is
    arraygpu::check(status);
    auto bad = gpu_vector<float>::adopt(wrapped);
    if (freed) block.free();
    const auto tail = subview(bad, std::int64_t(length - n), std::int64_t(length));

    const char *driver = "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered";
    CHECK_ERROR(AGPU_ERROR_DEVICE, ({driver}), (examples::saxpy(2, tail, y, y), gpu->synchronize()));
    // every later call says so, whatever it is
    const char *gone = "cannot be used any more in this process";
    float host[10] = {-1}, result = -1;
    for (int i = 0; i < 2; ++i) {
        CHECK_ERROR(AGPU_ERROR_DEVICE, ({"examples::saxpy", "CUDA device 0", gone, driver}), examples::saxpy(2, x, y, y));
        CHECK_ERROR(AGPU_ERROR_DEVICE, ({"examples::rmse", gone, driver}), examples::rmse(x, y, result));
        CHECK_ERROR(AGPU_ERROR_DEVICE, ({"agpu_context_synchronize", gone, driver}), gpu->synchronize());
        CHECK_ERROR(AGPU_ERROR_DEVICE, ({"agpu_copy_to_host", gone, driver}), subview(x, 0, 10).copy_to(host, 10));
        CHECK_ERROR(AGPU_ERROR_DEVICE, ({"agpu_copy_from_host", gone, driver}), subview(x, 0, 10).copy_from(host, 10));
        CHECK_ERROR(AGPU_ERROR_DEVICE, ({"agpu_fill", gone, driver}), x.fill(1));
        CHECK_ERROR(AGPU_ERROR_DEVICE, ({"agpu_buffer_create", gone, driver}), gpu_vector<float>(10, *gpu));
        CHECK_ERROR(AGPU_ERROR_DEVICE, ({"agpu_buffer_wrap", gone, driver}), gpu_vector<float>::wrap(x.data(), 10, *gpu));
        // contexts that did nothing wrong share the device
        CHECK_ERROR(AGPU_ERROR_DEVICE, ({"examples::saxpy", driver}), examples::saxpy(2, other, other, other));
        CHECK_ERROR(AGPU_ERROR_DEVICE, ({"agpu_context_create", "(700)"}), context::cuda());
    }
    CHECK(host[0] == -1 && result == -1);
    // what needs no device still answers, and the CPU computes
    CHECK(x.data() != nullptr && gpu->device() == AGPU_DEVICE_CUDA && gpu->memory().in_use >= 8 * std::int64_t(n));
    const gpu_vector<float> there({1, 2}, cpu);
    CHECK_EXACT(examples::saxpy(2, there, there).to_host(), (floats{3, 6}));
    // some is freed before its context, some after it, some when this ends, some never
    CHECK(agpu_buffer_free(x.release()) == AGPU_OK && agpu_buffer_free(bad.release()) == AGPU_OK);
    gpu.reset();
    CHECK(agpu_buffer_free(y.release()) == AGPU_OK);
    other.release();
}

static void devices_that_have_failed() {
    if (play::sanitized()) return; // it would report what is meant
    for (const char *memory : {"freed", "past the end"}) {
        const int status = play::child("fault", memory);
        if (status != 0) check::fail(__FILE__, __LINE__, std::string(memory) + ": " + std::to_string(status));
    }
}

int main(int count, char **arguments) {
    return play::main(count, arguments,
                      {
                          {"context freed while work is queued", context_freed_while_work_is_queued},
                          {"context freed with work on a stream of the caller", context_freed_with_work_on_a_stream_of_the_caller},
                          {"buffers freed while work is queued", buffers_freed_while_work_is_queued},
                          {"processes that end", processes_that_end},
                          {"devices that have failed", devices_that_have_failed},
                      },
                      {{"leave", leave}, {"fault", fault}});
}
