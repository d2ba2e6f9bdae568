// The programs of tests/programs/src/layers.rs.
#include "plain.hpp"

static const float epsilon = 0.0009765625f;

static float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

static float silu(float x) { return x / (1 + std::exp(-x)); }

static float sum(const float *x, long n) {
    float sum = 0;
    for (long i = 0; i < n; ++i) sum += x[i];
    return sum;
}

static float greatest(const float *x, long n) {
    float most = x[0];
    for (long i = 1; i < n; ++i) most = std::max(most, x[i]);
    return most;
}

static float sum_of_exp(const float *x, float most, long n) {
    float sum = 0;
    for (long i = 0; i < n; ++i) sum += std::exp(x[i] - most);
    return sum;
}

// y may be x.
static void softmax_of(const float *x, float *y, long n) {
    const float most = greatest(x, n);
    float sum = 0;
    for (long i = 0; i < n; ++i) {
        y[i] = std::exp(x[i] - most);
        sum += y[i];
    }
    for (long i = 0; i < n; ++i) y[i] /= sum;
}

static void softmax_of_rows(matrix_view<const float> x, matrix_view<float> r) {
    for (long i = 0; i < x.rows; ++i) softmax_of(x[i], r[i], x.cols);
}

// y += s * x
template <class T> static void add_scaled(T *y, T s, const T *x, long n) {
    for (long i = 0; i < n; ++i) y[i] += s * x[i];
}

// y = x w, where x is a row of `rows` elements: the first rows of w are used.
template <class T> static void row_product(const T *x, long rows, matrix_view<const T> w, T *y) {
    std::fill_n(y, w.cols, T(0));
    for (long k = 0; k < rows; ++k) add_scaled(y, x[k], w[k], w.cols);
}

static std::vector<float> transposed(matrix_view<const float> a) {
    std::vector<float> t(a.rows * a.cols);
    for (long i = 0; i < a.rows; ++i)
        for (long j = 0; j < a.cols; ++j) t[j * a.rows + i] = a[i][j];
    return t;
}

PLAIN(gelu) {
    const auto x = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < x.rows; ++i)
        for (long j = 0; j < x.cols; ++j) {
            const float a = x[i][j];
            r[i][j] = 0.5f * a * (1 + std::tanh(0.7978846f * (a + 0.044715f * a * a * a)));
        }
}

PLAIN(swiglu) {
    const auto a = in.matrix<const float>(0), b = in.matrix<const float>(1);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < a.rows; ++i)
        for (long j = 0; j < a.cols; ++j) r[i][j] = silu(a[i][j]) * b[i][j];
}

PLAIN(bias_and_relu) {
    const auto x = in.matrix<const float>(0);
    const auto b = in.vector<const float>(1);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < x.rows; ++i)
        for (long j = 0; j < x.cols; ++j) r[i][j] = std::max(x[i][j] + b[j], 0.0f);
}

PLAIN(dropout) {
    const auto x = in.matrix<const float>(0), mask = in.matrix<const float>(1);
    const float p = in.scalar<const float>(2);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < x.rows; ++i)
        for (long j = 0; j < x.cols; ++j) r[i][j] = mask[i][j] < p ? 0 : x[i][j] / (1 - p);
}

PLAIN(softmax) { softmax_of_rows(in.matrix<const float>(0), out.matrix<float>(0)); }

PLAIN(softmax_of_vector) {
    const auto x = in.vector<const float>(0);
    softmax_of(x.data, out.vector<float>(0).data, x.n);
}

PLAIN(softmax_stored) { softmax_of_rows(in.matrix<const float>(0), out.matrix<float>(0)); }

PLAIN(log_softmax) {
    const auto x = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < x.rows; ++i) {
        const float most = greatest(x[i], x.cols), log = std::log(sum_of_exp(x[i], most, x.cols));
        for (long j = 0; j < x.cols; ++j) r[i][j] = x[i][j] - most - log;
    }
}

PLAIN(layer_norm) {
    const auto x = in.matrix<const float>(0);
    const auto g = in.vector<const float>(1), b = in.vector<const float>(2);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < x.rows; ++i) {
        const float mean = sum(x[i], x.cols) / x.cols;
        float square = 0;
        for (long j = 0; j < x.cols; ++j) square += (x[i][j] - mean) * (x[i][j] - mean);
        const float scale = 1 / std::sqrt(square / x.cols + epsilon);
        for (long j = 0; j < x.cols; ++j) r[i][j] = (x[i][j] - mean) * scale * g[j] + b[j];
    }
}

PLAIN(rms_norm) {
    const auto x = in.matrix<const float>(0);
    const auto g = in.vector<const float>(1);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < x.rows; ++i) {
        const float scale = 1 / std::sqrt(dot(x[i], x[i], x.cols) / x.cols + epsilon);
        for (long j = 0; j < x.cols; ++j) r[i][j] = x[i][j] * scale * g[j];
    }
}

