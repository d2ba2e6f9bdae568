// What one would write by hand: plain loops for gcc -O3 -march=native and OpenMP.
// ("parallel :", since a plain "if" would switch off simd, too.)
#include "bench.hpp"

#include <cmath>

namespace hand {

#define PARALLEL _Pragma("omp parallel for simd num_threads(threads) if (parallel : threads > 1) schedule(static)")
#define PARALLEL_SUM _Pragma("omp parallel for simd reduction(+ : s) num_threads(threads) if (parallel : threads > 1) schedule(static)")

void saxpy(arrays &d, int threads) {
    const float *x = d.x, *y = d.y;
    float *out = d.out;
    PARALLEL for (std::size_t i = 0; i < d.n; ++i) out[i] = alpha * x[i] + y[i];
}

void expr3(arrays &d, int threads) {
    const float *a = d.x, *b = d.y, *c = d.z;
    float *out = d.out;
    PARALLEL for (std::size_t i = 0; i < d.n; ++i) {
        out[i] = (b[i] - (a[i] + 3.75f * c[i]) + c[i] - 0.24f * b[i]) / 27.51f + a[i] - 0.25f * b[i];
    }
}

void average(arrays &d, int threads) {
    const float *x = d.x;
    float *out = d.out;
    const std::size_t n = d.n - 14;
    float w[15];
    for (int k = 0; k < 15; ++k) w[k] = spencer[k] / 320;
    PARALLEL for (std::size_t i = 0; i < n; ++i) {
        float s = 0;
        for (int k = 0; k < 15; ++k) s += w[k] * x[i + std::size_t(k)];
        out[i] = s;
    }
}

void sum(arrays &d, int threads) {
    const float *x = d.x;
    float s = 0;
    PARALLEL_SUM for (std::size_t i = 0; i < d.n; ++i) s += x[i];
    d.scalar = s;
}

void dot(arrays &d, int threads) {
    const float *x = d.x, *y = d.y;
    float s = 0;
    PARALLEL_SUM for (std::size_t i = 0; i < d.n; ++i) s += x[i] * y[i];
    d.scalar = s;
}

void rmse(arrays &d, int threads) {
    const float *x = d.x, *y = d.y;
    float s = 0;
    PARALLEL_SUM for (std::size_t i = 0; i < d.n; ++i) s += (x[i] - y[i]) * (x[i] - y[i]);
    d.scalar = std::sqrt(s / float(d.n));
}

// 64 accumulators: enough additions in flight to hide their latency. n is a multiple of 64.
template <class Term> static float wide(std::size_t n, int threads, Term term) {
    double total = 0;
#pragma omp parallel num_threads(threads) if (threads > 1) reduction(+ : total)
    {
        float acc[64] = {};
#pragma omp for schedule(static)
        for (std::size_t i = 0; i < n; i += 64) {
            for (std::size_t k = 0; k < 64; ++k) acc[k] += term(i + k);
        }
        for (const float a : acc) total += double(a);
    }
    return float(total);
}

void sum_wide(arrays &d, int threads) {
    const float *x = d.x;
    d.scalar = wide(d.n, threads, [=](std::size_t i) { return x[i]; });
}

void dot_wide(arrays &d, int threads) {
    const float *x = d.x, *y = d.y;
    d.scalar = wide(d.n, threads, [=](std::size_t i) { return x[i] * y[i]; });
}

void rmse_wide(arrays &d, int threads) {
    const float *x = d.x, *y = d.y;
    d.scalar = std::sqrt(wide(d.n, threads, [=](std::size_t i) { return (x[i] - y[i]) * (x[i] - y[i]); }) / float(d.n));
}

void saxpy_of_one(float a, const float *x, const float *y, float *out) { *out = a * *x + *y; }

void rmse_of_one(const float *x, const float *y, std::size_t n, float *out) {
    float s = 0;
    for (std::size_t i = 0; i < n; ++i) s += (x[i] - y[i]) * (x[i] - y[i]);
    *out = std::sqrt(s / float(n));
}

} // namespace hand
