// Matrices of the wrong shape, parts outside of them, stencils wider than what they are laid on, matrices of nothing, odd strides.
#include "../common/grid.hpp"
#include "expect.hpp"
#include <checks.hpp>
#include <examples.hpp>
#include <limits>

using vector = arraygpu::gpu_vector<float>;
using matrix = arraygpu::gpu_matrix<float>;
using host = std::vector<float>;

constexpr float inf = std::numeric_limits<float>::infinity();

static matrix filled(std::size_t rows, std::size_t cols, float value = 1) { return matrix(host(rows * cols, value), rows, cols); }

static void shapes_that_differ() {
    const matrix a = filled(3, 5);
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"add_matrices", "3", "5", "4"}), checks::add_matrices(a, filled(3, 4)));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"add_matrices", "3", "5"}), checks::add_matrices(a, filled(5, 3))); // as many elements
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"add_matrices", "3", "2"}), checks::add_matrices(a, filled(2, 5)));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"matvec", "m", "v", "5", "4"}), examples::matvec(a, vector(host(4, 1))));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"matvec", "m", "v", "5", "3"}), examples::matvec(a, vector(host(3, 1)))); // the rows' number will not do

    matrix out = filled(5, 3, -1);
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"add_matrices", "result", "3", "5"}), checks::add_matrices(a, a, out));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"outer", "result", "5", "3", "2"}), examples::outer(vector(host(5, 1)), vector(host(2, 1)), out));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"jacobi", "result", "5", "3", "1"}), examples::jacobi(a, out));
    CHECK_EXACT(out.to_host(), host(15, -1));
    vector sums(host(5, -1));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"row_sums", "result", "5", "3"}), examples::row_sums(a, sums));
    CHECK_EXACT(sums.to_host(), host(5, -1));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"3", "5", "14"}), a.copy_to(out.data(), 14));
}

static void slices_outside() {
    const grid x(4, 6, 1);
    const matrix m = x.on_device();
    CHECK_EXACT(checks::block(m, 1, 3, 2, 4).to_host(), (host{x(1, 2), x(1, 3), x(2, 2), x(2, 3)}));
    CHECK(checks::block(m, 4, 4, 6, 6).size() == 0);
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"block", "m", "5", "4"}), checks::block(m, 0, 5, 0, 6)); // outside by one
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"block", "m", "7", "6"}), checks::block(m, 0, 4, 0, 7));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"block", "m", "-1"}), checks::block(m, -1, 4, 0, 6));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"block", "m", "3", "2"}), checks::block(m, 0, 4, 3, 2));
    const auto both = checks::row_and_column(m, 3, 5);
    CHECK_EXACT(both.row.to_host(), x.row(3));
    CHECK_EXACT(both.column.to_host(), x.col(5));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"row_and_column", "m", "4"}), checks::row_and_column(m, 4, 5));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"row_and_column", "m", "6"}), checks::row_and_column(m, 3, 6));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"row_and_column", "m", "-1"}), checks::row_and_column(m, -1, 0));

    CHECK_ERROR(AGPU_ERROR_OUT_OF_BOUNDS, ({"5", "4"}), arraygpu::subview(m, 0, 5, 0, 6));
    CHECK_ERROR(AGPU_ERROR_OUT_OF_BOUNDS, ({"7", "6"}), arraygpu::subview(m, 0, 4, 0, 7));
    CHECK_ERROR(AGPU_ERROR_OUT_OF_BOUNDS, ({"4"}), m.view().row(4));
    CHECK_ERROR(AGPU_ERROR_OUT_OF_BOUNDS, ({"-1"}), m.view().col(-1));
}

