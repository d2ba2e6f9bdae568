// A package with matrices: every form of its functions, outputs of every kind, what is wrong.
#include "../check.hpp"
#include <functions.hpp>
#include <numeric>

using namespace arraygpu;
using floats = std::vector<float>;

static floats count(std::size_t n, float first = 0) {
    floats host(n);
    std::iota(host.begin(), host.end(), first);
    return host;
}

static void outputs() {
    gpu_vector<float> a(count(90)), b(100);
    functions::double_arr(a, subview(b, 10, 100)); // an output that is a part of a vector
    CHECK(subview(b, 0, 11).to_host() == floats(11, 0) && subview(b, 11, 100).to_host()[0] == 2);

    const gpu_matrix<float> x(count(12), 3, 4), y(count(12, 100), 3, 4);
    gpu_matrix<float> result(3, 4);
    functions::sum_of(x, y, result);
    floats expected(12);
    for (std::size_t i = 0; i < 12; ++i) expected[i] = float(100 + 2 * i);
    CHECK(result.to_host() == expected);
    const gpu_matrix<float> made = functions::sum_of(x, y);
    CHECK(made.rows() == 3 && made.cols() == 4 && made.leading_dimension() == 4 && made.to_host() == expected);

    // into a block of a larger matrix, of blocks of larger matrices
    gpu_matrix<float> large(10, 10);
    functions::sum_of(subview(x, 0, 3, 0, 3), subview(y, 0, 3, 1, 4), subview(large, 2, 8, 1, 7, 2, 2));
    CHECK(subview(large, 2, 8, 1, 7, 2, 2).to_host() == floats{101, 103, 105, 109, 111, 113, 117, 119, 121});
    CHECK(std::accumulate(expected.begin(), expected.end(), 0.0f) > 0 && large.view().row(3).to_host() == floats(10, 0));
    functions::sum_of(x, y, subview(large, 0, 4, 0, 3).transpose());
    CHECK(subview(large, 0, 4, 0, 3).transpose().to_host() == expected);
    // blocks of columns of one matrix: nothing overlaps
    gpu_matrix<float> pair(3, 8);
    subview(pair, 0, 3, 0, 4).copy_from(x);
    functions::sum_of(subview(pair, 0, 3, 0, 4), y, subview(pair, 0, 3, 4, 8));
    CHECK(subview(pair, 0, 3, 4, 8).to_host() == expected && subview(pair, 0, 3, 0, 4).to_host() == count(12));
    // over its own argument, and over one that it is not exactly
    functions::sum_of(result, y, result);
    gpu_matrix<float> square(count(9), 3, 3);
    functions::transposed(square, square);
    CHECK(square.to_host() == floats{0, 3, 6, 1, 4, 7, 2, 5, 8});
    functions::transposed(square, square.view().transpose()); // that is itself
    CHECK(square.to_host() == floats{0, 3, 6, 1, 4, 7, 2, 5, 8});
    functions::transposed(subview(large, 0, 9, 0, 9), subview(large, 1, 10, 1, 10));
    CHECK(functions::transposed(functions::transposed(x)).to_host() == count(12));
    // a negative stride, and one of 0 in an input
    agpu_view backwards = x.c_view(), rows = x.c_view();
    backwards.offset = 11, backwards.stride[0] = -4, backwards.stride[1] = -1, rows.stride[0] = 0;
    CHECK(functions::sum_of(x, gpu_matrix_view<const float>(backwards)).to_host() == floats(12, 11));
    CHECK(functions::sum_of(gpu_matrix_view<const float>(rows), gpu_matrix_view<const float>(rows)).view().row(2).to_host() == floats{0, 2, 4, 6});

    auto [low, high, total, column] = functions::split(x, subview(a, 3, 7));
    CHECK(low.to_host() == floats{0, 1, 2, 3, 3, 4, 5, 6, 3, 4, 5, 6} && high.rows() == 3 && total == 66);
    CHECK(column.to_host() == floats{0, 4, 8});
    gpu_scalar<float> kept;
    functions::split(x, x.view().row(0), subview(large, 0, 3, 0, 4), subview(large, 0, 3, 4, 8), kept, large.view().col(9).c_view().rank == 1 ? subview(large.view().col(9), 0, 3) : column);
    CHECK(kept.get() == 66 && large.view().col(9).to_host()[2] == 8);

    const gpu_tensor3<std::int32_t> t(std::vector<std::int32_t>{1, 2, 3, 4, 5, 6, 7, 8}, 2, 2, 2);
    CHECK(functions::doubled(t).view().plane(0, 1).to_host() == std::vector<std::int32_t>{10, 12, 14, 16});
    gpu_tensor3<std::int32_t> turned(2, 2, 2);
    functions::doubled(t.view().transpose(0, 2), turned);
    CHECK(turned.to_host() == std::vector<std::int32_t>{2, 10, 6, 14, 4, 12, 8, 16});
    CHECK(functions::filled(2, 3).to_host() == std::vector<double>{0, 1, 2, 10, 11, 12});
}

