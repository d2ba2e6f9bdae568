// The programs of tests/programs/src/dynamic_programming.rs.
#include "plain.hpp"

using floats = std::vector<float>;

static void copy(const floats &x, arrays out) { std::copy(x.begin(), x.end(), out.vector<float>(0).data); }

// Sets each s[j] to costs[j] and the least of t[j] and its neighbours.
static void next_row(const floats &t, const float *costs, floats &s) {
    const long last = long(t.size()) - 1;
    s[0] = std::min(t[0], t[std::min(1l, last)]) + costs[0];
    for (long j = 1; j < last; ++j) s[j] = std::min(std::min(t[j - 1], t[j]), t[j + 1]) + costs[j];
    if (last > 0) s[last] = std::min(t[last - 1], t[last]) + costs[last];
}

static floats path_costs(matrix_view<const float> costs) {
    floats t(costs[0], costs[1]), s(costs.cols);
    for (long k = 1; k < costs.rows; ++k) {
        next_row(t, costs[k], s);
        t.swap(s);
    }
    return t;
}

PLAIN(minimum_path_rows) {
    const floats t = path_costs(in.matrix<const float>(0));
    out.scalar<float>(0) = *std::min_element(t.begin(), t.end());
}

PLAIN(seam_energy_unrolled) {
    const auto costs = in.matrix<const float>(0);
    copy(path_costs({costs.data, 4, costs.cols}), out);
}

PLAIN(knapsack) {
    const auto weights = in.vector<const int64_t>(0);
    const auto values = in.vector<const float>(1);
    const auto best = out.vector<float>(0);
    std::fill_n(best.data, best.n, 0.0f);
    for (long k = 0; k < weights.n; ++k) {
        const long w = weights[k];
        const float value = values[k];
        for (long c = best.n - 1; c >= w; --c) best[c] = std::max(best[c], best[c - w] + value);
    }
}

PLAIN(coin_ways) {
    const long amount = in.scalar<const int64_t>(0);
    const auto ways = out.vector<int64_t>(0);
    std::fill_n(ways.data, ways.n, 0);
    ways[0] = 1;
    for (const long coin : {1, 2, 5})
        for (long i = coin; i <= amount; ++i) ways[i] += ways[i - coin];
}

PLAIN(viterbi) {
    const auto transition = in.matrix<const float>(0);
    const auto emission = in.vector<const float>(1), start = in.vector<const float>(2);
    const long n = start.n;
    floats p(start.data, start.data + n), best(n);
    for (int step = 0; step < 4; ++step) {
        std::fill(best.begin(), best.end(), -std::numeric_limits<float>::infinity());
        for (long i = 0; i < n; ++i)
            for (long j = 0; j < n; ++j) best[j] = std::max(best[j], p[i] + transition[i][j]);
        for (long j = 0; j < n; ++j) p[j] = best[j] + emission[j];
    }
    copy(p, out);
}

PLAIN(edit_distance_diagonals) {
    const auto a = in.vector<const int64_t>(0), b = in.vector<const int64_t>(1);
    std::vector<int64_t> row(b.n + 1);
    for (long j = 0; j <= b.n; ++j) row[j] = j;
    for (long i = 1; i <= a.n; ++i) {
        int64_t before = row[0]; // of i - 1 and j - 1
        row[0] = i;
        for (long j = 1; j <= b.n; ++j) {
            const int64_t replaced = before + (a[i - 1] != b[j - 1]);
            before = row[j];
            row[j] = std::min(replaced, std::min(row[j - 1], row[j]) + 1);
        }
    }
    out.scalar<int64_t>(0) = row[b.n];
}

PLAIN(matrix_chain_level) {
    const auto cost = in.matrix<const float>(0);
    const auto dims = in.vector<const float>(1);
    const auto r = out.matrix<float>(0);
    const long n = cost.rows;
    for (long i = 0; i < n; ++i) {
        std::fill_n(r[i], i + 1, 0.0f);
        std::fill(r[i] + i + 1, r[i] + n, 1e9f);
        for (long k = i; k < n - 1; ++k) {
            const float left = cost[i][k], outer = dims[i] * dims[k + 1];
            for (long j = k + 1; j < n; ++j)
                r[i][j] = std::min(r[i][j], left + cost[k + 1][j] + outer * dims[j + 1]);
        }
    }
}

PLAIN(time_warp_band) {
    const auto a = in.vector<const float>(0), b = in.vector<const float>(1);
    const auto t = out.vector<float>(0);
    float sum = 0;
    for (long j = 0; j < t.n; ++j) t[j] = sum += std::abs(a[0] - b[j]);
    for (long i = 1; i < 4; ++i) {
        const float x = a[i];
        for (long j = t.n - 1; j > 0; --j) t[j] = std::min(t[j], t[j - 1]) + std::abs(x - b[j]);
        t[0] += std::abs(x - b[0]);
    }
}

