// An output that overlaps an input gives what it would give if it did not; two outputs that overlap are an error.
#include "../common/data.hpp"
#include "expect.hpp"
#include <checks.hpp>
#include <examples.hpp>

using vector = arraygpu::gpu_vector<float>;
using host = std::vector<float>;

static void in_place(std::size_t n) {
    const host x = data::uniform(n, 1), y = data::uniform(n, 2);
    host doubled(n), backwards(x.rbegin(), x.rend()), sum(n);
    for (std::size_t i = 0; i < n; ++i) {
        doubled[i] = x[i] + x[i];
        sum[i] = x[i] + y[i];
    }
    vector v(x);
    checks::twice(v, v);
    CHECK_EXACT(v.to_host(), doubled);
    v = vector(x);
    checks::reversed(v, v);
    CHECK_EXACT(v.to_host(), backwards);
    v = vector(x);
    checks::add(v, vector(y), v);
    CHECK_EXACT(v.to_host(), sum);
    v = vector(x);
    checks::add(v, v, v);
    CHECK_EXACT(v.to_host(), doubled);
}

// out = in shifted by `by`, inside one buffer: each element written is one that another element reads.
static void shifted(std::int64_t n, std::int64_t by) {
    const host x = data::uniform(std::size_t(n), 1);
    const std::int64_t m = n - std::abs(by), from = by < 0 ? -by : 0, to = by < 0 ? 0 : by;
    host want = x;
    for (std::int64_t i = 0; i < m; ++i) want[std::size_t(to + i)] = x[std::size_t(from + i)] + x[std::size_t(from + i)];
    vector v(x);
    checks::twice(arraygpu::subview(v, from, from + m), arraygpu::subview(v, to, to + m));
    CHECK_EXACT(v.to_host(), want);
}

// A stencil over what it writes.
static void stencil_in_place(std::size_t n) {
    const host x = data::uniform(n, 1);
    host want = x;
    for (std::size_t i = 0; i + 1 < n; ++i) want[i] = x[i + 1] - x[i];
    vector v(x);
    examples::forward_difference(v, arraygpu::subview(v, 0, std::int64_t(n) - 1));
    CHECK_EXACT(v.to_host(), want);
    want = x;
    for (std::size_t i = 0; i + 1 < n; ++i) want[i + 1] = x[i + 1] - x[i];
    v = vector(x);
    examples::forward_difference(v, arraygpu::subview(v, 1, std::int64_t(n)));
    CHECK_EXACT(v.to_host(), want);
}

// Even elements written, odd ones read: no element is shared, in one buffer.
static void interleaved(std::int64_t n) {
    const host x = data::uniform(std::size_t(2 * n), 1);
    host want = x;
    for (std::size_t i = 0; i < x.size(); i += 2) want[i] = x[i + 1] + x[i + 1];
    vector v(x);
    checks::twice(arraygpu::subview(v, 1, 2 * n, 2), arraygpu::subview(v, 0, 2 * n, 2));
    CHECK_EXACT(v.to_host(), want);
}

static void outputs_that_overlap() {
    const vector x(host{1, 2, 3}), y(host{1, 1, 1});
    vector out(host(6, -1));
    checks::sum_and_difference(x, y, arraygpu::subview(out, 0, 3), arraygpu::subview(out, 3, 6));
    CHECK_EXACT(out.to_host(), (host{2, 3, 4, 0, 1, 2}));
    CHECK_ERROR(AGPU_ERROR_OVERLAP, ({"sum_and_difference", "sum", "difference"}),
                checks::sum_and_difference(x, y, arraygpu::subview(out, 0, 3), arraygpu::subview(out, 2, 5)));
    CHECK_EXACT(out.to_host(), (host{2, 3, 4, 0, 1, 2}));
    // two results over both inputs
    vector a(host{1, 2, 3}), b(host{5, 5, 5});
    checks::sum_and_difference(a, b, b, a);
    CHECK_EXACT(b.to_host(), (host{6, 7, 8}));
    CHECK_EXACT(a.to_host(), (host{-4, -3, -2}));
}

int main() {
    for (const std::size_t n : {1, 2, 5, 129, 2049, 100003}) {
        in_place(n);
        stencil_in_place(n);
        interleaved(std::int64_t(n));
        for (const std::int64_t by : {1, -1, 7, -64, 2048, -2048}) {
            if (std::abs(by) < std::int64_t(n)) shifted(std::int64_t(n), by);
        }
    }
    outputs_that_overlap();
    return check::finish("overlap");
}
