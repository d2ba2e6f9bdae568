// The programs of tests/programs/src/linear_algebra.rs.
#include "plain.hpp"

PLAIN(axpy) {
    const float a = in.scalar<const float>(0);
    const auto x = in.vector<const float>(1), y = in.vector<const float>(2);
    const auto r = out.vector<float>(0);
    for (long i = 0; i < x.n; ++i) r[i] = a * x[i] + y[i];
}

PLAIN(norms) {
    const auto x = in.vector<const float>(0);
    float one = 0, square = 0, most = 0;
    for (long i = 0; i < x.n; ++i) {
        const float size = std::abs(x[i]);
        one += size;
        square += x[i] * x[i];
        most = std::max(most, size);
    }
    out.scalar<float>(0) = one;
    out.scalar<float>(1) = std::sqrt(square);
    out.scalar<float>(2) = most;
}

PLAIN(unit_vector) {
    const auto x = in.vector<const float>(0);
    const auto r = out.vector<float>(0);
    const float length = std::sqrt(dot(x.data, x.data, x.n));
    for (long i = 0; i < x.n; ++i) r[i] = x[i] / length;
}

PLAIN(gram_schmidt_step) {
    const auto x = in.vector<const float>(0), y = in.vector<const float>(1);
    const auto r = out.vector<float>(0);
    float xy = 0, xx = 0, square = 0;
    for (long i = 0; i < x.n; ++i) {
        xy += x[i] * y[i];
        xx += x[i] * x[i];
    }
    const float factor = xy / xx;
    for (long i = 0; i < x.n; ++i) {
        r[i] = y[i] - x[i] * factor;
        square += r[i] * r[i];
    }
    const float length = std::sqrt(square);
    for (long i = 0; i < x.n; ++i) r[i] /= length;
}

PLAIN(givens_rotation) {
    const auto x = in.vector<const float>(0), y = in.vector<const float>(1);
    const float c = in.scalar<const float>(2), s = in.scalar<const float>(3);
    const auto p = out.vector<float>(0), q = out.vector<float>(1);
    for (long i = 0; i < x.n; ++i) {
        p[i] = c * x[i] + s * y[i];
        q[i] = c * y[i] - s * x[i];
    }
}

PLAIN(cross_products) {
    const auto a = in.matrix<const float>(0), b = in.matrix<const float>(1);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < a.rows; ++i) {
        r[i][0] = a[i][1] * b[i][2] - a[i][2] * b[i][1];
        r[i][1] = a[i][2] * b[i][0] - a[i][0] * b[i][2];
        r[i][2] = a[i][0] * b[i][1] - a[i][1] * b[i][0];
    }
}

PLAIN(rank_one_update) {
    const auto a = in.matrix<const float>(0);
    const auto x = in.vector<const float>(1), y = in.vector<const float>(2);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < a.rows; ++i) {
        const float xi = x[i];
        for (long j = 0; j < a.cols; ++j) r[i][j] = a[i][j] + xi * y[j];
    }
}

PLAIN(symmetric_part) {
    const auto a = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < a.rows; ++i)
        for (long j = 0; j < a.cols; ++j) r[i][j] = (a[i][j] + a[j][i]) * 0.5f;
}

PLAIN(scaled_both_sides) {
    const auto d = in.vector<const float>(0), e = in.vector<const float>(2);
    const auto a = in.matrix<const float>(1);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < a.rows; ++i) {
        const float di = d[i];
        for (long j = 0; j < a.cols; ++j) r[i][j] = di * a[i][j] * e[j];
    }
}

PLAIN(trace) {
    const auto a = in.matrix<const float>(0);
    float sum = 0;
    for (long i = 0; i < a.rows; ++i) sum += a[i][i];
    out.scalar<float>(0) = sum;
}

PLAIN(frobenius_distance) {
    const auto a = in.matrix<const float>(0), b = in.matrix<const float>(1);
    float sum = 0;
    for (long i = 0; i < a.rows; ++i)
        for (long j = 0; j < a.cols; ++j) {
            const float d = a[i][j] - b[i][j];
            sum += d * d;
        }
    out.scalar<float>(0) = std::sqrt(sum);
}

PLAIN(matrix_norms) {
    const auto a = in.matrix<const float>(0);
    std::vector<float> columns(a.cols);
    float infinity = 0;
    for (long i = 0; i < a.rows; ++i) {
        float sum = 0;
        for (long j = 0; j < a.cols; ++j) {
            const float size = std::abs(a[i][j]);
            sum += size;
            columns[j] += size;
        }
        infinity = std::max(infinity, sum);
    }
    out.scalar<float>(0) = *std::max_element(columns.begin(), columns.end());
    out.scalar<float>(1) = infinity;
}

static void divide_rows_by_length(matrix_view<const float> m, matrix_view<float> r) {
    for (long i = 0; i < m.rows; ++i) {
        const float length = std::sqrt(dot(m[i], m[i], m.cols));
        for (long j = 0; j < m.cols; ++j) r[i][j] = m[i][j] / length;
    }
}

