// Calls functions whose result is what a construct makes, with arrays and with views, and reads the results by views and expressions. Prints the bits of each.
#include <arraygpu/expr.hpp>
#include <arraygpu/views.hpp>
#include <constructs.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

using namespace arraygpu;
namespace views = arraygpu::views;
using floats = std::vector<float>;
using bits = std::vector<std::uint32_t>;

static floats of(const bits &from) {
    floats to(from.size());
    if (!from.empty()) std::memcpy(to.data(), from.data(), 4 * from.size());
    return to;
}
static std::vector<std::int64_t> indices(const std::vector<std::uint64_t> &from) { return {from.begin(), from.end()}; }

static void same(const char *what, const floats &found, const floats &wanted) {
    bool equal = found.size() == wanted.size();
    for (std::size_t i = 0; equal && i < found.size(); ++i) {
        equal = found[i] != found[i] ? wanted[i] != wanted[i] : std::memcmp(&found[i], &wanted[i], 4) == 0;
    }
    if (equal) return;
    std::fprintf(stderr, "%s: other bits\n", what);
    std::exit(1);
}
template <class F> static floats each(const floats &from, F f) {
    floats to;
    for (const float x : from) to.push_back(f(x));
    return to;
}
static floats reversed(const floats &from) { return {from.rbegin(), from.rend()}; }

// expressions of an array: a new one, and one in place
template <class Array> static void expressions(const char *name, const Array &r, const floats &host) {
    const auto wanted = each(host, [](float x) { return x * 2.0f + 1.0f; });
    const Array made = r * 2.0f + 1.0f;
    same(name, made.to_host(), wanted);
    Array twice = r * 1.0f;
    twice = twice * 2.0f;
    same(name, twice.to_host(), each(host, [](float x) { return x * 2.0f; }));
}
[[maybe_unused]] static void read(const char *name, const gpu_vector<float> &r) {
    const floats host = r.to_host();
    expressions(name, r, host);
    gpu_vector<float> v = r | views::reverse | views::transform([](auto x) { return x * 0.5f - 1.0f; });
    same(name, v.to_host(), each(reversed(host), [](float x) { return x * 0.5f - 1.0f; }));
    v = r | views::transform([](auto x) { return x + 1.0f; }) | views::take(1);
    same(name, v.to_host(), each({host.begin(), host.begin() + (host.empty() ? 0 : 1)}, [](float x) { return x + 1.0f; }));
    same(name, subview(r, 0, r.size()).to_host(), host);
}
[[maybe_unused]] static void read(const char *name, const gpu_matrix<float> &r) {
    const floats host = r.to_host();
    expressions(name, r, host);
    const gpu_matrix<float> turned(r.view().transpose());
    same(name, turned.view().transpose().to_host(), host);
    if (r.rows() > 0) same(name, r.view().row(0).to_host(), {host.begin(), host.begin() + std::ptrdiff_t(r.cols())});
}
[[maybe_unused]] static void read(const char *name, const gpu_tensor3<float> &r) {
    const floats host = r.to_host();
    expressions(name, r, host);
    const gpu_tensor3<float> back = permute<2, 0, 1>(permute<1, 2, 0>(r));
    same(name, back.to_host(), host);
    const gpu_tensor3<float> turned(r.view().transpose(0, 2));
    same(name, turned.view().transpose(0, 2).to_host(), host);
}

static void print(const char *name, const floats &host) {
    std::printf("%s", name);
    for (const float x : host) {
        std::uint32_t b;
        std::memcpy(&b, &x, 4);
        std::printf(" %08x", unsigned(b));
    }
    std::printf("\n");
}

template <class F> static void records(const char *name, F f) {
    try {
        f();
    } catch (const error &e) {
        if (e.code() == AGPU_ERROR_RECORD) std::printf("%s a record\n", name);
    }
}

#include "call.inc"

// every second element, from the end; every second column; planes whose rows and columns are exchanged
template <class F> static auto with_views(F f) {
    const std::size_t n = X.size();
    gpu_vector<float> xs(2 * n), ys(n + 3);
    gpu_vector<std::int64_t> ks(2 * n);
    subview(xs, 0, 2 * n, 2).copy_from(of(X));
    subview(ys, 3, n + 3).copy_from(of(Y));
    subview(ks, 1, 2 * n, 2).copy_from(K);
    gpu_matrix<float> as(n, 2 * n), bs(n, n);
    subview(as, 0, n, 0, 2 * n, 1, 2).copy_from(gpu_matrix<float>(of(A), n, n));
    bs.view().transpose().copy_from(gpu_matrix<float>(of(B), n, n));
    gpu_tensor3<float> ts(3, n, n);
    ts.view().transpose(1, 2).copy_from(gpu_tensor3<float>(of(T), 3, n, n));
    return f(subview(xs, 0, 2 * n, 2), subview(ys, 3, n + 3), subview(ks, 1, 2 * n, 2), subview(as, 0, n, 0, 2 * n, 1, 2), bs.view().transpose(), ts.view().transpose(1, 2));
}

#define READ(number)                                                                                                              \
    {                                                                                                                             \
        const auto made = constructs::f##number(x, y, k, a, b, t, 2, 1.5f);                                                       \
        read("f" #number, made);                                                                                                  \
        const auto of_views = with_views([](auto... arrays) { return constructs::f##number(arrays..., 2, 1.5f); });               \
        same("f" #number " of views", of_views.to_host(), made.to_host());                                                        \
        print(#number, made.to_host());                                                                                           \
    }
#define RECORDS(number) records(#number, [&] { constructs::f##number(x, y, k, a, b, t, 2, 1.5f).to_host(); });

int main() {
    const std::size_t n = X.size();
    const gpu_vector<float> x(of(X)), y(of(Y));
    const gpu_vector<std::int64_t> k(K);
    const gpu_matrix<float> a(of(A), n, n), b(of(B), n, n);
    const gpu_tensor3<float> t(of(T), 3, n, n);
    CONSTRUCTS
}