PLAIN(batch_norm) {
    const auto x = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    std::vector<float> mean(x.cols), scale(x.cols);
    for (long i = 0; i < x.rows; ++i)
        for (long j = 0; j < x.cols; ++j) {
            mean[j] += x[i][j];
            scale[j] += x[i][j] * x[i][j];
        }
    for (long j = 0; j < x.cols; ++j) {
        mean[j] /= x.rows;
        scale[j] = 1 / std::sqrt(scale[j] / x.rows - mean[j] * mean[j] + epsilon);
    }
    for (long i = 0; i < x.rows; ++i)
        for (long j = 0; j < x.cols; ++j) r[i][j] = (x[i][j] - mean[j]) * scale[j];
}

PLAIN(group_of_planes_norm) {
    const auto x = in.tensor<const float>(0);
    const auto r = out.tensor<float>(0);
    const long n = x.rows * x.cols;
    for (long k = 0; k < x.planes; ++k) {
        const float *plane = x[k].data;
        float *to = r[k].data, all = 0, squares = 0;
        for (long i = 0; i < n; ++i) {
            all += plane[i];
            squares += plane[i] * plane[i];
        }
        const float mean = all / n, scale = 1 / std::sqrt(squares / n - mean * mean + epsilon);
        for (long i = 0; i < n; ++i) to[i] = (plane[i] - mean) * scale;
    }
}

PLAIN(dense_layer) {
    const auto x = in.matrix<const float>(0), w = in.matrix<const float>(1);
    const auto b = in.vector<const float>(2);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < x.rows; ++i) {
        row_product(x[i], x.cols, w, r[i]);
        for (long j = 0; j < w.cols; ++j) r[i][j] = std::max(r[i][j] + b[j], 0.0f);
    }
}

PLAIN(two_layers) {
    const auto x = in.matrix<const float>(0), w1 = in.matrix<const float>(1), w2 = in.matrix<const float>(3);
    const auto b1 = in.vector<const float>(2), b2 = in.vector<const float>(4);
    const auto r = out.matrix<float>(0);
    std::vector<float> h(w1.cols);
    for (long i = 0; i < x.rows; ++i) {
        row_product(x[i], x.cols, w1, h.data());
        for (long j = 0; j < w1.cols; ++j) h[j] = std::tanh(h[j] + b1[j]);
        row_product(h.data(), w1.cols, w2, r[i]);
        for (long j = 0; j < w2.cols; ++j) r[i][j] += b2[j];
    }
}

PLAIN(gated_mlp) {
    const auto x = in.matrix<const float>(0), u = in.matrix<const float>(1);
    const auto v = in.matrix<const float>(2), w = in.matrix<const float>(3);
    const auto r = out.matrix<float>(0);
    std::vector<float> gate(u.cols), h(u.cols);
    for (long i = 0; i < x.rows; ++i) {
        row_product(x[i], x.cols, u, gate.data());
        row_product(x[i], x.cols, v, h.data());
        for (long j = 0; j < u.cols; ++j) h[j] *= silu(gate[j]);
        row_product(h.data(), u.cols, w, r[i]);
    }
}

PLAIN(lstm_cell) {
    const auto x = in.vector<const float>(0), h = in.vector<const float>(1), cell = in.vector<const float>(2);
    const auto w = in.matrix<const float>(3), u = in.matrix<const float>(4);
    const auto b = in.vector<const float>(5);
    const auto hn = out.vector<float>(0), cn = out.vector<float>(1);
    std::vector<float> z(w.rows);
    for (long i = 0; i < w.rows; ++i) z[i] = dot(w[i], x.data, x.n) + dot(u[i], h.data, h.n) + b[i];
    for (long i = 0; i < h.n; ++i) {
        cn[i] = sigmoid(z[h.n + i]) * cell[i] + sigmoid(z[i]) * std::tanh(z[2 * h.n + i]);
        hn[i] = sigmoid(z[3 * h.n + i]) * std::tanh(cn[i]);
    }
}

PLAIN(recurrent_steps) {
    const auto w = in.matrix<const float>(0), u = in.matrix<const float>(1);
    const auto x = in.vector<const float>(2);
    std::vector<float> input(w.rows), h(w.rows), next(w.rows);
    for (long i = 0; i < w.rows; ++i) input[i] = dot(u[i], x.data, x.n);
    for (int step = 0; step < 4; ++step) {
        for (long i = 0; i < w.rows; ++i) next[i] = std::tanh(dot(w[i], h.data(), w.cols) + input[i]);
        h.swap(next);
    }
    std::copy(h.begin(), h.end(), out.vector<float>(0).data);
}

