// Matrices in the memory of a device, and their views. Included by arraygpu.hpp.
#ifndef ARRAYGPU_MATRIX_HPP
#define ARRAYGPU_MATRIX_HPP

#include <arraygpu/array.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {

/// A part of a gpu_matrix, not owned: cheap to copy, valid as long as the matrix. `gpu_matrix_view<const T>` cannot be written.
/// Every gpu_matrix is implicitly a view of all its elements.
template <class T> class gpu_matrix_view : public detail::array_view<T, 2, arraygpu::gpu_matrix_view> {
    using base = detail::array_view<T, 2, arraygpu::gpu_matrix_view>;

public:
    using typename base::value_type;

    /// A view from C; it is checked when it is used.
    explicit gpu_matrix_view(const agpu_view &from) noexcept : base(from) {}
    gpu_matrix_view(std::conditional_t<std::is_const_v<T>, const gpu_matrix<value_type>, gpu_matrix<value_type>> &matrix) noexcept
        : base(matrix.c_view()) {}
    template <class U, class = std::enable_if_t<std::is_const_v<T> && std::is_same_v<U, value_type>>>
    gpu_matrix_view(gpu_matrix_view<U> writable) noexcept : base(writable.c_view()) {}

    std::size_t rows() const noexcept { return std::size_t(base::view_.extent[0]); }
    std::size_t cols() const noexcept { return std::size_t(base::view_.extent[1]); }
    /// Distance of neighbours in a column, in elements. If the elements of a row are adjacent, this is the leading dimension of BLAS.
    std::int64_t row_stride() const noexcept { return base::view_.stride[0] / detail::places<value_type>; }
    /// Distance of neighbours in a row, in elements: 1 unless the view skips columns or is transposed.
    std::int64_t col_stride() const noexcept { return base::view_.stride[1] / detail::places<value_type>; }

    /// Row i, a vector of cols() elements.
    gpu_vector_view<T> row(std::int64_t i) const { return gpu_vector_view<T>(detail::picked(base::view_, 0, i)); }
    /// Column j, a vector of rows() elements.
    gpu_vector_view<T> col(std::int64_t j) const { return gpu_vector_view<T>(detail::picked(base::view_, 1, j)); }
    /// The same elements, rows as columns: nothing is copied.
    gpu_matrix_view transpose() const { return gpu_matrix_view(detail::transposed(base::view_, 0, 1)); }

    gpu_matrix_view(const gpu_matrix_view &) noexcept = default;
    /// A view with a name shows other elements from now on.
    gpu_matrix_view &operator=(const gpu_matrix_view &) & noexcept = default;
    /// A temporary view gets the elements of the array or view: `subview(a, ..) = b`. They may overlap.
    const gpu_matrix_view &operator=(gpu_matrix_view<const value_type> source) const && {
        base::copy_from(source);
        return *this;
    }
    /// Computes an expression into the elements; its extents are the view's (arraygpu/expr.hpp).
    template <class U, int Rank> const gpu_matrix_view &operator=(const expr<U, Rank> &e) const;
};

