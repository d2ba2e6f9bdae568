// Scans, sorts, segments: expressions against loops of the host, in place and of views, and what is refused.
#include "check.hpp"
#include <arraygpu/views.hpp>
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <numeric>

namespace gpu = arraygpu;
namespace view = arraygpu::views;
using namespace arraygpu;
using std::get;
using places = std::vector<std::int64_t>;

template <class T> static std::vector<T> numbers(std::size_t n, unsigned seed, unsigned most) {
    std::vector<T> v(n);
    for (T &x : v) {
        seed = seed * 1664525u + 1013904223u;
        x = T(T(seed >> 8) / T((1 << 24) / most));
    }
    return v;
}
template <class T> static std::vector<T> whole(std::size_t n, unsigned seed, unsigned most) {
    std::vector<T> v(n);
    for (T &x : v) {
        seed = seed * 1664525u + 1013904223u;
        x = T((seed >> 8) % most);
    }
    return v;
}
template <class T, class E> static std::vector<T> vector_of(const E &e) { return gpu_vector<T>(e).to_host(); }
static const std::size_t lengths[] = {0, 1, 2049, 100000};
/// The longest for one type alone: it takes longest.
template <class T> static bool is_left_out(std::size_t n) { return n > 2049 && !std::is_same_v<T, std::uint8_t>; }

template <class T> static void scans_of() {
    for (const std::size_t n : lengths) {
        if (is_left_out<T>(n)) continue;
        const std::vector<T> host = whole<T>(n, 3, 7);
        const gpu_vector<T> x(host);
        std::vector<T> inclusive(n), exclusive(n), greatest(n);
        std::partial_sum(host.begin(), host.end(), inclusive.begin());
        T most = T(0);
        for (std::size_t i = 0; i < n; ++i) {
            exclusive[i] = T((i ? inclusive[i - 1] : T(0)) + T(2));
            greatest[i] = most = std::max(most, host[i]);
        }
        // sums of whole numbers are exact in any order
        CHECK(vector_of<T>(inclusive_scan(x, 0)) == inclusive);
        CHECK(vector_of<T>(exclusive_scan(x, 2)) == exclusive);
        CHECK(vector_of<T>(inclusive_scan(x, 0, [](auto a, auto b) { return max(a, b); })) == greatest);
        // from the last element on, in place, and of a view with a stride
        gpu_vector<T> y(host);
        y = reverse(inclusive_scan(reverse(y), 0));
        std::vector<T> backwards(host.rbegin(), host.rend());
        std::partial_sum(backwards.begin(), backwards.end(), backwards.begin());
        std::reverse(backwards.begin(), backwards.end());
        CHECK(y.to_host() == backwards);
        gpu_vector<T> wide(2 * n);
        gpu_vector_view<T> half = subview(wide, 0, 2 * std::int64_t(n), 2);
        half = +x;
        CHECK(vector_of<T>(inclusive_scan(half, 0)) == inclusive);
    }
}
static void scans() {
    scans_of<float>();
    scans_of<double>();
    scans_of<std::int32_t>();
    scans_of<std::uint8_t>();
}


