// Constructs joined that programs rarely join: the programs of `tests/programs/src/joins.rs`.
#include "plain.hpp"
#include <complex>

namespace {

using complex = std::complex<float>;

std::vector<float> running(vector_view<const float> x) {
    std::vector<float> sums(x.n);
    float sum = 0;
    for (long i = 0; i < x.n; ++i) sums[i] = sum += x[i];
    return sums;
}

// a times the transposed b
float row_product(matrix_view<const float> a, matrix_view<const float> b, long i, long j) {
    return dot(a[i], b[j], a.cols);
}

} // namespace

PLAIN(decayed_attention) {
    const auto q = in.matrix<const float>(0), k = in.matrix<const float>(1), v = in.matrix<const float>(2);
    const auto decay = running(in.vector<const float>(3));
    const auto r = out.matrix<float>(0);
    std::vector<float> scores(k.rows);
    for (long i = 0; i < q.rows; ++i) {
        float most = -std::numeric_limits<float>::infinity(), sum = 0;
        for (long j = 0; j < k.rows; ++j) {
            scores[j] = row_product(q, k, i, j) * 0.5f - std::abs(decay[i] - decay[j]);
            most = std::max(most, scores[j]);
        }
        for (float &s : scores) sum += s = std::exp(s - most);
        std::fill_n(r[i], r.cols, 0.0f);
        for (long j = 0; j < k.rows; ++j) add_scaled(r[i], scores[j] / sum, v[j], v.cols);
    }
}

PLAIN(sums_of_ragged_rows) {
    const auto x = in.vector<const float>(0);
    const auto ends = in.vector<const int64_t>(1);
    const auto r = out.vector<float>(0);
    const auto sums = running(x);
    for (long i = 0; i < ends.n; ++i) r[i] = sums[ends[i]] - (i > 0 ? sums[ends[i - 1]] : 0.0f);
}

PLAIN(normalised_scan_steps) {
    const auto x = in.vector<const float>(0);
    const long steps = in.scalar<int64_t>(1);
    const auto r = out.vector<float>(0);
    std::copy_n(x.data, x.n, r.data);
    for (long t = 0; t < steps; ++t) {
        float sum = 0, most = 0;
        for (long i = 0; i < x.n; ++i) {
            r[i] = sum += r[i];
            most = std::max(most, std::abs(sum));
        }
        for (long i = 0; i < x.n; ++i) r[i] /= most + 1.0f;
    }
}

PLAIN(samples_by_inversion) {
    const auto weight = in.vector<const float>(0), x = in.vector<const float>(1), u = in.vector<const float>(2);
    const auto r = out.vector<float>(0);
    const auto sums = running(weight);
    const float total = sums.back();
    for (long i = 0; i < u.n; ++i)
        r[i] = x[std::upper_bound(sums.begin(), sums.end() - 1, u[i] * total) - sums.begin()];
}

PLAIN(nearest_rows_gathered) {
    const auto x = in.matrix<const float>(0), y = in.matrix<const float>(1), values = in.matrix<const float>(2);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < x.rows; ++i) {
        long nearest = 0;
        float best = std::numeric_limits<float>::infinity();
        for (long j = 0; j < y.rows; ++j) {
            float distance = 0;
            for (long d = 0; d < x.cols; ++d) distance += (x[i][d] - y[j][d]) * (x[i][d] - y[j][d]);
            if (distance < best) best = distance, nearest = j;
        }
        for (long c = 0; c < r.cols; ++c) r[i][c] = values[nearest][c] / (1.0f + best);
    }
}

PLAIN(polar_factor) {
    const auto x = in.matrix<const float>(0);
    const auto y = out.matrix<float>(0);
    const long n = x.cols;
    std::vector<float> mean(n);
    for (long i = 0; i < x.rows; ++i) add_scaled(mean.data(), 1.0f / x.rows, x[i], n);
    float norm = 0;
    for (long i = 0; i < x.rows; ++i)
        for (long j = 0; j < n; ++j) y[i][j] = x[i][j] - mean[j], norm += y[i][j] * y[i][j];
    for (long i = 0; i < x.rows * n; ++i) y.data[i] /= std::sqrt(norm);
    std::vector<float> square(n * n), row(n);
    for (int step = 0; step < 3; ++step) {
        std::fill(square.begin(), square.end(), 0.0f);
        for (long i = 0; i < x.rows; ++i)
            for (long k = 0; k < n; ++k) add_scaled(&square[k * n], y[i][k], y[i], n);
        for (long i = 0; i < x.rows; ++i) {
            std::fill(row.begin(), row.end(), 0.0f);
            for (long k = 0; k < n; ++k) add_scaled(row.data(), y[i][k], &square[k * n], n);
            for (long j = 0; j < n; ++j) y[i][j] = 1.5f * y[i][j] - 0.5f * row[j];
        }
    }
}

