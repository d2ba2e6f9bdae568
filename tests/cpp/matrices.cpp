// Matrices and arrays of three dimensions without any package: construction, moves, copies, views, constness, errors.
#include "check.hpp"
#include <arraygpu.hpp>
#include <array>
#include <numeric>

using arraygpu::gpu_matrix;
using arraygpu::gpu_matrix_view;
using arraygpu::gpu_tensor3;
using arraygpu::gpu_tensor3_view;
using arraygpu::gpu_vector;
using arraygpu::gpu_vector_view;
using arraygpu::subview;
using floats = std::vector<float>;

static_assert(std::is_convertible_v<gpu_matrix<float> &, gpu_matrix_view<float>>);
static_assert(std::is_convertible_v<gpu_matrix<float> &, gpu_matrix_view<const float>>);
static_assert(std::is_convertible_v<const gpu_matrix<float> &, gpu_matrix_view<const float>>);
static_assert(std::is_convertible_v<gpu_matrix_view<float>, gpu_matrix_view<const float>>);
static_assert(!std::is_convertible_v<const gpu_matrix<float> &, gpu_matrix_view<float>>);
static_assert(!std::is_convertible_v<gpu_matrix_view<const float>, gpu_matrix_view<float>>);
static_assert(!std::is_convertible_v<gpu_matrix<float> &, gpu_vector_view<float>>);
static_assert(!std::is_convertible_v<gpu_vector<float> &, gpu_matrix_view<const float>>);
static_assert(!std::is_convertible_v<gpu_matrix<double> &, gpu_matrix_view<const float>>);
static_assert(!std::is_copy_constructible_v<gpu_matrix<float>> && !std::is_copy_assignable_v<gpu_matrix<float>>);
static_assert(std::is_nothrow_move_constructible_v<gpu_matrix<float>> && std::is_nothrow_move_assignable_v<gpu_matrix<float>>);
static_assert(std::is_nothrow_destructible_v<gpu_matrix<float>> && std::is_trivially_copyable_v<gpu_matrix_view<float>>);
static_assert(!std::is_copy_constructible_v<gpu_tensor3<float>> && std::is_nothrow_move_constructible_v<gpu_tensor3<float>>);
static_assert(std::is_convertible_v<const gpu_tensor3<float> &, gpu_tensor3_view<const float>>);

static floats count(std::size_t n) {
    floats host(n);
    std::iota(host.begin(), host.end(), 0.0f);
    return host;
}

static void construction() {
    CHECK(gpu_matrix<float>().empty() && gpu_matrix<float>().rows() == 0 && gpu_matrix<float>().to_host().empty());
    const gpu_matrix<float> zeros(2, 3);
    CHECK(zeros.rows() == 2 && zeros.cols() == 3 && zeros.size() == 6 && zeros.leading_dimension() == 3);
    CHECK(zeros.to_host() == floats(6, 0));
    CHECK(gpu_matrix<float>(count(6), 3, 2).to_host() == count(6));
    CHECK(gpu_matrix<float>(std::array<float, 4>{1, 2, 3, 4}, 2, 2).to_host() == floats{1, 2, 3, 4});
    const gpu_matrix<double> list{{1, 2, 3}, {4, 5, 6}};
    CHECK(list.rows() == 2 && list.cols() == 3 && list.to_host() == std::vector<double>{1, 2, 3, 4, 5, 6});
    const std::vector<bool> bits{true, false, true, true};
    CHECK(gpu_matrix<bool>(bits, 2, 2).to_host() == bits);
    for (const auto &[rows, cols] : {std::pair<std::size_t, std::size_t>{0, 5}, {5, 0}, {0, 0}}) {
        const gpu_matrix<float> nothing(rows, cols);
        CHECK(nothing.empty() && nothing.rows() == rows && nothing.cols() == cols && nothing.to_host().empty());
    }
    CHECK_THROWS(AGPU_ERROR_SHAPE, "3 x 2, the host has 5", gpu_matrix<float>(count(5), 3, 2));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "rows of 2 and of 1", gpu_matrix<float>{{1, 2}, {3}});
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "so many", gpu_matrix<float>(std::size_t(1) << 40, std::size_t(1) << 40));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "so many", gpu_matrix<float>(std::size_t(-1), 1));
    CHECK_THROWS(AGPU_ERROR_OUT_OF_MEMORY, "agpu_buffer_create_array", gpu_matrix<float>(std::size_t(1) << 30, std::size_t(1) << 30));
}

