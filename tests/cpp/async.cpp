// Streams, events and futures, on the device that the environment chooses. A GPU runs them beside each other; on the CPU they are done at once.
#include "gpu.hpp"
#include <arraygpu/async.hpp>
#include <atomic>
#include <checks.hpp>
#include <examples.hpp>
#include <functional>
#include <thread>

using arraygpu::context;
using arraygpu::event;
using arraygpu::future;
using arraygpu::gpu_scalar;
using arraygpu::gpu_vector;
using arraygpu::stream;
using arraygpu::subview;
using floats = std::vector<float>;

static_assert(std::is_convertible_v<const stream &, arraygpu::call_options>);
static_assert(!std::is_copy_constructible_v<stream> && !std::is_copy_constructible_v<event> && !std::is_copy_constructible_v<future<float>>);
static_assert(std::is_nothrow_move_constructible_v<stream> && std::is_nothrow_move_assignable_v<event>);
static_assert(std::is_nothrow_move_constructible_v<future<float>> && std::is_nothrow_move_constructible_v<future<void>>);
static_assert(std::is_convertible_v<future<float>, float> && !std::is_convertible_v<future<float> &, float>);
static_assert(std::is_convertible_v<future<gpu_vector<float>>, gpu_vector<float>>);
static_assert(!std::is_constructible_v<future<float>, gpu_vector<float>> && !std::is_constructible_v<future<float>, gpu_scalar<float> &>);

static bool on_gpu() {
    const stream probe;
    return probe.c_stream() != nullptr;
}

static floats backwards(const floats &v) { return floats(v.rbegin(), v.rend()); }

// As the head of async.hpp says: uploads on a stream of its own, and gives what f makes there.
template <class F, class... T> static auto async(F f, const std::vector<T> &...host) {
    stream on;
    const auto upload = [&](const auto &source) {
        gpu_vector<typename std::decay_t<decltype(source)>::value_type> v(source.size());
        v.copy_from_async(source.data(), source.size(), on);
        return v;
    };
    auto result = f(on, upload(host)...);
    return future<decltype(result)>(std::move(result), std::move(on));
}

static void streams() {
    const floats hx = data::uniform(100003, 1), hy = data::uniform(100003, 2);
    const gpu_vector<float> x(hx), y(hy);
    const floats sum = examples::saxpy(2, x, y).to_host();
    gpu_vector<float> out(hx.size()), turned(hx.size());
    stream one, two;
    examples::saxpy(one, 2, x, y, out);
    checks::reversed(two, out, turned); // the library knows that it comes after
    two.synchronize();
    CHECK_EXACT(turned.to_host(), backwards(sum));
    CHECK_EXACT_VALUE(examples::rmse(one, x, y), examples::rmse(x, y));
    // one that was moved from is the context's own
    stream moved(std::move(one));
    CHECK(one.c_stream() == nullptr && (moved.c_stream() != nullptr) == on_gpu());
    examples::saxpy(one, 2, x, y, turned);
    examples::saxpy(moved, 2, x, y, out);
    moved = std::move(two);
    CHECK_EXACT(out.to_host(), sum);
    CHECK_EXACT(turned.to_host(), sum);
    // many, one after another
    for (int i = 0; i < 100; ++i) examples::saxpy(stream(), 2, x, y, out);
    CHECK_EXACT(out.to_host(), sum);
    // in a context that is gone before its stream
    stream rest = [] {
        const context here;
        return stream(here);
    }();
    CHECK_ERROR(AGPU_ERROR_INVALID_HANDLE, ({"agpu_stream_synchronize", "context"}), rest.synchronize());
}

