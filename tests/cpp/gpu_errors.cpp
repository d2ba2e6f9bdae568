// What goes wrong on a GPU: each is an error value with a message, and what is not concerned goes on. Without a GPU, what is asked for
// and not there.
#include "gpu.hpp"
#include <checks.hpp>
#include <climits>
#include <examples.hpp>
#include <functional>
#include <memory>
#include <numeric>

using arraygpu::context;
using arraygpu::gpu_vector;
using arraygpu::subview;
using floats = std::vector<float>;
using indices = std::vector<std::int64_t>;

// What an error says.
static std::string message(const std::function<void()> &call) {
    try {
        call();
    } catch (const arraygpu::error &e) {
        return e.what();
    }
    return "no error";
}

// A context that computes as it should.
static void works(const context &c) {
    const floats x = data::uniform(5000, 1);
    const auto cpu = context::cpu();
    gpu_vector<float> here(x, c);
    CHECK_EXACT(examples::saxpy(2, here, here).to_host(), examples::saxpy(2, gpu_vector<float>(x, cpu), gpu_vector<float>(x, cpu)).to_host());
    checks::reversed(here, here);
    CHECK_EXACT(here.to_host(), floats(x.rbegin(), x.rend()));
}

static void device_that_is_asked_for() {
    for (const char *wish : {"", "cpu", "cuda", "cuda:0", "cuda:7777", "cuda:-1", "cuda:", "cuda:x", "CUDA", "gpu", "nonsense"}) {
        if (play::child("wish", wish) != 0) check::fail(__FILE__, __LINE__, std::string("ARRAYGPU_DEVICE=") + wish);
    }
}

// In a process of its own, because the default context is made once.
static void wish() {
    const std::string wish = play::argument;
    setenv("ARRAYGPU_DEVICE", wish.c_str(), 1);
    const bool gpus = arraygpu::device_count() > 0;
    const bool number = wish == "cuda" || wish == "cuda:0" || wish == "cuda:7777" || wish == "cuda:-1";
    agpu_context *made = nullptr;
    const agpu_status status = agpu_context_default(&made);
    if (wish.empty() || wish == "cpu" || (gpus && (wish == "cuda" || wish == "cuda:0"))) {
        std::int32_t device = 0;
        CHECK(status == AGPU_OK && agpu_context_device(made, &device) == AGPU_OK);
        CHECK(device == (gpus && wish != "cpu" ? AGPU_DEVICE_CUDA : AGPU_DEVICE_CPU));
        CHECK((arraygpu::device_problem().empty() == gpus));
        CHECK_EXACT(examples::saxpy(2, gpu_vector<float>{1, 2}, gpu_vector<float>{3, 4}).to_host(), (floats{5, 8}));
        return;
    }
    const auto code = number ? AGPU_ERROR_UNAVAILABLE : AGPU_ERROR_INVALID_ARGUMENT;
    const std::string said = number ? "ARRAYGPU_DEVICE=" + wish + ": " : "ARRAYGPU_DEVICE is `" + wish + "`, expected cpu, cuda, or cuda:1";
    const char *why = !number ? "" : gpus ? "there is no CUDA device" : "NVIDIA";
    check::status(__FILE__, __LINE__, code, {said.c_str(), why}, status);
    CHECK(made == nullptr);
    // it stays so, also for what needs the default context without saying it; and others can be had
    CHECK_ERROR(code, ({said.c_str(), why}), gpu_vector<float>(3));
    CHECK_ERROR(code, ({said.c_str(), why, "agpu_context_create"}), context());
    works(context::cpu());
    if (gpus) works(context::cuda());
}

static void memory_of_the_host() {
    const auto gpu = context::cuda();
    const auto before = gpu.memory();
    static float fixed[4];
    float stack[4] = {1, 2, 3, 4};
    const std::unique_ptr<float[]> heap(new float[1 << 20]());
    for (float *host : {stack, fixed, heap.get(), heap.get() + 1000}) {
        CHECK_ERROR(AGPU_ERROR_INVALID_ARGUMENT, ({"agpu_buffer_wrap", "CUDA does not know: host memory?", "CUDA device 0"}),
                    gpu_vector<float>::wrap(host, 4, gpu));
    }
    CHECK_ERROR(AGPU_ERROR_INVALID_ARGUMENT, ({"agpu_buffer_wrap", "NULL", "4"}), gpu_vector<float>::wrap(nullptr, 4, gpu));
    CHECK(gpu_vector<float>::wrap(nullptr, 0, gpu).empty());
    CHECK(stack[3] == 4 && gpu.memory() == before);
    works(gpu);
}

