// Arrays of three dimensions in the memory of a device, and their views. Included by arraygpu.hpp.
#ifndef ARRAYGPU_TENSOR3_HPP
#define ARRAYGPU_TENSOR3_HPP

#include <arraygpu/matrix.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {

/// A part of a gpu_tensor3, not owned. Every gpu_tensor3 is implicitly a view of all its elements.
template <class T> class gpu_tensor3_view : public detail::array_view<T, 3, arraygpu::gpu_tensor3_view> {
    using base = detail::array_view<T, 3, arraygpu::gpu_tensor3_view>;

public:
    using typename base::value_type;

    /// A view from C; it is checked when it is used.
    explicit gpu_tensor3_view(const agpu_view &from) noexcept : base(from) {}
    gpu_tensor3_view(std::conditional_t<std::is_const_v<T>, const gpu_tensor3<value_type>, gpu_tensor3<value_type>> &tensor) noexcept
        : base(tensor.c_view()) {}
    template <class U, class = std::enable_if_t<std::is_const_v<T> && std::is_same_v<U, value_type>>>
    gpu_tensor3_view(gpu_tensor3_view<U> writable) noexcept : base(writable.c_view()) {}

    /// The extent along an axis, 0 (outermost), 1 or 2.
    std::size_t extent(int axis) const noexcept { return std::size_t(base::view_.extent[axis]); }
    /// Distance of neighbours along an axis, in elements.
    std::int64_t stride(int axis) const noexcept { return base::view_.stride[axis] / detail::places<value_type>; }

    /// The matrix at one index along an axis.
    gpu_matrix_view<T> plane(int axis, std::int64_t index) const { return gpu_matrix_view<T>(detail::picked(base::view_, axis, index)); }
    /// The part at start, start + stride, ... below stop along an axis.
    gpu_tensor3_view slice(int axis, std::int64_t start, std::int64_t stop, std::int64_t stride = 1) const {
        return gpu_tensor3_view(detail::sliced(base::view_, axis, start, stop, stride));
    }
    /// The same elements with two axes exchanged: nothing is copied.
    gpu_tensor3_view transpose(int first, int second) const { return gpu_tensor3_view(detail::transposed(base::view_, first, second)); }

    gpu_tensor3_view(const gpu_tensor3_view &) noexcept = default;
    /// A view with a name shows other elements from now on.
    gpu_tensor3_view &operator=(const gpu_tensor3_view &) & noexcept = default;
    /// A temporary view gets the elements of the array or view: `subview(a, ..) = b`. They may overlap.
    const gpu_tensor3_view &operator=(gpu_tensor3_view<const value_type> source) const && {
        base::copy_from(source);
        return *this;
    }
    /// Computes an expression into the elements; its extents are the view's (arraygpu/expr.hpp).
    template <class U, int Rank> const gpu_tensor3_view &operator=(const expr<U, Rank> &e) const;
};

/// An array of three dimensions in the memory of a device, owned, row-major. Move only, as gpu_matrix.
template <class T> class gpu_tensor3 : public detail::owned_array<T, 3, gpu_tensor3_view> {
    using base = detail::owned_array<T, 3, gpu_tensor3_view>;
    static_assert(detail::type_of<T>::known, "elements are float, double, half, bfloat16, int8_t .. int64_t, uint8_t .. uint64_t, bool, complex numbers, or structs that a package or AGPU_RECORD describes");

public:
    /// An array of 0 x 0 x 0 elements.
    gpu_tensor3() : gpu_tensor3(0, 0, 0) {}
    /// An array of zeros.
    gpu_tensor3(std::size_t n0, std::size_t n1, std::size_t n2, context_ref where = {}) : base({n0, n1, n2}, where) {}
    /// A copy of a std::vector, std::array, std::span, ... of n0 * n1 * n2 elements in row-major order.
    template <class C, class = std::enable_if_t<detail::is_contiguous_of<C, T>::value && !detail::is_ours<C>::value>>
    gpu_tensor3(const C &host, std::size_t n0, std::size_t n1, std::size_t n2, context_ref where = {}) : gpu_tensor3(n0, n1, n2, where) {
        base::begin_with(host);
    }
    template <class V = T, class = std::enable_if_t<std::is_same_v<V, bool>>>
    gpu_tensor3(const std::vector<bool> &host, std::size_t n0, std::size_t n1, std::size_t n2, context_ref where = {}) : gpu_tensor3(n0, n1, n2, where) {
        base::begin_with(host);
    }
    /// A copy of a view, whatever its strides.
    explicit gpu_tensor3(gpu_tensor3_view<const T> source, context_ref where = {})
        : gpu_tensor3(source.extent(0), source.extent(1), source.extent(2), where) {
        base::begin_with(source);
    }
    /// The result of an expression, computed now (arraygpu/expr.hpp).
    template <class E, class = std::enable_if_t<std::is_same_v<E, expr<T, 3>>>> gpu_tensor3(const E &e);

    /// Takes over a buffer made in C, of rank 3; null gives an empty array without a buffer.
    static gpu_tensor3 adopt(agpu_buffer *buffer) { return gpu_tensor3(buffer, adopted{}); }

    gpu_tensor3(gpu_tensor3 &&) noexcept = default;
    gpu_tensor3 &operator=(gpu_tensor3 &&) noexcept = default;
    /// Computes an expression into the elements; if its extents differ, the array gets a new buffer.
    template <class U, int Rank> gpu_tensor3 &operator=(const expr<U, Rank> &e);
    void swap(gpu_tensor3 &other) noexcept { base::exchange(other); }
    friend void swap(gpu_tensor3 &a, gpu_tensor3 &b) noexcept { a.swap(b); }

    /// A copy in the same context.
    gpu_tensor3 clone() const {
        gpu_tensor3 copy = adopt(base::like());
        if (copy.c_buffer()) copy.begin_with(base::view());
        return copy;
    }

    /// The extent along an axis, 0 (outermost), 1 or 2.
    std::size_t extent(int axis) const noexcept { return std::size_t(base::view_.extent[axis]); }

private:
    struct adopted {};
    gpu_tensor3(agpu_buffer *buffer, adopted) : base(buffer) {}
};

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_TENSOR3_HPP
