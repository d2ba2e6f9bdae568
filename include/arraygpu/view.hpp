// What views of any rank share. Included by arraygpu.hpp.
#ifndef ARRAYGPU_VIEW_HPP
#define ARRAYGPU_VIEW_HPP

#include <arraygpu/core.hpp>

#include <memory>
#include <vector>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// A part of an array of this rank, not owned; `View<T>` is the class that it is the base of. Elements go to and from the host in row-major order.
template <class T, std::size_t Rank, template <class> class View> class array_view {
public:
    using value_type = std::remove_const_t<T>;
    static_assert(type_of<value_type>::known, "elements are float, double, half, bfloat16, int8_t .. int64_t, uint8_t .. uint64_t, bool, complex numbers, or structs that a package or AGPU_RECORD describes");

    /// A view from C; it is checked when it is used.
    explicit array_view(const agpu_view &from) noexcept : view_(from) {}

    /// The number of elements.
    std::size_t size() const noexcept {
        std::size_t n = 1;
        for (std::size_t axis = 0; axis < Rank; ++axis) n *= std::size_t(view_.extent[axis]);
        return n;
    }
    bool empty() const noexcept { return size() == 0; }
    const agpu_view &c_view() const noexcept { return view_; }

    /// The elements, one row after another.
    std::vector<value_type> to_host() const {
        if (!countable()) return {};
        if constexpr (std::is_same_v<value_type, bool>) {
            const std::unique_ptr<bool[]> bytes(new bool[size()]);
            if (!copied_to(bytes.get(), size())) return {};
            return std::vector<bool>(bytes.get(), bytes.get() + size());
        } else {
            std::vector<value_type> host(size());
            if (!copied_to(host.data(), host.size())) host.clear();
            return host;
        }
    }
    /// Copies the elements into memory for `count` of them; `count` must be the view's size.
    void copy_to(pointer_to<value_type> host, std::size_t count) const {
        static_cast<void>(copied_to(host, count));
    }
    /// Copies on a GPU's stream. With pinned memory it returns at once, and the memory is filled when the stream reaches the copy.
    void copy_to_async(pointer_to<value_type> host, std::size_t count, const call_options &options = {}) const {
        if (all("copy_to_async", "destination", count)) check(agpu_copy_to_host_async(host, view_, std::int64_t(count) * places<value_type>, options.c_call()));
    }
    /// Writes all elements from host memory; `count` must be the view's size.
    void copy_from(pointer_to<const value_type> host, std::size_t count) const {
        static_cast<void>(copied_from(host, count));
    }
    /// Copies on a GPU's stream. With pinned memory it returns at once, and the memory must not change until the stream has made the copy.
    void copy_from_async(pointer_to<const value_type> host, std::size_t count, const call_options &options = {}) const {
        writable();
        if (all("copy_from_async", "source", count)) check(agpu_copy_from_host_async(view_, host, std::int64_t(count) * places<value_type>, options.c_call()));
    }
    /// Writes all elements from a std::vector, std::array, std::span, ... of the same size.
    template <class C, class = std::enable_if_t<is_contiguous_of<C, value_type>::value && !is_ours<C>::value>>
    void copy_from(const C &host) const {
        static_cast<void>(copied_from(host));
    }
    template <class V = value_type, class = std::enable_if_t<std::is_same_v<V, bool>>>
    void copy_from(const std::vector<bool> &host) const {
        static_cast<void>(copied_from(host));
    }
    /// Writes all elements from an array or view of the same extents, which may overlap this one.
    void copy_from(View<const value_type> source) const {
        static_cast<void>(copied_from(source));
    }
    /// Sets every element.
    void fill(value_type value) const {
        writable();
        static_assert(!is_record<value_type>::value, "fill: copy structs from the host");
        check(agpu_fill(view_, &value));
    }

protected:
    template <class> friend class arraygpu::gpu_vector;
    template <class, std::size_t, template <class> class> friend class owned_array;

    // copies that without exceptions say whether they were made
    bool copied_to(value_type *host, std::size_t count) const {
        return all("copy_to", "destination", count) && succeeded(agpu_copy_to_host(host, view_, std::int64_t(count) * places<value_type>));
    }
    bool copied_from(const value_type *host, std::size_t count) const {
        writable();
        return all("copy_from", "source", count) && succeeded(agpu_copy_from_host(view_, host, std::int64_t(count) * places<value_type>));
    }
    template <class C, class = std::enable_if_t<is_contiguous_of<C, value_type>::value && !is_ours<C>::value>>
    bool copied_from(const C &host) const {
        const pointer_to<const value_type> elements = host.data();
        return copied_from(elements, host.size());
    }
    template <class V = value_type, class = std::enable_if_t<std::is_same_v<V, bool>>>
    bool copied_from(const std::vector<bool> &host) const {
        const std::unique_ptr<bool[]> bytes(new bool[host.size()]);
        for (std::size_t i = 0; i < host.size(); ++i) bytes[i] = host[i];
        return copied_from(bytes.get(), host.size());
    }
    bool copied_from(View<const value_type> source) const {
        writable();
        return succeeded(agpu_copy(view_, source.c_view()));
    }

    bool all(const char *what, const char *other, std::size_t count) const {
        if constexpr (Rank == 1) return same_length(what, other, view_.extent[0], count);
        if (count == size()) return true;
        std::string shape;
        for (std::size_t axis = 0; axis < Rank; ++axis) shape += (axis ? " x " : "") + std::to_string(view_.extent[axis]);
        detail::fail(error(AGPU_ERROR_SHAPE, std::string(what) + ": the view is " + shape + ", the host has " + std::to_string(count) + " elements"));
        return false;
    }
    /// Throws if an extent cannot be the size of an array: a view that was made by hand might ask for any amount of memory.
    bool countable() const {
        agpu_view checked{};
        if constexpr (Rank > 1) return succeeded(agpu_view_transpose(view_, 0, 0, &checked));
        if (view_.extent[0] >= 0) return succeeded(agpu_view_slice(view_, 0, 0, view_.extent[0], 1, &checked));
        detail::fail(error(AGPU_ERROR_OUT_OF_BOUNDS, "a view of " + std::to_string(view_.extent[0]) + " elements"));
        return false;
    }
    static constexpr void writable() { static_assert(!std::is_const_v<T>, "this view is not writable"); }

    agpu_view view_;
};

} // namespace detail

/// The old name of subview(). It collides with namespaces of the same name.
template <class Array, class... Bounds>
[[deprecated("arraygpu::subview()")]] auto view(Array &&array, Bounds... bounds)
    -> decltype(subview(std::forward<Array>(array), bounds...)) {
    return subview(std::forward<Array>(array), bounds...);
}

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_VIEW_HPP