/// Values with signs of zero and NaNs for floats, all values for integers.
template <class T> static std::vector<T> keys(std::size_t n) {
    std::vector<T> v = whole<T>(n, 11, 5000);
    if constexpr (std::is_floating_point_v<T>)
        for (std::size_t i = 0; i < n; ++i) v[i] = i % 17 == 3 ? T(NAN) : i % 11 == 0 ? -T(0) : i % 13 == 0 ? T(0) : v[i] - T(2500);
    return v;
}
/// Whether a stands before b: -0 before +0, NaNs last.
template <class T> static bool before(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(a) || std::isnan(b)) return !std::isnan(a);
        if (a == b) return std::signbit(a) && !std::signbit(b);
    }
    return a < b;
}
template <class T> static bool same_bits(const std::vector<T> &a, const std::vector<T> &b) {
    bool same = a.size() == b.size();
    for (std::size_t i = 0; same && i < a.size(); ++i) same = std::memcmp(&a[i], &b[i], sizeof(T)) == 0 || (a[i] != a[i] && b[i] != b[i]);
    return same;
}
template <class T> static void sorts_of() {
    for (const std::size_t n : lengths) {
        if (is_left_out<T>(n)) continue;
        const std::vector<T> host = keys<T>(n);
        const gpu_vector<T> x(host);
        places up(n), down(n);
        std::iota(up.begin(), up.end(), 0);
        std::iota(down.begin(), down.end(), 0);
        std::stable_sort(up.begin(), up.end(), [&](std::int64_t i, std::int64_t j) { return before(host[i], host[j]) && !before(host[j], host[i]); });
        std::stable_sort(down.begin(), down.end(), [&](std::int64_t i, std::int64_t j) {
            if (host[i] != host[i] || host[j] != host[j]) return host[i] == host[i] && host[j] != host[j];
            return before(host[j], host[i]);
        });
        std::vector<T> ascending, descending;
        for (const std::int64_t i : up) ascending.push_back(host[i]);
        for (const std::int64_t i : down) descending.push_back(host[i]);
        CHECK(vector_of<std::int64_t>(sort_permutation(x)) == up);
        CHECK(vector_of<std::int64_t>(sort_permutation_descending(x)) == down);
        CHECK(same_bits(vector_of<T>(sort_descending(x)), descending));
        gpu_vector<T> y(host);
        y = sort(y);
        CHECK(same_bits(y.to_host(), ascending));
        const auto [sorted, moved] = eval(sort_by_key(x, gpu::iota(n)));
        CHECK(same_bits(sorted.to_host(), ascending) && moved.to_host() == up);
    }
}
static void sorts() {
    sorts_of<float>();
    sorts_of<double>();
    sorts_of<std::int32_t>();
    sorts_of<std::uint8_t>();
    const gpu_vector<bool> truths(std::vector<bool>{true, false, true, false});
    CHECK(vector_of<std::int64_t>(sort_permutation(truths)) == (places{1, 3, 0, 2}));
}

static void scans_of_segments() {
    for (const std::size_t n : lengths) {
        const std::vector<float> host = whole<float>(n, 31, 9);
        const auto size = std::int64_t(n);
        const places offsets{0, size / 3, size / 3, size / 2, size};
        std::vector<float> sums(host), before(n, 7);
        for (std::size_t k = 0; k + 1 < offsets.size(); ++k)
            for (auto i = std::size_t(offsets[k]) + 1; i < std::size_t(offsets[k + 1]); ++i) sums[i] += sums[i - 1], before[i] = sums[i - 1] + 7;
        const gpu_vector<float> x(host);
        const gpu_vector<std::int64_t> on_device(offsets);
        CHECK(vector_of<float>(segmented_inclusive_scan(x, on_device, 0)) == sums);
        CHECK(vector_of<float>(segmented_exclusive_scan(x, on_device, 7)) == before);
    }
}

static void segments() {
    const std::vector<float> host = whole<float>(100000, 5, 100);
    const gpu_vector<float> x(host);
    for (const std::size_t n : {0, 1, 5, 3000}) {
        // the last segment is long
        places offsets(n + 1);
        for (std::size_t i = 0; i < n; ++i) offsets[i] = std::int64_t(i * i % 9 == 4 ? i * 3 : i * 3 + i % 3);
        std::sort(offsets.begin(), offsets.end());
        offsets[n] = n ? 100000 : 0;
        const gpu_vector<std::int64_t> on_device(offsets);
        std::vector<float> sums, most;
        for (std::size_t k = 0; k < n; ++k) {
            const auto begin = host.begin() + offsets[k], end = host.begin() + offsets[k + 1];
            sums.push_back(std::accumulate(begin, end, 0.0f));
            most.push_back(begin == end ? -1.0f : *std::max_element(begin, end));
        }
        CHECK(vector_of<float>(segmented_reduce(x, on_device, 0)) == sums);
        // two reductions at once, of a tuple
        const auto both = segmented_reduce(std::forward_as_tuple(x, x), on_device, std::make_tuple(0, -1), [](auto a, auto b) {
            return std::make_tuple(get<0>(a) + get<0>(b), max(get<1>(a), get<1>(b)));
        });
        const auto [sum_of, greatest] = eval(both);
        CHECK(sum_of.to_host() == sums && greatest.to_host() == most);
    }
    // a matrix in CSR times a vector: [[1, 2], [0, 3]] x (10, 100)
    const gpu_vector<double> values{1, 2, 3}, v{10, 100};
    const gpu_vector<std::int64_t> columns{0, 1, 1}, rows{0, 2, 3};
    const gpu_vector<double> product = segmented_reduce(map([&](auto a, auto j) { return a * at(v, j); }, values, columns), rows, 0);
    CHECK(product.to_host() == (std::vector<double>{210, 300}));
    CHECK_THROWS(AGPU_ERROR_RECORD, "the offsets of a segment end behind the last element", vector_of<double>(segmented_reduce(values, gpu_vector<std::int64_t>{0, 4}, 0)));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "there are 0 offsets: k segments have k + 1 of them", vector_of<double>(segmented_reduce(values, gpu_vector<std::int64_t>(0), 0)));
}

