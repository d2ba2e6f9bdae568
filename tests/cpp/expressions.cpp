// Expressions: values against loops of the host, to the bit; how many kernels; aliasing, lifetimes, errors.
#include "check.hpp"
#include <arraygpu/expr.hpp>
#include <cmath>
#include <cstring>
#include <thread>

using namespace arraygpu;

template <class T> static std::vector<T> numbers(std::size_t n, unsigned seed) {
    std::vector<T> v(n);
    for (T &x : v) {
        seed = seed * 1664525u + 1013904223u;
        x = T(float(seed >> 8) / float(1 << 24) * 8 - 3);
    }
    return v;
}
template <class T> static bool same(const std::vector<T> &a, const std::vector<T> &b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}
template <class T, class F> static std::vector<T> loop_of(std::size_t n, F f) {
    std::vector<T> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = f(i);
    return v;
}

static void elementwise() {
    for (const std::size_t n : {0, 1, 7, 2049, 10000}) {
        const auto ha = numbers<float>(n, 1), hb = numbers<float>(n, 2), hc = numbers<float>(n, 3);
        const gpu_vector<float> a(ha), b(hb);
        gpu_vector<float> c(n);
        c = 0.12f * a + 7.54f * b;
        CHECK(same(c.to_host(), loop_of<float>(n, [&](std::size_t i) { return 0.12f * ha[i] + 7.54f * hb[i]; })));
        const agpu_buffer *there = c.c_buffer();
        c = a - b * 2 / 3.0; // numbers become floats; a vector of elements keeps its buffer
        CHECK((n == 0 || c.c_buffer() == there) && same(c.to_host(), loop_of<float>(n, [&](std::size_t i) { return ha[i] - hb[i] * 2 / 3.0f; })));
        const gpu_vector<float> made = where(a > b, sqrt(abs(a)), -b);
        CHECK(same(made.to_host(), loop_of<float>(n, [&](std::size_t i) { return ha[i] > hb[i] ? std::sqrt(std::fabs(ha[i])) : -hb[i]; })));
        const gpu_vector<int> whole = cast<int>(a) % 3 + (cast<int>(b) << 2) + (~cast<int>(a) & 6);
        CHECK(same(whole.to_host(),
                   loop_of<int>(n, [&](std::size_t i) { return int(ha[i]) % 3 + int(unsigned(int(hb[i])) << 2) + (~int(ha[i]) & 6); })));
        const gpu_vector<bool> truth = !(a < b) || (a == b && b != 0);
        CHECK(truth.size() == n && truth.to_host() == [&] {
            std::vector<bool> v;
            for (std::size_t i = 0; i < n; ++i) v.push_back(!(ha[i] < hb[i]) || (ha[i] == hb[i] && hb[i] != 0));
            return v;
        }());
        c = mul_add(a, b, 1.5f) + min(a, b) * max(a, 0) - clamp(a, -1, 1);
        CHECK(same(c.to_host(), loop_of<float>(n, [&](std::size_t i) {
                       return std::fma(ha[i], hb[i], 1.5f) + std::fmin(ha[i], hb[i]) * std::fmax(ha[i], 0.0f) -
                              std::fmin(std::fmax(ha[i], -1.0f), 1.0f);
                   })));
        c += a;
        c *= 2;
        c -= b + 1;
        subview(c, 0, std::int64_t(n / 2)) /= 4;
        CHECK(c.size() == n);
    }
}

// of numbers with fractions it is fmod
static void remainders() {
    const auto ha = numbers<float>(3000, 4);
    const gpu_vector<float> a(ha);
    gpu_vector<float> r = a % 0.75f;
    CHECK(same(r.to_host(), loop_of<float>(3000, [&](std::size_t i) { return std::fmod(ha[i], 0.75f); })));
    r = 10.0f % a;
    CHECK(same(r.to_host(), loop_of<float>(3000, [&](std::size_t i) { return std::fmod(10.0f, ha[i]); })));
    r = +a;
    r %= 3.0f;
    CHECK(same(r.to_host(), loop_of<float>(3000, [&](std::size_t i) { return std::fmod(ha[i], 3.0f); })));
    const gpu_vector<double> d{-5.5, 5.5};
    CHECK(eval(map([](auto x) { return x %= 2.0, x; }, d)).to_host() == std::vector<double>{-1.5, 1.5});
    const gpu_vector<half> h{half(7.5f), half(-7.5f)};
    CHECK(eval(h % half(2.0f)).to_host()[1] == half(-1.5f));
    CHECK(eval(gpu_vector<int>{-7, 7} % 4).to_host() == std::vector<int>{-3, 3});
}

