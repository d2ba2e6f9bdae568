// The programs of tests/programs/src/orders.rs.
#include "plain.hpp"
#include <numeric>

using floats = vector_view<const float>;

// The indices of the elements in ascending order; equal ones keep theirs.
template <class T> static std::vector<int64_t> order_of(vector_view<const T> x) {
    std::vector<int64_t> order(x.n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return x[a] < x[b]; });
    return order;
}

static std::vector<float> sorted(floats x) {
    std::vector<float> s(x.data, x.data + x.n);
    std::sort(s.begin(), s.end());
    return s;
}

// What is kept so far, and zeros behind it.
template <class T> static void fill_behind(vector_view<T> kept, long count) {
    std::fill(kept.data + count, kept.data + kept.n, T(0));
}

PLAIN(quartiles) {
    const auto x = in.vector<const float>(0);
    std::vector<float> s(x.data, x.data + x.n);
    const long at[] = {x.n / 4, x.n / 2, 3 * x.n / 4};
    auto begin = s.begin();
    for (int k = 0; k < 3; ++k) {
        std::nth_element(begin, s.begin() + at[k], s.end());
        begin = s.begin() + at[k];
        out.scalar<float>(k) = s[at[k]];
    }
}

PLAIN(value_at_risk_sorted) {
    const auto returns = in.vector<const float>(0);
    const long tail = in.scalar<const int64_t>(1);
    const auto s = sorted(returns);
    float sum = 0;
    for (long i = 0; i < tail; ++i) sum += s[i];
    out.scalar<float>(0) = -s[tail];
    out.scalar<float>(1) = -sum / tail;
}

PLAIN(k_nearest) {
    const floats x = in.vector<const float>(0), y = in.vector<const float>(1), values = in.vector<const float>(2);
    const auto nearest = out.vector<int64_t>(0);
    std::vector<float> far(x.n);
    for (long i = 0; i < x.n; ++i) far[i] = (x[i] - 0.3f) * (x[i] - 0.3f) + (y[i] + 0.7f) * (y[i] + 0.7f);
    std::vector<int64_t> order(x.n);
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + nearest.n, order.end(),
                      [&](int64_t a, int64_t b) { return far[a] < far[b] || (far[a] == far[b] && a < b); });
    float sum = 0;
    for (long i = 0; i < nearest.n; ++i) {
        nearest[i] = order[i];
        sum += values[order[i]];
    }
    out.scalar<float>(1) = sum / nearest.n;
}

PLAIN(distinct_keys) {
    const auto keys = in.vector<const uint32_t>(0);
    const auto distinct = out.vector<uint32_t>(0);
    std::copy(keys.data, keys.data + keys.n, distinct.data);
    std::sort(distinct.data, distinct.data + keys.n);
    const long count = std::unique(distinct.data, distinct.data + keys.n) - distinct.data;
    fill_behind(distinct, count);
    out.scalar<int64_t>(1) = count;
}

PLAIN(ranks_by_sort) {
    const auto order = order_of(in.vector<const float>(0));
    const auto r = out.vector<int64_t>(0);
    for (long i = 0; i < r.n; ++i) r[order[i]] = i;
}

PLAIN(counting_sort_ranks) {
    const auto keys = in.vector<const int64_t>(0);
    const long n = in.scalar<const int64_t>(1);
    const auto r = out.vector<int64_t>(0);
    std::vector<int64_t> begin(n + 1);
    const auto few = [&](long i) { return std::max(std::min<int64_t>(keys[i], n - 1), int64_t(0)); };
    for (long i = 0; i < keys.n; ++i) ++begin[few(i) + 1];
    for (long k = 0; k < n; ++k) begin[k + 1] += begin[k];
    for (long i = 0; i < keys.n; ++i) r[i] = begin[few(i)]++;
}

PLAIN(area_under_curve) {
    const auto scores = in.vector<const float>(0);
    const auto is_positive = in.vector<const int64_t>(1);
    const auto order = order_of(scores);
    int64_t ranks = 0, positive = 0;
    for (long i = 0; i < scores.n; ++i)
        if (is_positive[order[i]] == 1) {
            ranks += i + 1;
            ++positive;
        }
    const int64_t above = ranks - positive * (positive + 1) / 2;
    out.scalar<double>(0) = double(above) / double(positive * (scores.n - positive));
}

PLAIN(events_by_time) {
    const floats time = in.vector<const float>(0), energy = in.vector<const float>(1);
    const auto times = out.vector<float>(0), energies = out.vector<float>(1);
    const auto order = order_of(time);
    for (long i = 0; i < time.n; ++i) {
        times[i] = time[order[i]];
        energies[i] = energy[order[i]];
    }
}

PLAIN(means_of_sorted_keys) {
    const auto keys = in.vector<const uint32_t>(0);
    const auto x = in.vector<const float>(1);
    const auto groups = out.vector<uint32_t>(0);
    const auto means = out.vector<float>(1);
    const auto order = order_of(keys);
    long count = 0;
    for (long i = 0; i < keys.n;) {
        const uint32_t key = keys[order[i]];
        float sum = 0;
        const long begin = i;
        for (; i < keys.n && keys[order[i]] == key; ++i) sum += x[order[i]];
        groups[count] = key;
        means[count++] = sum / (i - begin);
    }
    fill_behind(groups, count);
    fill_behind(means, count);
}

PLAIN(run_length_encode) {
    const auto x = in.vector<const int32_t>(0);
    const auto values = out.vector<int32_t>(0);
    const auto lengths = out.vector<int64_t>(1);
    long count = 0;
    for (long i = 0; i < x.n;) {
        const long begin = i;
        while (i < x.n && x[i] == x[begin]) ++i;
        values[count] = x[begin];
        lengths[count++] = i - begin;
    }
    fill_behind(values, count);
    fill_behind(lengths, count);
    out.scalar<int64_t>(2) = count;
}

PLAIN(stream_compaction) {
    const auto x = in.vector<const float>(0);
    const float limit = in.scalar<const float>(1);
    const auto kept = out.vector<float>(0);
    long count = 0;
    for (long i = 0; i < x.n; ++i)
        if (x[i] > limit) kept[count++] = x[i];
    fill_behind(kept, count);
    out.scalar<int64_t>(1) = count;
}

PLAIN(trimmed_mean) {
    const auto x = in.vector<const float>(0);
    const float low = in.scalar<const float>(1), high = in.scalar<const float>(2);
    float sum = 0;
    long count = 0;
    for (long i = 0; i < x.n; ++i)
        if (x[i] >= low && x[i] <= high) {
            sum += x[i];
            ++count;
        }
    out.scalar<float>(0) = sum / count;
}

PLAIN(quicksort_step) {
    const auto x = in.vector<const float>(0);
    const float pivot = in.scalar<const float>(1);
    const auto parts = out.vector<float>(0);
    long count = 0;
    for (long i = 0; i < x.n; ++i) count += x[i] < pivot;
    long low = 0, high = count;
    for (long i = 0; i < x.n; ++i) parts[x[i] < pivot ? low++ : high++] = x[i];
    out.scalar<int64_t>(1) = count;
}