static void events() {
    const floats hx = data::uniform(300007, 3);
    gpu_vector<float> x(hx), out(hx.size()), turned(hx.size());
    // the same memory twice: what is called through one is not known to the other
    const auto same = gpu_vector<float>::wrap(out.data(), out.size());
    stream one, two;
    out.fill(0);
    arraygpu::synchronize();
    for (int i = 0; i < 20; ++i) {
        examples::saxpy(one, float(i), x, x, out);
        event done(one);
        two.wait(done);
        checks::reversed(two, same, turned);
        event end(two);
        end.synchronize();
        CHECK(end.ready() && done.ready());
        const floats expected = backwards(examples::saxpy(float(i), x, x).to_host());
        CHECK_EXACT(turned.to_host(), expected);
    }
    event e;
    e.record({});
    e.synchronize();
    event moved(std::move(e));
    CHECK(moved.ready());
    CHECK_ERROR(AGPU_ERROR_INVALID_HANDLE, ({"agpu_event_query", "the event is NULL"}), e.ready());
    const auto cpu = context::cpu();
    arraygpu::wait(cpu, moved);
    if (on_gpu()) CHECK_ERROR(AGPU_ERROR_WRONG_CONTEXT, ({"agpu_event_record"}), moved.record(cpu));
}

static void futures() {
    const floats hx = data::uniform(100003, 4), hy = data::uniform(100003, 5);
    const gpu_vector<float> x(hx), y(hy);
    const floats sum = examples::saxpy(2, x, y).to_host();
    const auto saxpy = [](const stream &on, const auto &a, const auto &b) { return examples::saxpy(on, 2, a, b); };
    future<gpu_vector<float>> result = async(saxpy, hx, hy);
    CHECK(result.valid());
    result.wait();
    CHECK(result.valid() && result.ready());
    CHECK_EXACT(result.get().to_host(), sum);
    CHECK(!result.valid());
    CHECK_ERROR(AGPU_ERROR_INVALID_ARGUMENT, ({"the future holds no value"}), result.get());
    CHECK_ERROR(AGPU_ERROR_INVALID_ARGUMENT, ({"the future holds no value"}), result.ready());
    result = async(saxpy, hx, hy);
    future<gpu_vector<float>> moved(std::move(result));
    CHECK(moved.valid() && !result.valid());
    gpu_vector<float> value = std::move(moved);
    CHECK_EXACT(value.to_host(), sum);
    gpu_vector<float> direct = async(saxpy, hx, hy);
    CHECK_EXACT(direct.to_host(), sum);
    // a scalar on the device; on a stream of the future's, on one of ours, on the context's
    const float expected = examples::rmse(x, y);
    const auto rmse = [&](const arraygpu::call_options &on) {
        gpu_scalar<float> r;
        examples::rmse(on, x, y, r);
        return r;
    };
    stream ours, theirs;
    auto there = rmse(theirs);
    const float r = future<float>(std::move(there), std::move(theirs));
    CHECK_EXACT_VALUE(r, expected);
    CHECK_EXACT_VALUE(future<float>(rmse(ours), ours).get(), expected);
    CHECK_EXACT_VALUE(future<float>(rmse({})).get(), expected);
    // a value that is there, work without a result, what failed, nothing
    CHECK(future<float>(3.0f).get() == 3 && future<int>(7).get() == 7 && future<std::string>(std::string("x")).get() == "x");
    gpu_vector<float> out(hx.size());
    examples::saxpy(ours, 2, x, y, out);
    future<void> work(ours);
    work.get();
    CHECK(!work.valid());
    CHECK_EXACT(out.to_host(), sum);
    const arraygpu::error failure(AGPU_ERROR_SHAPE, "not so");
    auto failed = future<float>::failed(failure);
    CHECK(failed.valid() && failed.ready());
    failed.wait();
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"not so"}), failed.get());
    CHECK(!failed.valid() && !future<float>().valid());
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"not so"}), future<void>::failed(failure).get());
    // one that nobody asks
    async(saxpy, hx, hy);
}

