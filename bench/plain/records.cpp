// Reductions of tuples and records, iterations that know their step or their end, and bits: the programs of
// `tests/programs/src/records.rs` and of the end of `element_loops.rs` and `statistics.rs`.
#include "plain.hpp"
#include <complex>
#include <cstring>

namespace {

uint32_t hash(uint32_t k) {
    k = (k ^ k >> 16) * 0x7feb352du;
    k = (k ^ k >> 15) * 0x846ca68bu;
    return k ^ k >> 16;
}

} // namespace

PLAIN(n_body) {
    const auto mass = in.vector<const float>(4);
    const float dt = in.scalar<float>(5);
    const long n = mass.n;
    std::vector<float> next[4];
    for (int k = 0; k < 4; ++k) {
        next[k].resize(n);
        std::copy_n(in.vector<const float>(k).data, n, out.vector<float>(k).data);
    }
    float *x = out.vector<float>(0).data, *y = out.vector<float>(1).data, *vx = out.vector<float>(2).data, *vy = out.vector<float>(3).data;
    for (int step = 0; step < 3; ++step) {
        for (long i = 0; i < n; ++i) {
            float ax = 0, ay = 0;
            for (long j = 0; j < n; ++j) {
                const float dx = x[j] - x[i], dy = y[j] - y[i], r2 = dx * dx + dy * dy + 0.5f;
                const float pull = mass[j] / (r2 * std::sqrt(r2));
                ax += pull * dx, ay += pull * dy;
            }
            next[2][i] = vx[i] + dt * ax, next[3][i] = vy[i] + dt * ay;
            next[0][i] = x[i] + dt * next[2][i], next[1][i] = y[i] + dt * next[3][i];
        }
        for (int k = 0; k < 4; ++k) std::copy_n(next[k].data(), n, out.vector<float>(k).data);
    }
}

PLAIN(julia_set) {
    const auto r = out.matrix<int64_t>(0);
    for (long i = 0; i < r.rows; ++i)
        for (long j = 0; j < r.cols; ++j) {
            float x = j * 0.4f - 1.4f, y = i * 0.4f - 1.2f;
            long k = 0;
            for (; x * x + y * y <= 4.0f && k < 20; ++k) {
                const float next = x * x - y * y - 0.5f;
                y = 2.0f * x * y + 0.5f, x = next;
            }
            r[i][j] = k;
        }
}

PLAIN(discrete_fourier) {
    const auto re = in.vector<const float>(0), im = in.vector<const float>(1);
    const auto rr = out.vector<float>(0), ri = out.vector<float>(1);
    const long n = re.n;
    std::vector<float> cosine(n), sine(n);
    for (long k = 0; k < n; ++k) {
        const double turn = -6.283185307179586 * k / n;
        cosine[k] = std::cos(turn), sine[k] = std::sin(turn);
    }
    for (long k = 0; k < n; ++k) {
        float a = 0, b = 0;
        for (long j = 0, at = 0; j < n; ++j, at = at + k < n ? at + k : at + k - n) {
            a += cosine[at] * re[j] - sine[at] * im[j];
            b += cosine[at] * im[j] + sine[at] * re[j];
        }
        rr[k] = a, ri[k] = b;
    }
}

PLAIN(linear_recurrence) {
    const auto a = in.vector<const float>(0), b = in.vector<const float>(1);
    float x = in.scalar<float>(2);
    for (long k = 0; k < a.n; ++k) x = a[k] * x + b[k];
    out.scalar<float>(0) = x;
}

PLAIN(nearest_place) {
    const auto lat = in.vector<const float>(0), lon = in.vector<const float>(1);
    const float y = in.scalar<float>(2), x = in.scalar<float>(3);
    float least = std::numeric_limits<float>::infinity();
    long index = -1;
    for (long i = 0; i < lat.n; ++i) {
        const float distance = std::hypot(lat[i] - y, lon[i] - x);
        if (distance < least) least = distance, index = i;
    }
    out.scalar<float>(0) = least, out.scalar<int64_t>(1) = index;
}

PLAIN(moments_of_parts) {
    const auto x = in.vector<const float>(0);
    float mean = 0, rest = 0;
    for (long i = 0; i < x.n; ++i) {
        const float apart = x[i] - mean;
        mean += apart / (i + 1);
        rest += apart * (x[i] - mean);
    }
    out.scalar<float>(0) = mean, out.scalar<float>(1) = rest / x.n;
}

