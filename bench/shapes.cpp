// Stencils, sums of rows and columns, layouts and all pairs beside loops by hand, in one process, one call of each in turn, medians. Nothing is
// timed before a sample of its results has been checked.
//
//   arraygpu-shape-bench [part of a case's name]
#include "shapes.hpp"
#include "bench.hpp"

#include <algorithm>
#include <arraygpu.h>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <kernels.h>
#include <memory>
#include <thread>

double average_weight(std::size_t taps, std::size_t i) {
    if (taps == 15) return double(spencer[i]) / 320;
    const std::size_t middle = (taps + 1) / 2;
    return double(std::min(i + 1, taps - i)) / double(middle * (taps + 1 - middle));
}

double square_weight(std::size_t k, std::size_t row, std::size_t col) {
    const int middle = int(k / 2);
    return 0.02 + 0.01 * ((int(col) - middle) + 3 * (int(row) - middle));
}

const float spencer[15] = {-3, -6, -5, 3, 21, 46, 67, 74, 67, 46, 21, 3, -5, -6, -3};

namespace {

constexpr std::size_t LARGE = std::size_t(1) << 24, SMALL = std::size_t(1) << 16;

void must(agpu_status status) {
    if (status == AGPU_OK) return;
    std::fprintf(stderr, "arraygpu: %s\n", agpu_last_error_message());
    std::exit(1);
}

// The memory of a case in a context with `threads` threads.
struct side {
    agpu_context *context = nullptr;
    agpu_buffer *x = nullptr, *y = nullptr, *out = nullptr;

