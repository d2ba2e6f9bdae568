// The listings of "High-level programming for many-cores using C++14 and the STL" and "Towards composable GPU programming: programming GPUs with
// eager actions and lazy views" (2017), as their authors wrote them where this library is spelled so. `dotProduct` and `saxpy` are their listings 5,
// 6 and 7.
#include "common/check.hpp"
#include "common/data.hpp"
#include "common/launches.hpp"
#include "common/reference.hpp"
#include <arraygpu/views.hpp>

namespace gpu = arraygpu;
namespace view = arraygpu::views;
using std::get;
using std::vector;

// Listing 5, on vectors that are on the device already: composed by calls.
static float composed(const gpu::gpu_vector<float> &a, const gpu::gpu_vector<float> &b) {
    auto mult = [](auto p) {
        return get<0>(p) * get<1>(p); };

    return
        gpu::reduce(
            view::transform(view::zip(a, b), mult), 0.0f); }

// Listing 6.
static float dotProduct(const vector<float> &a,
                        const vector<float> &b) {
    auto mult = [](auto p) {
        return get<0>(p) * get<1>(p); };

    return view::zip(gpu::copy(a), gpu::copy(b))
        | view::transform(mult)
        | gpu::reduce(0.0f); }

// Listing 7.
static auto mult = [](auto p) { return get<0>(p) * get<1>(p); };
static auto plus = [](auto p) { return get<0>(p) + get<1>(p); };

static auto saxpy(float A, const vector<float> &X,
                  const vector<float> &Y) {
    return gpu::async([=](auto a, const auto &x,
                          const auto &y) {
        auto ax = view::zip(view::repeat(a), x)
            | view::transform(mult);
        return view::zip(ax, y)
            | view::transform(plus); }, A, X, Y); }

// The same by a functor of two elements, which may be numbers of the host as well.
struct saxpy_functor {
    float a;
    template <class T> T operator()(T x, T y) const { return a * x + y; }
};

// vadd and sum of their benchmarks, and actions (section 4.1).
static void benchmarks(const vector<float> &ha, const vector<float> &hb) {
    const gpu::gpu_vector<float> a(ha), b(hb);
    gpu::gpu_vector<float> c(ha.size());
    CHECK(check::launches([&] { gpu::transform(view::zip(a, b), c, plus); }) == 1);
    CHECK(check::launches([&] { CHECK_EXACT_VALUE(float(gpu::reduce(a, 0.0f)), reference::sum(ha)); }) == 1);
    vector<float> sums(ha.size());
    for (std::size_t i = 0; i < ha.size(); ++i) sums[i] = ha[i] + hb[i];
    CHECK_EXACT(c.to_host(), sums);
    gpu::for_each(view::zip(a, c), [](auto x, auto &y) { y = y - x; });
    for (std::size_t i = 0; i < ha.size(); ++i) sums[i] -= ha[i];
    CHECK_EXACT(c.to_host(), sums);
    // in place, one after the other; what comes out is c
    const gpu::gpu_vector<float> &same = c | gpu::actions::transform([](auto x) { return x * x; }) | gpu::actions::reverse;
    CHECK(&same == &c && c.to_host().back() == sums[0] * sums[0]);
}

int main() {
    for (const std::size_t n : {1, 129, 2049, 100003}) {
        const auto a = data::uniform(n, 1), b = data::uniform(n, 2);
        vector<float> products(n), line(n);
        for (std::size_t i = 0; i < n; ++i) products[i] = a[i] * b[i], line[i] = 2.5f * a[i] + b[i];
        float dot = 0;
        CHECK(check::launches([&] { dot = dotProduct(a, b); }) == 1);
        CHECK_EXACT_VALUE(dot, reference::sum(products));
        const gpu::gpu_vector<float> x(a), y(b);
        CHECK(check::launches([&] { CHECK_EXACT_VALUE(composed(x, y), dot); }) == 1);

        CHECK(check::launches([&] { CHECK_EXACT(saxpy(2.5f, a, b).get().to_host(), line); }) == 1);
        const saxpy_functor functor{2.5f};
        const auto one = view::zip(x, y) | view::transform(functor);
        CHECK(check::launches([&] { CHECK_EXACT(one.to_host(), line); }) == 1);
        CHECK_EXACT_VALUE(functor(a[0], b[0]), line[0]);
        // both spellings are one program
        const auto nested = view::zip(view::zip(view::repeat(2.5f), x) | view::transform(mult), y) | view::transform(plus);
        CHECK(gpu::program_text(nested.array(), "fused") == gpu::program_text(one.array(), "fused"));
        benchmarks(a, b);
    }
    return check::finish("views");
}