static void ownership() {
    gpu_matrix<float> a(count(6), 2, 3);
    const agpu_buffer *handle = a.c_buffer();
    gpu_matrix<float> b = std::move(a);
    CHECK(b.c_buffer() == handle && b.rows() == 2 && a.rows() == 0 && a.c_buffer() == nullptr);
    CHECK_THROWS(AGPU_ERROR_INVALID_HANDLE, "NULL", static_cast<void>(a.to_host()));
    a = gpu_matrix<float>{{9}};
    swap(a, b);
    CHECK(a.to_host() == count(6) && b.to_host() == floats{9});
    auto &self = a;
    a = std::move(self);
    CHECK(a.to_host() == count(6));
    auto c = a.clone();
    c.fill(5);
    CHECK(a.to_host() == count(6) && c.to_host() == floats(6, 5));
    agpu_buffer *raw = c.release();
    CHECK(c.empty());
    CHECK(gpu_matrix<float>::adopt(raw).cols() == 3);
    agpu_buffer *wrong = gpu_matrix<double>{{1}}.release();
    CHECK_THROWS(AGPU_ERROR_TYPE_MISMATCH, "element type", static_cast<void>(gpu_matrix<float>::adopt(wrong)));
    CHECK(agpu_buffer_free(wrong) == AGPU_ERROR_INVALID_HANDLE); // adopt took it, and freed it
    agpu_buffer *flat = gpu_vector<float>{1}.release();
    CHECK_THROWS(AGPU_ERROR_SHAPE, "rank 1", static_cast<void>(gpu_matrix<float>::adopt(flat)));
    CHECK(agpu_buffer_free(flat) == AGPU_ERROR_INVALID_HANDLE);
}

static void wrapped() {
    const auto cpu = arraygpu::context::cpu();
    floats mine = count(12);
    auto m = gpu_matrix<float>::wrap(mine.data(), 3, 2, 5, cpu); // needs 12 elements: the last row ends early
    CHECK(m.data() == mine.data() && m.leading_dimension() == 5 && m.view().row_stride() == 5);
    CHECK(m.to_host() == floats{0, 1, 5, 6, 10, 11});
    m.fill(-1);
    CHECK(mine == floats{-1, -1, 2, 3, 4, -1, -1, 7, 8, 9, -1, -1});
    CHECK(gpu_matrix<float>::wrap(mine.data(), 4, 3, 0, cpu).view().col(2).to_host() == floats{2, -1, 8, -1});
    CHECK(m.clone().leading_dimension() == 2);
    CHECK(gpu_matrix<float>::wrap(nullptr, 0, 4, 4, cpu).empty());
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "rows of 4", gpu_matrix<float>::wrap(mine.data(), 2, 4, 3, cpu));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "NULL", gpu_matrix<float>::wrap(nullptr, 2, 4, 4, cpu));
}

