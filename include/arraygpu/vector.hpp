// Vectors in the memory of a device, their views, and single elements. Included by arraygpu.hpp.
#ifndef ARRAYGPU_VECTOR_HPP
#define ARRAYGPU_VECTOR_HPP

#include <arraygpu/owner.hpp>
#include <arraygpu/view.hpp>

#include <initializer_list>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {

/// A part of a gpu_vector, not owned: cheap to copy, valid as long as the vector. `gpu_vector_view<const T>` cannot be written.
/// Every gpu_vector is implicitly a view of all its elements.
template <class T> class gpu_vector_view : public detail::array_view<T, 1, arraygpu::gpu_vector_view> {
    using base = detail::array_view<T, 1, arraygpu::gpu_vector_view>;

public:
    using typename base::value_type;

    /// A view from C; it is checked when it is used.
    explicit gpu_vector_view(const agpu_view &from) noexcept : base(from) {}
    gpu_vector_view(std::conditional_t<std::is_const_v<T>, const gpu_vector<value_type>, gpu_vector<value_type>> &vector)
        : base(vector.c_view()) {}
    template <class U, class = std::enable_if_t<std::is_const_v<T> && std::is_same_v<U, value_type>>>
    gpu_vector_view(gpu_vector_view<U> writable) noexcept : base(writable.c_view()) {}

    std::int64_t stride() const noexcept { return base::view_.stride[0] / detail::places<value_type>; }

    gpu_vector_view(const gpu_vector_view &) noexcept = default;
    /// A view with a name shows other elements from now on.
    gpu_vector_view &operator=(const gpu_vector_view &) & noexcept = default;
    /// A temporary view gets the elements of the array or view: `subview(a, ..) = b`. They may overlap.
    const gpu_vector_view &operator=(gpu_vector_view<const value_type> source) const && {
        base::copy_from(source);
        return *this;
    }
    /// Computes an expression into the elements; its size is the view's (arraygpu/expr.hpp).
    template <class U, int Rank> const gpu_vector_view &operator=(const expr<U, Rank> &e) const;
    template <class Part> const gpu_vector_view &operator=(const range<Part> &r) const;
};