static void structures() {
    const auto ha = numbers<float>(100, 4);
    const gpu_vector<float> a(ha);
    gpu_vector<float> c = slice(a, 2, 100) + slice(a, 1, 99) * 2 + slice(a, 0, 98);
    CHECK(same(c.to_host(), loop_of<float>(98, [&](std::size_t i) { return ha[i + 2] + ha[i + 1] * 2 + ha[i]; })));
    c = reverse(slice(a, 1, 90, 3));
    CHECK(same(c.to_host(), loop_of<float>(30, [&](std::size_t i) { return ha[1 + 3 * (29 - i)]; })));
    c = slice(a, 70, 80) + iota<float>(10) + repeat(sum(a), 10);
    CHECK(c.size() == 10);
    const gpu_vector<int> order{3, 0, 99, 7};
    c = map([&](auto i) { return at(a, i); }, order);
    CHECK(same(c.to_host(), {ha[3], ha[0], ha[99], ha[7]}));
    c = generate(5, [&](auto i) { return let(at(a, i), [](auto x) { return x * x + x; }); });
    CHECK(same(c.to_host(), loop_of<float>(5, [&](std::size_t i) { return ha[i] * ha[i] + ha[i]; })));
    c = map([](auto x, auto y) { return loop_for(10, 1.0f, [&](auto, auto p) { return p * x + y; }); }, a, reverse(a));
    CHECK(same(c.to_host(), loop_of<float>(100, [&](std::size_t i) {
                   float p = 1;
                   for (int k = 0; k < 10; ++k) p = p * ha[i] + ha[99 - i];
                   return p;
               })));
    // loops of C++ build expressions, too
    expr<float, 1> e = a;
    for (int k = 0; k < 5; ++k) e = e * a + float(k);
    c = e;
    CHECK(same(c.to_host(), loop_of<float>(100, [&](std::size_t i) {
                   float x = ha[i];
                   for (int k = 0; k < 5; ++k) x = x * ha[i] + float(k);
                   return x;
               })));
    CHECK(kernels(e) == 1);
}

static void reductions() {
    const auto ha = numbers<float>(1000, 5), hb = numbers<float>(1000, 6);
    const gpu_vector<float> x(ha), y(hb);
    const auto n = x.size();
    const float r = sqrt(sum((x - y) * (x - y)) / n);
    double want = 0;
    for (std::size_t i = 0; i < n; ++i) want += double(ha[i] - hb[i]) * double(ha[i] - hb[i]);
    CHECK(std::fabs(r - std::sqrt(want / double(n))) < 1e-5);
    CHECK(kernels(sqrt(sum((x - y) * (x - y)) / n)) == 1);
    const gpu_vector<int> i{5, -3, 8, 2};
    CHECK(int(sum(i)) == 12 && int(product(i)) == -240 && int(min(i)) == -3 && int(max(i)) == 8 && eval(any(i == 8)) && !eval(all(i > 0)));
    CHECK(int(dot(i, i)) == 102 && int(fold(i, 1, [](auto s, auto v) { return s * 2 + v; })) == 16 + 8 * 5 - 4 * 3 + 2 * 8 + 2);
    CHECK(int(reduce(i, 100, [](auto a, auto b) { return max(a, b); })) == 100);
    const gpu_vector<float> none;
    CHECK(float(sum(none)) == 0 && float(max(none)) == -INFINITY && float(norm(none)) == 0);
    const gpu_vector<half> small(std::vector<half>(3000, half(1)));
    CHECK(float(eval(sum(small))) == 3000);
    gpu_vector<float> a(ha);
    a = a / norm(a);
    CHECK(std::fabs(float(norm(a)) - 1) < 1e-5f);
    gpu_scalar<float> kept;
    kept = sum(x);
    CHECK(kept.get() == float(sum(x)));
    a = x * kept;
    CHECK(same(a.to_host(), loop_of<float>(1000, [&](std::size_t k) { return ha[k] * kept.get(); })));
}