static void filters() {
    const auto is_odd = [](auto v) { return v % 2 == 1; };
    for (const std::size_t n : lengths) {
        const std::vector<std::int32_t> host = whole<std::int32_t>(n, 9, 10);
        const gpu_vector<std::int32_t> x(host);
        std::vector<std::int32_t> odd, runs;
        places where_odd, lengths_of_runs;
        for (std::size_t i = 0; i < n; ++i) {
            if (host[i] % 2 == 1) odd.push_back(host[i]), where_odd.push_back(std::int64_t(i));
            if (i == 0 || host[i] != host[i - 1]) runs.push_back(host[i]), lengths_of_runs.push_back(0);
            ++lengths_of_runs.back();
        }
        const auto kept = filter(x, is_odd);
        CHECK(kept.to_host() == odd && kept.indices().to_host() == where_odd && eval(kept.count()) == std::int64_t(odd.size()));
        std::vector<std::int32_t> filled = odd;
        filled.resize(n, -7);
        CHECK(vector_of<std::int32_t>(kept.filled(-7)) == filled);
        std::vector<std::int32_t> parted = host;
        std::stable_partition(parted.begin(), parted.end(), is_odd);
        const auto [all, first] = eval(partition(x, is_odd));
        CHECK(all.to_host() == parted && first == std::int64_t(odd.size()));
        const auto [values, counts] = run_lengths(x);
        CHECK(values.to_host() == runs && counts.to_host() == lengths_of_runs && unique(x).to_host() == runs);
        // the elements that occur, once each
        std::vector<std::int32_t> once = host;
        std::sort(once.begin(), once.end());
        once.erase(std::unique(once.begin(), once.end()), once.end());
        CHECK(unique(sort(x)).to_host() == once);
        // of tuples: the places of the same elements
        const auto pairs = filter(std::forward_as_tuple(x, gpu::iota(n)), [](auto v, auto) { return v % 2 == 1; }).to_vector();
        CHECK(get<0>(pairs).to_host() == odd && get<1>(pairs).to_host() == where_odd);
    }
}


