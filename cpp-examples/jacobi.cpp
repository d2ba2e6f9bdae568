// A Jacobi step: where all neighbours are, with the edges held, and several steps: in two matrices as a solver takes them, and in one call. A swinging string.
#include "common/check.hpp"
#include "common/grid.hpp"
#include <examples.hpp>

// The step around element i, j of x: in the order of the additions that the generator writes.
template <class X> float step(X x, std::size_t i, std::size_t j) {
    return 0.25f * ((x(i, j - 1) + x(i, j + 1)) + (x(i - 1, j) + x(i + 1, j)));
}

static grid inside(const grid &x) {
    grid y(x.rows - 2, x.cols - 2);
    for (std::size_t i = 0; i < y.rows; ++i)
        for (std::size_t j = 0; j < y.cols; ++j) y(i, j) = step(x, i + 1, j + 1);
    return y;
}

static grid clamped(const grid &x) {
    const auto at = [](std::size_t k, std::size_t n) { return std::min(k == 0 ? 0 : k - 1, n - 1); }; // of k from 0 to n + 1
    grid y(x.rows, x.cols);
    for (std::size_t i = 0; i < y.rows; ++i)
        for (std::size_t j = 0; j < y.cols; ++j)
            y(i, j) = step([&](std::size_t r, std::size_t c) { return x(at(r, x.rows), at(c, x.cols)); }, i + 1, j + 1);
    return y;
}

// Ten steps with the boundary held: the result goes into the inner part of the other matrix, whose edges stay as they are.
static void solve(std::size_t rows, std::size_t cols) {
    grid x(rows, cols, 1);
    arraygpu::gpu_matrix<float> a = x.on_device(), b = x.on_device();
    for (int k = 0; k < 10; ++k) {
        examples::jacobi(a, arraygpu::subview(b, 1, std::int64_t(rows) - 1, 1, std::int64_t(cols) - 1));
        swap(a, b);
        const grid y = inside(x);
        for (std::size_t i = 0; i < y.rows; ++i)
            for (std::size_t j = 0; j < y.cols; ++j) x(i + 1, j + 1) = y(i, j);
    }
    CHECK_EXACT(a.to_host(), x.v);
    // the same in one call, and none
    const auto first = grid(rows, cols, 1).on_device();
    CHECK_EXACT(examples::jacobi_steps(first, 10).to_host(), x.v);
    CHECK_EXACT(examples::jacobi_steps(first, 0).to_host(), first.to_host());
    arraygpu::gpu_matrix<float> own = grid(rows, cols, 1).on_device();
    examples::jacobi_steps(own, 10, own); // the output is the input
    CHECK_EXACT(own.to_host(), x.v);
}

// A string, plucked; the ends are held.
static void swing(std::size_t n, int steps) {
    std::vector<float> u(n), before;
    for (std::size_t i = 1; i + 1 < n; ++i) u[i] = float(i % 7) / 4 - 0.5f;
    before = u;
    const arraygpu::gpu_vector<float> start(u);
    const auto r = examples::waves(start, start, 0.25f, steps);
    for (int k = 0; k < steps; ++k) {
        std::vector<float> next = u;
        for (std::size_t i = 1; i + 1 < n; ++i) {
            const float bend = (u[i - 1] - 2 * u[i]) + u[i + 1];
            next[i] = (2 * u[i] - before[i]) + 0.25f * bend;
        }
        before = u;
        u = next;
    }
    CHECK_EXACT(r.u_new.to_host(), u);
    CHECK_EXACT(r.before_new.to_host(), before);
}

int main() {
    for (const auto &[rows, cols] : shapes) {
        const grid x(rows, cols, 1);
        const auto d = x.on_device();
        CHECK_EXACT(examples::jacobi_clamped(d).to_host(), clamped(x).v);
        if (rows < 2 || cols < 2) continue; // an error: bad_input/matrices.cpp
        const auto y = examples::jacobi(d);
        CHECK(y.rows() == rows - 2 && y.cols() == cols - 2);
        CHECK_EXACT(y.to_host(), inside(x).v);
        if (rows > 2 && cols > 2) solve(rows, cols);
    }
    for (const std::size_t n : {3, 4, 1000, 5001})
        for (const int steps : {0, 1, 2, 17}) swing(n, steps);
    return check::finish("jacobi");
}
