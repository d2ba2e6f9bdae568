// The linear operator of total variation, and its adjoint: views of the pixels of an image whose rows lie one after the other.
#pragma once

#include <arraygpu/views.hpp>
#include <cstdint>

namespace composed {

namespace gpu = arraygpu;
namespace view = arraygpu::views;
// A vector that is still to be computed, one element a pixel.
using image = gpu::expr<float, 1>;

// A program knows the width of its images.
struct extents {
    std::int64_t rows;
    gpu::staged<std::int64_t> cols;
    std::int64_t pixels() const { return rows * std::int64_t(cols); }
};

struct field {
    image x, y;
};

// Differences from the right neighbours and from those below; 0 in the last column and row.
inline field gradient(const image &u, const extents &size) {
    const auto cols = size.cols;
    const auto pixels = view::iota(std::int64_t(0), size.pixels());
    const std::int64_t last = size.pixels() - 1;
    const auto right = pixels | view::transform([&](auto k) { return gpu::select(k % cols < cols - 1, gpu::at(u, gpu::min(k + 1, last)) - gpu::at(u, k), 0.0f); });
    const auto below = pixels | view::transform([&](auto k) { return gpu::select(k <= last - cols, gpu::at(u, gpu::min(k + cols, last)) - gpu::at(u, k), 0.0f); });
    return {right.array(), below.array()};
}

// Minus the adjoint.
inline image divergence(const field &y, const extents &size) {
    const auto cols = size.cols;
    return view::iota(std::int64_t(0), size.pixels()) | view::transform([&](auto k) {
        const auto left = gpu::select(k % cols > 0, gpu::at(y.x, gpu::max(k - 1, 0)), 0.0f);
        const auto above = gpu::select(k >= cols, gpu::at(y.y, gpu::max(k - cols, 0)), 0.0f);
        return (gpu::at(y.x, k) - left) + (gpu::at(y.y, k) - above);
    });
}

} // namespace composed
