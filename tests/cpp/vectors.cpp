// The C++ layer without any package: construction, moves, copies, views, constness, errors.
#include "check.hpp"
#include <arraygpu.hpp>
#include <array>
#include <cstring>
#include <list>
#include <numeric>
#if __cplusplus >= 202002L
#include <span>
#endif

using arraygpu::gpu_vector;
using arraygpu::gpu_vector_view;
using arraygpu::subview;
using floats = std::vector<float>;

// const vectors give no writable views; vectors are not copied by accident; scalars and pointers are no vectors
static_assert(!std::is_convertible_v<const gpu_vector<float> &, gpu_vector_view<float>>);
static_assert(!std::is_convertible_v<gpu_vector_view<const float>, gpu_vector_view<float>>);
static_assert(std::is_convertible_v<gpu_vector<float> &, gpu_vector_view<float>>);
static_assert(std::is_convertible_v<gpu_vector<float> &, gpu_vector_view<const float>>);
static_assert(std::is_convertible_v<const gpu_vector<float> &, gpu_vector_view<const float>>);
static_assert(std::is_convertible_v<gpu_vector_view<float>, gpu_vector_view<const float>>);
static_assert(!std::is_convertible_v<gpu_vector<double> &, gpu_vector_view<const float>>);
static_assert(!std::is_constructible_v<gpu_vector_view<float>, gpu_vector<float>>);
static_assert(!std::is_copy_constructible_v<gpu_vector<float>> && !std::is_copy_assignable_v<gpu_vector<float>>);
static_assert(std::is_nothrow_move_constructible_v<gpu_vector<float>> && std::is_nothrow_move_assignable_v<gpu_vector<float>>);
static_assert(std::is_nothrow_destructible_v<gpu_vector<float>> && std::is_nothrow_destructible_v<arraygpu::context>);
static_assert(!std::is_convertible_v<std::size_t, gpu_vector<float>> && !std::is_convertible_v<floats, gpu_vector<float>>);
static_assert(std::is_trivially_copyable_v<gpu_vector_view<float>>);

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void old_names() {
    gpu_vector<float> x{1, 2, 3};
    CHECK(arraygpu::view(x, 1, 3).to_host() == floats{2, 3} && view(x.view(), 0, 3, 2).to_host() == floats{1, 3});
}
#pragma GCC diagnostic pop

static void construction() {
    CHECK(gpu_vector<float>().empty() && gpu_vector<float>().to_host().empty());
    CHECK(gpu_vector<std::int64_t>(0).size() == 0);
    CHECK(gpu_vector<float>(3).to_host() == floats{0, 0, 0});
    CHECK(gpu_vector<float>(floats{1, 2}).to_host() == floats{1, 2});
    CHECK(gpu_vector<float>{1, 2, 3}.to_host() == floats{1, 2, 3});
    CHECK(gpu_vector<float>(std::array<float, 2>{4, 5}).to_host() == floats{4, 5});
    const std::list<int> list{7, 8, 9};
    CHECK(gpu_vector<double>(list.begin(), list.end()).to_host() == std::vector<double>{7, 8, 9});
    const float plain[] = {1, 2, 3};
    CHECK(gpu_vector<float>(plain + 1, plain + 3).to_host() == floats{2, 3});
#if __cplusplus >= 202002L
    CHECK(gpu_vector<float>(std::span(plain)).to_host() == floats{1, 2, 3});
#endif
    CHECK(gpu_vector<std::uint8_t>{1, 255}.to_host() == std::vector<std::uint8_t>{1, 255});
    CHECK(gpu_vector<std::int8_t>{-128, 127}.to_host() == std::vector<std::int8_t>{-128, 127});
    CHECK(gpu_vector<std::int16_t>{-32768, 5}.to_host() == std::vector<std::int16_t>{-32768, 5});
    CHECK(gpu_vector<std::uint16_t>{65535}.to_host() == std::vector<std::uint16_t>{65535});
    CHECK(gpu_vector<std::int32_t>{-1}.to_host() == std::vector<std::int32_t>{-1});
    CHECK(gpu_vector<std::uint32_t>{~0u}.to_host() == std::vector<std::uint32_t>{~0u});
    CHECK(gpu_vector<std::uint64_t>{~std::uint64_t(0)}.to_host() == std::vector<std::uint64_t>{~std::uint64_t(0)});
    CHECK(gpu_vector<std::int64_t>{-5}.to_host() == std::vector<std::int64_t>{-5});
    const std::vector<bool> bits{true, false, true};
    CHECK(gpu_vector<bool>(bits).to_host() == bits);
    CHECK(gpu_vector<bool>{true, false}.to_host() == std::vector<bool>{true, false});
    gpu_vector<bool> b(3);
    b.copy_from(bits);
    CHECK(b.to_host() == bits);
}