    side(plane &d, std::size_t n, int threads) {
        agpu_context_options options{};
        options.size = sizeof options;
        options.device = AGPU_DEVICE_CPU;
        options.threads = threads;
        must(agpu_context_create(&options, &context));
        const auto wrap = [&](const float *p, agpu_buffer *&b) { must(agpu_buffer_wrap(context, AGPU_F32, const_cast<float *>(p), std::int64_t(n), &b)); };
        wrap(d.x, x);
        wrap(d.y, y);
        wrap(d.out, out);
    }
    ~side() {
        for (agpu_buffer *b : {x, y, out}) must(agpu_buffer_free(b));
        must(agpu_context_free(context));
    }
    side(const side &) = delete;
};

agpu_view vector(agpu_buffer *b, std::size_t n, std::size_t offset = 0) { return {b, std::int64_t(offset), 1, {std::int64_t(n), 1, 1}, {1, 1, 1}}; }
agpu_view matrix(agpu_buffer *b, std::size_t rows, std::size_t cols) {
    return {b, 0, 2, {std::int64_t(rows), std::int64_t(cols), 1}, {std::int64_t(cols), 1, 1}};
}

struct way {
    const char *name;
    void (*run)(plane &, int threads);
};

struct shape_case {
    std::string name;
    std::size_t rows, cols;
    std::size_t results;  // elements of out; 0: the scalar
    double bytes;         // the fewest of a call
    double scale;         // what an error of 2e-6 is relative to
    std::vector<way> rivals;
    std::function<void(const side &, plane &)> ours;
    std::function<double(const plane &, std::size_t k)> expected; // result k
};

// A stencil along a vector: `k` weights.
shape_case along(const char *name, std::size_t n, std::size_t k, decltype(&kernels_difference) f, void (*rival)(plane &, int), double (*weight)(std::size_t, std::size_t)) {
    const std::size_t m = n - (k - 1);
    const auto ours = [=](const side &s, plane &) { must(f(nullptr, vector(s.x, n), vector(s.out, m))); };
    const auto expected = [=](const plane &d, std::size_t i) {
        double sum = 0;
        for (std::size_t j = 0; j < k; ++j) sum += weight(k, j) * d.x[i + j];
        return sum;
    };
    return {name, 1, n, m, 8.0 * double(n), 1, {{"c++", rival}}, ours, expected};
}
double of_difference(std::size_t, std::size_t i) { return i ? 1 : -1; }

// A stencil over a square of `k` rows and columns.
shape_case over(const char *name, std::size_t side_of, std::size_t k, decltype(&kernels_jacobi) f, void (*rival)(plane &, int),
                double (*weight)(std::size_t, std::size_t, std::size_t)) {
    const std::size_t m = side_of - (k - 1);
    const auto ours = [=](const side &s, plane &) { must(f(nullptr, matrix(s.x, side_of, side_of), matrix(s.out, m, m))); };
    const auto expected = [=](const plane &d, std::size_t at) {
        double sum = 0;
        for (std::size_t r = 0; r < k; ++r)
            for (std::size_t c = 0; c < k; ++c) sum += weight(k, r, c) * d.x[(at / m + r) * side_of + at % m + c];
        return sum;
    };
    return {name, side_of, side_of, m * m, 4.0 * double(side_of * side_of + m * m), double(k), {{"c++", rival}}, ours, expected};
}
double of_neighbours(std::size_t, std::size_t r, std::size_t c) { return (r == 1) != (c == 1) ? 0.25 : 0; }

shape_case clamped(std::size_t n) {
    const auto ours = [=](const side &s, plane &) { must(kernels_jacobi_clamped(nullptr, matrix(s.x, n, n), matrix(s.out, n, n))); };
    const auto expected = [=](const plane &d, std::size_t k) {
        const std::size_t i = k / n, j = k % n;
        const auto at = [&](std::size_t r, std::size_t c) { return double(d.x[r * n + c]); };
        return 0.25 * (at(i ? i - 1 : 0, j) + at(std::min(i + 1, n - 1), j) + at(i, j ? j - 1 : 0) + at(i, std::min(j + 1, n - 1)));
    };
    return {"jacobi_clamped", n, n, n * n, 8.0 * double(n * n), 1, {{"c++", by_hand::jacobi_clamped}}, ours, expected};
}

// Where four steps reach the border they are checked against the bits of the interpreter elsewhere: here, of what is inside, the sum of all walks.
shape_case steps(std::size_t n) {
    const auto ours = [=](const side &s, plane &) { must(kernels_jacobi_steps(nullptr, matrix(s.x, n, n), 4, matrix(s.out, n, n))); };
    const auto expected = [=](const plane &d, std::size_t k) {
        const std::size_t i = k / n, j = k % n;
        if (i < 4 || j < 4 || i + 4 >= n || j + 4 >= n) return double(d.out[k]);
        const double ways[5] = {1, 4, 6, 4, 1};
        double sum = 0;
        // left or right of one diagonal, and of the other
        for (std::size_t p = 0; p < 5; ++p)
            for (std::size_t q = 0; q < 5; ++q) sum += ways[p] * ways[q] * d.x[(i + p - q) * n + j + p + q - 4];
        return sum / 256;
    };
    return {"jacobi_steps", n, n, n * n, 32.0 * double(n * n), 1, {{"c++", by_hand::jacobi_steps}}, ours, expected};
}

std::string named(const char *what, std::size_t rows, std::size_t cols) { return std::string(what) + " " + std::to_string(rows) + "x" + std::to_string(cols); }

void sums(std::vector<shape_case> &all, std::size_t rows, std::size_t cols) {
    const double bytes = 4.0 * double(rows * cols);
    all.push_back({named("row_sums", rows, cols), rows, cols, rows, bytes, double(cols) * 64,
                   {{"c++", by_hand::row_sums}, {"c++ simd", by_hand::row_sums_simd}},
                   [=](const side &s, plane &) { must(kernels_row_sums(nullptr, matrix(s.x, rows, cols), vector(s.out, rows))); },
                   [=](const plane &d, std::size_t i) {
                       double sum = 0;
                       for (std::size_t j = 0; j < cols; ++j) sum += d.x[i * cols + j];
                       return sum;
                   }});
    all.push_back({named("col_sums", rows, cols), rows, cols, cols, bytes, double(rows) * 64, {{"c++", by_hand::col_sums}},
                   [=](const side &s, plane &) { must(kernels_col_sums(nullptr, matrix(s.x, rows, cols), vector(s.out, cols))); },
                   [=](const plane &d, std::size_t j) {
                       double sum = 0;
                       for (std::size_t i = 0; i < rows; ++i) sum += d.x[i * cols + j];
                       return sum;
                   }});
}

shape_case matvec(std::size_t rows, std::size_t cols) {
    return {named("matvec", rows, cols), rows, cols, rows, 4.0 * double(rows * cols), double(cols),
            {{"c++", by_hand::matvec}, {"c++ simd", by_hand::matvec_simd}},
            [=](const side &s, plane &) { must(kernels_matvec(nullptr, matrix(s.x, rows, cols), vector(s.y, cols), vector(s.out, rows))); },
            [=](const plane &d, std::size_t i) {
                double sum = 0;
                for (std::size_t j = 0; j < cols; ++j) sum += double(d.x[i * cols + j]) * d.y[j];
                return sum;
            }};
}

shape_case layout(const char *name, std::size_t n, bool transposed) {
    return {name, n, n, n * n, transposed ? 8.0 * double(n * n) : 4.0 * double(n * n), 1, {{"c++", transposed ? by_hand::transpose : by_hand::outer}},
            [=](const side &s, plane &) {
                must(transposed ? kernels_transpose(nullptr, matrix(s.x, n, n), matrix(s.out, n, n))
                                : kernels_outer(nullptr, vector(s.x, n), vector(s.y, n), matrix(s.out, n, n)));
            },
            [=](const plane &d, std::size_t k) { return transposed ? double(d.x[k % n * n + k / n]) : double(d.x[k / n]) * d.y[k % n]; }};
}

shape_case rmse(std::size_t n, bool fused) {
    return {fused ? "rmse" : "rmse unfused", 1, n, 0, 8.0 * double(n), 1000, {{"c++", fused ? by_hand::rmse : by_hand::rmse_unfused}},
            [=](const side &s, plane &d) {
                must((fused ? kernels_rmse : kernels_rmse_unfused)(nullptr, vector(s.x, n), vector(s.y, n), &d.scalar));
            },
            [=](const plane &d, std::size_t) {
                double sum = 0;
                for (std::size_t i = 0; i < n; ++i) sum += (double(d.x[i]) - d.y[i]) * (double(d.x[i]) - d.y[i]);
                return std::sqrt(sum / double(n));
            }};
}

shape_case bodies(std::size_t n) {
    return {named("bodies", 1, n), 4, n, 3 * n, 28.0 * double(n), 1e6,
            {{"c++ simd", by_hand::bodies}},
            [=](const side &s, plane &) {
                const auto in = [&](std::size_t k) { return vector(s.x, n, k * n); };
                const auto out = [&](std::size_t k) { return vector(s.out, n, k * n); };
                must(kernels_bodies(nullptr, in(0), in(1), in(2), in(3), EPSILON2, out(0), out(1), out(2)));
            },
            [=](const plane &d, std::size_t k) {
                const std::size_t i = k % n;
                const auto at = [&](std::size_t c, std::size_t j) { return double(d.x[c * n + j]); };
                double sum = 0;
                for (std::size_t j = 0; j < n; ++j) {
                    const double dx = at(0, j) - at(0, i), dy = at(1, j) - at(1, i), dz = at(2, j) - at(2, i);
                    const double square = dx * dx + dy * dy + dz * dz + EPSILON2;
                    sum += at(3, j) / (square * std::sqrt(square)) * (at(k / n, j) - at(k / n, i));
                }
                return sum;
            }};
}

// All of about n elements.
std::vector<shape_case> cases_of(std::size_t n) {
    const auto side_of = std::size_t(std::sqrt(double(n)));
    std::vector<shape_case> all = {
        along("difference", n, 2, kernels_difference, by_hand::difference, of_difference),
        along("average15", n, 15, kernels_average15, by_hand::average15, average_weight),
        along("average31", n, 31, kernels_average31, by_hand::average31, average_weight),
        along("average63", n, 63, kernels_average63, by_hand::average63, average_weight),
        over("jacobi", side_of, 3, kernels_jacobi, by_hand::jacobi, of_neighbours),
        clamped(side_of),
        steps(side_of),
        over("square3", side_of, 3, kernels_square3, by_hand::square3, square_weight),
        over("square5", side_of, 5, kernels_square5, by_hand::square5, square_weight),
        over("square7", side_of, 7, kernels_square7, by_hand::square7, square_weight),
        over("square9", side_of, 9, kernels_square9, by_hand::square9, square_weight),
    };
    for (const std::size_t rows : {n / 1024, std::size_t(256), std::size_t(16), n / 64}) sums(all, rows, n / rows);
    all.push_back(matvec(n / 1024, 1024));
    all.push_back(layout("outer", side_of, false));
    all.push_back(layout("transpose", side_of, true));
    all.push_back(rmse(n, true));
    all.push_back(rmse(n, false));
    all.push_back(bodies(side_of));
    return all;
}

bool right(const shape_case &c, const plane &d) {
    if (c.results == 0) return std::fabs(d.scalar - c.expected(d, 0)) <= 2e-6 * c.scale;
    for (std::size_t s = 0; s < std::min<std::size_t>(c.results, 64); ++s) {
        const std::size_t k = s < 8 ? s % c.results : s < 16 ? c.results - 1 - s % 8 % c.results : s * UINT64_C(0x9E3779B97F4A7C15) % c.results;
        if (!(std::fabs(d.out[k] - c.expected(d, k)) <= 2e-6 * c.scale)) return false;
    }
    return true;
}

bool measure(const shape_case &c, plane d, std::size_t n, int asked, std::FILE *json) {
    const int threads = asked == 1 ? 1 : int(std::max(1u, std::thread::hardware_concurrency()));
    d.rows = c.rows;
    d.cols = c.cols;
    const side ours(d, n, asked);
    std::vector<std::pair<std::string, std::function<void()>>> all = {{"arraygpu", [&] { c.ours(ours, d); }}};
    for (const way &w : c.rivals) all.push_back({w.name, [&d, w, threads] { w.run(d, threads); }});
    std::vector<row> rows;
    for (const auto &[name, run] : all) {
        d.scalar = NAN;
        std::fill(d.out, d.out + c.results, NAN);
        run();
        rows.push_back({c.name, name, c.rows * c.cols, threads, 0, 0, 0, right(c, d)});
    }
    const int rounds = n == LARGE ? 15 : 101;
    std::vector<std::vector<double>> times(all.size());
    for (int r = 0; r < rounds; ++r) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            const double begin = now_ms();
            all[i].second();
            times[i].push_back(now_ms() - begin);
        }
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        rows[i].ms = median(times[i]);
        rows[i].gbps = c.bytes * 1e-6 / rows[i].ms;
        rows[i].best_ms = *std::min_element(times[i].begin(), times[i].end());
    }
    report(rows, asked, json);
    return rows[0].ok;
}

} // namespace

int main(int count, char **arguments) {
    let_openmp_sleep(arguments);
    const char *filter = count > 1 ? arguments[1] : "";
    std::FILE *json = std::fopen(RESULTS, "w");
    if (!json) return std::fprintf(stderr, "cannot write %s\n", RESULTS), 1;
    std::vector<float> memory[3];
    std::uint64_t state = 1;
    for (auto &m : memory) {
        m.resize(LARGE);
        for (float &x : m) x = float((state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407)) >> 40) * 0x1p-24f;
    }
    bool good = true;
    std::printf("floats; medians and best of interleaved rounds; \"of it\": the row's time over arraygpu's\n");
    for (const std::size_t n : {LARGE, SMALL}) {
        for (const shape_case &c : cases_of(n)) {
            if (c.name.find(filter) == std::string::npos) continue;
            std::printf("\n");
            for (const int threads : {1, 0}) good &= measure(c, {0, 0, memory[0].data(), memory[1].data(), memory[2].data(), 0}, n, threads, json);
        }
    }
    std::fclose(json);
    std::printf("\nthe rows as JSON lines: %s\n", RESULTS);
    return good ? 0 : 1;
}
