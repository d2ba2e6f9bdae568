// The inputs of all competitors, and their results in double precision.
#pragma once

#include "cases.hpp"
#include <functional>

// Pieces of [0, n) on all processors.
void parallel(std::size_t n, const std::function<void(std::size_t begin, std::size_t end)> &piece);

// n numbers in [-1, 1), a function of the seed and the index.
std::vector<float> numbers(std::size_t n, unsigned seed);

struct inputs {
    std::vector<float> a, b, c;
};

// The error of a result relative to what is right, as the peers' rows have it; `flags` are the peer's. NaN if any element is NaN.
double error_of(const test_case &, const inputs &, const float *result, int flags = 0);