/// A matrix in the memory of a device, owned: one row after another. Moved, never copied by accident (see clone). A matrix that was moved from is
/// empty and can only be destroyed or assigned to.
template <class T> class gpu_matrix : public detail::owned_array<T, 2, gpu_matrix_view> {
    using base = detail::owned_array<T, 2, gpu_matrix_view>;
    static_assert(detail::type_of<T>::known, "elements are float, double, half, bfloat16, int8_t .. int64_t, uint8_t .. uint64_t, bool, complex numbers, or structs that a package or AGPU_RECORD describes");

public:
    /// A matrix of 0 x 0 elements.
    gpu_matrix() : gpu_matrix(std::size_t(0), std::size_t(0)) {}
    /// A matrix of zeros.
    gpu_matrix(std::size_t rows, std::size_t cols, context_ref where = {}) : base({rows, cols}, where) {}
    /// A copy of a std::vector, std::array, std::span, ... of rows * cols elements, one row after another.
    template <class C, class = std::enable_if_t<detail::is_contiguous_of<C, T>::value && !detail::is_ours<C>::value>>
    gpu_matrix(const C &host, std::size_t rows, std::size_t cols, context_ref where = {}) : gpu_matrix(rows, cols, where) {
        base::begin_with(host);
    }
    template <class V = T, class = std::enable_if_t<std::is_same_v<V, bool>>>
    gpu_matrix(const std::vector<bool> &host, std::size_t rows, std::size_t cols, context_ref where = {})
        : gpu_matrix(rows, cols, where) {
        base::begin_with(host);
    }
    /// `{{1, 2, 3}, {4, 5, 6}}`: two rows.
    gpu_matrix(std::initializer_list<std::initializer_list<T>> rows, context_ref where = {})
        : gpu_matrix(rows.size(), rows.size() ? rows.begin()->size() : 0, where) {
        std::vector<T> all;
        for (const auto &row : rows) {
            if (row.size() != cols()) {
                detail::fail(error(AGPU_ERROR_SHAPE, "rows of " + std::to_string(cols()) + " and of " + std::to_string(row.size()) + " elements"));
                base::make_empty();
                return;
            }
            all.insert(all.end(), row.begin(), row.end());
        }
        base::begin_with(all);
    }
    /// A copy of a view, whatever its strides.
    explicit gpu_matrix(gpu_matrix_view<const T> source, context_ref where = {}) : gpu_matrix(source.rows(), source.cols(), where) {
        base::begin_with(source);
    }
    /// The result of an expression, computed now (arraygpu/expr.hpp).
    template <class E, class = std::enable_if_t<std::is_same_v<E, expr<T, 2>>>> gpu_matrix(const E &e);

    /// Takes over a buffer made in C, of rank 2; null gives an empty matrix without a buffer.
    static gpu_matrix adopt(agpu_buffer *buffer) { return gpu_matrix(buffer, adopted{}); }
    /// A matrix over memory of the caller, which must stay valid as long as the matrix; for a GPU's context, memory of that GPU, managed, or pinned. Rows begin
    /// `leading_dimension` elements apart (0: cols), at least cols.
    static gpu_matrix wrap(detail::pointer_to<T> data, std::size_t rows, std::size_t cols, std::size_t leading_dimension = 0, context_ref where = {}) {
        const std::size_t apart = leading_dimension ? leading_dimension : cols;
        if (apart < cols) {
            detail::fail(error(AGPU_ERROR_INVALID_ARGUMENT, "wrap: rows of " + std::to_string(cols) + " elements that begin " + std::to_string(apart) + " apart"));
            return adopt(nullptr);
        }
        constexpr std::int64_t size = detail::places<T>;
        std::int64_t last = 0, end = 0, count = 0;
        bool fits = !rows || detail::counted<3>({rows - 1, apart, std::size_t(size)}, last);
        fits = fits && (!rows || !cols || detail::counted<2>({cols, std::size_t(size)}, end));
        fits = fits && (!end || detail::counted<1>({std::size_t(last) + std::size_t(end)}, count));
        agpu_buffer *buffer = nullptr;
        if (!fits || !detail::succeeded(agpu_buffer_wrap(where.c_context(), detail::type_of<T>::value, data, count, &buffer))) return adopt(nullptr);
        if constexpr (detail::is_record<T>::value) {
            return gpu_matrix(detail::view_of<std::uint8_t>(buffer, {std::int64_t(rows), std::int64_t(cols), size}, {std::int64_t(apart) * size, size, 1}));
        } else {
            return gpu_matrix(detail::view_of<T>(buffer, {std::int64_t(rows), std::int64_t(cols)}, {std::int64_t(apart), 1}));
        }
    }

    gpu_matrix(gpu_matrix &&) noexcept = default;
    gpu_matrix &operator=(gpu_matrix &&) noexcept = default;
    /// Computes an expression into the elements; if its extents differ, the matrix gets a new buffer.
    template <class U, int Rank> gpu_matrix &operator=(const expr<U, Rank> &e);
    void swap(gpu_matrix &other) noexcept { base::exchange(other); }
    friend void swap(gpu_matrix &a, gpu_matrix &b) noexcept { a.swap(b); }

    /// A copy in the same context.
    gpu_matrix clone() const {
        gpu_matrix copy = adopt(base::like());
        if (copy.c_buffer()) copy.begin_with(base::view());
        return copy;
    }

    std::size_t rows() const noexcept { return std::size_t(base::view_.extent[0]); }
    std::size_t cols() const noexcept { return std::size_t(base::view_.extent[1]); }
    /// Distance between the beginnings of rows, in elements.
    std::int64_t leading_dimension() const noexcept { return base::view_.stride[0] / detail::places<T>; }

private:
    struct adopted {};
    gpu_matrix(agpu_buffer *buffer, adopted) : base(buffer) {}
    explicit gpu_matrix(const agpu_view &from) : base(from) {}
};

/// Rows row_start up to row_stop and columns col_start up to col_stop, every row_stride-th and col_stride-th of them; 0 <= start <= stop <= rows or columns, strides >= 1.
template <class T>
gpu_matrix_view<T> subview(gpu_matrix_view<T> m, std::int64_t row_start, std::int64_t row_stop, std::int64_t col_start, std::int64_t col_stop,
                        std::int64_t row_stride = 1, std::int64_t col_stride = 1) {
    const agpu_view rows = detail::sliced(m.c_view(), 0, row_start, row_stop, row_stride);
    return gpu_matrix_view<T>(detail::sliced(rows, 1, col_start, col_stop, col_stride));
}
template <class T>
gpu_matrix_view<T> subview(gpu_matrix<T> &m, std::int64_t row_start, std::int64_t row_stop, std::int64_t col_start, std::int64_t col_stop,
                        std::int64_t row_stride = 1, std::int64_t col_stride = 1) {
    return arraygpu::subview(m.view(), row_start, row_stop, col_start, col_stop, row_stride, col_stride);
}
template <class T>
gpu_matrix_view<const T> subview(const gpu_matrix<T> &m, std::int64_t row_start, std::int64_t row_stop, std::int64_t col_start,
                              std::int64_t col_stop, std::int64_t row_stride = 1, std::int64_t col_stride = 1) {
    return arraygpu::subview(m.view(), row_start, row_stop, col_start, col_stop, row_stride, col_stride);
}
/// Deleted: a view of a temporary matrix would dangle.
template <class T>
gpu_matrix_view<T> subview(gpu_matrix<T> &&m, std::int64_t row_start, std::int64_t row_stop, std::int64_t col_start, std::int64_t col_stop,
                        std::int64_t row_stride = 1, std::int64_t col_stride = 1) = delete;

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_MATRIX_HPP
