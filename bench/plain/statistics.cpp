// The programs of tests/programs/src/statistics.rs.
#include "plain.hpp"

using floats = vector_view<const float>;

static float mean(floats x) {
    float sum = 0;
    for (long i = 0; i < x.n; ++i) sum += x[i];
    return sum / x.n;
}

static float deviation(floats x, float mean) {
    float square = 0;
    for (long i = 0; i < x.n; ++i) square += (x[i] - mean) * (x[i] - mean);
    return std::sqrt(square / x.n);
}

static std::vector<float> means_of_columns(matrix_view<const float> x) {
    std::vector<float> means(x.cols);
    for (long i = 0; i < x.rows; ++i)
        for (long j = 0; j < x.cols; ++j) means[j] += x[i][j];
    for (float &mean : means) mean /= x.rows;
    return means;
}

static std::vector<float> centred(matrix_view<const float> x) {
    const auto means = means_of_columns(x);
    std::vector<float> d(x.rows * x.cols);
    for (long i = 0; i < x.rows; ++i)
        for (long j = 0; j < x.cols; ++j) d[i * x.cols + j] = x[i][j] - means[j];
    return d;
}

static std::vector<float> squares_of_columns(matrix_view<const float> x) {
    std::vector<float> squares(x.cols);
    for (long i = 0; i < x.rows; ++i)
        for (long j = 0; j < x.cols; ++j) squares[j] += x[i][j] * x[i][j];
    return squares;
}

// r = d^T d
static void product_of_columns(matrix_view<const float> d, matrix_view<float> r) {
    std::fill_n(r.data, r.rows * r.cols, 0.0f);
    for (long i = 0; i < r.rows; ++i)
        for (long k = 0; k < d.rows; ++k)
            for (long j = 0; j < r.cols; ++j) r[i][j] += d[k][i] * d[k][j];
}

PLAIN(mean_and_deviation) {
    const auto x = in.vector<const float>(0);
    const float m = mean(x);
    out.scalar<float>(0) = m;
    out.scalar<float>(1) = deviation(x, m);
}

PLAIN(moments_in_one_pass) {
    const auto x = in.vector<const float>(0);
    float s1 = 0, s2 = 0, s3 = 0;
    for (long i = 0; i < x.n; ++i) {
        s1 += x[i];
        s2 += x[i] * x[i];
        s3 += x[i] * x[i] * x[i];
    }
    s1 /= x.n, s2 /= x.n, s3 /= x.n;
    const float variance = s2 - s1 * s1;
    out.scalar<float>(0) = s1;
    out.scalar<float>(1) = variance;
    out.scalar<float>(2) = (s3 - 3 * s1 * s2 + 2 * s1 * s1 * s1) / (variance * std::sqrt(variance));
}

PLAIN(standardise) {
    const auto x = in.vector<const float>(0);
    const auto r = out.vector<float>(0);
    const float m = mean(x), s = deviation(x, m);
    for (long i = 0; i < x.n; ++i) r[i] = (x[i] - m) / s;
}

PLAIN(standardise_columns) {
    const auto x = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    const auto means = means_of_columns(x);
    std::vector<float> deviations(x.cols);
    for (long i = 0; i < x.rows; ++i)
        for (long j = 0; j < x.cols; ++j) deviations[j] += (x[i][j] - means[j]) * (x[i][j] - means[j]);
    for (float &d : deviations) d = std::sqrt(d / x.rows);
    for (long i = 0; i < x.rows; ++i)
        for (long j = 0; j < x.cols; ++j) r[i][j] = (x[i][j] - means[j]) / deviations[j];
}

PLAIN(correlation) {
    const auto x = in.vector<const float>(0), y = in.vector<const float>(1);
    const float mx = mean(x), my = mean(y);
    float xy = 0, xx = 0, yy = 0;
    for (long i = 0; i < x.n; ++i) {
        const float dx = x[i] - mx, dy = y[i] - my;
        xy += dx * dy;
        xx += dx * dx;
        yy += dy * dy;
    }
    out.scalar<float>(0) = xy / std::sqrt(xx * yy);
}

PLAIN(linear_fit) {
    const auto x = in.vector<const float>(0), y = in.vector<const float>(1);
    float sx = 0, sy = 0, xx = 0, xy = 0;
    for (long i = 0; i < x.n; ++i) {
        sx += x[i];
        sy += y[i];
        xx += x[i] * x[i];
        xy += x[i] * y[i];
    }
    const float slope = (x.n * xy - sx * sy) / (x.n * xx - sx * sx);
    out.scalar<float>(0) = slope;
    out.scalar<float>(1) = (sy - slope * sx) / x.n;
}

PLAIN(covariance_matrix) {
    const auto x = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    const auto d = centred(x);
    product_of_columns({d.data(), x.rows, x.cols}, r);
    for (long i = 0; i < r.rows * r.cols; ++i) r.data[i] /= x.rows - 1;
}