static void records() {
    const gpu_vector<float> x(floats(100, 1));
    const gpu_vector<std::int64_t> far{3, 100};
    gpu_vector<float> out(2);
    stream on;
    if (!on_gpu()) {
        CHECK_ERROR(AGPU_ERROR_RECORD, ({"pick"}), checks::pick(on, x, far, out));
        return;
    }
    checks::pick(on, x, far, out);
    future<gpu_vector<float>> result(std::move(out), std::move(on));
    result.wait();
    CHECK(result.valid() && result.ready());
    CHECK_ERROR(AGPU_ERROR_RECORD, ({"pick", "out of range", "element 1"}), result.get());
    CHECK(!result.valid());
    arraygpu::synchronize();
    // and by what waits for an event or a stream
    gpu_vector<float> other(2);
    stream again;
    checks::pick(again, x, far, other);
    CHECK_ERROR(AGPU_ERROR_RECORD, ({"pick", "out of range"}), event(again).synchronize());
    checks::pick(again, x, far, other);
    CHECK_ERROR(AGPU_ERROR_RECORD, ({"pick", "out of range"}), again.synchronize());
    again.synchronize();
    // what nobody waits for is no error of whoever gets the stream next
    checks::pick(stream(), x, far, other);
    for (int i = 0; i < 100; ++i) {
        stream next;
        auto twice = examples::saxpy(next, 1, x, x);
        CHECK_EXACT(future<gpu_vector<float>>(std::move(twice), std::move(next)).get().to_host(), floats(100, 2));
    }
    CHECK_ERROR(AGPU_ERROR_RECORD, ({"pick", "out of range"}), arraygpu::synchronize());
    arraygpu::synchronize();
}

static void callbacks() {
    const gpu_vector<float> x(data::uniform(1000003, 6));
    std::atomic<int> calls{0};
    std::string order;
    {
        stream on;
        gpu_vector<float> out(x.size());
        examples::saxpy(on, 2, x, x, out);
        on.then([&] { order += 'a'; });
        on.then([&, kept = std::string("b")] { order += kept; });
        future<gpu_vector<float>> result(std::move(out), std::move(on));
        result.then([&] { order += 'c'; }).then([&] { ++calls; });
        result.get();
        future<void>(stream()).then([&] { ++calls; }).get();
    }
    arraygpu::then({}, [&] { ++calls; });
    arraygpu::synchronize(); // of all streams that calls were on
    CHECK(order == "abc" && calls == 3);
    future<int> failed = future<int>::failed(arraygpu::error(AGPU_ERROR_SHAPE, "not so"));
    failed.then([&] { ++calls; });
    CHECK(calls == 3);
    CHECK_ERROR(AGPU_ERROR_INVALID_ARGUMENT, ({"the future holds no value"}), future<void>().then([&] { ++calls; }));
}

static void threads() {
    const floats hx = data::uniform(30011, 7), hy = data::uniform(30011, 8);
    const floats sum = examples::saxpy(2, gpu_vector<float>(hx), gpu_vector<float>(hy)).to_host();
    std::string wrong[4];
    const auto task = [&](unsigned t) {
        try {
            for (int i = 0; i < 50; ++i) {
                auto result = async([](const stream &on, const auto &a, const auto &b) { return examples::saxpy(on, 2, a, b); }, hx, hy);
                if (i % 4 == int(t)) continue; // nobody asks
                if (result.get().to_host() != sum) wrong[t] = "another result, call " + std::to_string(i);
            }
        } catch (const std::exception &e) {
            wrong[t] = e.what();
        }
    };
    std::thread all[4];
    for (unsigned t = 0; t < 4; ++t) all[t] = std::thread(task, t);
    for (auto &one : all) one.join();
    for (const auto &w : wrong)
        if (!w.empty()) check::fail(__FILE__, __LINE__, w);
}

int main(int count, char **arguments) {
    return play::main(count, arguments,
                      {
                          {"streams", streams, true},
                          {"events", events, true},
                          {"futures", futures, true},
                          {"records", records, true},
                          {"callbacks", callbacks, true},
                          {"threads", threads, true},
                      },
                      {});
}
