// Views, algorithms and actions: values against loops of the host, to the bit, and one kernel for a pipeline.
#include "check.hpp"
#include "numbers.hpp"
#include <arraygpu/views.hpp>
#include <algorithm>
#include <complex>

namespace gpu = arraygpu;
namespace view = arraygpu::views;
using std::get;
using floats = std::vector<float>;

template <class F> static floats loop_of(std::size_t n, F f) {
    floats v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = f(i);
    return v;
}

static void shapes() {
    for (const std::size_t n : {12, 4800}) {
        const floats ha = some_numbers(n, 8, 50);
        const gpu::gpu_vector<float> a(ha);
        gpu::gpu_vector<float> c = a | view::drop(2) | view::stride(3) | view::reverse | view::take(3);
        const std::size_t last = 2 + (n - 3) / 3 * 3;
        CHECK(same(c.to_host(), {ha[last], ha[last - 3], ha[last - 6]}));
        c = a | view::window(3) | view::transform([](auto w) { return (w[0] + w[1] + w[2]) / float(w.size()); });
        CHECK(same(c.to_host(), loop_of(n - 2, [&](std::size_t i) { return (ha[i] + ha[i + 1] + ha[i + 2]) / 3; })));
        const auto sums = a | view::chunk(4) | view::transform([](const auto &w) { return w.sum(); });
        CHECK(same(sums.to_host(), loop_of(n / 4, [&](std::size_t i) { return ha[4 * i] + ha[4 * i + 1] + ha[4 * i + 2] + ha[4 * i + 3]; })));
        CHECK(gpu::kernels(sums.array()) == 1);
        c = a | view::window(5) | view::transform([](const auto &w) { return gpu::loop_for(5, 0.0f, [&](auto j, auto s) { return s * 0.5f + w[j]; }); });
        CHECK(same(c.to_host(), loop_of(n - 4, [&](std::size_t i) {
                       float s = 0;
                       for (std::size_t j = 0; j < 5; ++j) s = s * 0.5f + ha[i + j];
                       return s;
                   })));
        c = view::zip(a, a | view::reverse) | view::enumerate |
            view::transform([](auto i, auto p) { return gpu::cast<float>(i) * get<0>(p) - get<1>(p); }) | view::slice(1, 7);
        CHECK(same(c.to_host(), loop_of(6, [&](std::size_t i) { return float(i + 1) * ha[i + 1] - ha[n - 2 - i]; })));
        const gpu::gpu_vector<int> order{3, 0, 11, 3};
        c = a | view::permute(order) | view::transform([](auto x) { return x + 1; });
        CHECK(same(c.to_host(), {ha[3] + 1, ha[0] + 1, ha[11] + 1, ha[3] + 1}));
        c = view::zip(a, view::iota(0)) | view::permute(view::iota(0, 4) | view::transform([](auto i) { return 2 * i; })) |
            view::transform([](auto x, auto i) { return x * gpu::cast<float>(i); });
        CHECK(same(c.to_host(), loop_of(4, [&](std::size_t i) { return ha[2 * i] * float(2 * i); })));
    }
    const auto big = gpu::copy(some_numbers(300, 8, 50)) | view::window(100) | view::transform([](const auto &w) { return w.sum(); });
    CHECK(same(big.to_host(), loop_of(201, [&](std::size_t i) {
                   const floats h = some_numbers(300, 8, 50);
                   float s = h[i];
                   for (std::size_t j = 1; j < 100; ++j) s += h[i + j];
                   return s;
               })));
    // no windows and no chunks have no elements
    const gpu::gpu_vector<float> none, one{1};
    gpu::gpu_vector<float> nothing = none | view::chunk(4) | view::transform([](const auto &w) { return w.sum(); });
    CHECK(nothing.size() == 0);
    nothing = one | view::window(4) | view::transform([](const auto &w) { return w[0] + w[3]; });
    CHECK(nothing.size() == 0);
    CHECK_THROWS(AGPU_ERROR_SHAPE, "repeat: -1 times", view::repeat(1, -1));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "does not have 299", view::iota(std::uint8_t(0), 300));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "does not have 199", view::iota(std::int8_t(0), std::uint8_t(200)));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "does not have 2999999999", view::iota(0, 3000000000u));
    CHECK(view::iota(std::int8_t(-3), std::uint8_t(128)).size() == 131 && view::iota(0u, INT32_MAX).size() == INT32_MAX);
    CHECK(view::iota(std::uint8_t(0), 256).size() == 256);
    CHECK_THROWS(AGPU_ERROR_SHAPE, "iota: from", view::iota(INT64_MIN, INT64_MAX));
    CHECK(view::iota(UINT64_MAX - 2, UINT64_MAX).to_host() == (std::vector<std::uint64_t>{UINT64_MAX - 2, UINT64_MAX - 1}));
    // endless views end with take
    const gpu::gpu_vector<int> squares = view::iota(3) | view::transform([](auto i) { return i * i; }) | view::take(4);
    CHECK((squares.to_host() == std::vector<int>{9, 16, 25, 36}));
}

