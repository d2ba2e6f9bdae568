// Stencils, sums of rows and columns, layouts and all pairs on the CPU: what shapes.cpp measures, and the same by hand.
#pragma once

#include <cstddef>

// A matrix x, something beside it, and where results go, without gaps. A vector has one row.
struct plane {
    std::size_t rows, cols;
    const float *x, *y;
    float *out;
    float scalar;
};

namespace by_hand { // gcc -O3 -march=native, OpenMP; threads of 1: without
void difference(plane &, int threads), average15(plane &, int threads), average31(plane &, int threads), average63(plane &, int threads);
void jacobi(plane &, int threads), jacobi_clamped(plane &, int threads), jacobi_steps(plane &, int threads);
void square3(plane &, int threads), square5(plane &, int threads), square7(plane &, int threads), square9(plane &, int threads);
void row_sums(plane &, int threads), row_sums_simd(plane &, int threads), col_sums(plane &, int threads);
void matvec(plane &, int threads), matvec_simd(plane &, int threads), outer(plane &, int threads), transpose(plane &, int threads);
void rmse(plane &, int threads), rmse_unfused(plane &, int threads);
// cols bodies: x has 4 rows, of coordinates and masses; out has 3
void bodies(plane &, int threads);
} // namespace by_hand

// The weights of the averages and squares, for both sides and for the check.
double average_weight(std::size_t taps, std::size_t i);
double square_weight(std::size_t k, std::size_t row, std::size_t col);
constexpr float EPSILON2 = 1e-4f;