PLAIN(correlation_matrix) {
    const auto x = in.matrix<const float>(0);
    auto z = centred(x);
    auto lengths = squares_of_columns({z.data(), x.rows, x.cols});
    for (float &length : lengths) length = std::sqrt(length);
    for (long i = 0; i < x.rows; ++i)
        for (long j = 0; j < x.cols; ++j) z[i * x.cols + j] /= lengths[j];
    product_of_columns({z.data(), x.rows, x.cols}, out.matrix<float>(0));
}

PLAIN(moving_average) {
    const auto x = in.vector<const float>(0);
    const auto r = out.vector<float>(0);
    for (long i = 0; i < r.n; ++i) {
        float sum = 0;
        for (long k = 0; k < 8; ++k) sum += x[i + k];
        r[i] = sum / 8;
    }
}

PLAIN(rolling_deviation) {
    const auto x = in.vector<const float>(0);
    const long k = in.scalar<const int64_t>(1);
    const auto r = out.vector<float>(0);
    const float n = k;
    for (long i = 0; i < r.n; ++i) {
        float sum = 0, square = 0;
        for (long j = i; j < i + k; ++j) {
            sum += x[j];
            square += x[j] * x[j];
        }
        r[i] = std::sqrt(std::max(square / n - sum * sum / (n * n), 0.0f));
    }
}

PLAIN(autocorrelation) {
    const auto x = in.vector<const float>(0);
    const auto r = out.vector<float>(0);
    const float m = mean(x);
    std::vector<float> d(x.n);
    for (long i = 0; i < x.n; ++i) d[i] = x[i] - m;
    for (long k = 0; k < r.n; ++k) {
        float sum = 0;
        for (long i = 0; i + k < x.n; ++i) sum += d[i] * d[i + k];
        r[k] = sum;
    }
}

PLAIN(exponential_smoothing) {
    const auto x = in.vector<const float>(0);
    const float a = in.scalar<const float>(1);
    float s = 0;
    for (long i = 0; i < x.n; ++i) s += a * (x[i] - s);
    out.scalar<float>(0) = s;
}

PLAIN(periodogram) {
    const auto x = in.vector<const float>(0);
    const auto r = out.vector<float>(0);
    const float step = 6.2831853f / x.n;
    for (long k = 0; k < r.n; ++k) {
        float re = 0, im = 0;
        for (long i = 0; i < x.n; ++i) {
            const float angle = i * k % x.n * step;
            re += x[i] * std::cos(angle);
            im += x[i] * std::sin(angle);
        }
        r[k] = (re * re + im * im) / x.n;
    }
}

PLAIN(crossings) {
    const auto x = in.vector<const float>(0);
    const float limit = in.scalar<const float>(1);
    int32_t count = 0;
    int64_t first = x.n;
    for (long i = 0; i + 1 < x.n; ++i)
        if (x[i] < limit && x[i + 1] >= limit) {
            if (count == 0) first = i;
            ++count;
        }
    out.scalar<int32_t>(0) = count;
    out.scalar<int64_t>(1) = first;
}

PLAIN(histogram_of_values) {
    count_values(in.vector<const float>(0), out.vector<int32_t>(0));
}

PLAIN(empirical_distribution) {
    const auto x = in.vector<const float>(0), points = in.vector<const float>(1);
    const auto r = out.vector<float>(0);
    for (long k = 0; k < points.n; ++k) {
        const float p = points[k];
        long count = 0;
        for (long i = 0; i < x.n; ++i) count += x[i] <= p;
        r[k] = float(count) / x.n;
    }
}

PLAIN(ranks) {
    const auto x = in.vector<const float>(0);
    const auto r = out.vector<int64_t>(0);
    for (long i = 0; i < x.n; ++i) {
        const float of = x[i];
        int64_t before = 0;
        for (long j = 0; j < i; ++j) before += x[j] <= of;
        for (long j = i; j < x.n; ++j) before += x[j] < of;
        r[i] = before;
    }
}

PLAIN(group_means) {
    const auto x = in.vector<const float>(0);
    const auto group = in.vector<const int64_t>(1);
    const auto r = out.vector<float>(0);
    std::vector<float> counts(r.n);
    std::fill_n(r.data, r.n, 0.0f);
    for (long i = 0; i < x.n; ++i) {
        const long g = group[i];
        if (g < 0 || g >= r.n) continue;
        r[g] += x[i];
        ++counts[g];
    }
    for (long g = 0; g < r.n; ++g) r[g] /= std::max(counts[g], 1.0f);
}

PLAIN(argmax_of_rows) {
    const auto x = in.matrix<const float>(0);
    const auto r = out.vector<int64_t>(0);
    for (long i = 0; i < x.rows; ++i) {
        long best = 0;
        for (long j = 1; j < x.cols; ++j)
            if (x[i][j] > x[i][best]) best = j;
        r[i] = best;
    }
}

PLAIN(entropy) {
    const auto x = in.vector<const float>(0);
    float total = 0, sum = 0;
    for (long i = 0; i < x.n; ++i) total += x[i];
    for (long i = 0; i < x.n; ++i) {
        const float p = x[i] / total;
        sum += p * std::log(p);
    }
    out.scalar<float>(0) = -sum;
}