// Whatever a view is made of, each view can be made of it.
static void composed() {
    const floats h = some_numbers(12, 8, 50);
    const gpu::gpu_vector<float> x(h);
    const gpu::gpu_vector<int> at{3, 0, 5};
    const auto square = [](auto k) { return k * k; };
    gpu::gpu_vector<int> i = view::iota(0) | view::transform(square) | view::take(4) | view::reverse;
    CHECK((i.to_host() == std::vector<int>{9, 4, 1, 0}));
    i = view::iota(0) | view::transform(square) | view::transform([](auto k) { return k + 1; }) | view::slice(2, 9) | view::stride(3) | view::reverse;
    CHECK((i.to_host() == std::vector<int>{65, 26, 5}));
    i = view::iota(0) | view::transform(square) | view::permute(at);
    CHECK((i.to_host() == std::vector<int>{9, 0, 25}));
    gpu::gpu_vector<float> c = view::iota(0) | view::transform([](auto k) { return std::make_tuple(gpu::cast<float>(k), 2.0f); }) | view::take(3) |
                               view::reverse | view::transform([](auto a, auto b) { return a * b; });
    CHECK(same(c.to_host(), {4, 2, 0}));
    const auto numbers = view::iota(0) | view::transform([](auto n) { return gpu::complex(gpu::cast<float>(n), gpu::cast<float>(-n)); }) | view::take(2);
    CHECK((numbers.to_host() == std::vector<std::complex<float>>{0, {1, -1}}));
    // beside a view that ends
    const auto times = [](auto a, auto k) { return a * gpu::cast<float>(k); };
    const auto squares = view::zip(x, view::iota(0) | view::transform(square));
    c = squares | view::reverse | view::transform(times);
    CHECK(same(c.to_host(), loop_of(12, [&](std::size_t j) { return h[11 - j] * float((11 - j) * (11 - j)); })));
    c = squares | view::permute(at) | view::transform(times);
    CHECK(same(c.to_host(), {h[3] * 9, h[0] * 0, h[5] * 25}));
    i = get<1>(squares) | view::transform([](auto k) { return k - 1; }) | view::drop(9);
    CHECK((i.to_host() == std::vector<int>{80, 99, 120}));
    const auto pairs = view::zip(x, view::iota(0) | view::transform([](auto n) { return std::make_tuple(n, n); }));
    float sum = 0;
    for (std::size_t j = 0; j < 12; ++j) sum = sum + h[j] * float(j);
    CHECK(float(pairs | gpu::fold(0.0f, [&](auto s, auto p) { return s + times(get<0>(p), get<0>(get<1>(p))); })) == sum);

    // windows and chunks
    const auto ends = [](auto w) { return w[0] - w[2]; };
    c = x | view::window(3) | view::reverse | view::transform(ends);
    CHECK(same(c.to_host(), loop_of(10, [&](std::size_t j) { return h[9 - j] - h[11 - j]; })));
    c = x | view::window(3) | view::reverse | view::stride(2) | view::reverse | view::transform(ends);
    CHECK(same(c.to_host(), loop_of(5, [&](std::size_t j) { return h[2 * j + 1] - h[2 * j + 3]; })));
    c = x | view::window(3) | view::reverse | view::transform([](const auto &w) { return gpu::loop_for(3, 0.0f, [&](auto j, auto s) { return s + w[j]; }); });
    CHECK(same(c.to_host(), loop_of(10, [&](std::size_t j) { return 0.0f + h[9 - j] + h[10 - j] + h[11 - j]; })));
    const auto total = [](const auto &w) { return w.sum(); };
    c = x | view::chunk(4) | view::permute(gpu::gpu_vector<int>{2, 0, 1, 1}) | view::drop(1) | view::reverse | view::transform(total);
    CHECK(same(c.to_host(), loop_of(3, [&](std::size_t j) {
                   const std::size_t k = 4 * (j == 2 ? 0 : 1);
                   return h[k] + h[k + 1] + h[k + 2] + h[k + 3];
               })));
    c = x | view::window(3) | view::enumerate | view::permute(at) | view::transform([](auto n, auto w) { return gpu::cast<float>(n) + w[1]; });
    CHECK(same(c.to_host(), {3 + h[4], 0 + h[1], 5 + h[6]}));
    const gpu::gpu_vector<std::int64_t> one{1};
    c = x | view::window(3) | view::window(2) | view::transform([&](auto w) {
            const auto k = gpu::at(one, 0);
            return w[0][k] + 2 * w[k][2];
        });
    CHECK(same(c.to_host(), loop_of(9, [&](std::size_t j) { return h[j + 1] + 2 * h[j + 3]; })));
    c = view::zip(x, x | view::reverse) | view::window(2) | view::reverse | view::transform([](auto w) { return get<0>(w[1]) - get<1>(w[0]); });
    CHECK(same(c.to_host(), loop_of(11, [&](std::size_t j) { return h[11 - j] - h[1 + j]; })));
    CHECK_THROWS(AGPU_ERROR_RECORD, "out of range", (x | view::chunk(4) | view::permute(gpu::gpu_vector<int>{3}) | view::transform(total)).to_host());
    const gpu::gpu_vector<float> few{1};
    c = few | view::window(3) | view::reverse | view::transform(ends);
    CHECK(c.size() == 0);
}

