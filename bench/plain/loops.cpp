// Elements with loops of their own, or with many values: the programs of `tests/programs/src/element_loops.rs` that GPUs
// are compared with in `bench/gpu/loops.cu`, and the maximum segment sum.
#include "plain.hpp"

PLAIN(libor) {
    const auto z = in.matrix<const float>(0);
    const auto sigma = in.vector<const float>(1);
    const auto r = out.vector<float>(0);
    for (long p = 0; p < z.cols; ++p) {
        float rates[80];
        std::fill_n(rates, 80, 0.05f);
        for (long n = 0; n < z.rows; ++n) {
            const float noise = 0.5f * z[n][p];
            float drift = 0;
            for (long i = n + 1; i < 80; ++i) {
                const float lambda = sigma[i - 1 - n], by = 0.25f * lambda;
                drift += by * rates[i] / (1.0f + 0.25f * rates[i]);
                rates[i] *= std::exp(by * drift + lambda * (noise - 0.5f * by));
            }
        }
        float bond = 1, annuity = 0, value = 0;
        for (int k = 1; k <= 40; ++k) {
            bond /= 1.0f + 0.25f * rates[39 + k];
            annuity += 0.25f * bond;
            if (k == 4 || k == 8 || k == 20 || k == 28 || k == 40)
                for (float swap : {0.045f, 0.05f, 0.055f}) value += 100.0f * std::max(1.0f - bond - swap * annuity, 0.0f);
        }
        for (int k = 0; k < 40; ++k) value /= 1.0f + 0.25f * rates[k];
        r[p] = value;
    }
}

PLAIN(d2q9) {
    matrix_view<const float> f[9];
    matrix_view<float> g[9];
    for (int k = 0; k < 9; ++k) f[k] = in.matrix<const float>(k), g[k] = out.matrix<float>(k);
    on_torus(f[0].rows, f[0].cols, [&](long i, long j, long up, long down, long left, long right) {
        const float f0 = f[0][i][j], f1 = f[1][i][left], f2 = f[2][up][j], f3 = f[3][i][right], f4 = f[4][down][j];
        const float f5 = f[5][up][left], f6 = f[6][up][right], f7 = f[7][down][right], f8 = f[8][down][left];
        const float density = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;
        const float vy = (f2 - f4 + f5 + f6 - f7 - f8) / density, vx = (f1 - f3 + f5 - f6 - f7 + f8) / density;
        const float still = 1.0f - 1.5f * (vy * vy + vx * vx);
        const auto relaxed = [&](int k, float now, float weight, float along) {
            const float rest = density * weight * (still + 3.0f * along + 4.5f * along * along);
            g[k][i][j] = now + 0.625f * (rest - now);
        };
        const float w = 1.0f / 9.0f, d = 1.0f / 36.0f;
        relaxed(0, f0, 4.0f / 9.0f, 0.0f), relaxed(1, f1, w, vx), relaxed(2, f2, w, vy), relaxed(3, f3, w, -vx);
        relaxed(4, f4, w, -vy), relaxed(5, f5, d, vy + vx), relaxed(6, f6, d, vy - vx), relaxed(7, f7, d, -vy - vx);
        relaxed(8, f8, d, vx - vy);
    });
}

PLAIN(tridiagonal) {
    const auto a = in.matrix<const float>(0), b = in.matrix<const float>(1), c = in.matrix<const float>(2);
    const auto d = in.matrix<const float>(3);
    float *x[8];
    for (int k = 0; k < 8; ++k) x[k] = out.vector<float>(k).data;
    for (long s = 0; s < b.cols; ++s) {
        float upper[8] = {c[0][s] / b[0][s]}, right[8] = {d[0][s] / b[0][s]};
        for (int k = 1; k < 8; ++k) {
            const float pivot = b[k][s] - a[k][s] * upper[k - 1];
            upper[k] = c[k][s] / pivot;
            right[k] = (d[k][s] - a[k][s] * right[k - 1]) / pivot;
        }
        for (int k = 6; k >= 0; --k) right[k] -= upper[k] * right[k + 1];
        for (int k = 0; k < 8; ++k) x[k][s] = right[k];
    }
}

PLAIN(kmeans_assign) {
    const auto x = in.matrix<const float>(0), centres = in.matrix<const float>(1);
    const auto r = out.vector<int64_t>(0);
    for (long i = 0; i < x.rows; ++i) {
        float least = std::numeric_limits<float>::infinity();
        for (long k = 0; k < centres.rows; ++k) {
            float sum = 0;
            for (long q = 0; q < x.cols; ++q) sum += (x[i][q] - centres[k][q]) * (x[i][q] - centres[k][q]);
            if (sum < least) least = sum, r[i] = k;
        }
    }
}

PLAIN(maximum_segment_sum) {
    const auto x = in.vector<const float>(0);
    float most = 0, run = 0;
    for (long i = 0; i < x.n; ++i) run = std::max(run + x[i], 0.0f), most = std::max(most, run);
    out.scalar<float>(0) = most;
}
