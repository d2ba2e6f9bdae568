// Sums and means of rows and columns, a matrix times a vector: exact bits, of rows that lie apart and of transposed matrices, too.
#include "common/check.hpp"
#include "common/grid.hpp"
#include "common/reference.hpp"
#include <examples.hpp>

static std::vector<float> row_sums(const grid &x) {
    std::vector<float> s(x.rows);
    for (std::size_t i = 0; i < x.rows; ++i) s[i] = reference::sum(x.row(i));
    return s;
}

static std::vector<float> col_sums(const grid &x) {
    std::vector<float> s(x.cols);
    for (std::size_t j = 0; j < x.cols; ++j) s[j] = reference::sum(x.col(j));
    return s;
}

static std::vector<float> over(std::vector<float> sums, std::size_t n) {
    for (float &s : sums) s /= float(n);
    return sums;
}

int main() {
    for (const auto &[rows, cols] : shapes) {
        const grid x(rows, cols, 1);
        const auto d = x.on_device();
        CHECK_EXACT(examples::row_sums(d).to_host(), row_sums(x));
        CHECK_EXACT(examples::col_sums(d).to_host(), col_sums(x));
        const auto [of_rows, of_cols] = examples::means(d);
        CHECK_EXACT(of_rows.to_host(), over(row_sums(x), cols));
        CHECK_EXACT(of_cols.to_host(), over(col_sums(x), rows));
        // the other layout: the same numbers
        CHECK_EXACT(examples::row_sums(d.view().transpose()).to_host(), col_sums(x));
        CHECK_EXACT(examples::col_sums(d.view().transpose()).to_host(), row_sums(x));

        const auto v = data::uniform(cols, 2);
        std::vector<float> product(rows);
        for (std::size_t i = 0; i < rows; ++i) product[i] = reference::dot(x.row(i), v);
        CHECK_EXACT(examples::matvec(d, arraygpu::gpu_vector<float>(v)).to_host(), product);

        if (rows < 3 || cols < 3) continue;
        grid part(rows - 2, (cols - 1) / 2); // rows from 1, every second column from 1
        for (std::size_t i = 0; i < part.rows; ++i)
            for (std::size_t j = 0; j < part.cols; ++j) part(i, j) = x(i + 1, 2 * j + 1);
        const auto view = arraygpu::subview(d, 1, std::int64_t(rows) - 1, 1, std::int64_t(2 * part.cols), 1, 2);
        CHECK_EXACT(examples::row_sums(view).to_host(), row_sums(part));
        CHECK_EXACT(examples::col_sums(view).to_host(), col_sums(part));
    }
    return check::finish("rows_and_columns");
}
