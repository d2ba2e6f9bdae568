// The programs of tests/programs/src/solvers.rs.
#include "plain.hpp"

using floats = std::vector<float>;

static float dot(const floats &a, const floats &b) { return dot(a.data(), b.data(), a.size()); }

static void by_vector(matrix_view<const float> a, const float *x, float *y) {
    for (long i = 0; i < a.rows; ++i) y[i] = dot(a[i], x, a.cols);
}

PLAIN(power_iteration) {
    const auto a = in.matrix<const float>(0);
    const auto start = in.vector<const float>(1);
    const auto x = out.vector<float>(0);
    floats y(x.n);
    std::copy_n(start.data, x.n, x.data);
    for (int step = 0; step < 3; ++step) {
        by_vector(a, x.data, y.data());
        const float length = std::sqrt(dot(y, y));
        for (long i = 0; i < x.n; ++i) x[i] = y[i] / length;
    }
}

PLAIN(jacobi_iteration) {
    const auto a = in.matrix<const float>(0);
    const auto b = in.vector<const float>(1);
    const auto steps = in.scalar<const int64_t>(2);
    const auto x = out.vector<float>(0);
    floats y(x.n), d(x.n);
    for (long i = 0; i < x.n; ++i) d[i] = a[i][i];
    std::fill_n(x.data, x.n, 0.0f);
    for (int64_t step = 0; step < steps; ++step) {
        by_vector(a, x.data, y.data());
        for (long i = 0; i < x.n; ++i) x[i] = (b[i] - y[i] + d[i] * x[i]) / d[i];
    }
}

PLAIN(gradient_descent) {
    const auto a = in.matrix<const float>(0);
    const auto b = in.vector<const float>(1);
    const float rate = in.scalar<const float>(2);
    const auto x = out.vector<float>(0);
    floats gradient(x.n);
    std::fill_n(x.data, x.n, 0.0f);
    for (int step = 0; step < 3; ++step) {
        std::fill(gradient.begin(), gradient.end(), 0.0f);
        for (long i = 0; i < a.rows; ++i)
            add_scaled(gradient.data(), dot(a[i], x.data, a.cols) - b[i], a[i], a.cols);
        add_scaled(x.data, -rate, gradient.data(), x.n);
    }
}

PLAIN(logistic_regression) {
    const auto x = in.matrix<const float>(0);
    const auto y = in.vector<const float>(1);
    const float rate = in.scalar<const float>(2);
    const auto w = out.vector<float>(0);
    floats gradient(w.n);
    std::fill_n(w.data, w.n, 0.0f);
    for (int step = 0; step < 3; ++step) {
        std::fill(gradient.begin(), gradient.end(), 0.0f);
        for (long i = 0; i < x.rows; ++i) {
            const float p = 1 / (1 + std::exp(-dot(x[i], w.data, x.cols)));
            add_scaled(gradient.data(), p - y[i], x[i], x.cols);
        }
        add_scaled(w.data, -rate, gradient.data(), w.n);
    }
}

PLAIN(conjugate_gradients) {
    const auto a = in.matrix<const float>(0);
    const auto b = in.vector<const float>(1);
    const auto x = out.vector<float>(0);
    const long n = x.n;
    floats r(b.data, b.data + n), p = r, ap(n);
    std::fill_n(x.data, n, 0.0f);
    float rr = dot(r, r);
    for (int step = 0; step < 3; ++step) {
        by_vector(a, p.data(), ap.data());
        const float alpha = rr / dot(p, ap);
        add_scaled(x.data, alpha, p.data(), n);
        add_scaled(r.data(), -alpha, ap.data(), n);
        const float next = dot(r, r), beta = next / rr;
        for (long i = 0; i < n; ++i) p[i] = r[i] + beta * p[i];
        rr = next;
    }
}

PLAIN(matrix_power) {
    const auto a = in.matrix<const float>(0);
    const long n = a.rows;
    floats x(a.data, a.data + n * n), next(n * n);
    for (int step = 0; step < 3; ++step) {
        product({x.data(), n, n}, {x.data(), n, n}, {next.data(), n, n});
        x.swap(next);
    }
    std::copy(x.begin(), x.end(), out.matrix<float>(0).data);
}

PLAIN(newton_inverse) {
    const auto a = in.matrix<const float>(0);
    const long n = a.rows;
    floats x(n * n), y(n * n), next(n * n);
    for (long i = 0; i < n; ++i) x[i * n + i] = 1;
    for (int step = 0; step < 3; ++step) {
        product(a, {x.data(), n, n}, {y.data(), n, n});
        for (float &v : y) v = -v;
        for (long i = 0; i < n; ++i) y[i * n + i] += 2;
        product({x.data(), n, n}, {y.data(), n, n}, {next.data(), n, n});
        x.swap(next);
    }
    std::copy(x.begin(), x.end(), out.matrix<float>(0).data);
}

PLAIN(elimination_steps) {
    const auto a = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    std::copy_n(a.data, a.rows * a.cols, r.data);
    for (long k = 0; k < 3; ++k)
        for (long i = k + 1; i < r.rows; ++i) add_scaled(r[i], -(r[i][k] / r[k][k]), r[k], r.cols);
}

PLAIN(cholesky_update) {
    const auto l = in.matrix<const float>(0);
    const auto x = in.vector<const float>(1);
    const auto r = out.matrix<float>(0);
    const long n = l.rows;
    floats y(n);
    y[0] = x[0];
    for (long i = 1; i < n; ++i) y[i] = x[i] - l[i][0] * x[0] / l[0][0];
    for (long i = 0; i < n; ++i) {
        for (long j = 0; j <= i; ++j) r[i][j] = l[i][j] + y[i] * y[j];
        for (long j = i + 1; j < n; ++j) r[i][j] = 0;
    }
}

PLAIN(page_rank) {
    const auto links = in.matrix<const float>(0);
    const float damping = in.scalar<const float>(1);
    const auto rank = out.vector<float>(0);
    const long n = links.rows;
    floats out_sums(n), share(n);
    for (long i = 0; i < n; ++i)
        for (long j = 0; j < n; ++j) out_sums[j] += links[i][j];
    const float even = 1.0f / n, rest = (1 - damping) * even;
    std::fill_n(rank.data, n, even);
    for (int step = 0; step < 4; ++step) {
        for (long j = 0; j < n; ++j) share[j] = rank[j] / out_sums[j];
        for (long i = 0; i < n; ++i) rank[i] = dot(links[i], share.data(), n) * damping + rest;
    }
}
