// A matrix on the host, one row after another, and shapes to try.
#pragma once

#include "data.hpp"
#include <arraygpu.hpp>

struct grid {
    std::size_t rows, cols;
    std::vector<float> v;

    grid(std::size_t r, std::size_t c) : rows(r), cols(c), v(r * c) {}
    grid(std::size_t r, std::size_t c, std::uint32_t seed) : rows(r), cols(c), v(data::uniform(r * c, seed)) {}

    float &operator()(std::size_t i, std::size_t j) { return v[i * cols + j]; }
    float operator()(std::size_t i, std::size_t j) const { return v[i * cols + j]; }
    std::vector<float> row(std::size_t i) const {
        return std::vector<float>(v.begin() + std::ptrdiff_t(i * cols), v.begin() + std::ptrdiff_t((i + 1) * cols));
    }
    std::vector<float> col(std::size_t j) const {
        std::vector<float> c(rows);
        for (std::size_t i = 0; i < rows; ++i) c[i] = (*this)(i, j);
        return c;
    }
    arraygpu::gpu_matrix<float> on_device() const { return arraygpu::gpu_matrix<float>(v, rows, cols); }
};

struct shape {
    std::size_t rows, cols;
};

// One element, around the widths of vectors and tiles, rows that are not aligned, and very long or very many rows.
inline const std::vector<shape> shapes = {{1, 1},    {1, 7},    {7, 1},      {3, 3},      {4, 128},    {5, 129},   {33, 64},
                                          {130, 31}, {64, 259}, {300, 200}, {3, 20001}, {20001, 3}, {1, 70001}, {70001, 1}};