PLAIN(smith_waterman_scores) {
    const auto a = in.vector<const int32_t>(0), b = in.vector<const int32_t>(1);
    const auto r = out.matrix<float>(0);
    const auto score = [](int32_t x, int32_t y) { return x == y ? 2.0f : -1.0f; };
    for (long j = 0; j < b.n; ++j) r[0][j] = std::max(score(a[0], b[j]), 0.0f);
    for (long i = 1; i < a.n; ++i) {
        const int32_t x = a[i], before = a[i - 1];
        r[i][0] = std::max(score(x, b[0]), 0.0f);
        for (long j = 1; j < b.n; ++j) r[i][j] = std::max(score(x, b[j]) + score(before, b[j - 1]), 0.0f);
    }
}

PLAIN(bellman_ford) {
    const auto w = in.matrix<const float>(0);
    const auto start = in.vector<const float>(1);
    const long n = start.n;
    floats d(start.data, start.data + n), next(n);
    for (int step = 0; step < 4; ++step) {
        next = d;
        for (long i = 0; i < n; ++i)
            for (long j = 0; j < n; ++j) next[j] = std::min(next[j], d[i] + w[i][j]);
        d.swap(next);
    }
    copy(d, out);
}

PLAIN(min_plus_product) {
    const auto a = in.matrix<const float>(0), b = in.matrix<const float>(1);
    const auto r = out.matrix<float>(0);
    std::fill_n(r.data, r.rows * r.cols, std::numeric_limits<float>::infinity());
    for (long i = 0; i < a.rows; ++i)
        for (long k = 0; k < a.cols; ++k) {
            const float x = a[i][k];
            for (long j = 0; j < b.cols; ++j) r[i][j] = std::min(r[i][j], x + b[k][j]);
        }
}

PLAIN(floyd_warshall) {
    const auto w = in.matrix<const float>(0);
    const auto d = out.matrix<float>(0);
    std::copy_n(w.data, w.rows * w.cols, d.data);
    for (long k = 0; k < 4; ++k)
        for (long i = 0; i < d.rows; ++i) {
            const float first = d[i][k];
            for (long j = 0; j < d.cols; ++j) d[i][j] = std::min(d[i][j], first + d[k][j]);
        }
}

PLAIN(reachability) {
    const auto links = in.matrix<const int32_t>(0);
    const auto from = in.vector<const int32_t>(1);
    const auto r = out.vector<int32_t>(0);
    for (long j = 0; j < r.n; ++j) r[j] = from[j] > 0;
    std::vector<int32_t> before(r.n);
    for (int step = 0; step < 3; ++step) {
        std::copy_n(r.data, r.n, before.data());
        for (long i = 0; i < links.rows; ++i) {
            if (before[i] == 0) continue;
            for (long j = 0; j < links.cols; ++j) r[j] |= links[i][j] > 1;
        }
    }
}

PLAIN(prefix_sum_ladder) {
    const auto x = in.vector<const float>(0);
    const auto r = out.vector<float>(0);
    std::copy_n(x.data, x.n, r.data);
    for (long d = 1; d < 16; d *= 2)
        for (long i = r.n - 1; i >= d; --i) r[i] += r[i - d];
}

PLAIN(butterfly) {
    const auto x = in.vector<const float>(0);
    const auto r = out.vector<float>(0);
    std::copy_n(x.data, x.n, r.data);
    for (long d = 1; d < 16; d *= 2)
        for (long begin = 0; begin + 2 * d <= r.n; begin += 2 * d)
            for (long i = begin; i < begin + d; ++i) {
                const float a = r[i], b = r[i + d];
                r[i] = a + b;
                r[i + d] = a - b;
            }
}

PLAIN(bitonic_sort) {
    const auto x = in.vector<const float>(0);
    const auto r = out.vector<float>(0);
    std::copy_n(x.data, x.n, r.data);
    for (long size = 2; size <= 16; size *= 2)
        for (long d = size / 2; d > 0; d /= 2)
            for (long begin = 0; begin + 2 * d <= r.n; begin += 2 * d) {
                const bool ascends = (begin & size) == 0;
                for (long i = begin; i < begin + d; ++i) {
                    const float least = std::min(r[i], r[i + d]), most = std::max(r[i], r[i + d]);
                    r[i] = ascends ? least : most;
                    r[i + d] = ascends ? most : least;
                }
            }
}

PLAIN(prefix_sum_quadratic) {
    const auto x = in.vector<const float>(0);
    const auto r = out.vector<float>(0);
    for (long i = 0; i < x.n; ++i) {
        float sum = 0;
        for (long k = 0; k <= i; ++k) sum += x[k];
        r[i] = sum;
    }
}

PLAIN(pointer_jumping) {
    const auto start = in.vector<const int64_t>(0);
    const long n = start.n;
    std::vector<int64_t> p(start.data, start.data + n), next(n);
    for (int step = 0; step < 3; ++step) {
        for (long i = 0; i < n; ++i) next[i] = p[p[i]];
        p.swap(next);
    }
    std::copy(p.begin(), p.end(), out.vector<int64_t>(0).data);
}