PLAIN(embedding) {
    const auto table = in.matrix<const float>(0);
    const auto ids = in.vector<const int64_t>(1);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < ids.n; ++i) std::copy_n(table[ids[i]], table.cols, r[i]);
}

PLAIN(quantised_product) {
    const auto x = in.matrix<const int32_t>(0), w = in.matrix<const int32_t>(1);
    const auto scale = in.vector<const float>(2);
    const auto r = out.matrix<float>(0);
    std::vector<int32_t> row(w.cols);
    for (long i = 0; i < x.rows; ++i) {
        row_product(x[i], x.cols, w, row.data());
        for (long j = 0; j < w.cols; ++j) r[i][j] = row[j] * scale[j];
    }
}

PLAIN(attention) {
    const auto q = in.matrix<const float>(0), k = in.matrix<const float>(1), v = in.matrix<const float>(2);
    const auto r = out.matrix<float>(0);
    std::vector<float> scores(k.rows), keys = transposed(k);
    for (long i = 0; i < q.rows; ++i) {
        row_product(q[i], q.cols, {keys.data(), k.cols, k.rows}, scores.data());
        for (float &x : scores) x *= 0.5f;
        softmax_of(scores.data(), scores.data(), k.rows);
        row_product(scores.data(), k.rows, v, r[i]);
    }
}

PLAIN(causal_attention) {
    const auto q = in.matrix<const float>(0), k = in.matrix<const float>(1), v = in.matrix<const float>(2);
    const auto r = out.matrix<float>(0);
    std::vector<float> scores(k.rows), keys = transposed(k);
    for (long i = 0; i < q.rows; ++i) {
        // The later scores are masked: their softmax is zero.
        const long n = i + 1;
        std::fill_n(scores.data(), n, 0.0f);
        for (long c = 0; c < q.cols; ++c) add_scaled(scores.data(), 0.5f * q[i][c], &keys[c * k.rows], n);
        softmax_of(scores.data(), scores.data(), n);
        row_product(scores.data(), n, v, r[i]);
    }
}

PLAIN(rotary_embedding) {
    const auto x = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    const long half = x.cols / 2;
    std::vector<float> rates(half);
    for (long k = 0; k < half; ++k) rates[k] = std::exp(static_cast<float>(-k) / half * 4);
    for (long i = 0; i < x.rows; ++i)
        for (long k = 0; k < half; ++k) {
            const float angle = i * rates[k], sin = std::sin(angle), cos = std::cos(angle);
            const float a = x[i][k], b = x[i][k + half];
            r[i][k] = a * cos - b * sin;
            r[i][k + half] = a * sin + b * cos;
        }
}

PLAIN(attention_of_one_query) {
    const auto q = in.vector<const float>(0);
    const auto k = in.matrix<const float>(1), v = in.matrix<const float>(2);
    std::vector<float> p(k.rows);
    for (long i = 0; i < k.rows; ++i) p[i] = dot(k[i], q.data, q.n);
    softmax_of(p.data(), p.data(), k.rows);
    row_product(p.data(), k.rows, v, out.vector<float>(0).data);
}

PLAIN(convolution_3x3_channels) {
    const auto x = in.tensor<const float>(0);
    const auto w = in.matrix<const float>(1);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < r.rows; ++i) {
        std::fill_n(r[i], r.cols, 0.0f);
        for (long k = 0; k < x.planes; ++k)
            for (long a = 0; a < 3; ++a) {
                const float *from = x[k][i + a], *f = w[k] + 3 * a;
                const float f0 = f[0], f1 = f[1], f2 = f[2];
                for (long j = 0; j < r.cols; ++j) r[i][j] += f0 * from[j] + f1 * from[j + 1] + f2 * from[j + 2];
            }
    }
}

// Adds a 3 x 3 convolution of each channel to the rows of an output channel, whose weights are 9 for each channel.
static void convolve(const tensor_view<const float> x, const float *w, float *r, long rows, long cols) {
    std::fill_n(r, rows * cols, 0.0f);
    for (long k = 0; k < x.planes; ++k)
        for (long i = 0; i < rows; ++i)
            for (long a = 0; a < 3; ++a) {
                const float *from = x[k][i + a], *f = w + 9 * k + 3 * a;
                const float f0 = f[0], f1 = f[1], f2 = f[2];
                float *to = r + i * cols;
                for (long j = 0; j < cols; ++j) to[j] += f0 * from[j] + f1 * from[j + 1] + f2 * from[j + 2];
            }
}

PLAIN(convolution_layer) {
    const auto x = in.tensor<const float>(0), w = in.tensor<const float>(1);
    const auto r = out.tensor<float>(0);
    for (long o = 0; o < r.planes; ++o) convolve(x, w[o][0], r[o][0], r.rows, r.cols);
}