static void algorithms() {
    const floats ha = some_numbers(3000, 8, 50), hb = loop_of(3000, [](std::size_t i) { return float(i % 17); });
    const gpu::gpu_vector<float> a(ha);
    gpu::gpu_vector<float> b(hb), c;
    gpu::transform(a, c, [](auto x) { return x * x; });
    CHECK(same(c.to_host(), loop_of(3000, [&](std::size_t i) { return ha[i] * ha[i]; })));
    gpu::transform(a, b, c, [](auto x, auto y) { return x * y + 1; });
    CHECK(same(c.to_host(), loop_of(3000, [&](std::size_t i) { return ha[i] * hb[i] + 1; })));
    gpu::for_each(view::zip(a, b), [](auto x, auto &y) {
        y = 2 * x + y;
        y += 1; // what was written is what is read
    });
    const floats hy = loop_of(3000, [&](std::size_t i) { return 2 * ha[i] + hb[i] + 1; });
    CHECK(same(b.to_host(), hy));
    gpu::for_each(view::zip(b, c), [](auto p) { // two results, from what was there before
        const auto old = get<0>(p).get();
        get<0>(p) = get<1>(p);
        get<1>(p) = old;
    });
    const floats product = loop_of(3000, [&](std::size_t i) { return ha[i] * hb[i] + 1; });
    CHECK(same(c.to_host(), hy) && same(b.to_host(), product));
    const auto exchange = [](auto &x, auto &y) { // as of floats: a copy of an element is a value
        auto old = x;
        x = y;
        y = old;
        old = 0;
    };
    gpu::for_each(view::zip(b, c), exchange);
    CHECK(same(b.to_host(), hy) && same(c.to_host(), product));
    gpu::for_each(view::zip(b, c), [](auto &x, auto &y) {
        using std::swap;
        swap(x, y);
    });
    CHECK(same(c.to_host(), hy) && same(b.to_host(), product));
    gpu::for_each(view::zip(b, view::zip(c, a)), [&](auto p) { // a copy of a tuple has the same elements
        auto [x, rest] = p;
        exchange(x, get<0>(rest));
    });
    CHECK(same(b.to_host(), hy) && same(c.to_host(), product));
    gpu::for_each(view::zip(b, c), exchange);
    gpu::gpu_vector<float> same_number, other_number(8);
    gpu::transform(view::repeat(2.0f, 8), same_number, [](auto x) { return x * 3; });
    CHECK(same_number.to_host() == floats(8, 6));
    gpu::transform(view::repeat(2.0f, 8), view::zip(same_number, other_number), [](auto x) { return std::make_tuple(x, x + 1); });
    CHECK(same_number.to_host() == floats(8, 2) && other_number.to_host() == floats(8, 3));
    gpu::transform(view::zip(a, view::repeat(2.0f)), c, [](auto, auto y) { return y; });
    CHECK(c.to_host() == floats(3000, 2));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "endless", gpu::transform(view::repeat(2.0f), c, [](auto x) { return x; }));
    c.copy_from(hy);
    gpu::gpu_vector<float> low(3000), high(3000);
    gpu::transform(view::zip(a, c), view::zip(low, high), [](auto x, auto y) { return std::make_tuple(gpu::min(x, y), gpu::max(x, y)); });
    CHECK(same(low.to_host(), loop_of(3000, [&](std::size_t i) { return std::min(ha[i], hy[i]); })));
    CHECK(same(high.to_host(), loop_of(3000, [&](std::size_t i) { return std::max(ha[i], hy[i]); })));
    const agpu_buffer *there = c.c_buffer();
    c = a | view::transform([](auto x) { return x + 1; });
    CHECK(c.c_buffer() == there && c.to_host()[5] == ha[5] + 1);
    gpu::subview(c, 1, 3) = a | view::take(2);
    CHECK(c.to_host()[0] == ha[0] + 1 && c.to_host()[1] == ha[0] && c.to_host()[2] == ha[1]);
    gpu::copy(a | view::reverse, c);
    CHECK(c.to_host()[0] == ha[2999]);
    gpu::fill(c, 3);
    CHECK(same(c.to_host(), floats(3000, 3)));
    gpu::fill(gpu::subview(c, 0, 2), gpu::max(c) + 1);
    CHECK(c.to_host()[1] == 4 && c.to_host()[2] == 3);
    const float biggest = a | gpu::reduce(-1000.0f, [](auto x, auto y) { return gpu::max(x, y); });
    CHECK(biggest == *std::max_element(ha.begin(), ha.end()));
    CHECK(float(gpu::sum(a | view::transform([](auto x) { return x * 0; }))) == 0);
    const auto one = view::zip(a, b) | view::transform([](auto x, auto y) { return x * y; }) | gpu::reduce(0.0f);
    CHECK(gpu::kernels(one) == 1);
    CHECK_THROWS(AGPU_ERROR_SHAPE, "3000", view::zip(a, gpu::gpu_vector<float>(2)));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "chunk", a | view::chunk(7));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "endless", (view::iota(0) | view::reverse));
}