/// A vector in the memory of a device, owned: moved, never copied by accident (see clone). Elements are not read one by one:
/// to_host() brings all. A vector that was moved from is empty and can only be destroyed or assigned to.
template <class T> class gpu_vector {
    static_assert(detail::type_of<T>::known, "elements are float, double, half, bfloat16, int8_t .. int64_t, uint8_t .. uint64_t, bool, complex numbers, or structs that a package or AGPU_RECORD describes");

public:
    using value_type = T;

    /// An empty vector.
    gpu_vector() : gpu_vector(std::size_t(0)) {}
    /// A vector of `size` zeros.
    explicit gpu_vector(std::size_t size, context_ref where = {}) : owner_(nullptr) {
        if (!countable(size)) return;
        check(agpu_buffer_create(where.c_context(), detail::type_of<T>::value, std::int64_t(size) * detail::places<T>, owner_.receive()));
        // without exceptions the vector stays empty where there is no memory
        if (c_buffer()) size_ = size;
    }
    /// A copy of a std::vector, std::array, std::span, ...
    template <class C, class = std::enable_if_t<detail::is_contiguous_of<C, T>::value && !detail::is_ours<C>::value>>
    explicit gpu_vector(const C &host, context_ref where = {}) : gpu_vector(host.size(), where) {
        begin_with(host);
    }
    template <class V = T, class = std::enable_if_t<std::is_same_v<V, bool>>>
    explicit gpu_vector(const std::vector<bool> &host, context_ref where = {}) : gpu_vector(host.size(), where) {
        begin_with(host);
    }
    gpu_vector(std::initializer_list<T> host, context_ref where = {}) : gpu_vector(host.size(), where) {
        if (!view().copied_from(host.begin(), host.size())) make_empty();
    }
    /// A copy of the elements from first up to last.
    template <class It, class = std::enable_if_t<detail::is_iterator<It>::value>>
    gpu_vector(It first, It last, context_ref where = {}) : gpu_vector(std::vector<T>(first, last), where) {}
    /// A copy of a view.
    explicit gpu_vector(gpu_vector_view<const T> source, context_ref where = {}) : gpu_vector(source.size(), where) {
        begin_with(source);
    }
    /// The result of an expression, computed now in the context of its first vector (arraygpu/expr.hpp).
    template <class E, class = std::enable_if_t<std::is_same_v<E, expr<T, 1>>>> gpu_vector(const E &e);

    /// Takes over a buffer made in C; null gives an empty vector without a buffer.
    static gpu_vector adopt(agpu_buffer *buffer) {
        gpu_vector vector(buffer, adopted{});
        if (!buffer) return vector;
        agpu_type type{};
        std::int64_t count = 0;
        if (!detail::succeeded(agpu_buffer_type(buffer, &type)) || !detail::succeeded(agpu_buffer_count(buffer, &count))) return gpu_vector(nullptr, adopted{});
        const char *wrong = type != detail::type_of<T>::value ? "adopt: the buffer has another element type" : nullptr;
        if (!wrong && count % detail::places<T> != 0) wrong = "adopt: the buffer does not hold whole elements";
        if (wrong) {
            detail::fail(error(AGPU_ERROR_TYPE_MISMATCH, wrong));
            return gpu_vector(nullptr, adopted{});
        }
        vector.size_ = std::size_t(count / detail::places<T>);
        return vector;
    }
    /// A vector over memory of the caller, which must stay valid as long as the vector; for a GPU's context, memory of that GPU, managed, or
    /// pinned.
    static gpu_vector wrap(detail::pointer_to<T> data, std::size_t size, context_ref where = {}) {
        agpu_buffer *buffer = nullptr;
        if (!countable(size)) return gpu_vector(nullptr, adopted{});
        check(agpu_buffer_wrap(where.c_context(), detail::type_of<T>::value, data, std::int64_t(size) * detail::places<T>, &buffer));
        return adopt(buffer);
    }

    gpu_vector(gpu_vector &&other) noexcept : owner_(std::move(other.owner_)), size_(std::exchange(other.size_, 0)) {}
    gpu_vector &operator=(gpu_vector &&other) noexcept {
        gpu_vector moved(std::move(other));
        swap(moved);
        return *this;
    }
    gpu_vector(const gpu_vector &) = delete;
    gpu_vector &operator=(const gpu_vector &) = delete;
    /// Computes an expression into the elements, all in one kernel where that is possible. If its size differs, the vector gets a new buffer of that size.
    template <class U, int Rank> gpu_vector &operator=(const expr<U, Rank> &e);
    template <class Part> gpu_vector &operator=(const range<Part> &r);
    ~gpu_vector() = default;

    void swap(gpu_vector &other) noexcept {
        std::swap(owner_, other.owner_);
        std::swap(size_, other.size_);
    }
    friend void swap(gpu_vector &a, gpu_vector &b) noexcept { a.swap(b); }

    /// A copy in the same context.
    gpu_vector clone() const {
        agpu_context *where = nullptr;
        agpu_buffer *buffer = nullptr;
        if (detail::succeeded(agpu_buffer_context(c_buffer(), &where)))
            check(agpu_buffer_create(where, detail::type_of<T>::value, std::int64_t(size_) * detail::places<T>, &buffer));
        gpu_vector copy = adopt(buffer);
        if (buffer) copy.begin_with(view());
        return copy;
    }
    /// Gives the buffer away; the caller frees it. Expressions made from the vector must not be computed after that.
    agpu_buffer *release() noexcept {
        size_ = 0;
        return owner_.release();
    }

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    /// The device address of element 0; null when empty. On the CPU the host can read and write there. On a GPU, work may
    /// use it that follows the calls on this vector, either on their stream or after a wait.
    T *data() { return static_cast<T *>(address()); }
    const T *data() const { return static_cast<const T *>(address()); }
    agpu_buffer *c_buffer() const noexcept { return owner_.buffer(); }
    const detail::buffer_owner &owner() const noexcept { return owner_; }
    agpu_view c_view() const noexcept {
        if constexpr (detail::is_record<T>::value) {
            return detail::view_of<std::uint8_t>(c_buffer(), {std::int64_t(size_), detail::places<T>}, {detail::places<T>, 1});
        } else {
            return detail::view_of<T>(c_buffer(), {std::int64_t(size_)}, {1});
        }
    }

    gpu_vector_view<T> view() { return *this; }
    gpu_vector_view<const T> view() const { return *this; }
    std::vector<T> to_host() const { return view().to_host(); }
    void copy_to(detail::pointer_to<T> host, std::size_t count) const { view().copy_to(host, count); }
    void copy_from(detail::pointer_to<const T> host, std::size_t count) { view().copy_from(host, count); }
    void copy_to_async(detail::pointer_to<T> host, std::size_t count, const call_options &options = {}) const { view().copy_to_async(host, count, options); }
    void copy_from_async(detail::pointer_to<const T> host, std::size_t count, const call_options &options = {}) { view().copy_from_async(host, count, options); }
    /// Writes all elements from a container, vector or view of the same size.
    template <class C> void copy_from(const C &source) { view().copy_from(source); }
    void fill(T value) { view().fill(value); }

private:
    struct adopted {};
    static bool countable(std::size_t size) {
        const bool is = size <= std::size_t(INT64_MAX / detail::places<T>);
        if (!is) detail::fail(error(AGPU_ERROR_INVALID_ARGUMENT, "a vector cannot have " + std::to_string(size) + " elements"));
        return is;
    }
    gpu_vector(agpu_buffer *buffer, adopted) : owner_(buffer) {}
    /// The first elements. Without exceptions the vector is empty where they cannot be copied.
    template <class S> void begin_with(const S &source) {
        if (!view().copied_from(source)) make_empty();
    }
    void make_empty() { *this = gpu_vector(nullptr, adopted{}); }

    void *address() const {
        void *data = nullptr;
        if (c_buffer()) check(agpu_buffer_data(c_buffer(), &data));
        return data;
    }

    detail::buffer_owner owner_;
    std::size_t size_ = 0;
};