PLAIN(convolution_as_product) {
    const auto x = in.tensor<const float>(0);
    const auto w = in.matrix<const float>(1);
    const auto r = out.matrix<float>(0);
    for (long o = 0; o < r.rows; ++o) convolve(x, w[o], r[o], x.rows - 2, x.cols - 2);
}

PLAIN(depthwise_convolution) {
    const auto x = in.tensor<const float>(0), w = in.tensor<const float>(1);
    const auto r = out.tensor<float>(0);
    for (long k = 0; k < r.planes; ++k) {
        const auto from = x[k], f = w[k];
        const auto to = r[k];
        for (long i = 0; i < to.rows; ++i)
            for (long j = 0; j < to.cols; ++j) {
                float sum = 0;
                for (long a = 0; a < 3; ++a)
                    for (long b = 0; b < 3; ++b) sum += f[a][b] * from[i + a][j + b];
                to[i][j] = sum;
            }
    }
}

PLAIN(max_pool) {
    const auto x = in.tensor<const float>(0);
    const auto r = out.tensor<float>(0);
    for (long k = 0; k < r.planes; ++k)
        for (long i = 0; i < r.rows; ++i) {
            const float *a = x[k][2 * i], *b = x[k][2 * i + 1];
            float *to = r[k][i];
            for (long j = 0; j < r.cols; ++j)
                to[j] = std::max(std::max(a[2 * j], a[2 * j + 1]), std::max(b[2 * j], b[2 * j + 1]));
        }
}

PLAIN(global_average_pool) {
    const auto x = in.tensor<const float>(0);
    const auto r = out.vector<float>(0);
    const long n = x.rows * x.cols;
    for (long k = 0; k < x.planes; ++k) r[k] = sum(x[k].data, n) / n;
}

PLAIN(cross_entropy) {
    const auto x = in.matrix<const float>(0);
    const auto labels = in.vector<const int64_t>(1);
    float loss = 0;
    for (long i = 0; i < x.rows; ++i) {
        const float most = greatest(x[i], x.cols);
        loss += most + std::log(sum_of_exp(x[i], most, x.cols)) - x[i][labels[i]];
    }
    out.scalar<float>(0) = loss / x.rows;
}

PLAIN(softmax_gradient) {
    const auto p = in.matrix<const float>(0), g = in.matrix<const float>(1);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < p.rows; ++i) {
        const float sum = dot(p[i], g[i], p.cols);
        for (long j = 0; j < p.cols; ++j) r[i][j] = p[i][j] * (g[i][j] - sum);
    }
}

PLAIN(dense_gradients) {
    const auto x = in.matrix<const float>(0), w = in.matrix<const float>(1), g = in.matrix<const float>(2);
    const auto dx = out.matrix<float>(0), dw = out.matrix<float>(1);
    const auto db = out.vector<float>(2);
    const std::vector<float> wt = transposed(w);
    for (long i = 0; i < g.rows; ++i) row_product(g[i], g.cols, {wt.data(), w.cols, w.rows}, dx[i]);
    for (long k = 0; k < x.cols; ++k) {
        std::fill_n(dw[k], dw.cols, 0.0f);
        for (long i = 0; i < x.rows; ++i) add_scaled(dw[k], x[i][k], g[i], g.cols);
    }
    std::fill_n(db.data, db.n, 0.0f);
    for (long i = 0; i < g.rows; ++i)
        for (long j = 0; j < g.cols; ++j) db[j] += g[i][j];
}

PLAIN(adam) {
    const auto w = in.vector<const float>(0), g = in.vector<const float>(1);
    const auto m = in.vector<const float>(2), v = in.vector<const float>(3);
    const auto wn = out.vector<float>(0), mn = out.vector<float>(1), vn = out.vector<float>(2);
    for (long i = 0; i < w.n; ++i) {
        const float a = 0.875f * m[i] + 0.125f * g[i], b = 0.96875f * v[i] + 0.03125f * g[i] * g[i];
        wn[i] = w[i] - 0.0625f * a / (std::sqrt(b) + epsilon);
        mn[i] = a;
        vn[i] = b;
    }
}

PLAIN(clipped_gradient) {
    const auto w = in.vector<const float>(0), g = in.vector<const float>(1);
    const float limit = in.scalar<const float>(2);
    const auto r = out.vector<float>(0);
    const float scale = limit / std::max(std::sqrt(dot(g.data, g.data, g.n)), limit);
    for (long i = 0; i < w.n; ++i) r[i] = w[i] - g[i] * scale;
}

PLAIN(accuracy) {
    const auto scores = in.matrix<const float>(0);
    const auto labels = in.vector<const int64_t>(1);
    float right = 0;
    for (long i = 0; i < scores.rows; ++i) right += scores[i][labels[i]] == greatest(scores[i], scores.cols);
    out.scalar<float>(0) = right / labels.n;
}