PLAIN(kendall_concordance) {
    const auto x = in.vector<const float>(0), y = in.vector<const float>(1);
    int32_t sum = 0;
    for (long i = 0; i < x.n; ++i) {
        const float xi = x[i], yi = y[i];
        for (long j = 0; j < x.n; ++j) {
            const float sign = (xi - x[j]) * (yi - y[j]);
            sum += (sign > 0) - (sign < 0);
        }
    }
    out.scalar<int32_t>(0) = sum;
}

PLAIN(kernel_density) {
    const auto x = in.vector<const float>(0), points = in.vector<const float>(1);
    const float h = in.scalar<const float>(2);
    const auto r = out.vector<float>(0);
    for (long k = 0; k < points.n; ++k) {
        float sum = 0;
        for (long i = 0; i < x.n; ++i) {
            const float z = (x[i] - points[k]) / h;
            sum += std::exp(z * z * -0.5f);
        }
        r[k] = sum / (x.n * h);
    }
}

PLAIN(k_means_assignment) {
    const auto x = in.matrix<const float>(0), centres = in.matrix<const float>(1);
    const auto r = out.vector<int64_t>(0);
    for (long i = 0; i < x.rows; ++i) {
        float least = std::numeric_limits<float>::infinity();
        for (long k = 0; k < centres.rows; ++k) {
            float distance = 0;
            for (long j = 0; j < x.cols; ++j) {
                const float d = x[i][j] - centres[k][j];
                distance += d * d;
            }
            if (distance < least) {
                least = distance;
                r[i] = k;
            }
        }
    }
}

PLAIN(k_means_update) {
    const auto x = in.matrix<const float>(0);
    const auto assigned = in.vector<const int64_t>(1);
    const auto r = out.matrix<float>(0);
    std::vector<float> counts(r.rows);
    std::fill_n(r.data, r.rows * r.cols, 0.0f);
    for (long i = 0; i < x.rows; ++i) {
        const long c = assigned[i];
        if (c < 0 || c >= r.rows) continue;
        ++counts[c];
        for (long j = 0; j < x.cols; ++j) r[c][j] += x[i][j];
    }
    for (long c = 0; c < r.rows; ++c) {
        const float count = std::max(counts[c], 1.0f);
        for (long j = 0; j < r.cols; ++j) r[c][j] /= count;
    }
}

PLAIN(nearest_neighbour_distance) {
    const auto x = in.matrix<const float>(0);
    const auto r = out.vector<float>(0);
    for (long i = 0; i < x.rows; ++i) {
        float least = std::numeric_limits<float>::max();
        for (long j = 0; j < x.rows; ++j) {
            if (j == i) continue;
            const float a = x[i][0] - x[j][0], b = x[i][1] - x[j][1], c = x[i][2] - x[j][2];
            least = std::min(least, a * a + b * b + c * c);
        }
        r[i] = std::sqrt(least);
    }
}

PLAIN(gaussian_kernel_matrix) {
    const auto x = in.matrix<const float>(0);
    const float gamma = in.scalar<const float>(1);
    const auto r = out.matrix<float>(0);
    std::vector<float> squares(x.rows);
    for (long i = 0; i < x.rows; ++i) squares[i] = dot(x[i], x[i], x.cols);
    for (long i = 0; i < x.rows; ++i)
        for (long j = 0; j < x.rows; ++j)
            r[i][j] = std::exp(-gamma * (squares[i] + squares[j] - 2 * dot(x[i], x[j], x.cols)));
}

PLAIN(naive_bayes) {
    const auto x = in.matrix<const float>(0), means = in.matrix<const float>(1);
    const auto deviations = in.matrix<const float>(2);
    const auto r = out.matrix<float>(0);
    std::vector<float> logs(means.rows);
    for (long k = 0; k < means.rows; ++k)
        for (long j = 0; j < means.cols; ++j) logs[k] += std::log(deviations[k][j]);
    for (long i = 0; i < x.rows; ++i)
        for (long k = 0; k < means.rows; ++k) {
            float sum = 0;
            for (long j = 0; j < x.cols; ++j) {
                const float z = (x[i][j] - means[k][j]) / deviations[k][j];
                sum += z * z;
            }
            r[i][k] = -0.5f * sum - logs[k];
        }
}

PLAIN(forward_algorithm) {
    const auto a = in.matrix<const float>(0);
    const auto b = in.vector<const float>(1), start = in.vector<const float>(2);
    std::vector<float> p(start.data, start.data + start.n), q(start.n);
    for (int step = 0; step < 4; ++step) {
        std::fill(q.begin(), q.end(), 0.0f);
        for (long i = 0; i < a.rows; ++i)
            for (long j = 0; j < a.cols; ++j) q[j] += p[i] * a[i][j];
        float sum = 0;
        for (long j = 0; j < a.cols; ++j) {
            q[j] *= b[j];
            sum += q[j];
        }
        for (long j = 0; j < a.cols; ++j) p[j] = q[j] / sum;
    }
    std::copy(p.begin(), p.end(), out.vector<float>(0).data);
}
