// "Multi-stage programming for GPUs in C++ using PACXX" (2016): values that are known on the host when a program is compiled become a part of it. Its
// reduction and its n-body simulation, as far as this library has their parts: threads, blocks and shared memory are the compiler's here.
#include "common/check.hpp"
#include "common/data.hpp"
#include "common/launches.hpp"
#include "common/reference.hpp"
#include <arraygpu/views.hpp>

namespace gpu = arraygpu;
namespace view = arraygpu::views;
using gpu::stage;
using std::get;
using vector = gpu::gpu_vector<float>;

// Listing 4: `threads` sums, each of elements `threads` apart, and their sum. The number of elements each takes is staged, so its loop is one of C++,
// which is gone when the program runs; so is the test at the end of the input where the length is a power of two.
static float reduce(const std::vector<float> &host, std::int64_t threads) {
    const vector input(host);
    auto n = stage(std::int64_t(input.size()));
    auto nIsPow2 = stage([](auto x) {
        return ((x & (x - 1)) == 0); }, n);
    auto each = (n + threads - 1) / threads;
    auto sums = gpu::generate(threads, [&](auto tid) {
        gpu::expr<float> sum = 0.0f;
        for (std::int64_t k = 0; k < each; ++k) {
            auto i = tid + k * threads;
            if (nIsPow2 && n % threads == 0) {
                sum += gpu::at(input, i);
            } else {
                sum += gpu::select(i < n, gpu::at(input, gpu::min(i, n - 1)), 0.0f); }
        }
        return sum; });
    return gpu::sum(sums);
}

// Listing 7: a staged value that was computed with is a staged value.
static void of_staged(std::size_t inputSize) {
    auto n = stage(inputSize);
    n = n / 2;
    auto b = stage([](auto x) { return x < 1024; }, n);
    CHECK(bool(b) == (inputSize / 2 < 1024));
}

// Listing 5, a body an element. Its macros are functions here, `for_each(pos, ..)` of listing 6 is a nested view, and w is the mass.
template <class T> static T sq(T x) { return x * x; }
template <class T> static T cu(T x) { return x * x * x; }

struct bodies {
    vector x, y, z, w, vx, vy, vz;
};
static void step(bodies &all, float G, float dt, float eps2) {
    const auto pos = view::zip(std::as_const(all.x), std::as_const(all.y), std::as_const(all.z), std::as_const(all.w));
    const auto epsilon = stage(eps2);
    gpu::for_each(view::zip(all.x, all.y, all.z, all.vx, all.vy, all.vz), [&](auto &px, auto &py, auto &pz, auto &vx, auto &vy, auto &vz) {
        const auto pulls = pos | view::transform([&](auto ex, auto ey, auto ez, auto ew) {
            auto rx = px - ex, ry = py - ey, rz = pz - ez;
            auto rw = 1.0f / sqrt(sq(rx) + sq(ry) + sq(rz) + epsilon);
            auto aw = G * ew * cu(rw);
            return std::make_tuple(aw * rx, aw * ry, aw * rz);
        });
        auto ax = gpu::sum(get<0>(pulls)), ay = gpu::sum(get<1>(pulls)), az = gpu::sum(get<2>(pulls));
        px += vx * dt + ax * 0.5f * sq(dt);
        py += vy * dt + ay * 0.5f * sq(dt);
        pz += vz * dt + az * 0.5f * sq(dt);
        vx += ax * dt;
        vy += ay * dt;
        vz += az * dt;
    });
}

// The same in double.
static void beside_double(std::size_t n) {
    const float G = -0.5f, dt = 0.01f, eps2 = 0.00125f;
    const auto x = data::uniform(n, 1), y = data::uniform(n, 2), z = data::uniform(n, 3), w = data::uniform(n, 4, 0, 1);
    bodies all{vector(x), vector(y), vector(z), vector(w), vector(n), vector(n), vector(n)};
    const auto kernels = check::launches([&] { step(all, G, dt, eps2); });
    CHECK(kernels == 1);
    const auto vx = all.vx.to_host(), px = all.x.to_host();
    for (std::size_t i = 0; i < n; ++i) {
        double a = 0, size = 0;
        for (std::size_t j = 0; j < n; ++j) {
            const double rx = double(x[i]) - x[j], ry = double(y[i]) - y[j], rz = double(z[i]) - z[j];
            const double pull = G * w[j] * cu(1 / std::sqrt(sq(rx) + sq(ry) + sq(rz) + eps2)) * rx;
            a += pull;
            size += std::fabs(pull);
        }
        CHECK_NEAR_VALUE(vx[i], a * dt, 0, 60 * 0x1p-24 * size * dt);
        CHECK_NEAR_VALUE(px[i], x[i] + a * 0.5 * sq(dt), 0x1p-22, 60 * 0x1p-24 * size * dt * dt);
    }
}

// A stencil with staged taps: the weights are constants of the program, and taps of weight 0 are gone.
static void stencil() {
    const std::vector<float> taps = {0.25f, 0, 0.5f, 0, 0.25f}, host = data::uniform(5000, 7);
    const vector x(host);
    const vector smooth = x | view::window(std::int64_t(taps.size())) | view::transform([&](const auto &w) {
        gpu::expr<float> sum = 0.0f;
        for (std::size_t k = 0; k < taps.size(); ++k) {
            const auto tap = stage(taps[k]);
            if (tap != 0.0f) sum += tap * w[std::int64_t(k)];
        }
        return sum;
    });
    std::vector<float> want(host.size() - 4);
    for (std::size_t i = 0; i < want.size(); ++i) want[i] = 0.0f + 0.25f * host[i] + 0.5f * host[i + 2] + 0.25f * host[i + 4];
    CHECK_EXACT(smooth.to_host(), want);
}

int main() {
    for (const std::size_t n : {1024, 1 << 16, (1 << 16) + 172}) {
        const auto host = data::uniform(n, 5);
        double want = 0;
        for (const float v : host) want += v;
        float got = 0;
        CHECK(check::launches([&] { got = reduce(host, 1024); }) == 1);
        CHECK_NEAR_VALUE(got, want, 0, 1e-4 * double(n) / 100);
    }
    of_staged(2000);
    of_staged(4000);
    beside_double(300);
    stencil();
    // another value is another program, the same value the same
    const vector v{1, 2, 3};
    const auto times = [&](float f) { return gpu::program_text(v * stage(f), "fused"); };
    CHECK(times(2) == times(2) && times(2) != times(3) && times(2).find("2f32") != std::string::npos);
    return check::finish("staging");
}
