// Numbers for the tests, and whether two lists of them have the same bits.
#ifndef NUMBERS_HPP
#define NUMBERS_HPP

#include <cstring>
#include <vector>

/// Floats in no order.
inline std::vector<float> some_numbers(std::size_t n, float divisor = 400, float shift = 1.25f) {
    std::vector<float> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = float(i * 7919 % 1000) / divisor - shift;
    return v;
}
template <class T> bool same_bits(const std::vector<T> &a, const std::vector<T> &b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}
inline bool same(const std::vector<float> &a, const std::vector<float> &b) { return same_bits(a, b); }

#endif // NUMBERS_HPP
