// Throughput of the generated functions beside other ways to do the same, on vectors of 2^24 floats: side by side in one run,
// one call of each in turn, medians. Nothing is timed before its result has been checked.
//
//   arraygpu-bench [part of a case's name]
#include "bench.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

namespace {

constexpr std::size_t n = std::size_t(1) << 24;
constexpr int rounds = 25;

struct aligned_free {
    void operator()(float *p) const { std::free(p); }
};
using memory = std::unique_ptr<float, aligned_free>;

memory numbers(std::uint64_t state) {
    memory m(static_cast<float *>(std::aligned_alloc(64, n * sizeof(float))));
    for (std::size_t i = 0; i < n; ++i) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        m.get()[i] = float(state >> 40) * 0x1p-24f;
    }
    return m;
}

// Close to the result in double: a sum of 2^24 numbers by a few accumulators is good to about 1e-3 (ours is far better: the examples
// check its bits), elements to a few roundings.
bool right(const test_case &c, const arrays &d, double scalar) {
    if (c.writes == 0) return std::fabs(d.scalar - scalar) <= 1e-3 * std::fabs(scalar);
    const std::size_t m = std::strcmp(c.name, "average") == 0 ? n - 14 : n;
    for (std::size_t i = 0; i < m; ++i) {
        if (!(std::fabs(d.out[i] - c.expected(d, i)) <= 2e-6)) return false;
    }
    return true;
}

// The bits of a result, for "the same at any thread count".
std::uint64_t hash(const test_case &c, const arrays &d) {
    const float *data = c.writes == 0 ? &d.scalar : d.out;
    std::uint64_t h = 14695981039346656037u;
    for (std::size_t i = 0, m = c.writes == 0 ? 1 : n - 14; i < m; ++i) {
        std::uint32_t bits;
        std::memcpy(&bits, data + i, sizeof bits);
        h = (h ^ bits) * 1099511628211u;
    }
    return h;
}

bool checked(const test_case &c, arrays &d, runner run, int threads, double scalar) {
    d.scalar = NAN;
    std::fill(d.out, d.out + n, NAN);
    run(d, threads);
    return right(c, d, scalar);
}

// All implementations of a case at a thread count; false if ours is wrong.
bool measure(const test_case &c, arrays &d, int asked, std::FILE *json, std::uint64_t &bits) {
    const int threads = asked == 1 ? 1 : int(std::max(1u, std::thread::hardware_concurrency()));
    std::vector<implementation> all = {{"arraygpu", c.ours}};
    all.insert(all.end(), c.rivals.begin(), c.rivals.end());
    const double scalar = c.writes == 0 ? c.expected(d, 0) : 0;

    std::fill(d.out, d.out + n, NAN); // every page is there
    const long extra = extra_memory(c, d, threads);
    std::vector<bool> ok;
    for (const implementation &i : all) {
        ok.push_back(checked(c, d, i.run, threads, scalar));
        if (i.run == c.ours) {
            const std::uint64_t h = hash(c, d);
            if (bits != 0 && bits != h) std::printf("%s: other bits with %d threads\n", c.name, threads), ok[0] = false;
            bits = h;
        }
    }
    std::vector<std::vector<double>> times(all.size());
    for (int r = 0; r < rounds; ++r) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            const double begin = now_ms();
            all[i].run(d, threads);
            times[i].push_back(now_ms() - begin);
        }
    }
    std::vector<row> rows;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const double ms = median(times[i]);
        rows.push_back({c.name, all[i].name, n, threads, ms, double(c.reads + c.writes) * double(n) * 4e-6 / ms,
                        *std::min_element(times[i].begin(), times[i].end()), ok[i]});
    }
    for (row &r : python_rows(c, n, threads)) rows.push_back(std::move(r));
    report(rows, asked, json);
    std::printf("%-8s memory beyond inputs and outputs: %ld KiB\n", c.name, extra);
    std::fprintf(json, "{\"name\":\"memory %s\",\"impl\":\"arraygpu\",\"n\":%zu,\"threads\":%d,\"kib\":%ld}\n", c.name, n, threads, extra);
    return ok[0];
}

} // namespace

int main(int count, char **arguments) {
    let_openmp_sleep(arguments);
    const char *filter = count > 1 ? arguments[1] : "";
    std::FILE *json = std::fopen(RESULTS, "w");
    if (!json) {
        std::fprintf(stderr, "cannot write %s\n", RESULTS);
        return 1;
    }
    const memory x = numbers(1), y = numbers(2), z = numbers(3), out = numbers(4);
    arrays d{n, x.get(), y.get(), z.get(), out.get(), 0};
    ours::prepare(d);
    bool good = true;
    std::printf("n = 2^24 floats, medians and best of %d interleaved rounds; \"r of it\": the row's time over arraygpu's\n", rounds);
    for (const test_case &c : cases()) {
        if (!std::strstr(c.name, filter)) continue;
        std::uint64_t bits = 0;
        for (const int threads : {1, 0}) {
            std::printf("\n");
            good &= measure(c, d, threads, json, bits);
        }
    }
    if (std::strstr("overhead", filter)) call_overhead(json);
    ours::release();
    std::fclose(json);
    std::printf("\nthe rows as JSON lines: %s\n", RESULTS);
    return good ? 0 : 1;
}
