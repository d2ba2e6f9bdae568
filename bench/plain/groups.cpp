// The programs of tests/programs/src/groups.rs.
#include "plain.hpp"

using floats = vector_view<const float>;
using indices = vector_view<const int64_t>;

PLAIN(histogram_of_values_counted) {
    count_values(in.vector<const float>(0), out.vector<int64_t>(0));
}

PLAIN(equalised_bytes) {
    const auto image = in.vector<const uint8_t>(0);
    const auto r = out.vector<uint8_t>(0);
    int64_t ends[256] = {};
    for (long i = 0; i < image.n; ++i) ++ends[image[i]];
    for (int k = 1; k < 256; ++k) ends[k] += ends[k - 1];
    uint8_t grey[256];
    for (int k = 0; k < 256; ++k) grey[k] = ends[k] * 255 / image.n;
    for (long i = 0; i < image.n; ++i) r[i] = grey[image[i]];
}

PLAIN(radial_distribution_counted) {
    count_distances(in.vector<const float>(0), in.vector<const float>(1), out.vector<int64_t>(0));
}

PLAIN(group_means_scattered) {
    const auto x = in.vector<const float>(0);
    const auto group = in.vector<const int64_t>(1);
    const auto r = out.vector<float>(0);
    std::vector<int64_t> counts(r.n);
    std::fill_n(r.data, r.n, 0.0f);
    for (long i = 0; i < x.n; ++i) {
        r[group[i]] += x[i];
        ++counts[group[i]];
    }
    for (long g = 0; g < r.n; ++g) r[g] /= std::max<int64_t>(counts[g], 1);
}

PLAIN(k_means_update_scattered) {
    const floats x = in.vector<const float>(0), y = in.vector<const float>(1);
    const indices assigned = in.vector<const int64_t>(2);
    const auto cx = out.vector<float>(0), cy = out.vector<float>(1);
    std::vector<float> counts(cx.n);
    std::fill_n(cx.data, cx.n, 0.0f);
    std::fill_n(cy.data, cy.n, 0.0f);
    for (long i = 0; i < x.n; ++i) {
        const long c = assigned[i];
        cx[c] += x[i];
        cy[c] += y[i];
        ++counts[c];
    }
    for (long c = 0; c < cx.n; ++c) {
        cx[c] /= std::max(counts[c], 1.0f);
        cy[c] /= std::max(counts[c], 1.0f);
    }
}

static void deposit(floats x, floats q, vector_view<float> r) {
    std::fill_n(r.data, r.n, 0.0f);
    for (long i = 0; i < x.n; ++i) {
        const long c = std::floor(x[i]);
        const float f = x[i] - c;
        if (c >= 0 && c < r.n) r[c] += q[i] * (1 - f);
        if (c >= -1 && c + 1 < r.n) r[c + 1] += q[i] * f;
    }
}

PLAIN(particle_deposit_scattered) {
    deposit(in.vector<const float>(0), in.vector<const float>(1), out.vector<float>(0));
}

PLAIN(particle_deposit_unordered) {
    deposit(in.vector<const float>(0), in.vector<const float>(1), out.vector<float>(0));
}

PLAIN(nearest_depth) {
    const indices pixel = in.vector<const int64_t>(0);
    const floats depth = in.vector<const float>(1);
    const auto r = out.vector<float>(0);
    std::fill_n(r.data, r.n, std::numeric_limits<float>::max());
    for (long i = 0; i < depth.n; ++i) r[pixel[i]] = std::min(r[pixel[i]], depth[i]);
}

PLAIN(table_updated) {
    const floats table = in.vector<const float>(0), value = in.vector<const float>(2);
    const indices at = in.vector<const int64_t>(1);
    const auto r = out.vector<float>(0);
    std::copy(table.data, table.data + table.n, r.data);
    for (long k = 0; k < value.n; ++k) r[at[k]] = value[k];
}

PLAIN(page_rank_step) {
    const auto rank = in.vector<const float>(0);
    const indices from = in.vector<const int64_t>(1), to = in.vector<const int64_t>(2);
    const auto r = out.vector<float>(0);
    std::vector<int64_t> degree(rank.n);
    for (long k = 0; k < from.n; ++k) ++degree[from[k]];
    std::vector<float> share(rank.n);
    for (long i = 0; i < rank.n; ++i) share[i] = rank[i] / std::max<int64_t>(degree[i], 1);
    std::fill_n(r.data, r.n, 0.0f);
    for (long k = 0; k < from.n; ++k) r[to[k]] += share[from[k]];
    for (long i = 0; i < rank.n; ++i) r[i] = r[i] * 0.85f + 0.15f / rank.n;
}

PLAIN(edge_relaxations) {
    const floats start = in.vector<const float>(0), weight = in.vector<const float>(3);
    const indices from = in.vector<const int64_t>(1), to = in.vector<const int64_t>(2);
    const auto r = out.vector<float>(0);
    std::vector<float> d(start.data, start.data + start.n);
    for (int step = 0; step < 4; ++step) {
        std::copy(d.begin(), d.end(), r.data);
        for (long k = 0; k < from.n; ++k) r[to[k]] = std::min(r[to[k]], d[from[k]] + weight[k]);
        std::copy(r.data, r.data + r.n, d.begin());
    }
}

PLAIN(sparse_by_vector) {
    const indices offsets = in.vector<const int64_t>(0), columns = in.vector<const int64_t>(1);
    const floats values = in.vector<const float>(2), x = in.vector<const float>(3);
    const auto r = out.vector<float>(0);
    for (long i = 0; i < r.n; ++i) {
        float sum = 0;
        for (long k = offsets[i]; k < offsets[i + 1]; ++k) sum += values[k] * x[columns[k]];
        r[i] = sum;
    }
}

PLAIN(softmax_of_segments) {
    const indices offsets = in.vector<const int64_t>(0), of = in.vector<const int64_t>(1);
    const auto x = in.vector<const float>(2);
    const auto r = out.vector<float>(0);
    const long rows = offsets.n - 1;
    std::vector<float> most(rows, std::numeric_limits<float>::lowest()), sums(rows);
    for (long i = 0; i < rows; ++i)
        for (long k = offsets[i]; k < offsets[i + 1]; ++k) most[i] = std::max(most[i], x[k]);
    for (long k = 0; k < x.n; ++k) r[k] = std::exp(x[k] - most[std::min<int64_t>(of[k], rows - 1)]);
    for (long i = 0; i < rows; ++i)
        for (long k = offsets[i]; k < offsets[i + 1]; ++k) sums[i] += r[k];
    for (long k = 0; k < x.n; ++k) r[k] /= sums[std::min<int64_t>(of[k], rows - 1)];
}

PLAIN(running_sums_of_segments) {
    const indices offsets = in.vector<const int64_t>(0);
    const auto x = in.vector<const float>(1);
    const auto r = out.vector<float>(0);
    std::fill_n(r.data, r.n, 0.0f);
    for (long i = 0; i + 1 < offsets.n; ++i) {
        float sum = 0;
        for (long k = offsets[i]; k < offsets[i + 1]; ++k) r[k] = sum += x[k];
    }
}