PLAIN(azimuthal_means) {
    const auto radius = in.vector<const float>(0), x = in.vector<const float>(1);
    const auto r = out.vector<float>(0);
    std::vector<float> count(r.n);
    std::fill_n(r.data, r.n, 0.0f);
    for (long i = 0; i < x.n; ++i) {
        const float ring = std::floor((radius[i] - 0.25f) / 0.75f);
        if (ring >= 0 && ring < r.n) r[ring] += x[i], count[ring] += 1;
    }
    for (long k = 0; k < r.n; ++k) r[k] /= std::max(count[k], 1.0f);
}

PLAIN(pathfinder) {
    const auto m = in.matrix<const float>(0);
    const auto r = out.vector<float>(0);
    std::copy_n(m[0], m.cols, r.data);
    std::vector<float> before(m.cols);
    for (long t = 1; t < m.rows; ++t) {
        std::copy_n(r.data, m.cols, before.data());
        for (long j = 0; j < m.cols; ++j) {
            float least = before[j];
            if (j > 0) least = std::min(least, before[j - 1]);
            if (j + 1 < m.cols) least = std::min(least, before[j + 1]);
            r[j] = m[t][j] + least;
        }
    }
}

PLAIN(heat_history) {
    const auto x = in.vector<const float>(0);
    const auto r = out.matrix<float>(0);
    const float *before = x.data;
    for (long t = 0; t < r.rows; before = r[t++])
        for (long j = 0; j < r.cols; ++j) {
            const float left = before[j > 0 ? j - 1 : 0], right = before[j + 1 < r.cols ? j + 1 : j];
            r[t][j] = before[j] + 0.25f * (left - 2.0f * before[j] + right);
        }
}

PLAIN(jacobi_until) {
    const auto m = in.matrix<const float>(0);
    const auto b = in.vector<const float>(1);
    const auto x = out.vector<float>(0);
    std::copy_n(b.data, b.n, x.data);
    std::vector<float> next(b.n);
    const float scale = 0.5f / m.cols;
    float most = 1;
    for (int step = 0; step < 60 && most > 1e-5f; ++step) {
        most = 0;
        for (long i = 0; i < b.n; ++i) {
            next[i] = (b[i] - scale * dot(m[i], x.data, b.n)) * 0.25f;
            most = std::max(most, std::abs(next[i] - x[i]));
        }
        std::copy_n(next.data(), b.n, x.data);
    }
}

PLAIN(inverse_roots_by_bits) {
    const auto x = in.vector<const float>(0);
    const auto r = out.vector<float>(0);
    for (long i = 0; i < x.n; ++i) {
        uint32_t bits;
        std::memcpy(&bits, &x[i], 4);
        bits = 0x5f3759dfu - (bits >> 1);
        float y;
        std::memcpy(&y, &bits, 4);
        for (int k = 0; k < 3; ++k) y = y * (1.5f - 0.5f * x[i] * y * y);
        r[i] = y;
    }
}

PLAIN(newton_root) {
    const auto mean = in.vector<const float>(0);
    const float e = in.scalar<float>(1);
    const auto r = out.vector<float>(0);
    for (long i = 0; i < mean.n; ++i) {
        float x = mean[i], before = x + 1.0f;
        for (int k = 0; k < 50 && std::abs(x - before) > 1e-5f; ++k) {
            before = x;
            x -= (x - e * std::sin(x) - mean[i]) / (1.0f - e * std::cos(x));
        }
        r[i] = x;
    }
}

PLAIN(search_sorted) {
    const auto x = in.vector<const float>(0), wanted = in.vector<const float>(1);
    const auto r = out.vector<int64_t>(0);
    for (long i = 0; i < wanted.n; ++i) r[i] = std::lower_bound(x.data, x.data + x.n, wanted[i]) - x.data;
}

PLAIN(sphere_tracing) {
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < r.rows; ++i)
        for (long j = 0; j < r.cols; ++j) {
            const float y = i * 0.25f - 0.75f, x = j * 0.25f - 0.875f;
            const float around = std::sqrt(x * x + y * y) - 0.625f;
            float z = -2;
            for (int k = 0; k < 64 && z < 4.0f; ++k) {
                const float distance = std::sqrt(around * around + z * z) - 0.25f;
                if (distance <= 1e-3f) break;
                z += distance;
            }
            r[i][j] = z;
        }
}

PLAIN(collatz_lengths) {
    const auto r = out.vector<int64_t>(0);
    for (long i = 0; i < r.n; ++i) {
        long steps = 0;
        for (long k = i + 1; k > 1; ++steps) k = k & 1 ? k * 3 + 1 : k / 2;
        r[i] = steps;
    }
}