static void views() {
    gpu_matrix<float> m(count(20), 4, 5);
    const auto &fixed = m;
    CHECK(subview(fixed, 1, 3, 2, 5).to_host() == floats{7, 8, 9, 12, 13, 14});
    CHECK(subview(m, 0, 4, 0, 5, 3, 2).to_host() == floats{0, 2, 4, 15, 17, 19});
    CHECK(subview(subview(m, 1, 4, 1, 5), 1, 3, 0, 4, 1, 3).to_host() == floats{11, 14, 16, 19});
    CHECK(m.view().row(2).to_host() == floats{10, 11, 12, 13, 14});
    CHECK(fixed.view().col(3).to_host() == floats{3, 8, 13, 18});
    const auto turned = subview(m, 0, 2, 0, 3).transpose();
    CHECK(turned.rows() == 3 && turned.cols() == 2 && turned.row_stride() == 1 && turned.col_stride() == 5);
    CHECK(turned.to_host() == floats{0, 5, 1, 6, 2, 7} && turned.row(1).to_host() == floats{1, 6});
    CHECK(subview(m, 4, 4, 0, 5).empty() && subview(m, 4, 4, 5, 5).to_host().empty() && subview(m, 0, 4, 2, 2).row(1).empty());
    static_assert(std::is_same_v<decltype(subview(fixed, 0, 1, 0, 1)), gpu_matrix_view<const float>>);
    static_assert(std::is_same_v<decltype(subview(m, 0, 1, 0, 1)), gpu_matrix_view<float>>);
    static_assert(std::is_same_v<decltype(m.view().row(0)), gpu_vector_view<float>>);
    CHECK(gpu_matrix<float>(turned).to_host() == turned.to_host());

    subview(m, 1, 3, 1, 3).fill(-1);
    m.view().col(4).copy_from(floats{40, 41, 42, 43});
    m.view().row(3).fill(0);
    CHECK(m.to_host() == floats{0, 1, 2, 3, 40, 5, -1, -1, 8, 41, 10, -1, -1, 13, 42, 0, 0, 0, 0, 0});
    m.copy_from(count(20));
    subview(m, 0, 4, 0, 4).copy_from(subview(m, 0, 4, 1, 5)); // overlaps
    CHECK(subview(m, 0, 2, 0, 5).to_host() == floats{1, 2, 3, 4, 4, 6, 7, 8, 9, 9});
    auto square = subview(m, 0, 4, 0, 4);
    const floats before = gpu_matrix<float>(square.transpose()).to_host();
    square.copy_from(square.transpose());
    CHECK(square.to_host() == before);

    CHECK_THROWS(AGPU_ERROR_OUT_OF_BOUNDS, "4 x 5", subview(m, 0, 5, 0, 5));
    CHECK_THROWS(AGPU_ERROR_OUT_OF_BOUNDS, "axis 1 of 4 x 5", subview(m, 0, 4, 0, 6));
    CHECK_THROWS(AGPU_ERROR_OUT_OF_BOUNDS, "-1..2", subview(m, 0, 4, -1, 2));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "stride is 0", subview(m, 0, 4, 0, 5, 1, 0));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "stride is -1", subview(m, 0, 4, 0, 5, -1, 1));
    CHECK_THROWS(AGPU_ERROR_OUT_OF_BOUNDS, "no index 4", m.view().row(4));
    CHECK_THROWS(AGPU_ERROR_OUT_OF_BOUNDS, "no index -1", m.view().col(-1));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "4 x 5, src 5 x 4", m.copy_from(m.view().transpose()));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "4 x 5, the host has 19", m.copy_from(count(19)));
    agpu_view made_up = m.c_view();
    made_up.extent[0] = -4;
    CHECK_THROWS(AGPU_ERROR_OUT_OF_BOUNDS, "-4", static_cast<void>(gpu_matrix_view<float>(made_up).to_host()));
    made_up = m.c_view(), made_up.stride[0] = 4;
    CHECK_THROWS(AGPU_ERROR_OVERLAP, "overlaps itself", gpu_matrix_view<float>(made_up).copy_from(count(20)));
    made_up = m.c_view(), made_up.offset = 19, made_up.stride[0] = -5, made_up.stride[1] = -1;
    floats reversed = m.to_host();
    CHECK(gpu_matrix_view<const float>(made_up).to_host() == floats(reversed.rbegin(), reversed.rend()));
}

static void three_dimensions() {
    gpu_tensor3<float> t(count(24), 2, 3, 4);
    CHECK(t.extent(0) == 2 && t.extent(2) == 4 && t.size() == 24 && t.to_host() == count(24));
    CHECK(t.view().plane(0, 1).row(2).to_host() == floats{20, 21, 22, 23});
    CHECK(t.view().plane(2, 3).to_host() == floats{3, 7, 11, 15, 19, 23});
    CHECK(t.view().slice(1, 0, 3, 2).slice(2, 1, 2).to_host() == floats{1, 9, 13, 21});
    CHECK(t.view().transpose(0, 2).plane(0, 1).to_host() == floats{1, 13, 5, 17, 9, 21});
    t.view().plane(1, 1).fill(0);
    const auto copy = t.clone();
    CHECK(copy.view().plane(1, 1).to_host() == floats(8, 0) && gpu_tensor3<float>(copy.view()).to_host() == t.to_host());
    gpu_tensor3<float> moved = std::move(t);
    CHECK(t.empty() && moved.size() == 24);
    CHECK_THROWS(AGPU_ERROR_OUT_OF_BOUNDS, "2 x 3 x 4", moved.view().plane(1, 3));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "2 x 3 x 4", moved.copy_from(count(23)));
}

int main() {
    construction();
    ownership();
    wrapped();
    views();
    three_dimensions();
    std::printf("matrices: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures == 0 ? 0 : 1;
}