/// Scans of rows and columns, reductions by key, and what goes on with elements that are kept.
static void lines_and_keys() {
    for (const auto &[rows, cols] : {std::pair<std::size_t, std::size_t>{0, 3}, {3, 0}, {1, 1}, {5, 7}, {3, 700}}) {
        const std::vector<float> host = whole<float>(rows * cols, 31, 9);
        const gpu_matrix<float> m(host, rows, cols);
        std::vector<float> along(host), down(host), greatest(host.size());
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < cols; ++j) {
                if (j) along[i * cols + j] += along[i * cols + j - 1];
                if (i) down[i * cols + j] += down[(i - 1) * cols + j];
                greatest[i * cols + j] = i ? std::max(greatest[(i - 1) * cols + j], host[(i - 1) * cols + j]) : 2;
            }
        const auto most = [](auto a, auto b) { return max(a, b); };
        CHECK(gpu_matrix<float>(inclusive_scan_rows(m, 0)).to_host() == along);
        CHECK(gpu_matrix<float>(inclusive_scan_cols(m, 0)).to_host() == down);
        CHECK(gpu_matrix<float>(exclusive_scan_rows(m, 0) + m).to_host() == along);
        CHECK(gpu_matrix<float>(exclusive_scan_cols(m, 0) + m).to_host() == down);
        CHECK(gpu_matrix<float>(exclusive_scan_cols(m, 2, most)).to_host() == greatest);
        CHECK(gpu_matrix<float>(transpose(exclusive_scan_rows(transpose(m), 2, most))).to_host() == greatest);
    }
    for (const std::size_t n : {0, 1, 2049, 20000}) {
        const std::vector<std::int32_t> host = whole<std::int32_t>(n, 9, 3);
        const std::vector<float> values = whole<float>(n, 5, 9);
        const gpu_vector<std::int32_t> keys(host);
        const gpu_vector<float> x(values);
        std::vector<std::int32_t> names;
        std::vector<float> sums, most, kept;
        float total = 3;
        for (std::size_t i = 0; i < n; ++i) {
            if (i == 0 || host[i] != host[i - 1]) names.push_back(host[i]), sums.push_back(0.5f), most.push_back(0);
            sums.back() += values[i], most.back() = std::max(most.back(), values[i]);
            if (values[i] > 4) kept.push_back(2 * values[i] + 1), total += 2 * values[i] + 1;
        }
        const auto [runs, reduced] = reduce_by_key(keys, x, 0.5f);
        CHECK(runs.to_host() == names && reduced.to_host() == sums && eval(reduced.count()) == std::int64_t(names.size()));
        const auto both = get<1>(reduce_by_key(keys, std::tie(x, x), std::make_tuple(0.5f, 0), [](auto a, auto b) {
            return std::make_tuple(get<0>(a) + get<0>(b), max(get<1>(a), get<1>(b)));
        })).to_vector();
        CHECK(get<0>(both).to_host() == sums && get<1>(both).to_host() == most);
        const auto large = filter(x, [](auto v) { return v > 4; });
        const auto twice = gpu::map([](auto v) { return 2 * v + 1; }, large);
        CHECK(twice.to_host() == kept && float(gpu::reduce(twice, 3)) == total);
        CHECK(float(x | view::filter([](auto v) { return v > 4; }) | view::transform([](auto v) { return 2 * v + 1; }) | gpu::reduce(3.0f)) == total);
    }
    const gpu_vector<std::int32_t> keys{1, 1, 2};
    CHECK_THROWS(AGPU_ERROR_SHAPE, "reduce_by_key", get<1>(reduce_by_key(keys, gpu_vector<float>{1, 2}, 0)).to_host());
    // f is not computed of what is left out
    const gpu_vector<std::int32_t> d{2, 0, 3};
    const auto quotients = gpu::map([](auto v) { return 12 / v; }, filter(d, [](auto v) { return v != 0; }));
    CHECK(quotients.to_host() == (std::vector<std::int32_t>{6, 4}));
    CHECK(std::int32_t(gpu::reduce(quotients, 0, [](auto a, auto b) { return a + 12 / b; })) == 1); // 12 / (6 + 12 / 4)
    const auto pairs = gpu::map([](auto v, auto i) { return std::make_tuple(v + 1, i); }, filter(std::make_tuple(+d, gpu::iota(3)), [](auto v, auto) { return v > 0; }));
    CHECK(get<1>(pairs.to_vector()).to_host() == (places{0, 2}) && get<0>(pairs.to_vector()).to_host() == (std::vector<std::int32_t>{3, 4}));
}

static void scatters() {
    for (const std::size_t n : {0, 1, 2049, 20000}) {
        const std::vector<float> host = whole<float>(n, 21, 50);
        places to = whole<std::int64_t>(n, 22, 300);
        for (std::int64_t &i : to) i -= 20; // some are outside, of 256
        const gpu_vector<float> x(host);
        const gpu_vector<std::int64_t> where(to);
        std::vector<float> sums(256, 1), last(256, -1), most(256, 0);
        places counts(256), all(256);
        for (std::size_t i = 0; i < n; ++i) {
            ++all[std::size_t(std::clamp<std::int64_t>(to[i], 0, 255))];
            if (to[i] < 0 || to[i] > 255) continue;
            const auto k = std::size_t(to[i]);
            ++counts[k], sums[k] += host[i], last[k] = host[i], most[k] = std::max(most[k], host[i]);
        }
        CHECK(vector_of<std::int64_t>(histogram(ignored(where), 256)) == counts);
        CHECK(vector_of<std::int64_t>(histogram(clamped(where), 256)) == all);
        CHECK(vector_of<float>(scatter(x, 256, ignored(where), -1)) == last);
        CHECK(vector_of<float>(scatter_reduce(x, 256, ignored(where), 1)) == sums);
        CHECK(vector_of<float>(scatter_reduce(x, 256, unordered(ignored(where)), 1)) == sums); // whole numbers
        CHECK(vector_of<double>(scatter_reduce(cast<double>(x), 256, unordered(clamped(where)), 0)) == vector_of<double>(scatter_reduce(cast<double>(x), 256, clamped(where), 0)));
        const auto both = scatter_reduce(std::tie(x, x), 256, ignored(where), std::make_tuple(1, 0), [](auto a, auto b) {
            return std::make_tuple(get<0>(a) + get<0>(b), max(get<1>(a), get<1>(b)));
        });
        const auto [sum_of, greatest] = eval(both);
        CHECK(sum_of.to_host() == sums && greatest.to_host() == most);
        // different destinations, with gaps between them and some outside
        const auto apart = gpu::iota(std::int64_t(n)) * 3 - 4;
        const auto once = gpu::scatter_unique(x, std::int64_t(2 * n), ignored(apart), -1);
        CHECK(vector_of<float>(once) == vector_of<float>(scatter(x, std::int64_t(2 * n), ignored(apart), -1)));
        const auto [moved, squares] = eval(scatter_unique(std::make_tuple(+x, x * x), std::int64_t(2 * n), ignored(apart), std::make_tuple(0, 0)));
        CHECK(squares.to_host() == vector_of<float>(moved * moved));
    }
    const gpu_vector<float> x{1, 2, 3};
    const gpu_vector<std::int64_t> where{2, 0, 5};
    CHECK_THROWS(AGPU_ERROR_RECORD, "a destination is outside", vector_of<float>(scatter(x, 3, where, 0)));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "scatter", vector_of<float>(scatter(x, 3, gpu_vector<std::int64_t>{0, 1}, 0)));
    CHECK(vector_of<float>(scatter(x, std::int64_t(0), ignored(where), 0)).empty());
    CHECK_THROWS(AGPU_ERROR_RECORD, "a destination is outside", vector_of<float>(scatter_unique(x, 3, where, 0)));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "scatter_unique", vector_of<float>(scatter_unique(x, 3, gpu_vector<std::int64_t>{0, 1}, 0)));
    CHECK(vector_of<float>(scatter_unique(x, std::int64_t(0), ignored(where), 0)).empty());
}