static void actions() {
    gpu::gpu_vector<float> v{1, 2, 3, 4};
    gpu::gpu_vector<float> &back = v | gpu::actions::transform([](auto x) { return x * x; }) | gpu::actions::reverse;
    CHECK(&back == &v && same(v.to_host(), {16, 9, 4, 1}));
    v | gpu::actions::drop(1) | gpu::actions::stride(2);
    CHECK(same(v.to_host(), {9, 1}));
    const gpu::gpu_vector<int> wrong{0, 7};
    CHECK_THROWS(AGPU_ERROR_RECORD, "views.cpp:" + std::to_string(__LINE__), (v | gpu::actions::permute(wrong)).to_host());
    v = gpu::copy(floats{9, 1});
    const gpu::gpu_vector<float> made = gpu::copy(floats{1, 2, 3}) | gpu::actions::fill(2) | gpu::actions::transform([](auto x) { return x + 1; });
    CHECK(same(made.to_host(), {3, 3, 3}));
    gpu::subview(v, 0, 1) | gpu::actions::fill(5);
    CHECK(same(v.to_host(), {5, 1}));
}

// one function for elements of the host and of the device
struct smooth {
    template <class T> T operator()(T x, T y) const { return gpu::select(x > y, x - y, (x + y) / 2); }
};

