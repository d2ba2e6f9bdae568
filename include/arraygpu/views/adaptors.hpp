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

template <class... P> std::int64_t common_size(place at, const range<P> &...r) {
    const std::int64_t sizes[] = {r.length()...};
    std::int64_t size = endless;
    std::size_t first = 0;
    for (std::size_t i = 0; i < sizeof...(P); ++i) {
        if (sizes[i] == endless || sizes[i] == size) continue;
        if (size != endless) {
            fail(AGPU_ERROR_SHAPE, "view " + std::to_string(first) + " has " + number_of(size, "element") + ", view " + std::to_string(i) + " has " +
                                       std::to_string(sizes[i]), at);
        }
        size = sizes[i];
        first = i;
    }
    return size;
}
template <class... P> auto zipped(place at, const range<P> &...r) {
    return range<group_part<P...>>(group_part<P...>{{r.part()...}}, common_size(at, r...), typename range<group_part<P...>>::bounded());
}
template <class P> auto part_of(const range<P> &r, std::int64_t start, std::int64_t stop, std::int64_t stride, place at) {
    if (start < 0 || stop < start || stride < 1) {
        const std::string of = r.is_endless() ? " of an endless view" : " of " + number_of(r.length(), "element");
        fail(AGPU_ERROR_SHAPE, "from " + std::to_string(start) + " to " + std::to_string(stop) + " by " + std::to_string(stride) + of, at);
    }
    auto part = r.part().sliced(start, stop, stride, at);
    return range<decltype(part)>(std::move(part), (stop - start) / stride + ((stop - start) % stride != 0),
                                 typename range<decltype(part)>::bounded());
}
template <class P> auto windows_of(const range<P> &r, std::int64_t width, std::int64_t step, place at) {
    const std::int64_t n = r.finite(at.word);
    if (width < 1) fail(AGPU_ERROR_INVALID_ARGUMENT, "it would have " + number_of(width, "element") + ", and has 1 or more", at);
    if (step == width && n % width != 0) {
        fail(AGPU_ERROR_SHAPE, "a view of " + number_of(n, "element") + " is no whole number of chunks of " + std::to_string(width), at);
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
template <class... X> auto zip(X &&...x) {
    return detail::zipped(detail::place().of("zip"), detail::as_range(static_cast<X &&>(x))...); // no place can be known behind any number of arguments
}

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
template <class V> auto repeat(const V &value, std::int64_t n, detail::place here = ARRAYGPU_HERE) {
    if (n < 0) detail::fail(AGPU_ERROR_SHAPE, std::to_string(n) + " times", here.of("repeat"));
    const auto endless = views::repeat(value);
    return std::decay_t<decltype(endless)>(endless.part(), n, {});
}
/// first, first + 1, ... for ever, or below last; T must have them all.
template <class T> auto iota(T first) {
    static_assert(detail::type_of<T>::known && !detail::is_real<T>, "iota of integers");
    return range<detail::count_part<T, true>>({first, T(1)}, detail::endless);
}
template <class T, class U> auto iota(T first, U last, detail::place here = ARRAYGPU_HERE) {
    static_assert(detail::type_of<T>::known && !detail::is_real<T>, "iota of integers");
    const bool from_below = detail::is_below_zero(first), to_below = detail::is_below_zero(last);
    const bool falls = from_below != to_below ? to_below : std::uint64_t(last) < std::uint64_t(first);
    const auto n = std::int64_t(std::uint64_t(last) - std::uint64_t(first));
    if (falls || n < 0) detail::fail(AGPU_ERROR_SHAPE, "from " + std::to_string(first) + " to " + std::to_string(last), here.of("iota"));
    const T greatest = n > 0 ? T(last - 1) : first;
    if (n > 0 && (U(greatest) != U(last - 1) || detail::is_below_zero(greatest) != detail::is_below_zero(U(last - 1)))) detail::fail(AGPU_ERROR_INVALID_ARGUMENT, "the type of " + std::to_string(first) + " does not have " + std::to_string(last - 1), here.of("iota"));
    return range<detail::count_part<T, false>>({first, T(1)}, n);
}

/// f(element) of each element; for zipped views f(tuple) or f(part, part ..), whichever f accepts. f is called once, with values of type expr<T>.
template <class X, class F> auto transform(X &&x, F &&f, detail::place here = ARRAYGPU_HERE) {
    if constexpr (detail::is_filtered<std::decay_t<X>>::value)
        return arraygpu::map(f, x, here.of("transform"));
    else
        return detail::transformed(detail::as_range(static_cast<X &&>(x)), f, here.of("transform"));
}
template <class F> auto transform(F f, detail::place here = ARRAYGPU_HERE) {
    return detail::adaptor{[f, here](auto &&x) { return views::transform(x, f, here.of("transform")); }};
}

/// The first n elements; fewer if there are fewer.
template <class X, std::enable_if_t<!std::is_integral_v<std::decay_t<X>>, int> = 0>
auto take(X &&x, std::int64_t n, detail::place here = ARRAYGPU_HERE) {
    const detail::range_of<X> r = detail::as_range(static_cast<X &&>(x));
    return detail::part_of(r, 0, r.is_endless() || n < r.length() ? n : r.length(), 1, here.of("take"));
}
inline auto take(std::int64_t n, detail::place here = ARRAYGPU_HERE) {
    return detail::adaptor{[=](auto &&x) { return views::take(x, n, here.of("take")); }};
}
/// All but the first n.
template <class X, std::enable_if_t<!std::is_integral_v<std::decay_t<X>>, int> = 0>
auto drop(X &&x, std::int64_t n, detail::place here = ARRAYGPU_HERE) {
    const detail::range_of<X> r = detail::as_range(static_cast<X &&>(x));
    const std::int64_t size = r.finite("drop");
    return detail::part_of(r, n < size ? n : size, size, 1, here.of("drop"));
}
inline auto drop(std::int64_t n, detail::place here = ARRAYGPU_HERE) {
    return detail::adaptor{[=](auto &&x) { return views::drop(x, n, here.of("drop")); }};
}
/// The elements start up to stop.
template <class X, std::enable_if_t<!std::is_integral_v<std::decay_t<X>>, int> = 0>
auto slice(X &&x, std::int64_t start, std::int64_t stop, detail::place here = ARRAYGPU_HERE) {
    const detail::range_of<X> r = detail::as_range(static_cast<X &&>(x));
    if (!r.is_endless() && stop > r.length()) {
        detail::fail(AGPU_ERROR_SHAPE, "to " + std::to_string(stop) + " of a view of " + detail::number_of(r.length(), "element"), here.of("slice"));
    }
    return detail::part_of(r, start, stop, 1, here.of("slice"));
}
inline auto slice(std::int64_t start, std::int64_t stop, detail::place here = ARRAYGPU_HERE) {
    return detail::adaptor{[=](auto &&x) { return views::slice(x, start, stop, here.of("slice")); }};
}
/// Every n-th element, from the first.
template <class X, std::enable_if_t<!std::is_integral_v<std::decay_t<X>>, int> = 0>
auto stride(X &&x, std::int64_t n, detail::place here = ARRAYGPU_HERE) {
    const detail::range_of<X> r = detail::as_range(static_cast<X &&>(x));
    return detail::part_of(r, 0, r.finite("stride"), n, here.of("stride"));
}
inline auto stride(std::int64_t n, detail::place here = ARRAYGPU_HERE) {
    return detail::adaptor{[=](auto &&x) { return views::stride(x, n, here.of("stride")); }};
}
/// The elements at these indices, which are a vector, an expression or a view of integers. An index out of range of stored
/// elements gives 0 and leaves an error; iota and repeat go on beyond their ends.
template <class X, class I> auto permute(X &&x, const I &indices, detail::place here = ARRAYGPU_HERE) {
    const auto at = detail::as_range(indices).array();
    static_assert(!detail::is_real<typename decltype(at)::value_type>, "permute: indices are integers");
    auto part = detail::as_range(static_cast<X &&>(x)).part().gathered(at, here.of("permute"));
    return range<decltype(part)>(std::move(part), std::int64_t(at.size()), typename range<decltype(part)>::bounded());
}
template <class I> auto permute(const I &indices, detail::place here = ARRAYGPU_HERE) {
    return detail::adaptor{
        [at = detail::range_of<const I &>(detail::as_range(indices)), here](auto &&x) { return views::permute(x, at, here.of("permute")); }};
}
/// Windows of n neighbours, one beginning at each element but the last n - 1. A window has [], size() and sum().
template <class X, std::enable_if_t<!std::is_integral_v<std::decay_t<X>>, int> = 0> auto window(X &&x, std::int64_t n, detail::place here = ARRAYGPU_HERE) {
    return detail::windows_of(detail::as_range(static_cast<X &&>(x)), n, 1, here.of("window"));
}
inline auto window(std::int64_t n, detail::place here = ARRAYGPU_HERE) {
    return detail::adaptor{[=](auto &&x) { return views::window(x, n, here.of("window")); }};
}
/// Consecutive windows of n elements; the size must be a multiple of n.
template <class X, std::enable_if_t<!std::is_integral_v<std::decay_t<X>>, int> = 0> auto chunk(X &&x, std::int64_t n, detail::place here = ARRAYGPU_HERE) {
    return detail::windows_of(detail::as_range(static_cast<X &&>(x)), n, n, here.of("chunk"));
}
inline auto chunk(std::int64_t n, detail::place here = ARRAYGPU_HERE) {
    return detail::adaptor{[=](auto &&x) { return views::chunk(x, n, here.of("chunk")); }};
}

namespace functions {
struct reverse {
    template <class X> auto operator()(X &&x, detail::place here = ARRAYGPU_HERE) const {
        const detail::range_of<X> r = detail::as_range(static_cast<X &&>(x));
        const std::int64_t size = r.finite("reverse");
        auto part = r.part().reversed(size, here.of("reverse"));
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
