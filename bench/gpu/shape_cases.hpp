// Stencils, sums of rows and columns, all pairs: what shapes.cpp measures beside the peers of shapes.cu.
#pragma once

#include "data.hpp"
#include "ours.hpp"
#include <functional>

constexpr std::size_t ELEMENTS = std::size_t(1) << 26, BODIES = 65536;

// Where the result lies in out.
enum class place {
    start,  // from its beginning; of a stencil over a matrix with its rows as far apart
    centre, // where the stencil's middle is
    groups, // bodies: in groups of four, as the peers have it
};

// One of our functions for a case.
struct variant {
    const char *label;    // behind "arraygpu"; the first has none
    const char *function; // in the package
    const char *bits;     // the function that gives the same bits on a CPU; null: none does, since it is fast_math
    place at;
};

struct results {
    std::size_t rows, cols; // of a vector: 1 row
    std::size_t pitch;      // from row to row
    std::size_t margin;     // from the input's edge to the middle of the first stencil
};

// A result in double, and what its error is relative to.
struct right {
    double value, magnitude;
};

struct shape_case {
    std::string name; // as in peers.h
    std::vector<variant> ours;
    results out;
    std::function<std::vector<agpu_arg>(const arrays &, place)> arguments;
    std::function<right(const inputs &, std::size_t i, std::size_t j)> expected;
    std::size_t work;     // how many elements make one result
    double bytes, flops;  // the fewest of the whole call; flops 0: nobody counts them
    double allowed;       // the greatest error
};

std::vector<shape_case> shape_cases();

// The element of out that is result i, j.
std::size_t position(const results &, place, std::size_t i, std::size_t j);
// The greatest error over a sample of the results, edges included; NaN if one of them is NaN.
double error_of(const shape_case &, const inputs &, const float *out, place);