static void functors() {
    const floats ha = some_numbers(500, 8, 50), hb = loop_of(500, [](std::size_t i) { return float(i % 60) - 30; });
    const gpu::gpu_vector<float> a(ha), b(hb);
    const gpu::gpu_vector<float> c = view::zip(a, b) | view::transform(smooth());
    CHECK(same(c.to_host(), loop_of(500, [&](std::size_t i) { return smooth()(ha[i], hb[i]); })));
    // two spellings of saxpy, one program
    const float s = 2.5f;
    const auto mult = [](auto p) { return get<0>(p) * get<1>(p); };
    const auto plus = [](auto p) { return get<0>(p) + get<1>(p); };
    const auto ax = view::zip(view::repeat(s), a) | view::transform(mult);
    const auto nested = view::zip(ax, b) | view::transform(plus);
    const auto functor = view::zip(a, b) | view::transform([s](auto x, auto y) { return s * x + y; });
    const auto plain = s * a + b;
    const std::string fused = gpu::program_text(nested.array(), "fused");
    CHECK(fused == gpu::program_text(functor.array(), "fused"));
    CHECK(gpu::kernels(plain) == 1);
    CHECK(gpu::kernels(nested.array()) == 1);
    CHECK(same(nested.to_host(), loop_of(500, [&](std::size_t i) { return s * ha[i] + hb[i]; })));
}

// Functions of numbers of the host, which name those of std, with what is traced and with arrays: of one type, of several, and beside numbers.
namespace of_numbers {
using std::clamp;
using std::max;
using std::min;
static const auto larger = [](const auto &a, const auto &b) { return max(a, b); };
static const auto between = [](const auto &x, const auto &low, const auto &high) { return clamp(x, low, high); };
static const auto range_of = [](auto a, auto b, auto c) { return max(max(a, b), c) - min(min(a, b), c); };
static const auto positive = [](auto a) { return max(a, decltype(a)(0)) + min(a, decltype(a)(1)) - max(a, a + 1.0f); };
} // namespace of_numbers
namespace of_all_names {
using namespace std;
static const auto smaller = [](auto a, auto b) { return min(a, b); };
} // namespace of_all_names

static void names_of_std() {
    using namespace of_numbers;
    const floats ha = some_numbers(40, 8, 50), hb = some_numbers(40, 11, 20), hc(40, 3.0f);
    const gpu::gpu_vector<float> a(ha), b(hb), c(hc);
    const floats wanted = loop_of(40, [&](std::size_t i) { return larger(ha[i], hb[i]); });
    CHECK(same(eval(gpu::map(larger, a, b)).to_host(), wanted) && same(eval(larger(a, b)).to_host(), wanted) && same(eval(larger(+a, +b)).to_host(), wanted));
    CHECK(same(eval(larger(a, +b)).to_host(), wanted) && same(eval(larger(a.view(), b.view())).to_host(), wanted));
    CHECK(same(eval(larger(view::all(a), view::all(b))).to_host(), wanted));
    CHECK(same(eval(gpu::map(range_of, a, b, c)).to_host(), loop_of(40, [&](std::size_t i) { return range_of(ha[i], hb[i], hc[i]); })));
    CHECK(same(eval(gpu::map(positive, a)).to_host(), loop_of(40, [&](std::size_t i) { return positive(ha[i]); })));
    CHECK(same(eval(gpu::map(of_all_names::smaller, a, b)).to_host(), loop_of(40, [&](std::size_t i) { return std::min(ha[i], hb[i]); })));
    const floats limited = loop_of(40, [&](std::size_t i) { return between(ha[i], -1.0f, hc[i]); });
    CHECK(same(eval(gpu::map([](auto x, auto high) { return between(x, decltype(x)(-1.0f), high); }, a, c)).to_host(), limited));
    CHECK(same(eval(between(a, gpu::gpu_vector<float>(floats(40, -1.0f)), c)).to_host(), limited) && same(eval(between(a, -1.0f, c)).to_host(), limited));
    gpu::gpu_vector<float> x(ha), y(hb);
    gpu::for_each(view::zip(x, y), [](auto &u, auto &v) { u = max(u, v), v = min(u, v), v = clamp(v, v, u); });
    CHECK(same(x.to_host(), wanted) && same(y.to_host(), hb));
    const gpu::gpu_scalar<float> two(2.0f), three(3.0f);
    CHECK(float(larger(two, three)) == 3 && float(larger(sum(c), +two)) == 120);
    const gpu::gpu_matrix<float> m(ha, 5, 8), n(hb, 5, 8);
    const gpu::gpu_tensor3<float> s(ha, 2, 4, 5), t(hb, 2, 4, 5);
    CHECK(same(eval(larger(m, n)).to_host(), wanted) && same(eval(larger(+m, +n)).to_host(), wanted) && same(eval(larger(m.view(), n.view())).to_host(), wanted));
    CHECK(same(eval(larger(s, t)).to_host(), wanted) && same(eval(larger(+s, +t)).to_host(), wanted));
}