PLAIN(normalised_rows) { divide_rows_by_length(in.matrix<const float>(0), out.matrix<float>(0)); }

PLAIN(normalised_rows_by_hand) { divide_rows_by_length(in.matrix<const float>(0), out.matrix<float>(0)); }

PLAIN(normalised_columns_stored) {
    const auto m = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    std::vector<float> sums(m.cols);
    for (long i = 0; i < m.rows; ++i)
        for (long j = 0; j < m.cols; ++j) sums[j] += m[i][j];
    for (long i = 0; i < m.rows; ++i)
        for (long j = 0; j < m.cols; ++j) r[i][j] = m[i][j] / sums[j] + 1;
}

PLAIN(kronecker) {
    const auto a = in.matrix<const float>(0), b = in.matrix<const float>(1);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < a.rows; ++i)
        for (long k = 0; k < b.rows; ++k)
            for (long j = 0; j < a.cols; ++j) {
                const float x = a[i][j];
                float *block = r[i * b.rows + k] + j * b.cols;
                for (long l = 0; l < b.cols; ++l) block[l] = x * b[k][l];
            }
}

PLAIN(tridiagonal_vector) {
    const auto l = in.vector<const float>(0), d = in.vector<const float>(1), u = in.vector<const float>(2);
    const auto x = in.vector<const float>(3);
    const auto r = out.vector<float>(0);
    const long last = x.n - 1;
    if (last == 0) {
        r[0] = d[0] * x[0];
        return;
    }
    r[0] = d[0] * x[0] + u[0] * x[1];
    for (long i = 1; i < last; ++i) r[i] = l[i] * x[i - 1] + d[i] * x[i] + u[i] * x[i + 1];
    r[last] = l[last] * x[last - 1] + d[last] * x[last];
}

PLAIN(lower_triangular_vector) {
    const auto a = in.matrix<const float>(0);
    const auto x = in.vector<const float>(1);
    const auto r = out.vector<float>(0);
    for (long i = 0; i < x.n; ++i) r[i] = dot(a[i], x.data, i + 1);
}

PLAIN(householder_reflection) {
    const auto a = in.matrix<const float>(0);
    const auto v = in.vector<const float>(1);
    const auto r = out.matrix<float>(0);
    std::vector<float> w(a.cols);
    for (long i = 0; i < a.rows; ++i) add_scaled(w.data(), v[i], a[i], a.cols);
    const float factor = 2 / dot(v.data, v.data, v.n);
    for (float &x : w) x *= factor;
    for (long i = 0; i < a.rows; ++i) {
        const float vi = v[i];
        for (long j = 0; j < a.cols; ++j) r[i][j] = a[i][j] - vi * w[j];
    }
}

PLAIN(matrix_vector) {
    const auto a = in.matrix<const float>(0);
    const auto x = in.vector<const float>(1);
    const auto y = out.vector<float>(0);
    for (long i = 0; i < a.rows; ++i) y[i] = dot(a[i], x.data, a.cols);
}

PLAIN(both_matrix_vectors) {
    const auto a = in.matrix<const float>(0);
    const auto x = in.vector<const float>(1), y = in.vector<const float>(2);
    const auto p = out.vector<float>(0), q = out.vector<float>(1);
    std::fill_n(q.data, q.n, 0.0f);
    for (long i = 0; i < a.rows; ++i) {
        p[i] = dot(a[i], x.data, a.cols);
        add_scaled(q.data, y[i], a[i], a.cols);
    }
}

PLAIN(normal_equations_vector) {
    const auto a = in.matrix<const float>(0);
    const auto x = in.vector<const float>(1);
    const auto r = out.vector<float>(0);
    std::fill_n(r.data, r.n, 0.0f);
    for (long i = 0; i < a.rows; ++i) add_scaled(r.data, dot(a[i], x.data, a.cols), a[i], a.cols);
}

PLAIN(two_matrices_by_vector) {
    const float alpha = in.scalar<const float>(0), beta = in.scalar<const float>(2);
    const auto a = in.matrix<const float>(1), b = in.matrix<const float>(3);
    const auto x = in.vector<const float>(4);
    const auto r = out.vector<float>(0);
    for (long i = 0; i < a.rows; ++i) {
        float p = 0, q = 0;
        for (long j = 0; j < a.cols; ++j) {
            p += a[i][j] * x[j];
            q += b[i][j] * x[j];
        }
        r[i] = alpha * p + beta * q;
    }
}

PLAIN(gemver) {
    const auto a = in.matrix<const float>(0);
    const auto u1 = in.vector<const float>(1), v1 = in.vector<const float>(2);
    const auto u2 = in.vector<const float>(3), v2 = in.vector<const float>(4);
    const auto y = in.vector<const float>(5), z = in.vector<const float>(6);
    const auto b = out.matrix<float>(0);
    const auto x = out.vector<float>(1), w = out.vector<float>(2);
    std::fill_n(x.data, x.n, 0.0f);
    for (long i = 0; i < a.rows; ++i) {
        const float p = u1[i], q = u2[i];
        for (long j = 0; j < a.cols; ++j) b[i][j] = a[i][j] + p * v1[j] + q * v2[j];
        add_scaled(x.data, y[i], b[i], b.cols);
    }
    for (long j = 0; j < x.n; ++j) x[j] = 0.5f * x[j] + z[j];
    for (long i = 0; i < b.rows; ++i) w[i] = 0.25f * dot(b[i], x.data, b.cols);
}

