// What one would write by hand for matrices: nested loops for gcc -O3 -march=native, the outer one in parallel.
#include "shapes.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#define PARALLEL _Pragma("omp parallel for num_threads(threads) if (threads > 1) schedule(static)")
#define PARALLEL_SIMD _Pragma("omp parallel for simd num_threads(threads) if (parallel : threads > 1) schedule(static)")
#define PARALLEL_SUM _Pragma("omp parallel for simd reduction(+ : s) num_threads(threads) if (parallel : threads > 1) schedule(static)")

using std::size_t;

namespace by_hand {

void difference(plane &d, int threads) {
    const float *x = d.x;
    float *out = d.out;
    PARALLEL_SIMD for (size_t i = 0; i < d.cols - 1; ++i) out[i] = x[i + 1] - x[i];
}

template <size_t K> static void average(plane &d, int threads) {
    const float *x = d.x;
    float *out = d.out, w[K];
    for (size_t k = 0; k < K; ++k) w[k] = float(average_weight(K, k));
    PARALLEL_SIMD for (size_t i = 0; i < d.cols - (K - 1); ++i) {
        float s = 0;
        for (size_t k = 0; k < K; ++k) s += w[k] * x[i + k];
        out[i] = s;
    }
}
void average15(plane &d, int threads) { average<15>(d, threads); }
void average31(plane &d, int threads) { average<31>(d, threads); }
void average63(plane &d, int threads) { average<63>(d, threads); }

void jacobi(plane &d, int threads) {
    const size_t cols = d.cols, m = cols - 2;
    PARALLEL for (size_t i = 1; i < d.rows - 1; ++i) {
        const float *north = d.x + (i - 1) * cols, *here = d.x + i * cols, *south = d.x + (i + 1) * cols;
        float *out = d.out + (i - 1) * m;
        for (size_t j = 1; j < cols - 1; ++j) out[j - 1] = 0.25f * ((here[j - 1] + here[j + 1]) + (north[j] + south[j]));
    }
}

void jacobi_clamped(plane &d, int threads) {
    const size_t rows = d.rows, cols = d.cols;
    PARALLEL for (size_t i = 0; i < rows; ++i) {
        const float *north = d.x + (i ? i - 1 : 0) * cols, *here = d.x + i * cols, *south = d.x + std::min(i + 1, rows - 1) * cols;
        float *out = d.out + i * cols;
        const auto at = [&](size_t j, size_t west, size_t east) { out[j] = 0.25f * ((here[west] + here[east]) + (north[j] + south[j])); };
        at(0, 0, 1);
        for (size_t j = 1; j < cols - 1; ++j) at(j, j - 1, j + 1);
        at(cols - 1, cols - 2, cols - 1);
    }
}

// Four steps that keep the border, in two matrices.
void jacobi_steps(plane &d, int threads) {
    const size_t rows = d.rows, cols = d.cols;
    static std::vector<float> between;
    between.resize(rows * cols);
    const float *from = d.x;
    for (int k = 0; k < 4; ++k) {
        float *const to = k % 2 ? d.out : between.data();
        PARALLEL for (size_t i = 0; i < rows; ++i) {
            const float *here = from + i * cols;
            float *out = to + i * cols;
            if (i == 0 || i == rows - 1) {
                std::copy(here, here + cols, out);
                continue;
            }
            out[0] = here[0];
            for (size_t j = 1; j < cols - 1; ++j) out[j] = 0.25f * ((here[j - 1] + here[j + 1]) + (here[j - cols] + here[j + cols]));
            out[cols - 1] = here[cols - 1];
        }
        from = to;
    }
}

template <size_t K> static void square(plane &d, int threads) {
    const size_t cols = d.cols, m = cols - (K - 1);
    float w[K][K];
    for (size_t r = 0; r < K; ++r)
        for (size_t c = 0; c < K; ++c) w[r][c] = float(square_weight(K, r, c));
    PARALLEL for (size_t i = 0; i < d.rows - (K - 1); ++i) {
        const float *x = d.x + i * cols;
        float *out = d.out + i * m;
#pragma omp simd
        for (size_t j = 0; j < m; ++j) {
            float s = 0;
            // without this gcc does not vectorise 7 x 7 and larger ones: a twelfth of the speed
#pragma GCC unroll 9
            for (size_t r = 0; r < K; ++r)
#pragma GCC unroll 9
                for (size_t c = 0; c < K; ++c) s += w[r][c] * x[r * cols + j + c];
            out[j] = s;
        }
    }
}
void square3(plane &d, int threads) { square<3>(d, threads); }
void square5(plane &d, int threads) { square<5>(d, threads); }
void square7(plane &d, int threads) { square<7>(d, threads); }
void square9(plane &d, int threads) { square<9>(d, threads); }

void row_sums(plane &d, int threads) {
    const size_t cols = d.cols;
    PARALLEL for (size_t i = 0; i < d.rows; ++i) {
        const float *x = d.x + i * cols;
        float s = 0;
        for (size_t j = 0; j < cols; ++j) s += x[j];
        d.out[i] = s;
    }
}

void row_sums_simd(plane &d, int threads) {
    const size_t cols = d.cols;
    PARALLEL for (size_t i = 0; i < d.rows; ++i) {
        const float *x = d.x + i * cols;
        float s = 0;
#pragma omp simd reduction(+ : s)
        for (size_t j = 0; j < cols; ++j) s += x[j];
        d.out[i] = s;
    }
}

// Each thread takes some rows of a narrow matrix, or some columns of a wide one.
void col_sums(plane &d, int threads) {
    const size_t cols = d.cols, rows = d.rows;
    const float *x = d.x;
    float *out = d.out;
    std::fill(out, out + cols, 0.0f);
    if (cols <= 1024) {
#pragma omp parallel for reduction(+ : out[:cols]) num_threads(threads) if (threads > 1) schedule(static)
        for (size_t i = 0; i < rows; ++i)
            for (size_t j = 0; j < cols; ++j) out[j] += x[i * cols + j];
    } else {
        PARALLEL for (size_t b = 0; b < cols; b += 1024) {
            for (size_t i = 0; i < rows; ++i)
                for (size_t j = b; j < std::min(b + 1024, cols); ++j) out[j] += x[i * cols + j];
        }
    }
}

void matvec(plane &d, int threads) {
    const size_t cols = d.cols;
    PARALLEL for (size_t i = 0; i < d.rows; ++i) {
        float s = 0;
        for (size_t j = 0; j < cols; ++j) s += d.x[i * cols + j] * d.y[j];
        d.out[i] = s;
    }
}

void matvec_simd(plane &d, int threads) {
    const size_t cols = d.cols;
    PARALLEL for (size_t i = 0; i < d.rows; ++i) {
        const float *x = d.x + i * cols, *y = d.y;
        float s = 0;
#pragma omp simd reduction(+ : s)
        for (size_t j = 0; j < cols; ++j) s += x[j] * y[j];
        d.out[i] = s;
    }
}

void outer(plane &d, int threads) {
    const size_t cols = d.cols;
    PARALLEL for (size_t i = 0; i < d.rows; ++i) {
        const float a = d.x[i], *y = d.y;
        float *out = d.out + i * cols;
        for (size_t j = 0; j < cols; ++j) out[j] = a * y[j];
    }
}

void transpose(plane &d, int threads) {
    const size_t rows = d.rows, cols = d.cols;
    PARALLEL for (size_t j = 0; j < cols; ++j) {
        for (size_t i = 0; i < rows; ++i) d.out[j * rows + i] = d.x[i * cols + j];
    }
}

void rmse(plane &d, int threads) {
    const float *x = d.x, *y = d.y;
    float s = 0;
    PARALLEL_SUM for (size_t i = 0; i < d.cols; ++i) s += (x[i] - y[i]) * (x[i] - y[i]);
    d.scalar = std::sqrt(s / float(d.cols));
}

// What a library of array operations does: each operation a loop of its own.
void rmse_unfused(plane &d, int threads) {
    const float *x = d.x, *y = d.y;
    float *t = d.out, s = 0;
    PARALLEL_SIMD for (size_t i = 0; i < d.cols; ++i) t[i] = x[i] - y[i];
    PARALLEL_SIMD for (size_t i = 0; i < d.cols; ++i) t[i] = t[i] * t[i];
    PARALLEL_SUM for (size_t i = 0; i < d.cols; ++i) s += t[i];
    d.scalar = std::sqrt(s / float(d.cols));
}

void bodies(plane &d, int threads) {
    const size_t n = d.cols;
    const float *x = d.x, *y = d.x + n, *z = d.x + 2 * n, *mass = d.x + 3 * n;
    PARALLEL for (size_t i = 0; i < n; ++i) {
        float ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
        for (size_t j = 0; j < n; ++j) {
            const float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
            const float r = 1.0f / std::sqrt(dx * dx + dy * dy + dz * dz + EPSILON2), s = mass[j] * r * r * r;
            ax += s * dx;
            ay += s * dy;
            az += s * dz;
        }
        d.out[i] = ax;
        d.out[n + i] = ay;
        d.out[2 * n + i] = az;
    }
}

} // namespace by_hand