// A truth value becomes one of the host as numbers do; a branch on it is refused, which tests/cpp/refused/branch.cpp checks.
static bool is_positive(const gpu_vector<int> &x) { return all(x > 0); }
static void truth() {
    const gpu_vector<int> i{5, -3, 8, 2};
    const bool some = any(i == 8), every = all(i > 0), least = min(i) == -3;
    bool later = true;
    later = any(i > 8);
    CHECK(some && !every && least && !later && is_positive(gpu_vector<int>{1, 2}) && !is_positive(i));
    const expr<bool> both = any(i == 8) && !all(i > 0);
    const bool or_one = both || false, chosen = select(both, 1, 2) == 1, host = select(some, 1, 2) == 1;
    CHECK(or_one && chosen && host && bool(eval(both)));
    // it does not become a number by itself
    static_assert(!std::is_convertible_v<expr<bool>, int> && !std::is_convertible_v<expr<bool, 1>, bool> && !std::is_convertible_v<expr<float>, bool>);
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "", eval(map([](auto x) {
        const bool is = x > 0;
        return is ? x : -x;
    }, i)));
}

// Integers of C++ that the elements do not have are errors when the expression is made; masks have the bits of the elements.
static void numbers_of_elements() {
    const gpu_vector<std::uint8_t> u{100, 200};
    const gpu_vector<std::int8_t> i{1, -1};
    const gpu_vector<std::int32_t> w{7, -7};
    const gpu_vector<std::uint32_t> q{5, 6};
    const gpu_vector<std::uint64_t> l{5, std::uint64_t(1) << 63};
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "the number 300 beside elements of uint8_t, which are 0 to 255", u < 300);
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "the number 200 beside elements of int8_t, which are -128 to 127", i > 200);
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "the number -1 beside elements of uint32_t", q > -1);
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "the number 256 ", clamp(u, 0, 256));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "the number -129 ", map([](auto x) { return max(x, -129); }, i));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "the number 4294967296 ", reduce(q, std::int64_t(1) << 32, [](auto a, auto b) { return a + b; }));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "the number 4294967295 beside elements of int32_t", w == ~0u);
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "the number 9223372036854775808 beside elements of int64_t", cast<std::int64_t>(w) + (std::uint64_t(1) << 63));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "the number -1 ", l * -1);
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "the number 256 ", expr<std::uint8_t>(256));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "the number 256 ", u + stage(256));
    // what the elements have, of any type of C++
    CHECK(eval(u > 255).to_host() == std::vector<bool>({false, false}) && eval(i >= std::int64_t(-128)).to_host() == std::vector<bool>({true, true}));
    CHECK(eval(u + std::uint64_t(55)).to_host() == std::vector<std::uint8_t>({155, 255}) && eval(l - 5).to_host()[0] == 0);
    CHECK(eval(l + ~std::uint64_t(0)).to_host()[0] == 4 && eval(q + 0xfffffffb).to_host() == std::vector<std::uint32_t>({0, 1}));
    CHECK(eval(cast<float>(u) + (std::int64_t(1) << 40)).to_host()[0] == float((std::int64_t(1) << 40) + 100));
    // masks
    CHECK(eval(q & ~4).to_host() == std::vector<std::uint32_t>({1, 2}) && eval(q ^ -1).to_host() == std::vector<std::uint32_t>({~5u, ~6u}));
    CHECK(eval(w & 0xfffffff8u).to_host() == std::vector<std::int32_t>({0, -8}) && eval(w & ~0u).to_host() == w.to_host());
    CHECK(eval(u & ~0x80).to_host() == std::vector<std::uint8_t>({100, 72}) && eval(i | 0x80).to_host() == std::vector<std::int8_t>({-127, -1}));
    CHECK(eval(l & ~std::int64_t(1)).to_host()[0] == 4 && eval(q & stage(~4)).to_host() == std::vector<std::uint32_t>({1, 2}));
    CHECK(eval(q & true).to_host() == std::vector<std::uint32_t>({1, 0}) && eval((q > 5) & true).to_host() == std::vector<bool>({false, true}));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "the number 256 ", u & 0x100);
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "the number -257 ", u | -257);
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "the number -1 ", q << -1);
}