PLAIN(monte_carlo) {
    const long paths = in.scalar<int64_t>(0), steps = in.scalar<int64_t>(1);
    const float strike = in.scalar<float>(2);
    float payoffs = 0;
    for (long p = 0; p < paths; ++p) {
        float price = 1, sum = 0;
        for (long t = 0; t < steps; ++t) {
            const float u = (hash(p * steps + t) >> 8) * 5.9604645e-8f;
            price *= std::exp(0.25f * (u - 0.5f));
            sum += price;
        }
        payoffs += std::max(sum / steps - strike, 0.0f);
    }
    out.scalar<float>(0) = payoffs / paths;
}

PLAIN(tridiagonal_of_any_length) {
    const auto a = in.matrix<const float>(0), b = in.matrix<const float>(1), c = in.matrix<const float>(2), d = in.matrix<const float>(3);
    const auto x = out.matrix<float>(0);
    std::vector<float> upper(a.rows * a.cols);
    const matrix_view<float> u{upper.data(), a.rows, a.cols};
    for (long i = 0; i < a.rows; ++i)
        for (long j = 0; j < a.cols; ++j) {
            const float pivot = b[i][j] - (i > 0 ? a[i][j] * u[i - 1][j] : 0.0f);
            u[i][j] = c[i][j] / pivot;
            x[i][j] = (d[i][j] - (i > 0 ? a[i][j] * x[i - 1][j] : 0.0f)) / pivot;
        }
    for (long i = a.rows - 2; i >= 0; --i)
        for (long j = 0; j < a.cols; ++j) x[i][j] -= u[i][j] * x[i + 1][j];
}

PLAIN(minmax_normalisation) {
    const auto x = in.vector<const float>(0);
    const auto r = out.vector<float>(0);
    float low = x[0], high = x[0];
    for (long i = 0; i < x.n; ++i) low = std::min(low, x[i]), high = std::max(high, x[i]);
    for (long i = 0; i < x.n; ++i) r[i] = (x[i] - low) / (high - low);
}

PLAIN(confusion_counts) {
    const auto score = in.vector<const float>(0);
    const auto label = in.vector<const uint8_t>(1);
    const float threshold = in.scalar<float>(2);
    int64_t counts[2][2] = {};
    for (long i = 0; i < score.n; ++i) ++counts[score[i] > threshold][label[i]];
    out.scalar<int64_t>(0) = counts[1][1], out.scalar<int64_t>(1) = counts[0][1];
    out.scalar<int64_t>(2) = counts[1][0], out.scalar<int64_t>(3) = counts[0][0];
}

PLAIN(weighted_mean) {
    const auto x = in.vector<const float>(0), w = in.vector<const float>(1);
    float sum = 0, weight = 0;
    for (long i = 0; i < x.n; ++i) sum += x[i] * w[i], weight += w[i];
    out.scalar<float>(0) = sum / weight, out.scalar<float>(1) = weight;
}

PLAIN(merged_means) {
    const auto x = in.matrix<const float>(0), w = in.matrix<const float>(1);
    const auto mean = out.vector<float>(0), weight = out.vector<float>(1);
    std::fill_n(mean.data, mean.n, 0.0f), std::fill_n(weight.data, weight.n, 0.0f);
    for (long i = 0; i < x.rows; ++i)
        for (long j = 0; j < x.cols; ++j) {
            const float b = std::abs(w[i][j]) + 1.0f;
            weight[j] += b;
            mean[j] += (x[i][j] - mean[j]) * (b / weight[j]);
        }
}

PLAIN(places_in_a_table) {
    const auto x = in.matrix<const float>(0);
    const auto least = out.vector<float>(0), greatest = out.vector<float>(1);
    const auto place = out.vector<int64_t>(2);
    for (long i = 0; i < x.rows; ++i) {
        least[i] = greatest[i] = x[i][0], place[i] = 0;
        for (long j = 1; j < x.cols; ++j) {
            least[i] = std::min(least[i], x[i][j]);
            if (x[i][j] > greatest[i]) greatest[i] = x[i][j], place[i] = j;
        }
    }
}

PLAIN(longest_run) {
    const auto x = in.vector<const float>(0);
    int64_t longest = 0, run = 0;
    for (long i = 0; i < x.n; ++i) longest = std::max(longest, run = x[i] > 0 ? run + 1 : 0);
    out.scalar<int64_t>(0) = longest;
}