static void stencils_wider_than_the_array() {
    // a square of three needs two rows and two columns at least: of two, nothing is left
    CHECK(examples::box3(filled(2, 9)).size() == 0);
    CHECK(examples::jacobi(filled(9, 2)).cols() == 0);
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"box3", "m", "by 2", "rows(m) = 1"}), examples::box3(filled(1, 9)));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"box3", "m", "by 2", "cols(m) = 1"}), examples::box3(filled(9, 1)));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"jacobi", "m", "rows(m) = 1"}), examples::jacobi(filled(1, 9)));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"jacobi", "m", "cols(m) = 0"}), examples::jacobi(filled(9, 0)));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"average63", "xs", "by 2", "len(xs) = 61"}), examples::average63(vector(host(61, 1))));
    CHECK(examples::average63(vector(host(62, 1))).size() == 0);
    // with margins one element is enough, none is not: nothing could be repeated
    CHECK_EXACT(examples::jacobi_clamped(filled(1, 1, 7)).to_host(), (host{7}));
    CHECK_EXACT(examples::gaussian3(filled(1, 1, 8)).to_host(), (host{8}));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"jacobi_clamped", "m", "0"}), examples::jacobi_clamped(filled(0, 3)));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"jacobi_steps", "iterate: k", "number of steps is -1"}), examples::jacobi_steps(filled(5, 5), -1));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"jacobi_steps", "the part has the length 0"}), examples::jacobi_steps(filled(2, 5), 3));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"jacobi_steps", "m", "1"}), examples::jacobi_steps(filled(5, 1), 0));
    // mirrored, a margin is as wide as the vector at most; clamped, it repeats one element
    const auto [mirrored, clamped] = checks::margins(vector(host{1, 2, 3}));
    CHECK_EXACT(mirrored.to_host(), (host{3, 2, 1, 1, 2, 3, 3, 2}));
    CHECK_EXACT(clamped.to_host(), (host{1, 1, 1, 1, 2, 3, 3, 3}));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"margins", "x", "3", "2"}), checks::margins(vector(host{1, 2})));
}

static void matrices_of_nothing() {
    CHECK_EXACT(examples::row_sums(filled(3, 0)).to_host(), host(3, 0)); // rows without elements
    CHECK_EXACT(checks::row_maxima(filled(3, 0)).to_host(), host(3, -inf));
    CHECK_EXACT(examples::col_sums(filled(0, 3)).to_host(), host(3, 0));
    CHECK(examples::row_sums(filled(0, 3)).size() == 0);
    CHECK(examples::col_sums(filled(3, 0)).size() == 0);
    for (const float mean : examples::means(filled(2, 0)).rows.to_host()) CHECK(std::isnan(mean));
    CHECK_EXACT(examples::matvec(filled(2, 0), vector(0)).to_host(), host(2, 0));
    const auto t = examples::transpose(filled(0, 4));
    CHECK(t.rows() == 4 && t.cols() == 0);
    CHECK(checks::add_matrices(filled(0, 4), filled(0, 4)).cols() == 4);
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"add_matrices", "4", "3"}), checks::add_matrices(filled(0, 4), filled(0, 3)));
    const auto film = examples::plane_means(arraygpu::gpu_tensor3<float>(0, 2, 3));
    CHECK(film.means.size() == 0 && film.picture.rows() == 2);
    for (const float mean : film.picture.to_host()) CHECK(std::isnan(mean)); // over no planes
}

// A view of a matrix's buffer that someone filled in: rows that begin `apart` elements from each other.
static agpu_view c_view(const matrix &m, std::int64_t offset, std::int64_t rows, std::int64_t cols, std::int64_t apart) {
    agpu_view made{};
    made.buffer = m.c_buffer();
    made.offset = offset;
    made.rank = 2;
    made.extent[0] = rows, made.extent[1] = cols;
    made.stride[0] = apart, made.stride[1] = 1;
    return made;
}