static void matrices() {
    const gpu_matrix<float> m{{1, 2, 3}, {4, 5, 6}};
    const gpu_vector<float> v{10, 20, 30};
    gpu_matrix<float> p = m * 2 + spread_rows(v, 2);
    CHECK(p.rows() == 2 && p.cols() == 3 && same(p.to_host(), {12, 24, 36, 18, 30, 42}));
    p = transpose(m);
    CHECK(p.rows() == 3 && p.cols() == 2 && same(p.to_host(), {1, 4, 2, 5, 3, 6}));
    p = matmul(m, transpose(m));
    CHECK(p.rows() == 2 && same(p.to_host(), {14, 32, 32, 77}));
    p = tensor_cores(matmul(m, transpose(m)) + 1);
    CHECK(p.rows() == 2 && same(p.to_host(), {15, 33, 33, 78}));
    gpu_vector<float> s = sum_rows(m);
    CHECK(same(s.to_host(), {6, 15}));
    s = sum_cols(m * m) + v;
    CHECK(same(s.to_host(), {27, 49, 75}));
    CHECK(float(sum(m)) == 21 && float(max(row(m, 1))) == 6 && float(sum(col(m, 0))) == 5 && float(at(m, 1, 2)) == 6);
    p = slice_cols(slice_rows(m, 0, 1), 1, 3) + map([](auto x) { return x * x; }, slice_cols(slice_rows(m, 1, 2), 0, 2));
    CHECK(same(p.to_host(), {18, 28}));
}

// numbers of the host that are extents of what is read: nothing has to be tested then
static void extents() {
    const auto is_tested = [](const auto &e) { return program_text(e, "fused").find(" = at ") != std::string::npos; };
    const gpu_vector<float> x{1, 2, 4, 8, 16};
    const gpu_matrix<float> m{{1, 2, 3}, {4, 5, 6}};
    const auto scaled = [&](std::size_t n) { return generate(n, [&](auto i) { return at(x, i) * 2.0f; }); };
    CHECK(!is_tested(scaled(5)) && is_tested(scaled(4)));
    CHECK(same(eval(scaled(5)).to_host(), {2, 4, 8, 16, 32}) && same(eval(scaled(4)).to_host(), {2, 4, 8, 16}));
    CHECK_THROWS(AGPU_ERROR_RECORD, "", eval(scaled(6)).to_host()); // a GPU reports it when it is waited for
    const gpu_vector<int> wholes{1, 2}, zeros{1, 0};
    const auto quotient = [](auto a, auto b) { return a / b; };
    CHECK_THROWS(AGPU_ERROR_RECORD, "expressions.cpp:" + std::to_string(__LINE__), eval(map(quotient, wholes, zeros)).to_host());
    const auto sums = generate(2, [&](auto i) { return sum(row(m, i)) + at(m, i, 1); });
    CHECK(same(eval(sums).to_host(), {8, 20}));
    const auto turned = generate(3, 2, [&](auto j, auto i) { return at(m, i, j); });
    CHECK(!is_tested(turned) && same(eval(turned).to_host(), {1, 4, 2, 5, 3, 6}));
    const auto neighbours = [&](int last) {
        return generate(5, [&, last](auto i) { return at(x, clamp(i + 1, 0, last)) - at(x, clamp(i - 1, 0, last)); });
    };
    CHECK(!is_tested(neighbours(4)) && is_tested(neighbours(3)));
    CHECK(same(eval(neighbours(4)).to_host(), {1, 3, 6, 12, 8}) && same(eval(neighbours(3)).to_host(), {1, 3, 6, 4, 0}));
    // every reader of a value in a window has the same one
    const auto deviations = generate(5, [&](auto i) {
        const auto near = generate(3, [&](auto j) { return at(x, clamp(i + j - 1, 0, 4)); });
        const auto centre = sum(near) / 3.0f;
        return sum((near - centre) * (near - centre));
    });
    CHECK(!is_tested(deviations) && kernels(deviations) <= 2);
}

// a move leaves an expression as it was
static void moves() {
    const gpu_vector<float> a{1, 2}, b{3, 4};
    auto e = a + b;
    auto f = std::move(e);
    gpu_vector<float> c = e;
    CHECK(same(c.to_host(), {4, 6}) && e.size() == 2);
    f = std::move(e);
    c = f - e;
    CHECK(same(c.to_host(), {0, 0}));
    expr<float> s = sum(a);
    const expr<float> t = std::move(s);
    CHECK(float(s) == 3 && float(t + s) == 6);
}

int main() {
    moves();
    elementwise();
    remainders();
    structures();
    reductions();
    truth();
    numbers_of_elements();
    matrices();
    extents();
    std::printf("expressions: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures;
}