static void views_and_algorithms() {
    const auto is_positive = [](auto v) { return v > 0; };
    const std::vector<float> host{3, -1, 2, 2, -5, 7};
    const gpu_vector<float> x(host);
    const auto twice = [](auto v) { return 2 * v; };
    const auto add = [](auto a, auto b) { return a + b; };
    // before and behind other views
    CHECK((x | view::transform(twice) | view::inclusive_scan(0, add) | view::drop(1)).to_host() == (std::vector<float>{4, 8, 12, 2, 16}));
    CHECK((x | view::exclusive_scan(1, add)).to_host() == (std::vector<float>{1, 4, 3, 5, 7, 2}));
    CHECK((x | view::sort | view::take(3)).to_host() == (std::vector<float>{-5, -1, 2}) && (x | view::sort_descending | view::take(1)).to_host() == (std::vector<float>{7}));
    CHECK((x | view::transform(twice) | view::filter(is_positive)).to_host() == (std::vector<float>{6, 4, 4, 14}));
    CHECK((x | view::sort | view::unique).to_host() == (std::vector<float>{-5, -1, 2, 3, 7}));
    const auto sums = view::zip(x, view::iota(1)) | view::inclusive_scan(std::make_tuple(0, 0), [](auto a, auto b) {
                          return std::make_tuple(get<0>(a) + get<0>(b), get<1>(a) + get<1>(b));
                      }) | view::transform([](auto s, auto n) { return s + gpu::cast<float>(n); });
    CHECK(sums.to_host() == (std::vector<float>{4, 5, 10, 16, 16, 29}));
    // the front of an output; what stands behind stays
    gpu_vector<float> out{90, 91, 92, 93, 94, 95, 96, 97}, small{80, 81, 82};
    CHECK(copy_if(x, out, is_positive) == 4 && out.to_host() == (std::vector<float>{3, 2, 2, 7, 94, 95, 96, 97}));
    CHECK_THROWS(AGPU_ERROR_OUT_OF_BOUNDS, "copy_if: the number of elements that are kept is 4, and there is room for 3", copy_if(x, small, is_positive));
    CHECK(small.to_host() == (std::vector<float>{80, 81, 82}));
    CHECK(copy_if(x, small, [](auto v) { return v > 2; }) == 2 && small.to_host() == (std::vector<float>{3, 7, 82}));
    gpu_vector<float> wide(std::vector<float>(16, 1.0f));
    CHECK(unique_copy(x, subview(wide, 0, 16, 2)) == 5 && wide.to_host() == (std::vector<float>{3, 1, -1, 1, 2, 1, -5, 1, 7, 1, 1, 1, 1, 1, 1, 1}));
    gpu_vector<float> own(host);
    CHECK(copy_if(own, own, is_positive) == 4 && own.to_host() == (std::vector<float>{3, 2, 2, 7, -5, 7}));
    CHECK(copy_if(gpu_vector<float>(0), out, is_positive) == 0);
    // actions change the vector, and its size
    gpu_vector<float> v(host);
    CHECK((v | actions::sort | actions::unique | actions::filter(is_positive) | actions::inclusive_scan(0, add)).to_host() == (std::vector<float>{2, 5, 12}));
    CHECK((v | actions::sort_descending).to_host() == (std::vector<float>{12, 5, 2}));
}

