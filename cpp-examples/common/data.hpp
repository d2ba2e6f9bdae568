// Test data: the same on every machine, without <random>'s distributions, whose values the standard leaves open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace data {

// n floats in [low, high), evenly spread; `seed` picks the series.
inline std::vector<float> uniform(std::size_t n, std::uint32_t seed, float low = -1.0f, float high = 1.0f) {
    std::uint64_t state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    std::vector<float> v(n);
    for (float &x : v) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407); // Knuth's MMIX
        x = low + (high - low) * (float(state >> 40) * 0x1p-24f);
    }
    return v;
}

// Lengths at which something changes: nothing, one, around a column, a row and a tile, several tiles.
inline const std::vector<std::size_t> lengths = {0, 1, 2, 3, 127, 128, 129, 1000, 2047, 2048, 2049, 5000, 100003};

} // namespace data