PLAIN(gemm) {
    const float alpha = in.scalar<const float>(0), beta = in.scalar<const float>(3);
    const auto a = in.matrix<const float>(1), b = in.matrix<const float>(2), c = in.matrix<const float>(4);
    const auto r = out.matrix<float>(0);
    product(a, b, r);
    for (long i = 0; i < r.rows; ++i)
        for (long j = 0; j < r.cols; ++j) r[i][j] = alpha * r[i][j] + beta * c[i][j];
}

PLAIN(gemm_by_hand) { product(in.matrix<const float>(0), in.matrix<const float>(1), out.matrix<float>(0)); }

PLAIN(chain_of_three) {
    const auto a = in.matrix<const float>(0), b = in.matrix<const float>(1), c = in.matrix<const float>(2);
    std::vector<float> ab(a.rows * b.cols);
    product(a, b, {ab.data(), a.rows, b.cols});
    product({ab.data(), a.rows, b.cols}, c, out.matrix<float>(0));
}

PLAIN(gram_matrix) {
    const auto a = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < a.cols; ++i) {
        std::fill_n(r[i] + i, a.cols - i, 0.0f);
        for (long k = 0; k < a.rows; ++k) add_scaled(r[i] + i, a[k][i], a[k] + i, a.cols - i);
    }
    // The part below the diagonal is the part above it.
    for (long i = 0; i < a.cols; ++i)
        for (long j = 0; j < i; ++j) r[i][j] = r[j][i];
}

PLAIN(product_of_exponentials) {
    const auto p = in.matrix<const float>(0), v = in.matrix<const float>(1);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < p.rows; ++i) {
        std::fill_n(r[i], r.cols, 0.0f);
        for (long k = 0; k < p.cols; ++k) add_scaled(r[i], std::exp(p[i][k]), v[k], v.cols);
    }
}

PLAIN(exponentials_of_product) {
    const auto r = out.matrix<float>(0);
    product(in.matrix<const float>(0), in.matrix<const float>(1), r);
    for (long i = 0; i < r.rows; ++i)
        for (long j = 0; j < r.cols; ++j) r[i][j] = std::exp(r[i][j]);
}

PLAIN(product_and_scalar) {
    const auto x = in.vector<const float>(2);
    const auto r = out.matrix<float>(0);
    float sum = 0;
    for (long i = 0; i < x.n; ++i) sum += std::exp(x[i]);
    product(in.matrix<const float>(0), in.matrix<const float>(1), r);
    for (long i = 0; i < r.rows; ++i)
        for (long j = 0; j < r.cols; ++j) r[i][j] *= sum;
}

PLAIN(batched_product) {
    const auto a = in.tensor<const float>(0), b = in.tensor<const float>(1);
    const auto r = out.tensor<float>(0);
    for (long p = 0; p < a.planes; ++p) product(a[p], b[p], r[p]);
}

PLAIN(pairwise_distances) {
    const auto x = in.matrix<const float>(0), y = in.matrix<const float>(1);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < x.rows; ++i)
        for (long j = 0; j < y.rows; ++j) {
            float sum = 0;
            for (long k = 0; k < x.cols; ++k) {
                const float d = x[i][k] - y[j][k];
                sum += d * d;
            }
            r[i][j] = std::sqrt(sum);
        }
}

PLAIN(cosine_similarities) {
    const auto x = in.matrix<const float>(0), y = in.matrix<const float>(1);
    const auto r = out.matrix<float>(0);
    std::vector<float> lengths(y.rows);
    for (long j = 0; j < y.rows; ++j) lengths[j] = std::sqrt(dot(y[j], y[j], y.cols));
    for (long i = 0; i < x.rows; ++i) {
        const float length = std::sqrt(dot(x[i], x[i], x.cols));
        for (long j = 0; j < y.rows; ++j) r[i][j] = dot(x[i], y[j], x.cols) / (length * lengths[j]);
    }
}

PLAIN(mahalanobis) {
    const auto x = in.matrix<const float>(0), p = in.matrix<const float>(2);
    const auto mean = in.vector<const float>(1);
    const auto r = out.vector<float>(0);
    std::vector<float> d(x.cols), q(x.cols);
    for (long i = 0; i < x.rows; ++i) {
        for (long j = 0; j < x.cols; ++j) d[j] = x[i][j] - mean[j];
        std::fill(q.begin(), q.end(), 0.0f);
        for (long k = 0; k < x.cols; ++k) add_scaled(q.data(), d[k], p[k], x.cols);
        r[i] = dot(q.data(), d.data(), x.cols);
    }
}
