// What the results must be, in plain C++: the order of arraygpu's reductions (docs/semantics.md, section 5), to the bit.
// Compile with -ffp-contract=off, or the compiler may form multiply-adds that nobody wrote.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace reference {

// One tile: 128 columns fold their (up to 16) rows, then join as a binary tree of neighbours. `first` starts a column with a
// row's value, `next` takes one more row. Columns without a value are absent: they are never joined.
template <class T, class First, class Next, class Join>
T tile(std::size_t begin, std::size_t end, First first, Next next, Join join) {
    T column[128];
    std::size_t columns = std::min<std::size_t>(128, end - begin);
    for (std::size_t c = 0; c < columns; ++c) {
        column[c] = first(begin + c);
        for (std::size_t i = begin + c + 128; i < end; i += 128) column[c] = next(column[c], i);
    }
    for (; columns > 1; columns = (columns + 1) / 2) {
        for (std::size_t c = 0; c < columns; c += 2) column[c / 2] = c + 1 < columns ? join(column[c], column[c + 1]) : column[c];
    }
    return column[0];
}

template <class T, class First, class Next, class Join>
std::vector<T> tiles(std::size_t n, First first, Next next, Join join) {
    std::vector<T> results;
    for (std::size_t t = 0; t < n; t += 2048) results.push_back(tile<T>(t, std::min(n, t + 2048), first, next, join));
    return results;
}

// The tiles' results are the next level's values, until one is left; the initial value joins last.
template <class T, class F> T reduce(std::vector<T> v, T init, F f) {
    if (v.empty()) return init;
    while (v.size() > 1) {
        v = tiles<T>(v.size(), [&](std::size_t i) { return v[i]; }, [&](T s, std::size_t i) { return f(s, v[i]); }, f);
    }
    return f(init, v[0]);
}

template <class T> T sum(const std::vector<T> &v) {
    return reduce(v, T(0), [](T a, T b) { return a + b; });
}

// As sum, but the first level folds by multiply-add.
inline float dot(const std::vector<float> &x, const std::vector<float> &y) {
    const auto add = [](float a, float b) { return a + b; };
    return reduce(tiles<float>(
                      x.size(), [&](std::size_t i) { return x[i] * y[i]; },
                      [&](float s, std::size_t i) { return std::fma(x[i], y[i], s); }, add),
                  0.0f, add);
}

// Spencer's weights: each a 320th, rounded to float once.
inline std::vector<float> spencer() {
    std::vector<float> weights = {-3, -6, -5, 3, 21, 46, 67, 74, 67, 46, 21, 3, -5, -6, -3};
    for (float &w : weights) w /= 320.0f;
    return weights;
}

} // namespace reference