static void ownership() {
    gpu_vector<float> a{1, 2, 3};
    const agpu_buffer *handle = a.c_buffer();
    gpu_vector<float> b = std::move(a);
    CHECK(b.c_buffer() == handle && b.size() == 3 && a.size() == 0 && a.c_buffer() == nullptr);
    CHECK_THROWS(AGPU_ERROR_INVALID_HANDLE, "NULL", static_cast<void>(a.to_host()));
    a = gpu_vector<float>{9};
    swap(a, b);
    CHECK(a.to_host() == floats{1, 2, 3} && b.to_host() == floats{9});
    auto &self = a;
    a = std::move(self);
    CHECK(a.to_host() == floats{1, 2, 3});
    auto c = a.clone();
    c.fill(5);
    CHECK(a.to_host() == floats{1, 2, 3} && c.to_host() == floats{5, 5, 5});

    agpu_buffer *raw = c.release();
    CHECK(c.empty());
    auto d = gpu_vector<float>::adopt(raw);
    CHECK(d.to_host() == floats{5, 5, 5});
    agpu_buffer *doubles = gpu_vector<double>{1}.release();
    CHECK_THROWS(AGPU_ERROR_TYPE_MISMATCH, "element type", static_cast<void>(gpu_vector<float>::adopt(doubles)));
    CHECK(agpu_buffer_free(doubles) == AGPU_ERROR_INVALID_HANDLE); // adopt took it, and freed it

    const auto cpu = arraygpu::context::cpu();
    alignas(64) float mine[4] = {1, 2, 3, 4};
    {
        auto wrapped = gpu_vector<float>::wrap(mine, 4, cpu);
        CHECK(wrapped.data() == mine);
        wrapped.fill(7);
    }
    CHECK(mine[0] == 7 && mine[3] == 7);
    CHECK(reinterpret_cast<std::uintptr_t>(gpu_vector<float>(100, cpu).data()) % 64 == 0);
}

static void views() {
    gpu_vector<float> v(floats{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    const auto &fixed = v;
    CHECK(subview(fixed, 2, 5).to_host() == floats{2, 3, 4});
    CHECK(subview(v, 1, 10, 4).to_host() == floats{1, 5, 9});
    CHECK(subview(v, 1, 9, 4).to_host() == floats{1, 5});
    CHECK(subview(v, 10, 10).empty() && subview(v, 0, 0, 3).to_host().empty());
    CHECK(subview(subview(v, 1, 10, 2), 1, 5, 3).to_host() == floats{3, 9});
    static_assert(std::is_same_v<decltype(subview(fixed, 0, 1)), gpu_vector_view<const float>>);
    static_assert(std::is_same_v<decltype(subview(v, 0, 1)), gpu_vector_view<float>>);

    subview(v, 0, 10, 2).fill(-1);
    CHECK(v.to_host() == floats{-1, 1, -1, 3, -1, 5, -1, 7, -1, 9});
    subview(v, 0, 2).copy_from(floats{10, 11});
    CHECK(subview(v, 0, 3).to_host() == floats{10, 11, -1});
    subview(v, 1, 10, 3).copy_from(subview(v, 0, 3)); // overlaps
    CHECK(v.to_host() == floats{10, 10, -1, 3, 11, 5, -1, -1, -1, 9});
    subview(v, 1, 10).copy_from(subview(v, 0, 9));
    CHECK(v.to_host() == floats{10, 10, 10, -1, 3, 11, 5, -1, -1, -1});
    CHECK(gpu_vector<float>(subview(fixed, 4, 6)).to_host() == floats{3, 11});
    v.copy_from(floats(10, 1));
    CHECK(v.to_host() == floats(10, 1));

    CHECK_THROWS(AGPU_ERROR_OUT_OF_BOUNDS, "0..11", subview(v, 0, 11));
    CHECK_THROWS(AGPU_ERROR_OUT_OF_BOUNDS, "length 10", subview(v, -1, 3));
    CHECK_THROWS(AGPU_ERROR_OUT_OF_BOUNDS, "7..6", subview(v, 7, 6));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "stride is 0", subview(v, 0, 6, 0));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "length 10, the source 3", v.copy_from(floats{1, 2, 3}));
    float few[3];
    CHECK_THROWS(AGPU_ERROR_SHAPE, "copy_to: the vector has the length 10, the destination 3", v.copy_to(few, 3));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "dst has the length 10, src 4", v.copy_from(subview(v, 0, 4)));
    CHECK(v.to_host() == floats(10, 1));
}