/// One element in the memory of a device: the scalar result of a call that other calls can read without a copy to the host. Move only.
template <class T> class gpu_scalar {
public:
    using value_type = T;

    /// An element with the value zero.
    explicit gpu_scalar(context_ref where = {}) : element_(1, where) {}
    explicit gpu_scalar(T value, context_ref where = {}) : element_(1, where) { set(value); }

    /// The value; waits for the calls that write it.
    T get() const {
        T value{};
        element_.copy_to(&value, 1);
        return value;
    }
    void set(T value) {
        if constexpr (detail::is_record<T>::value) {
            element_.copy_from(&value, 1);
        } else {
            element_.fill(value);
        }
    }
    /// Computes an expression into the element; nothing comes to the host (arraygpu/expr.hpp).
    template <class U, int Rank> gpu_scalar &operator=(const expr<U, Rank> &e);

    gpu_vector_view<T> view() { return element_; }
    gpu_vector_view<const T> view() const { return element_; }
    operator gpu_vector_view<T>() { return element_; }
    operator gpu_vector_view<const T>() const { return element_; }
    T *data() { return element_.data(); }
    const T *data() const { return element_.data(); }
    agpu_buffer *c_buffer() const noexcept { return element_.c_buffer(); }
    agpu_view c_view() const noexcept { return element_.c_view(); }
    const detail::buffer_owner &owner() const noexcept { return element_.owner(); }

private:
    gpu_vector<T> element_;
};

/// The elements start, start + stride, ... below stop; 0 <= start <= stop <= size, stride >= 1.
template <class T>
gpu_vector_view<T> subview(gpu_vector_view<T> v, std::int64_t start, std::int64_t stop, std::int64_t stride = 1) {
    agpu_view slice{};
    check(agpu_view_slice(v.c_view(), 0, start, stop, stride, &slice));
    return gpu_vector_view<T>(slice);
}
template <class T>
gpu_vector_view<T> subview(gpu_vector<T> &v, std::int64_t start, std::int64_t stop, std::int64_t stride = 1) {
    return arraygpu::subview(v.view(), start, stop, stride);
}
template <class T>
gpu_vector_view<const T> subview(const gpu_vector<T> &v, std::int64_t start, std::int64_t stop, std::int64_t stride = 1) {
    return arraygpu::subview(v.view(), start, stop, stride);
}
/// Deleted: a view of a temporary vector would dangle.
template <class T>
gpu_vector_view<T> subview(gpu_vector<T> &&v, std::int64_t start, std::int64_t stop, std::int64_t stride = 1) = delete;

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_VECTOR_HPP
