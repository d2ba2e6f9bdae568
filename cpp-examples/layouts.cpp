// Transposes, outer products, and parts of vectors and matrices as inputs and outputs: the elements around an output view do not change.
#include "common/check.hpp"
#include "common/grid.hpp"
#include <examples.hpp>

using vector = arraygpu::gpu_vector<float>;
using host = std::vector<float>;

static void transposed(const grid &x) {
    grid t(x.cols, x.rows);
    for (std::size_t i = 0; i < x.rows; ++i)
        for (std::size_t j = 0; j < x.cols; ++j) t(j, i) = x(i, j);
    const auto d = x.on_device();
    const auto y = examples::transpose(d);
    CHECK(y.rows() == x.cols && y.cols() == x.rows);
    CHECK_EXACT(y.to_host(), t.v);
    CHECK_EXACT(arraygpu::gpu_matrix<float>(d.view().transpose()).to_host(), t.v); // a copy of a view
    CHECK_EXACT(examples::transpose(d.view().transpose()).to_host(), x.v);
    arraygpu::gpu_matrix<float> back(x.rows, x.cols); // a transposed output
    examples::transpose(d, back.view().transpose());
    CHECK_EXACT(back.to_host(), x.v);
}

static void outer(std::size_t rows, std::size_t cols) {
    const auto x = data::uniform(rows, 1), y = data::uniform(cols, 2);
    grid want(rows, cols);
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < cols; ++j) want(i, j) = x[i] * y[j];
    CHECK_EXACT(examples::outer(vector(x), vector(y)).to_host(), want.v);
}

// The inner part of one matrix into every second row and third column of another one.
static void parts(const grid &x) {
    if (x.rows < 3 || x.cols < 3) return;
    const std::size_t rows = x.rows - 2, cols = x.cols - 2;
    grid out(2 * rows + 1, 3 * cols + 2);
    for (std::size_t k = 0; k < out.v.size(); ++k) out.v[k] = -1;
    const auto d = x.on_device();
    auto y = out.on_device();
    const auto r = std::int64_t(rows), c = std::int64_t(cols);
    examples::scaled(3.0f, arraygpu::subview(d, 1, r + 1, 1, c + 1), arraygpu::subview(y, 1, 2 * r + 1, 2, 3 * c + 2, 2, 3));
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < cols; ++j) out(2 * i + 1, 3 * j + 2) = 3.0f * x(i + 1, j + 1);
    CHECK_EXACT(y.to_host(), out.v);

    grid inner = x; // in place, of the inner part only
    auto z = x.on_device();
    examples::scaled(3.0f, arraygpu::subview(z, 1, r + 1, 1, c + 1), arraygpu::subview(z, 1, r + 1, 1, c + 1));
    for (std::size_t i = 1; i <= rows; ++i)
        for (std::size_t j = 1; j <= cols; ++j) inner(i, j) = 3.0f * x(i, j);
    CHECK_EXACT(z.to_host(), inner.v);

    // one row and one column of a matrix are vectors
    auto w = x.on_device();
    grid lines = x;
    examples::double_arr(w.view().row(1), w.view().row(1));
    for (std::size_t j = 0; j < x.cols; ++j) lines(1, j) += lines(1, j);
    examples::double_arr(w.view().col(2), w.view().col(0));
    for (std::size_t i = 0; i < x.rows; ++i) lines(i, 0) = lines(i, 2) + lines(i, 2);
    CHECK_EXACT(w.to_host(), lines.v);
}

// Larsen (2011), appendix B.2.
static void double_arr() {
    const host a = data::uniform(90, 1), b = data::uniform(300, 2);
    const vector arr1(a);
    vector arr2(b);
    examples::double_arr(arr1, arraygpu::subview(arr2, 10, 100));
    host want = b;
    for (std::size_t i = 0; i < 90; ++i) want[10 + i] = a[i] + a[i];
    CHECK_EXACT(arr2.to_host(), want);

    examples::double_arr(arr1, arraygpu::subview(arr2, 20, 290, 3)); // every third element
    for (std::size_t i = 0; i < 90; ++i) want[20 + 3 * i] = a[i] + a[i];
    CHECK_EXACT(arr2.to_host(), want);

    vector all(90); // a vector is a view of all of it
    examples::double_arr(arr1, all);
    CHECK_EXACT(all.to_host(), examples::double_arr(arr1).to_host());
}

int main() {
    double_arr();
    for (const auto &[rows, cols] : shapes) {
        const grid x(rows, cols, 1);
        transposed(x);
        outer(rows, cols);
        parts(x);
    }
    outer(0, 3);
    outer(3, 0);
    return check::finish("layouts");
}
