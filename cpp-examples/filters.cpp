// Smoothing of images by 3 x 3 weights, the valid part and with mirrored edges; and by 31 and 63 weights of one dimension.
#include "common/check.hpp"
#include "common/grid.hpp"
#include <examples.hpp>

// The first product rounded, then multiply-adds (docs/semantics.md 5.4): so the bits are known.
template <class X> float chain(const std::vector<float> &w, X x) {
    float s = w[0] * x(0);
    for (std::size_t k = 1; k < w.size(); ++k) s = std::fma(w[k], x(k), s);
    return s;
}

static grid filtered(const grid &x, const std::vector<float> &w) {
    grid y(x.rows - 2, x.cols - 2);
    for (std::size_t i = 0; i < y.rows; ++i)
        for (std::size_t j = 0; j < y.cols; ++j) y(i, j) = chain(w, [&](std::size_t k) { return x(i + k / 3, j + k % 3); });
    return y;
}

static grid mirrored(const grid &x) {
    const auto at = [](std::size_t k, std::size_t n) { return std::min(k == 0 ? 0 : k - 1, n - 1); }; // one beyond: the edge again
    grid y(x.rows + 2, x.cols + 2);
    for (std::size_t i = 0; i < y.rows; ++i)
        for (std::size_t j = 0; j < y.cols; ++j) y(i, j) = x(at(i, x.rows), at(j, x.cols));
    return y;
}

// Weights that rise to the middle and fall again, as the generator makes them.
static std::vector<float> triangle(std::size_t taps) {
    const std::size_t middle = (taps + 1) / 2;
    std::vector<float> w(taps);
    for (std::size_t i = 0; i < taps; ++i) w[i] = float(std::min(i + 1, taps - i)) / float(middle * (taps + 1 - middle));
    return w;
}

static std::vector<float> average(const std::vector<float> &x, std::size_t taps) {
    const auto w = triangle(taps);
    std::vector<float> y(x.size() - (taps - 1));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = chain(w, [&](std::size_t k) { return x[i + k]; });
    return y;
}

int main() {
    const std::vector<float> box(9, 1.0f / 9), gaussian = {1. / 16, 1. / 8, 1. / 16, 1. / 8, 1. / 4, 1. / 8, 1. / 16, 1. / 8, 1. / 16};
    for (const auto &[rows, cols] : shapes) {
        const grid x(rows, cols, 1);
        const auto d = x.on_device();
        CHECK_EXACT(examples::gaussian3(d).to_host(), filtered(mirrored(x), gaussian).v);
        if (rows >= 2 && cols >= 2) CHECK_EXACT(examples::box3(d).to_host(), filtered(x, box).v);
    }
    for (const std::size_t n : data::lengths) {
        const auto x = data::uniform(n, 1);
        const arraygpu::gpu_vector<float> d(x);
        if (n >= 30) CHECK_EXACT(examples::average31(d).to_host(), average(x, 31));
        if (n >= 62) CHECK_EXACT(examples::average63(d).to_host(), average(x, 63));
    }
    // a constant stays what it is, up to the roundings of the weights and of 63 additions
    const std::vector<float> ones(1000, 1);
    CHECK_NEAR(examples::average63(arraygpu::gpu_vector<float>(ones)).to_host(), std::vector<double>(938, 1), 0, 2 * 63 * 0x1p-24);
    return check::finish("filters");
}
