// The views, and the operator | that composes them. Included by arraygpu/views.hpp.
#ifndef ARRAYGPU_VIEWS_ADAPTORS_HPP
#define ARRAYGPU_VIEWS_ADAPTORS_HPP

#include <arraygpu/views/range.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// The right operand of `|`: a function of the left one.
template <class F> struct adaptor {
    F f;
    template <class X> auto operator()(X &&x) const { return f(static_cast<X &&>(x)); }
};
template <class F> adaptor(F) -> adaptor<F>;
template <class A> struct is_adaptor : std::false_type {};
template <class F> struct is_adaptor<adaptor<F>> : std::true_type {};

template <class... P> std::int64_t common_size(const range<P> &...r) {
    const std::int64_t sizes[] = {r.length()...};
    std::int64_t size = endless;
    std::size_t first = 0;
    for (std::size_t i = 0; i < sizeof...(P); ++i) {
        if (sizes[i] == endless || sizes[i] == size) continue;
        if (size != endless) {
            throw error(AGPU_ERROR_SHAPE, "zip: view " + std::to_string(first) + " has " + std::to_string(size) + " elements, view " +
                                              std::to_string(i) + " has " + std::to_string(sizes[i]));
        }
        size = sizes[i];
        first = i;
    }
    return size;
}
template <class... P> auto zipped(const range<P> &...r) {
    return range<group_part<P...>>(group_part<P...>{{r.part()...}}, common_size(r...), typename range<group_part<P...>>::bounded());
}
template <class P> auto part_of(const range<P> &r, std::int64_t start, std::int64_t stop, std::int64_t stride, place at) {
    if (start < 0 || stop < start || stride < 1) {
        throw error(AGPU_ERROR_SHAPE, "views: from " + std::to_string(start) + " to " + std::to_string(stop) + " by " + std::to_string(stride));
    }
    auto part = r.part().sliced(start, stop, stride, at);
    return range<decltype(part)>(std::move(part), (stop - start) / stride + ((stop - start) % stride != 0),
                                 typename range<decltype(part)>::bounded());
}
template <class P> auto windows_of(const range<P> &r, std::int64_t width, std::int64_t step, const char *what) {
    const std::int64_t n = r.finite(what);
    if (width < 1) throw error(AGPU_ERROR_INVALID_ARGUMENT, std::string(what) + " of " + std::to_string(width) + " elements");
    if (step == width && n % width != 0) {
        throw error(AGPU_ERROR_SHAPE, "chunk: " + std::to_string(n) + " elements are no whole number of chunks of " + std::to_string(width));
    }
    const std::int64_t count = n < width ? 0 : (n - width) / step + 1;
    return range<window_part<P>>({r.part(), width, 0, step}, count);
}

} // namespace detail

/// x | views::f(..) is views::f(x, ..).
template <class X, class A, std::enable_if_t<detail::is_adaptor<A>::value, int> = 0> auto operator|(X &&x, const A &adaptor) {
    return adaptor(static_cast<X &&>(x));
}