static void nothing() {
    for (const auto &[rows, cols] : {std::pair<std::size_t, std::size_t>{0, 4}, {4, 0}, {0, 0}}) {
        const gpu_matrix<float> x(rows, cols);
        const auto sum = functions::sum_of(x, x);
        CHECK(sum.rows() == rows && sum.cols() == cols);
        const auto turned = functions::transposed(x);
        CHECK(turned.rows() == cols && turned.cols() == rows);
    }
    CHECK(functions::filled(0, 7).cols() == 7 && functions::filled(7, 0).rows() == 7);
}

static void wrong() {
    gpu_matrix<float> x(count(12), 3, 4), y(3, 5), out(3, 4);
    CHECK_THROWS(AGPU_ERROR_SHAPE, "functions::sum_of: zip_with: a, b: the lengths 4 and 5 differ", functions::sum_of(x, y));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "rows(a) = 3, rows(b) = 4, cols(a) = 4, cols(b) = 3", functions::sum_of(x, x.view().transpose()));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "result: the output is 3 x 5, expected 3 x 4", functions::sum_of(x, x, y));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "the output is 3 x 4, expected 4 x 3", functions::transposed(x, out));
    CHECK_THROWS(AGPU_ERROR_OUT_OF_BOUNDS, "0..4", functions::sum_of(subview(x, 0, 4, 0, 4), x));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "a: the view has rank 1, a matrix has rank 2",
                 functions::sum_of(gpu_matrix_view<const float>(x.view().row(0).c_view()), x));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "the view has rank 2, a vector has rank 1", functions::double_arr(gpu_vector_view<const float>(x.c_view())));
    CHECK_THROWS(AGPU_ERROR_TYPE_MISMATCH, "expected a matrix of f32, got one of f64",
                 functions::transposed(gpu_matrix_view<const float>(gpu_matrix<double>{{1}}.c_view())));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "negative", functions::filled(3, -1));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "the index 0 is outside of the length 0", functions::split(gpu_matrix<float>(3, 0), gpu_vector<float>()));
    // outputs that overlap each other, or themselves
    gpu_vector<float> column(3), v(4);
    float total = 7;
    CHECK_THROWS(AGPU_ERROR_OVERLAP, "low, high", functions::split(x, v, subview(y, 0, 3, 0, 4), subview(y, 0, 3, 1, 5), total, column));
    CHECK_THROWS(AGPU_ERROR_OVERLAP, "low, column", functions::split(x, v, subview(y, 0, 3, 0, 4), out, total, y.view().col(2)));
    agpu_view folded = out.c_view();
    for (const std::int64_t stride : {0, 3, 1, -2}) {
        folded.stride[0] = stride, folded.offset = stride < 0 ? 8 : 0;
        CHECK_THROWS(AGPU_ERROR_OVERLAP, "an output of 3 x 4", functions::sum_of(x, x, gpu_matrix_view<float>(folded)));
    }
    CHECK_THROWS(AGPU_ERROR_OUT_OF_MEMORY, "more than can be counted", functions::filled(std::int64_t(1) << 40, std::int64_t(1) << 40));
    CHECK(total == 7 && x.to_host() == count(12) && out.to_host() == floats(12, 0));
}

int main() {
    outputs();
    nothing();
    wrong();
    std::printf("functions: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures == 0 ? 0 : 1;
}