static void odd_strides() {
    const grid x(4, 6, 1);
    const matrix m = x.on_device();
    vector v(host{1, 2, 3, 4});
    CHECK_ERROR(AGPU_ERROR_INVALID_ARGUMENT, ({"stride", "0"}), arraygpu::subview(v, 0, 4, 0));
    CHECK_ERROR(AGPU_ERROR_INVALID_ARGUMENT, ({"stride", "-1"}), arraygpu::subview(v, 0, 4, -1));
    CHECK_ERROR(AGPU_ERROR_INVALID_ARGUMENT, ({"stride", "0"}), arraygpu::subview(m, 0, 4, 0, 6, 1, 0));
    CHECK_ERROR(AGPU_ERROR_INVALID_ARGUMENT, ({"stride", "-2"}), arraygpu::subview(m, 0, 4, 0, 6, -2, 1));

    // a view made by hand may run backwards, or repeat one row, as an input
    using view = arraygpu::gpu_matrix_view<const float>;
    const agpu_view upside_down = c_view(m, 18, 4, 6, -6), repeated = c_view(m, 6, 3, 6, 0);
    host sums;
    for (std::size_t i = 4; i-- > 0;) sums.push_back(examples::row_sums(m).to_host()[i]);
    CHECK_EXACT(examples::row_sums(view(upside_down)).to_host(), sums);
    host thrice;
    for (int k = 0; k < 3; ++k)
        for (const float e : x.row(1)) thrice.push_back(2 * e);
    CHECK_EXACT(examples::scaled(2.0f, view(repeated)).to_host(), thrice);
    // an output may run backwards, but not into itself, nor out of its buffer
    matrix out = filled(4, 6, -1);
    const agpu_view backwards = c_view(out, 18, 4, 6, -6), itself = c_view(out, 0, 4, 6, 0),
                    rows_overlap = c_view(out, 0, 4, 6, 5), beyond = c_view(out, 1, 4, 6, 6);
    using target = arraygpu::gpu_matrix_view<float>;
    CHECK_ERROR(AGPU_ERROR_OVERLAP, ({"scaled", "result"}), examples::scaled(1.0f, m, target(itself)));
    CHECK_ERROR(AGPU_ERROR_OVERLAP, ({"scaled", "result"}), examples::scaled(1.0f, m, target(rows_overlap)));
    CHECK_ERROR(AGPU_ERROR_OUT_OF_BOUNDS, ({"scaled", "result", "24"}), examples::scaled(1.0f, m, target(beyond)));
    CHECK_EXACT(out.to_host(), host(24, -1));
    examples::scaled(1.0f, m, target(backwards));
    host flipped;
    for (std::size_t i = 4; i-- > 0;)
        for (const float e : x.row(i)) flipped.push_back(e);
    CHECK_EXACT(out.to_host(), flipped);
}

// Whatever the shape and the order of additions, integers are exact.
static void exact_integers() {
    for (const shape s : shapes) {
        const std::size_t rows = s.rows, cols = s.cols;
        std::vector<std::int64_t> x(rows * cols), of_rows(rows), of_cols(cols);
        std::vector<std::int32_t> y(rows * cols), around(rows * cols);
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < cols; ++j) {
                const std::size_t k = i * cols + j;
                x[k] = std::int64_t(k * k * 2654435761u) - (INT64_C(1) << 40);
                y[k] = std::int32_t(k * 2654435761u);
                of_rows[i] += x[k];
                of_cols[j] += x[k];
            }
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < cols; ++j) {
                const auto at = [&](std::size_t r, std::size_t c) { return std::uint32_t(y[(r % rows) * cols + c % cols]); };
                around[i * cols + j] = std::int32_t(at(i + rows - 1, j) + at(i + 1, j) + at(i, j + cols - 1) + at(i, j + 1)); // wraps
            }
        const auto [r, c] = checks::integer_sums(arraygpu::gpu_matrix<std::int64_t>(x, rows, cols));
        CHECK_EXACT(r.to_host(), of_rows);
        CHECK_EXACT(c.to_host(), of_cols);
        CHECK_EXACT(checks::integer_neighbours(arraygpu::gpu_matrix<std::int32_t>(y, rows, cols)).to_host(), around);
    }
}

int main() {
    shapes_that_differ();
    slices_outside();
    stencils_wider_than_the_array();
    matrices_of_nothing();
    odd_strides();
    exact_integers();
    return check::finish("matrices");
}