static void errors() {
    CHECK_THROWS(AGPU_ERROR_OUT_OF_MEMORY, "agpu_buffer_create", gpu_vector<float>(std::size_t(1) << 60));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "18446744073709551615", gpu_vector<float>(std::size_t(-1)));
    arraygpu::context gone;
    const arraygpu::context kept(std::move(gone));
    CHECK_THROWS(AGPU_ERROR_INVALID_HANDLE, "moved from", gpu_vector<float>(3, gone));
    agpu_view backwards = subview(gpu_vector<float>{1, 2}.view(), 0, 2).c_view();
    backwards.extent[0] = -5;
    CHECK_THROWS(AGPU_ERROR_OUT_OF_BOUNDS, "-5", static_cast<void>(gpu_vector_view<float>(backwards).to_host()));
    gpu_vector_view<float> dangling = [] { return gpu_vector<float>{1, 2}.view(); }();
    CHECK_THROWS(AGPU_ERROR_INVALID_HANDLE, "freed", static_cast<void>(dangling.to_host()));
    CHECK_THROWS(AGPU_ERROR_UNAVAILABLE, "agpu_context_create", arraygpu::context(0, 1000));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "threads", arraygpu::context(-1));
    const arraygpu::error plain(AGPU_ERROR_SHAPE);
    CHECK(std::strcmp(plain.what(), "AGPU_ERROR_SHAPE") == 0);
}

static void contexts() {
    arraygpu::context two(2), other(3);
    CHECK(two.threads() == 2);
    std::swap(two, other);
    CHECK(two.threads() == 3 && other.threads() == 2);
    gpu_vector<float> v(floats{1, 2}, two);
    CHECK(v.clone().to_host() == floats{1, 2});
    CHECK(arraygpu::call_options(two).c_call()->context == two.c_context());
    CHECK(arraygpu::call_options().c_call()->size == sizeof(agpu_call));
    gpu_vector<float> outlives;
    {
        arraygpu::context brief(1);
        outlives = gpu_vector<float>({3, 4}, brief);
    }
    CHECK(outlives.to_host() == floats{3, 4});
}

static void devices() {
    const auto cpu = arraygpu::context::cpu(2);
    CHECK(cpu.device() == AGPU_DEVICE_CPU && cpu.device_name() == "CPU" && cpu.threads() == 2 && cpu.stream() == nullptr);
    CHECK((arraygpu::device_count() > 0 || !arraygpu::device_problem().empty()));
    CHECK_THROWS(AGPU_ERROR_UNAVAILABLE, "agpu_context_create", arraygpu::context::cuda(1000));
    CHECK_THROWS(AGPU_ERROR_UNAVAILABLE, "-1", arraygpu::context::cuda(-1));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "-5 is no device", arraygpu::context(0, -5));
    cpu.set_memory_limit(1 << 20);
    CHECK(cpu.memory().in_use == 0);
    cpu.synchronize();
    arraygpu::synchronize();
    arraygpu::synchronize(cpu);
}

static void scalars() {
    using arraygpu::gpu_scalar;
    gpu_scalar<float> zero;
    CHECK(zero.get() == 0);
    gpu_scalar<double> half(0.5);
    CHECK(half.get() == 0.5);
    half.set(2);
    const auto &fixed = half;
    const gpu_vector_view<const double> seen = fixed;
    CHECK(seen.size() == 1 && seen.to_host() == std::vector<double>{2});
    gpu_vector_view<double> writable = half;
    writable.fill(3);
    CHECK(fixed.get() == 3 && gpu_scalar<bool>(true).get());
    const auto cpu = arraygpu::context::cpu();
    CHECK(*gpu_scalar<int>(7, cpu).data() == 7);
    static_assert(!std::is_convertible_v<float, gpu_scalar<float>>);
    static_assert(!std::is_copy_constructible_v<gpu_scalar<float>> && std::is_nothrow_move_constructible_v<gpu_scalar<float>>);
}

static void pinned() {
    arraygpu::pinned_vector<float> host{1, 2, 3};
    gpu_vector<float> v(host), w(3);
    v.copy_to_async(host.data(), 3);
    w.copy_from_async(host.data(), 3);
    arraygpu::synchronize();
    CHECK(w.to_host() == floats{1, 2, 3} && host[2] == 3);
    host.resize(1000, 5);
    CHECK(host[2] == 3 && host[999] == 5);
    auto moved = std::move(host);
    CHECK(moved.size() == 1000);
    const auto cpu = arraygpu::context::cpu();
    arraygpu::pinned_vector<int> plain(3, 9, arraygpu::pinned_allocator<int>(cpu));
    CHECK(gpu_vector<int>(plain, cpu).to_host() == std::vector<int>{9, 9, 9});
    CHECK_THROWS(AGPU_ERROR_SHAPE, "copy_to_async", w.copy_to_async(moved.data(), 4));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "stream", gpu_vector<int>(3, cpu).copy_from_async(plain.data(), 3, {cpu, &failures}));
}

int main() {
    old_names();
    construction();
    ownership();
    views();
    errors();
    contexts();
    devices();
    scalars();
    pinned();
    std::printf("vectors: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures == 0 ? 0 : 1;
}