static void memory_that_is_wrapped() {
    const auto gpu = context::cuda(), other = context::cuda();
    const cuda::primary here;
    const cuda::memory block(4000);
    auto whole = gpu_vector<float>::wrap(block.floats(), 1000, gpu), middle = gpu_vector<float>::wrap(block.floats() + 333, 5, gpu);
    CHECK(whole.data() == block.floats() && middle.data() == block.floats() + 333);
    whole.fill(1);
    middle.fill(2);
    examples::saxpy(2, middle, subview(whole, 0, 5), middle);
    floats expected(1000, 1);
    std::fill_n(expected.begin() + 333, 5, 5.0f);
    CHECK_EXACT(whole.to_host(), expected);
    auto *odd = reinterpret_cast<float *>(block.address + 2);
    CHECK_ERROR(AGPU_ERROR_INVALID_ARGUMENT, ({"agpu_buffer_wrap", "not aligned for f32"}), gpu_vector<float>::wrap(odd, 5, gpu));

    // pinned memory, and memory of another context of the device
    arraygpu::pinned_vector<float> host(expected.begin(), expected.end(), arraygpu::pinned_allocator<float>(gpu));
    auto pinned = gpu_vector<float>::wrap(host.data(), 1000, gpu);
    examples::saxpy(3, whole, pinned, pinned);
    gpu.synchronize();
    CHECK(host[0] == 4 && host[337] == 20 && host[999] == 4);
    gpu_vector<float> owned(expected, gpu);
    auto borrowed = gpu_vector<float>::wrap(owned.data() + 300, 700, other);
    CHECK_EXACT(borrowed.to_host(), floats(expected.begin() + 300, expected.end()));
}

static void more_memory_than_there_is() {
    const auto gpu = context::cuda();
    const gpu_vector<float> x(data::uniform(3000, 1), gpu);
    gpu.synchronize();
    const auto before = gpu.memory();
    for (const std::size_t n : {std::size_t(1) << 40, std::size_t(1) << 50, std::size_t(1) << 60}) {
        const std::string count = std::to_string(n) + " elements of 4 bytes";
        CHECK_ERROR(AGPU_ERROR_OUT_OF_MEMORY, ({"agpu_buffer_create", count.c_str()}), gpu_vector<float>(n, gpu));
    }
    CHECK_ERROR(AGPU_ERROR_OUT_OF_MEMORY, ({"4611686018427387904 elements of 8 bytes"}), gpu_vector<double>(std::size_t(1) << 62, gpu));
    arraygpu::pinned_allocator<float> pinned(gpu);
    CHECK_ERROR(AGPU_ERROR_OUT_OF_MEMORY, ({"agpu_host_alloc"}), static_cast<void>(pinned.allocate(std::size_t(1) << 50)));
    CHECK(gpu.memory() == before);
    CHECK_EXACT(x.to_host(), data::uniform(3000, 1));
    works(gpu);
}

// A call that needs memory for a temporary or a new result, which it does not get.
static void calls_above_the_limit() {
    const auto gpu = context::cuda();
    const std::size_t n = 1 << 20;
    const floats host = data::uniform(n, 1);
    gpu_vector<float> x(host, gpu);
    works(gpu);
    checks::reversed(x, x);
    x.copy_from(host);
    const auto before = gpu.memory();
    gpu.set_memory_limit(before.in_use + std::int64_t(4 * n) - 1);
    const char *many = "1048576 elements of 4 bytes", *above = "above the context's limit of";
    CHECK_ERROR(AGPU_ERROR_OUT_OF_MEMORY, ({"checks::reversed: result", many, above}), checks::reversed(x, x));
    CHECK_ERROR(AGPU_ERROR_OUT_OF_MEMORY, ({"examples::saxpy: result", many, above}), examples::saxpy(2, x, x));
    CHECK_ERROR(AGPU_ERROR_OUT_OF_MEMORY, ({"agpu_buffer_create", many, above}), gpu_vector<float>(n, gpu));
    agpu_buffer *made = nullptr;
    CHECK(examples_saxpy_new(nullptr, 2, x.c_view(), x.c_view(), &made) == AGPU_ERROR_OUT_OF_MEMORY && made == nullptr);
    CHECK_EXACT(x.to_host(), host);
    CHECK(gpu.memory() == before);
    examples::saxpy(1, x, x, x); // needs none
    gpu.set_memory_limit(before.in_use + std::int64_t(4 * n));
    checks::reversed(x, x);
    CHECK(x.to_host()[0] == 2 * host[n - 1] && gpu.memory().in_use == before.in_use);
    CHECK_ERROR(AGPU_ERROR_INVALID_ARGUMENT, ({"agpu_context_set_memory_limit", "-1"}), gpu.set_memory_limit(-1));
}