/// Everything in the steps of iterations, of structs, beside each other.
struct particle {
    float weight;
    std::int32_t kind;
};
AGPU_RECORD(particle, weight, kind)

static void together() {
    const gpu_vector<float> x{4, 1, 3, 2};
    // x, sorted and summed, twice
    const gpu_vector<float> twice = iterate(2, x, [](auto u) { return inclusive_scan(sort(u), 0); });
    CHECK(twice.to_host() == (std::vector<float>{1, 4, 10, 20}));
    const gpu_vector<float> halves = iterate(3, x, [](auto u) { return filter(u, [](auto e) { return e > 1; }).filled(0.5f); });
    CHECK(halves.to_host() == (std::vector<float>{4, 3, 2, 0.5f}));
    const gpu_vector<particle> all(std::vector<particle>{{0.5f, 2}, {1.5f, 1}, {2.0f, 2}, {4.0f, 0}});
    const gpu_vector<particle> sums = inclusive_scan(all, particle{}, [](auto a, auto b) {
        a.weight += b.weight;
        a.kind = max(a.kind, b.kind);
        return a;
    });
    CHECK(sums.to_host()[3].weight == 8.0f && sums.to_host()[2].kind == 2 && sums.to_host()[0].weight == 0.5f);
    const std::vector<particle> twos = filter(all, [](auto p) { return p.kind == 2; }).to_host();
    CHECK(twos.size() == 2 && twos[0].weight == 0.5f && twos[1].weight == 2.0f);
    gpu_vector<particle> out(4);
    CHECK(copy_if(all, out, [](auto p) { return p.kind < 2; }) == 2 && out.to_host()[1].weight == 4.0f);
    const gpu_vector<std::complex<float>> z(std::vector<std::complex<float>>{{1, 1}, {0, 2}, {-1, 0}});
    const auto products = gpu_vector<std::complex<float>>(inclusive_scan(z, std::complex<float>(1, 0), [](auto a, auto b) { return a * b; })).to_host();
    CHECK(products[1] == std::complex<float>(-2, 2) && products[2] == std::complex<float>(2, -2));
    CHECK(filter(z, [](auto e) { return abs(e) > 1.2f; }).to_host() == (std::vector<std::complex<float>>{{1, 1}, {0, 2}}));
    // grouped by a key: sorted, and a segment for each run
    const auto [kinds, moved] = sort_by_key(field(all, &particle::kind), all);
    const auto [values, counts] = run_lengths(kinds);
    const auto ends = inclusive_scan(counts.filled(0), 0);
    const auto offsets = generate(5, [&](auto k) { return if_else(k > 0, at(ends, max(k - 1, 0)), 0); });
    const auto [kind, n, weight] = eval(std::make_tuple(values.filled(-1), counts.filled(0), segmented_reduce(moved.weight, offsets, 0)));
    CHECK(kind.to_host() == (std::vector<std::int32_t>{0, 1, 2, -1}) && n.to_host() == (places{1, 1, 2, 0}));
    CHECK(weight.to_host() == (std::vector<float>{4, 1.5f, 2.5f, 0}));
    // a number that only the device knows goes on in the program
    const float mean_of_kept = sum(filter(x, [](auto e) { return e > 1; }).filled(0)) / gpu::cast<float>(filter(x, [](auto e) { return e > 1; }).count());
    CHECK(mean_of_kept == 3);
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "inside of a closure", eval(map([&](auto e) { return at(inclusive_scan(x * e, 0), 0); }, x)));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "sort_by_key: v0, v1: the lengths", eval(std::get<1>(sort_by_key(x, gpu_vector<float>{1, 2}))));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "filter", filter(std::forward_as_tuple(x, gpu::iota(3)), [](auto e, auto) { return e > 1; }).to_vector());
}

int main() {
    scans();
    sorts();
    segments();
    scans_of_segments();
    filters();
    scatters();
    lines_and_keys();
    views_and_algorithms();
    together();
    if (!failures) std::puts("ok");
    return failures != 0;
}
