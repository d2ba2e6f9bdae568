// What arrays of more than one dimension share. Included by arraygpu.hpp.
#ifndef ARRAYGPU_ARRAY_HPP
#define ARRAYGPU_ARRAY_HPP

#include <arraygpu/vector.hpp>

#include <array>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

template <std::size_t Rank> using extents = std::array<std::size_t, Rank>;

/// Finds the number of elements; throws if an extent is negative or the product overflows, and says so without exceptions.
template <std::size_t Rank> bool counted(const extents<Rank> &extents, std::int64_t &count) {
    count = 1;
    bool empty = false;
    for (const std::size_t n : extents) empty = empty || n == 0;
    for (const std::size_t n : extents) {
        if (n > std::size_t(INT64_MAX) || (!empty && count > INT64_MAX / std::int64_t(n))) {
            fail(error(AGPU_ERROR_INVALID_ARGUMENT, "an array cannot have so many elements"));
            return false;
        }
        count = empty ? 0 : count * std::int64_t(n);
    }
    return true;
}

/// The part at start, start + stride, ... below stop along an axis.
inline agpu_view sliced(const agpu_view &view, std::int32_t axis, std::int64_t start, std::int64_t stop, std::int64_t stride) {
    agpu_view part{};
    check(agpu_view_slice(view, axis, start, stop, stride, &part));
    return part;
}
inline agpu_view picked(const agpu_view &view, std::int32_t axis, std::int64_t index) {
    agpu_view part{};
    check(agpu_view_pick(view, axis, index, &part));
    return part;
}
inline agpu_view transposed(const agpu_view &view, std::int32_t first, std::int32_t second) {
    agpu_view part{};
    check(agpu_view_transpose(view, first, second, &part));
    return part;
}

/// An array of this rank in the memory of a device, owned; `View<T>` is what its views are.
template <class T, std::size_t Rank, template <class> class View> class owned_array {
    /// The axes in memory: structs are bytes with an axis more.
    static constexpr std::size_t axes = Rank + (is_record<T>::value ? 1 : 0);

public:
    using value_type = T;

    owned_array(owned_array &&other) noexcept : view_(std::exchange(other.view_, nothing())), owner_(std::move(other.owner_)) {}
    owned_array &operator=(owned_array &&other) noexcept {
        owned_array moved(std::move(other));
        exchange(moved);
        return *this;
    }
    owned_array(const owned_array &) = delete;
    owned_array &operator=(const owned_array &) = delete;
    ~owned_array() = default;

    /// The number of elements.
    std::size_t size() const noexcept { return view().size(); }
    bool empty() const noexcept { return size() == 0; }
    /// The device address of element 0; null when empty. On the CPU the host can read and write there. On a GPU, work may
    /// use it that follows the calls on this array, either on their stream or after a wait.
    T *data() { return static_cast<T *>(address()); }
    const T *data() const { return static_cast<const T *>(address()); }
    agpu_buffer *c_buffer() const noexcept { return view_.buffer; }
    const agpu_view &c_view() const noexcept { return view_; }
    /// Gives the buffer away; the caller frees it. Expressions made from the array must not be computed after that.
    agpu_buffer *release() noexcept {
        view_ = nothing();
        return owner_.release();
    }
    const buffer_owner &owner() const noexcept { return owner_; }

    View<T> view() noexcept { return View<T>(view_); }
    View<const T> view() const noexcept { return View<const T>(view_); }
    /// The elements, one row after another.
    std::vector<T> to_host() const { return view().to_host(); }
    void copy_to(pointer_to<T> host, std::size_t count) const { view().copy_to(host, count); }
    void copy_from(pointer_to<const T> host, std::size_t count) { view().copy_from(host, count); }
    void copy_to_async(pointer_to<T> host, std::size_t count, const call_options &options = {}) const { view().copy_to_async(host, count, options); }
    void copy_from_async(pointer_to<const T> host, std::size_t count, const call_options &options = {}) { view().copy_from_async(host, count, options); }
    /// Writes all elements from a container of the same size.
    template <class C, class = std::enable_if_t<!is_ours<C>::value>> void copy_from(const C &source) { view().copy_from(source); }
    /// Writes all elements from an array or view of the same extents.
    void copy_from(View<const T> source) { view().copy_from(source); }
    void fill(T value) { view().fill(value); }

protected:
    /// An array of zeros.
    owned_array(const extents<Rank> &extents, context_ref where) : owned_array(nothing(), nullptr) {
        std::array<std::int64_t, axes> list{};
        std::int64_t count = 0;
        if (!counted(extents, count)) return;
        for (std::size_t axis = 0; axis < Rank; ++axis) list[axis] = std::int64_t(extents[axis]);
        if constexpr (axes > Rank) list[Rank] = places<T>;
        if (succeeded(agpu_buffer_create_array(where.c_context(), type_of<T>::value, std::int32_t(axes), list.data(), owner_.receive())))
            check(agpu_buffer_view(owner_.buffer(), &view_));
    }
    /// A buffer made in C, of this element type and rank, or none.
    explicit owned_array(agpu_buffer *buffer) : owned_array(nothing(), buffer) {
        if (!buffer) return;
        agpu_type type{};
        agpu_view whole{};
        // without exceptions the array stays empty
        if (!succeeded(agpu_buffer_type(buffer, &type)) || !succeeded(agpu_buffer_view(buffer, &whole))) return;
        if (type != type_of<T>::value) {
            detail::fail(error(AGPU_ERROR_TYPE_MISMATCH, "adopt: the buffer has another element type"));
        } else if (whole.rank != std::int64_t(axes)) {
            detail::fail(error(AGPU_ERROR_SHAPE, "adopt: the buffer is an array of rank " + std::to_string(whole.rank)));
        } else if (axes > Rank && whole.extent[Rank] != places<T>) {
            detail::fail(error(AGPU_ERROR_TYPE_MISMATCH, "adopt: the buffer does not hold these structs"));
        } else {
            view_ = whole;
        }
    }
    /// Takes over a buffer of which the view shows a part.
    explicit owned_array(const agpu_view &view) : owned_array(view, view.buffer) {}
    void exchange(owned_array &other) noexcept {
        std::swap(view_, other.view_);
        std::swap(owner_, other.owner_);
    }
    /// The first elements. Without exceptions the array is empty where they cannot be copied.
    template <class S> void begin_with(const S &source) {
        if (!view().copied_from(source)) make_empty();
    }
    void make_empty() {
        view_ = nothing();
        owner_ = buffer_owner(nullptr);
    }
    /// Makes a buffer of zeros with the same extents in the same context.
    agpu_buffer *like() const {
        agpu_context *where = nullptr;
        agpu_buffer *buffer = nullptr;
        if (succeeded(agpu_buffer_context(view_.buffer, &where)))
            check(agpu_buffer_create_array(where, type_of<T>::value, std::int32_t(axes), view_.extent, &buffer));
        return buffer;
    }

    agpu_view view_;
    buffer_owner owner_;

private:
    owned_array(const agpu_view &view, agpu_buffer *buffer) : view_(view), owner_(buffer) {}
    static agpu_view nothing() noexcept {
        const std::int64_t none[axes] = {};
        return view_of<std::conditional_t<is_record<T>::value, std::uint8_t, T>>(nullptr, none, none);
    }
    void *address() const {
        void *data = nullptr;
        if (view_.buffer) check(agpu_buffer_data(view_.buffer, &data));
        return data;
    }
};

} // namespace detail
} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_ARRAY_HPP
