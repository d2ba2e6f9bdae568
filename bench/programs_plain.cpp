// Programs of tests/programs as plain C++ loops on one thread, as their users would write them:
// the best time of each in microseconds, for matrices of N rows and columns and vectors of N * N
// elements. Beside it: ARRAYGPU_THREADS=1 arraygpu-programs --time NAME N.
//
//     g++ -std=c++17 -O3 -march=native -ffp-contract=off programs_plain.cpp -o programs_plain && ./programs_plain 2048
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

using std::vector;
using F = vector<float>;

static float sink;

static void time(const char *name, const std::function<void()> &f) {
    double best = 1e30;
    for (int round = 0; round < 15; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        f();
        const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - begin;
        best = std::min(best, us.count());
    }
    std::printf("%s %.1f\n", name, best);
}

int main(int, char **argv) {
    const long n = std::atol(argv[1]), all = n * n;
    F u(all), v(all), w(all), r(all), row(n), out(n);
    for (long i = 0; i < all; ++i) u[i] = 1 + i % 977 * 0.01f, v[i] = 2 - i % 991 * 0.001f, w[i] = i % 13 * 0.05f;
    for (long i = 0; i < n; ++i) row[i] = i % 17 * 0.1f;
    vector<int> cells(all), next(all);
    for (long i = 0; i < all; ++i) cells[i] = i % 3 == 0;
    const auto at = [n](long i, long j) { return std::clamp(i, 0l, n - 1) * n + std::clamp(j, 0l, n - 1); };

    time("axpy", [&] {
        for (long i = 0; i < all; ++i) r[i] = 2.5f * u[i] + v[i];
    });
    time("matrix_vector", [&] {
        for (long i = 0; i < n; ++i) {
            float sum = 0;
            for (long j = 0; j < n; ++j) sum += u[i * n + j] * row[j];
            out[i] = sum;
        }
    });
    time("bias_and_relu", [&] {
        for (long i = 0; i < n; ++i)
            for (long j = 0; j < n; ++j) r[i * n + j] = std::max(u[i * n + j] + row[j], 0.0f);
    });
    time("moving_average", [&] {
        for (long i = 0; i + 8 <= all; ++i) {
            float sum = u[i];
            for (long k = 1; k < 8; ++k) sum += u[i + k];
            r[i] = sum / 8;
        }
    });
    time("five_point", [&] {
        const auto one = [&](long i, long j) { return 0.25f * (u[at(i - 1, j)] + u[at(i, j - 1)] + u[at(i, j + 1)] + u[at(i + 1, j)]); };
        for (long i = 0; i < n; ++i) {
            if (i == 0 || i == n - 1) {
                for (long j = 0; j < n; ++j) r[i * n + j] = one(i, j);
                continue;
            }
            r[i * n] = one(i, 0);
            for (long j = 1; j < n - 1; ++j)
                r[i * n + j] = 0.25f * (u[(i - 1) * n + j] + u[i * n + j - 1] + u[i * n + j + 1] + u[(i + 1) * n + j]);
            r[i * n + n - 1] = one(i, n - 1);
        }
    });
    time("jacobi_guarded", [&] {
        for (long i = 0; i < n; ++i)
            for (long j = 0; j < n; ++j) {
                const bool inside = i > 0 && i < n - 1 && j > 0 && j < n - 1;
                r[i * n + j] = inside ? 0.25f * (u[(i - 1) * n + j] + u[(i + 1) * n + j] + u[i * n + j - 1] + u[i * n + j + 1]) : u[i * n + j];
            }
    });
    time("sobel", [&] {
        const auto one = [&](long i, long j) {
            const float a = u[at(i - 1, j - 1)], b = u[at(i - 1, j)], c = u[at(i - 1, j + 1)], d = u[at(i, j - 1)], e = u[at(i, j + 1)];
            const float f = u[at(i + 1, j - 1)], g = u[at(i + 1, j)], h = u[at(i + 1, j + 1)];
            const float x = c - a + 2 * (e - d) + h - f, y = f - a + 2 * (g - b) + h - c;
            return std::sqrt(x * x + y * y);
        };
        for (long i = 0; i < n; ++i) {
            if (i == 0 || i == n - 1) {
                for (long j = 0; j < n; ++j) r[i * n + j] = one(i, j);
                continue;
            }
            r[i * n] = one(i, 0), r[i * n + n - 1] = one(i, n - 1);
            const float *a = &u[(i - 1) * n], *b = &u[i * n], *c = &u[(i + 1) * n];
            for (long j = 1; j < n - 1; ++j) {
                const float x = a[j + 1] - a[j - 1] + 2 * (b[j + 1] - b[j - 1]) + c[j + 1] - c[j - 1];
                const float y = c[j - 1] - a[j - 1] + 2 * (c[j] - a[j]) + c[j + 1] - a[j + 1];
                r[i * n + j] = std::sqrt(x * x + y * y);
            }
        }
    });
    time("dilation", [&] {
        for (long i = 0; i < n; ++i)
            for (long j = 0; j < n; ++j) {
                float most = u[at(i - 1, j - 1)];
                if (i > 0 && i < n - 1 && j > 0 && j < n - 1) {
                    for (long a = i - 1; a <= i + 1; ++a)
                        for (long b = j - 1; b <= j + 1; ++b) most = std::max(most, u[a * n + b]);
                } else {
                    for (long a = i - 1; a <= i + 1; ++a)
                        for (long b = j - 1; b <= j + 1; ++b) most = std::max(most, u[at(a, b)]);
                }
                r[i * n + j] = most;
            }
    });
    time("life", [&] {
        for (long i = 0; i < n; ++i)
            for (long j = 0; j < n; ++j) {
                const long up = (i + n - 1) % n * n, down = (i + 1) % n * n, left = (j + n - 1) % n, right = (j + 1) % n;
                const int sum = cells[up + left] + cells[up + j] + cells[up + right] + cells[i * n + left] + cells[i * n + right] +
                                cells[down + left] + cells[down + j] + cells[down + right];
                next[i * n + j] = sum == 3 || (sum == 2 && cells[i * n + j] == 1);
            }
    });
    time("rotation_90", [&] {
        for (long i = 0; i < n; ++i)
            for (long j = 0; j < n; ++j) r[i * n + j] = u[(n - 1 - j) * n + i];
    });
    time("minimum_path_rows", [&] {
        F t(u.begin(), u.begin() + n), s(n);
        for (long k = 1; k < n; ++k) {
            for (long j = 0; j < n; ++j) s[j] = std::min({t[std::max(j - 1, 0l)], t[j], t[std::min(j + 1, n - 1)]}) + u[k * n + j];
            t.swap(s);
        }
        sink = *std::min_element(t.begin(), t.end());
    });
    time("softmax", [&] {
        for (long i = 0; i < n; ++i) {
            const float *x = &u[i * n];
            float *y = &r[i * n], most = x[0], sum = 0;
            for (long j = 1; j < n; ++j) most = std::max(most, x[j]);
            for (long j = 0; j < n; ++j) sum += y[j] = std::exp(x[j] - most);
            for (long j = 0; j < n; ++j) y[j] /= sum;
        }
    });
    time("layer_norm", [&] {
        for (long i = 0; i < n; ++i) {
            const float *x = &u[i * n];
            float mean = 0, square = 0;
            for (long j = 0; j < n; ++j) mean += x[j];
            mean /= n;
            for (long j = 0; j < n; ++j) square += (x[j] - mean) * (x[j] - mean);
            const float scale = 1 / std::sqrt(square / n + 0.0009765625f);
            for (long j = 0; j < n; ++j) r[i * n + j] = (x[j] - mean) * scale * row[j] + w[j];
        }
    });
    time("normalised_rows", [&] {
        for (long i = 0; i < n; ++i) {
            float sum = 0;
            for (long j = 0; j < n; ++j) sum += u[i * n + j];
            for (long j = 0; j < n; ++j) r[i * n + j] = u[i * n + j] / sum;
        }
    });
    sink += r[all / 2] + out[n / 2] + next[all / 2];
    return sink == 1.0f;
}