static void later() {
    const floats host = some_numbers(1000, 8, 50);
    auto doubled = gpu::async([](const auto &v, auto s) { return v | view::transform([s](auto x) { return x * s; }); }, host, 2.0f);
    static_assert(std::is_same_v<decltype(doubled), gpu::future<gpu::gpu_vector<float>>>);
    CHECK(same(doubled.get().to_host(), loop_of(1000, [&](std::size_t i) { return host[i] * 2; })));
    const gpu::context two = gpu::context::cpu(2);
    const gpu::gpu_vector<float> there(host, two);
    gpu::future<float> most = gpu::async([](const auto &v) { return gpu::max(v); }, there);
    CHECK(most.get() == *std::max_element(host.begin(), host.end()));
    CHECK(gpu::async([](auto x) { return x + 1; }, 2).get() == 3);
    CHECK(gpu::async([](auto &&v) { return std::move(v); }, host).get().size() == 1000);
    // several results, which come to the host when they are asked for
    auto three = gpu::async([](const auto &v) { return std::make_tuple(gpu::sum(v), gpu::max(v), v * 2); }, host);
    static_assert(std::is_same_v<decltype(three), gpu::future<std::tuple<float, float, gpu::gpu_vector<float>>>>);
    const auto [sum, greatest, twice] = three.get();
    CHECK(sum == float(gpu::sum(gpu::copy(host))) && greatest == *std::max_element(host.begin(), host.end()) && twice.to_host()[3] == 2 * host[3]);
    CHECK(get<1>(gpu::async([](const auto &v) { return gpu::minmax(v); }, host).get()) == greatest);
    CHECK(gpu::async([](const auto &v) { return std::array{gpu::max(v), gpu::min(v)}; }, there).get()[0] == greatest);
    const auto mixed = gpu::async([](const auto &v) { return std::make_pair(gpu::sum(gpu::complex(v, v)), std::vector{v + 1, v + 2}); }, host).get();
    CHECK(get<0>(mixed) == std::complex<float>(sum, sum) && get<1>(mixed)[1].to_host()[1] == host[1] + 2);
    const auto sorted = gpu::async([](const auto &k, const auto &v) { return gpu::sort_by_key(k, v); }, host, host).get();
    CHECK(get<0>(sorted).to_host()[999] == greatest && same(get<1>(sorted).to_host(), get<0>(sorted).to_host()));
    const auto kept = gpu::async([](const auto &v) { return gpu::filter(v, [](auto x) { return x > 0; }); }, host).get();
    CHECK(kept.size() == std::size_t(std::count_if(host.begin(), host.end(), [](float x) { return x > 0; })));
    // what is none of arraygpu's stays as it is
    CHECK(gpu::async([](const auto &v) { return std::to_string(v.size()); }, host).get() == "1000");
    CHECK(same(gpu::async([](const auto &v) { return v.to_host(); }, host).get(), host));
    CHECK(get<0>(gpu::async([](const auto &v) { return gpu::eval(std::make_pair(gpu::max(v), +v)); }, host).get()) == greatest);
    auto outside = gpu::async([](const auto &v) { return std::make_tuple(gpu::sum(v), gpu::at(v, 1000)); }, host);
    CHECK_THROWS(AGPU_ERROR_RECORD, "out of range", outside.get());
    // what goes wrong is kept
    auto wrong = gpu::async([](const auto &v, const auto &w) { return v + w; }, host, floats{1, 2});
    CHECK_THROWS(AGPU_ERROR_SHAPE, "1000", wrong.get());
}

// all of arraygpu beside a namespace that is called view
namespace beside {
using namespace arraygpu;
namespace view = arraygpu::views;
static void names() {
    const gpu_vector<float> a{1, 2, 3, 4};
    const gpu_vector<float> b = a | view::reverse;
    CHECK(same(subview(b, 1, 3).to_host(), {3, 2}));
}
} // namespace beside

int main() {
    later();
    beside::names();
    shapes();
    composed();
    algorithms();
    actions();
    functors();
    names_of_std();
    std::printf("views: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures;
}