static void calls_that_the_device_has_no_memory_for() {
    if (play::sanitized()) return; // it takes memory, too
    const auto gpu = context::cuda();
    const cuda::primary here;
    works(gpu);
    std::size_t free = 0, total = 0;
    cuda::must("cuMemGetInfo_v2", &free, &total);
    const std::size_t n = free / 4 / 10 * 6;
    gpu_vector<float> x(n, gpu);
    subview(x, 0, 1).fill(1);
    gpu.synchronize();
    const auto before = gpu.memory();
    CHECK_ERROR(AGPU_ERROR_OUT_OF_MEMORY, ({"checks::reversed: result", "CUDA_ERROR_OUT_OF_MEMORY (2)"}), checks::reversed(x, x));
    CHECK_ERROR(AGPU_ERROR_OUT_OF_MEMORY, ({"agpu_buffer_create", "CUDA_ERROR_OUT_OF_MEMORY (2)"}), gpu_vector<float>(n, gpu));
    CHECK(gpu.memory() == before);
    CHECK_EXACT(subview(x, 0, 2).to_host(), (floats{1, 0}));
    CHECK_EXACT(subview(x, std::int64_t(n) - 1, std::int64_t(n)).to_host(), floats{0});
    works(gpu);
}

// Arguments that no device takes: the same code and the same words, and the outputs stay.
static void arguments_that_no_device_takes() {
    const auto cpu = context::cpu(), gpu = context::cuda(), second = context::cuda();

    const auto try_all = [](const context &c) {
        gpu_vector<float> x(floats(10, 1), c), y(floats(10, 2), c), out(floats(20, 7), c);
        gpu_vector<double> doubles(10, c);
        float result = -1;
        std::vector<std::string> said;
        const auto fails = [&](agpu_status expected, agpu_status status) {
            said.push_back(agpu_last_error_message());
            check::status(__FILE__, __LINE__, expected, {}, status);
        };
        const auto part = [&](std::int64_t first, std::int64_t last) { return subview(out, first, last).c_view(); };
        const auto vx = x.c_view(), vy = y.c_view();
        fails(AGPU_ERROR_OVERLAP, checks_sum_and_difference(nullptr, vx, vy, part(0, 10), part(5, 15)));
        fails(AGPU_ERROR_SHAPE, checks_add(nullptr, vx, vy, part(0, 9)));
        fails(AGPU_ERROR_SHAPE, checks_add(nullptr, vx, part(0, 9), part(10, 19)));
        fails(AGPU_ERROR_SHAPE, examples_rmse(nullptr, vx, part(0, 9), &result));
        fails(AGPU_ERROR_SHAPE, examples_rmse_device(nullptr, vx, vy, part(0, 2)));
        fails(AGPU_ERROR_SHAPE, checks_window(nullptr, vx, 3, 11, part(0, 8)));
        fails(AGPU_ERROR_TYPE_MISMATCH, examples_rmse(nullptr, vx, doubles.c_view(), &result));
        fails(AGPU_ERROR_INVALID_ARGUMENT, examples_rmse(nullptr, vx, vy, nullptr));
        agpu_view bad = vx;
        bad.extent[0] = 11;
        fails(AGPU_ERROR_OUT_OF_BOUNDS, examples_rmse(nullptr, bad, vy, &result));
        bad = part(0, 10);
        bad.stride[0] = 0;
        fails(AGPU_ERROR_OVERLAP, checks_add(nullptr, vx, vy, bad));
        bad.buffer = nullptr;
        fails(AGPU_ERROR_INVALID_HANDLE, checks_add(nullptr, vx, vy, bad));
        CHECK(result == -1);
        CHECK_EXACT(out.to_host(), floats(20, 7));
        return said;
    };
    CHECK(try_all(gpu) == try_all(cpu));

    const gpu_vector<float> here({1, 2}, gpu), there({3, 4}, cpu), elsewhere({5, 6}, second);
    gpu_vector<float> out({7, 7}, gpu), host({7, 7}, cpu);
    float result = -1;
    CHECK_ERROR(AGPU_ERROR_WRONG_CONTEXT, ({"rmse", "x, y", "different contexts"}), examples::rmse(here, there, result));
    CHECK_ERROR(AGPU_ERROR_WRONG_CONTEXT, ({"rmse", "x, y", "different contexts"}), examples::rmse(there, here, result));
    CHECK_ERROR(AGPU_ERROR_WRONG_CONTEXT, ({"rmse", "x, y", "different contexts"}), examples::rmse(here, elsewhere, result));
    CHECK_ERROR(AGPU_ERROR_WRONG_CONTEXT, ({"rmse", "x", "call's context"}), examples::rmse({cpu}, here, here, result));
    CHECK_ERROR(AGPU_ERROR_WRONG_CONTEXT, ({"add", "result"}), checks::add(here, here, host));
    CHECK_ERROR(AGPU_ERROR_INVALID_ARGUMENT, ({"add", "call.stream"}), checks::add({cpu, gpu.stream()}, there, there, host));
    CHECK(result == -1);
    CHECK_EXACT(out.to_host(), (floats{7, 7}));
    // copies may go anywhere
    out.copy_from(there);
    host.copy_from(elsewhere);
    CHECK_EXACT(out.to_host(), (floats{3, 4}));
    CHECK_EXACT(host.to_host(), (floats{5, 6}));
}