PLAIN(propagated_state) {
    const auto hr = in.matrix<const float>(0), hi = in.matrix<const float>(1);
    const auto re = out.vector<float>(0), im = out.vector<float>(1);
    const long n = re.n;
    std::copy_n(in.vector<const float>(2).data, n, re.data), std::copy_n(in.vector<const float>(3).data, n, im.data);
    std::vector<complex> next(n);
    for (int step = 0; step < 4; ++step) {
        float norm = 0;
        for (long i = 0; i < n; ++i) {
            float a = 0, b = 0;
            for (long j = 0; j < n; ++j) a += hr[i][j] * re[j] - hi[i][j] * im[j], b += hr[i][j] * im[j] + hi[i][j] * re[j];
            next[i] = {a, b}, norm += a * a + b * b;
        }
        const float scale = 1.0f / std::sqrt(norm);
        for (long i = 0; i < n; ++i) re[i] = next[i].real() * scale, im[i] = next[i].imag() * scale;
    }
}

PLAIN(strongest_response) {
    const auto ar = in.matrix<const float>(0), ai = in.matrix<const float>(1), br = in.matrix<const float>(2), bi = in.matrix<const float>(3);
    const auto place = out.vector<int64_t>(0);
    const auto strength = out.vector<float>(1);
    std::vector<float> re(br.cols), im(br.cols);
    for (long i = 0; i < ar.rows; ++i) {
        std::fill(re.begin(), re.end(), 0.0f), std::fill(im.begin(), im.end(), 0.0f);
        for (long k = 0; k < ar.cols; ++k)
            for (long j = 0; j < br.cols; ++j) {
                re[j] += ar[i][k] * br[k][j] - ai[i][k] * bi[k][j];
                im[j] += ar[i][k] * bi[k][j] + ai[i][k] * br[k][j];
            }
        float most = -1, sum = 0;
        for (long j = 0; j < br.cols; ++j) {
            const float power = re[j] * re[j] + im[j] * im[j];
            sum += power;
            if (power > most) most = power, place[i] = j;
        }
        strength[i] = most / sum;
    }
}

PLAIN(normalised_rows_of_a_smoothed_volume) {
    const auto u = in.tensor<const float>(0);
    const auto r = out.tensor<float>(0);
    for (long k = 0; k < u.planes; ++k)
        for (long i = 0; i < u.rows; ++i) {
            const float *front = u[std::max(k - 1, 0l)][i], *behind = u[std::min(k + 1, u.planes - 1)][i];
            const float *above = u[k][std::max(i - 1, 0l)], *below = u[k][std::min(i + 1, u.rows - 1)], *row = u[k][i];
            float energy = 1;
            for (long j = 0; j < u.cols; ++j) {
                const float left = row[std::max(j - 1, 0l)], right = row[std::min(j + 1, u.cols - 1)];
                const float around = (front[j] + behind[j]) + (above[j] + below[j]) + (left + right);
                const float smooth = 0.5f * row[j] + around * 0.125f;
                r[k][i][j] = smooth, energy += smooth * smooth;
            }
            for (long j = 0; j < u.cols; ++j) r[k][i][j] /= std::sqrt(energy);
        }
}

PLAIN(points_drawn_to_centres) {
    const auto centres = in.matrix<const float>(3);
    const long steps = in.scalar<int64_t>(4);
    const auto x = out.vector<float>(0), y = out.vector<float>(1), weight = out.vector<float>(2);
    for (int k = 0; k < 3; ++k) std::copy_n(in.vector<const float>(k).data, x.n, out.vector<float>(k).data);
    for (long t = 0; t < steps; ++t) {
        float total = 0, mx = 0, my = 0;
        for (long i = 0; i < x.n; ++i) total += weight[i], mx += x[i] * weight[i], my += y[i] * weight[i];
        mx /= total, my /= total;
        for (long i = 0; i < x.n; ++i) {
            long nearest = 0;
            float best = std::numeric_limits<float>::infinity();
            for (long c = 0; c < centres.rows; ++c) {
                const float far = std::hypot(x[i] - centres[c][0], y[i] - centres[c][1]);
                if (far < best) best = far, nearest = c;
            }
            weight[i] /= 1.0f + std::hypot(x[i] - mx, y[i] - my);
            x[i] = 0.5f * (x[i] + centres[nearest][0]), y[i] = 0.5f * (y[i] + centres[nearest][1]);
        }
    }
}