namespace views {

/// An array, a view of one, an expression, as a view.
template <class X> auto all(X &&x) { return detail::range_of<X>(detail::as_range(static_cast<X &&>(x))); }

/// Tuples of the elements of several views of one size; an endless view gets the size of the others.
template <class... X> auto zip(X &&...x) { return detail::zipped(detail::as_range(static_cast<X &&>(x))...); }

/// The same scalar for ever, or n times.
template <class V> auto repeat(const V &value) {
    if constexpr (detail::is_compound<V>) {
        static_assert(detail::is_compound_scalar<V>(), "repeat a scalar");
        auto part = detail::part_of_values<detail::compound_element<V>>(detail::values_of(value), [](const auto &one) {
            return detail::scalar_part<typename std::decay_t<decltype(one)>::value_type>{one};
        });
        return range<decltype(part)>(std::move(part), detail::endless);
    } else {
        static_assert(detail::rank_of<V>() == 0, "repeat a scalar");
        using T = typename detail::result<V>::type;
        return range<detail::scalar_part<T>>({expr<T, 0>(detail::node_of<T>(value))}, detail::endless);
    }
}
template <class V> auto repeat(const V &value, std::int64_t n) {
    if (n < 0) throw error(AGPU_ERROR_SHAPE, "repeat: " + std::to_string(n) + " times");
    const auto endless = views::repeat(value);
    return std::decay_t<decltype(endless)>(endless.part(), n, {});
}
/// first, first + 1, ... for ever, or below last; T must have them all.
template <class T> auto iota(T first) {
    static_assert(detail::type_of<T>::known && !detail::is_real<T>, "iota of integers");
    return range<detail::count_part<T, true>>({first, T(1)}, detail::endless);
}
template <class T, class U> auto iota(T first, U last) {
    static_assert(detail::type_of<T>::known && !detail::is_real<T>, "iota of integers");
    const bool from_below = detail::is_below_zero(first), to_below = detail::is_below_zero(last);
    const bool falls = from_below != to_below ? to_below : std::uint64_t(last) < std::uint64_t(first);
    const auto n = std::int64_t(std::uint64_t(last) - std::uint64_t(first));
    if (falls || n < 0) throw error(AGPU_ERROR_SHAPE, "iota: from " + std::to_string(first) + " to " + std::to_string(last));
    const T greatest = n > 0 ? T(last - 1) : first;
    if (n > 0 && (U(greatest) != U(last - 1) || detail::is_below_zero(greatest) != detail::is_below_zero(U(last - 1)))) throw error(AGPU_ERROR_INVALID_ARGUMENT, "iota: the type of " + std::to_string(first) + " does not have " + std::to_string(last - 1));
    return range<detail::count_part<T, false>>({first, T(1)}, n);
}

/// f(element) of each element; for zipped views f(tuple) or f(part, part ..), whichever f accepts. f is called once, with values of type expr<T>.
template <class X, class F> auto transform(X &&x, F &&f, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    if constexpr (detail::is_filtered<std::decay_t<X>>::value)
        return arraygpu::map(f, x, file, line);
    else
        return detail::transformed(detail::as_range(static_cast<X &&>(x)), f, {file, line});
}
template <class F> auto transform(F f, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::adaptor{[f, file, line](auto &&x) { return views::transform(x, f, file, line); }};
}

/// The first n elements; fewer if there are fewer.
template <class X, std::enable_if_t<!std::is_integral_v<std::decay_t<X>>, int> = 0>
auto take(X &&x, std::int64_t n, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    const detail::range_of<X> r = detail::as_range(static_cast<X &&>(x));
    return detail::part_of(r, 0, r.is_endless() || n < r.length() ? n : r.length(), 1, {file, line});
}
inline auto take(std::int64_t n, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::adaptor{[=](auto &&x) { return views::take(x, n, file, line); }};
}
/// All but the first n.
template <class X, std::enable_if_t<!std::is_integral_v<std::decay_t<X>>, int> = 0>
auto drop(X &&x, std::int64_t n, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    const detail::range_of<X> r = detail::as_range(static_cast<X &&>(x));
    const std::int64_t size = r.finite("drop");
    return detail::part_of(r, n < size ? n : size, size, 1, {file, line});
}
inline auto drop(std::int64_t n, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::adaptor{[=](auto &&x) { return views::drop(x, n, file, line); }};
}
/// The elements start up to stop.
template <class X, std::enable_if_t<!std::is_integral_v<std::decay_t<X>>, int> = 0>
auto slice(X &&x, std::int64_t start, std::int64_t stop, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    const detail::range_of<X> r = detail::as_range(static_cast<X &&>(x));
    if (!r.is_endless() && stop > r.length()) {
        throw error(AGPU_ERROR_SHAPE, "slice: to " + std::to_string(stop) + " of a view of " + std::to_string(r.length()) + " elements");
    }
    return detail::part_of(r, start, stop, 1, {file, line});
}
inline auto slice(std::int64_t start, std::int64_t stop, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::adaptor{[=](auto &&x) { return views::slice(x, start, stop, file, line); }};
}
/// Every n-th element, from the first.
template <class X, std::enable_if_t<!std::is_integral_v<std::decay_t<X>>, int> = 0>
auto stride(X &&x, std::int64_t n, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    const detail::range_of<X> r = detail::as_range(static_cast<X &&>(x));
    return detail::part_of(r, 0, r.finite("stride"), n, {file, line});
}
inline auto stride(std::int64_t n, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::adaptor{[=](auto &&x) { return views::stride(x, n, file, line); }};
}
/// The elements at these indices, which are a vector, an expression or a view of integers. An index out of range of stored
/// elements gives 0 and leaves an error; iota and repeat go on beyond their ends.
template <class X, class I> auto permute(X &&x, const I &indices, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    const auto at = detail::as_range(indices).array();
    static_assert(!detail::is_real<typename decltype(at)::value_type>, "permute: indices are integers");
    auto part = detail::as_range(static_cast<X &&>(x)).part().gathered(at, detail::place{file, line});
    return range<decltype(part)>(std::move(part), std::int64_t(at.size()), typename range<decltype(part)>::bounded());
}
template <class I> auto permute(const I &indices, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::adaptor{
        [at = detail::range_of<const I &>(detail::as_range(indices)), file, line](auto &&x) { return views::permute(x, at, file, line); }};
}
/// Windows of n neighbours, one beginning at each element but the last n - 1. A window has [], size() and sum().
template <class X, std::enable_if_t<!std::is_integral_v<std::decay_t<X>>, int> = 0> auto window(X &&x, std::int64_t n) {
    return detail::windows_of(detail::as_range(static_cast<X &&>(x)), n, 1, "window");
}
inline auto window(std::int64_t n) {
    return detail::adaptor{[=](auto &&x) { return views::window(x, n); }};
}
/// Consecutive windows of n elements; the size must be a multiple of n.
template <class X, std::enable_if_t<!std::is_integral_v<std::decay_t<X>>, int> = 0> auto chunk(X &&x, std::int64_t n) {
    return detail::windows_of(detail::as_range(static_cast<X &&>(x)), n, n, "chunk");
}
inline auto chunk(std::int64_t n) {
    return detail::adaptor{[=](auto &&x) { return views::chunk(x, n); }};
}

namespace functions {
struct reverse {
    template <class X> auto operator()(X &&x, const char *file = __builtin_FILE(), int line = __builtin_LINE()) const {
        const detail::range_of<X> r = detail::as_range(static_cast<X &&>(x));
        const std::int64_t size = r.finite("reverse");
        auto part = r.part().reversed(size, {file, line});
        return range<decltype(part)>(std::move(part), size, typename range<decltype(part)>::bounded());
    }
};
struct enumerate {
    template <class X> auto operator()(X &&x) const { return views::zip(views::iota(std::int64_t(0)), static_cast<X &&>(x)); }
};
} // namespace functions
/// The last element first: `x | views::reverse`.
inline constexpr detail::adaptor<functions::reverse> reverse{};
/// Tuples of the position and the element: `x | views::enumerate`.
inline constexpr detail::adaptor<functions::enumerate> enumerate{};

} // namespace views
} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_VIEWS_ADAPTORS_HPP