static void error_records() {
    const auto cpu = context::cpu(), gpu = context::cuda();
    const cuda::primary device;
    const std::size_t n = 300007;
    const floats host = data::uniform(n, 1);
    indices good(n);
    std::iota(good.begin(), good.end(), 0);
    const auto bad = [&](std::initializer_list<std::size_t> at) {
        indices with = good;
        for (const std::size_t i : at) with[i] = i % 2 ? -1 : std::int64_t(n);
        return with;
    };
    const gpu_vector<float> x(host, gpu);
    gpu_vector<float> out(n, gpu);
    // the call returns before the GPU has seen the indices, which are freed at once
    const auto pick = [&](const indices &i, void *stream = nullptr) { checks::pick({gpu, stream}, x, gpu_vector<std::int64_t>(i, gpu), out); };
    const std::string said = message([&] { checks::pick(gpu_vector<float>(host, cpu), gpu_vector<std::int64_t>(bad({299999, 5001, 70000}), cpu)); });
    CHECK(said.find("checks::pick: ") == 0 && said.find("out of range") != said.npos && said.find("first at element 5001") != said.npos);

    float result = -1;
    const std::function<void()> waits[] = {[&] { gpu.synchronize(); }, [&] { static_cast<void>(out.to_host()); },
                                           [&] { examples::rmse(x, x, result); }};
    for (const auto &wait : waits) {
        pick(bad({299999, 5001, 70000}));
        pick(good); // what comes later does not hide it
        examples::saxpy(2, x, x, out);
        CHECK_ERROR(AGPU_ERROR_RECORD, ({"an earlier call of ", said.c_str()}), wait());
        CHECK(result == -1);
        wait();
        result = -1;
    }
    pick(good);
    CHECK_EXACT(out.to_host(), host);

    // of several functions the first that was called, of several calls of one the lowest element; then all are cleared
    gpu_vector<std::int32_t> ones(std::vector<std::int32_t>(10, 1), gpu), zeros(10, gpu);
    pick(bad({900, 901}));
    checks::quotient(ones, zeros, ones);
    pick(bad({404}));
    pick(bad({606}));
    CHECK_ERROR(AGPU_ERROR_RECORD, ({"checks::pick", "out of range", "first at element 404"}), gpu.synchronize());
    gpu.synchronize();
    checks::quotient(ones, zeros, ones);
    CHECK_ERROR(AGPU_ERROR_RECORD, ({"checks::quotient", "first at element 0"}), gpu.synchronize());

    const cuda::stream stream;
    pick(bad({299999}), stream.raw);
    stream.wait();
    CHECK_ERROR(AGPU_ERROR_RECORD, ({"checks::pick", "first at element 299999"}), static_cast<void>(out.to_host()));
    pick(bad({299998}), stream.raw);
    CHECK_ERROR(AGPU_ERROR_RECORD, ({"checks::pick", "first at element 299998"}), gpu.synchronize());
    gpu.synchronize();
    works(gpu);
}

int main(int count, char **arguments) {
    return play::main(count, arguments,
                      {
                          {"device that is asked for", device_that_is_asked_for, true},
                          {"memory of the host", memory_of_the_host},
                          {"memory that is wrapped", memory_that_is_wrapped},
                          {"more memory than there is", more_memory_than_there_is},
                          {"calls above the limit", calls_above_the_limit},
                          {"calls that the device has no memory for", calls_that_the_device_has_no_memory_for},
                          {"arguments that no device takes", arguments_that_no_device_takes},
                          {"error records", error_records},
                      },
                      {{"wish", wish}});
}
