// Actions: they work in place and give their container back. Included by arraygpu/views.hpp.
#ifndef ARRAYGPU_VIEWS_ACTIONS_HPP
#define ARRAYGPU_VIEWS_ACTIONS_HPP

#include <arraygpu/views/algorithms.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// A function from a container to the view whose elements the container gets.
template <class F> struct action {
    F f;
};
template <class F> action(F) -> action<F>;
template <class C> struct is_container : std::false_type {};
template <class T> struct is_container<gpu_vector<T>> : std::true_type {};
template <class T> struct is_container<gpu_vector_view<T>> : std::true_type {};

template <class P> auto stored_as(const range<P> &made) { return made.array(); }
/// What is kept has a size of its own.
template <class E> auto stored_as(const filtered<E> &made) { return made.to_vector(); }
template <class C, class F> void act(C &container, const action<F> &a) {
    container = stored_as(a.f(static_cast<const C &>(container)));
}

} // namespace detail

/// v | actions::f(..): v becomes views::f(v, ..), in one run, with the size of that view. Returns v.
template <class C, class F, std::enable_if_t<detail::is_container<C>::value, int> = 0> C &operator|(C &container, const detail::action<F> &action) {
    detail::act(container, action);
    return container;
}
/// For a temporary container: returns it by value.
template <class C, class F, std::enable_if_t<detail::is_container<C>::value, int> = 0> C operator|(C &&container, const detail::action<F> &action) {
    detail::act(container, action);
    return std::move(container);
}

namespace actions {

template <class F> auto transform(F f, detail::place here = ARRAYGPU_HERE) {
    return detail::action{[f, here](const auto &v) { return views::transform(v, f, here.of("transform")); }};
}
inline auto take(std::int64_t n, detail::place here = ARRAYGPU_HERE) {
    return detail::action{[=](const auto &v) { return views::take(v, n, here.of("take")); }};
}
inline auto drop(std::int64_t n, detail::place here = ARRAYGPU_HERE) {
    return detail::action{[=](const auto &v) { return views::drop(v, n, here.of("drop")); }};
}
inline auto slice(std::int64_t start, std::int64_t stop, detail::place here = ARRAYGPU_HERE) {
    return detail::action{[=](const auto &v) { return views::slice(v, start, stop, here.of("slice")); }};
}
inline auto stride(std::int64_t n, detail::place here = ARRAYGPU_HERE) {
    return detail::action{[=](const auto &v) { return views::stride(v, n, here.of("stride")); }};
}
template <class I> auto permute(const I &indices, detail::place here = ARRAYGPU_HERE) {
    const detail::range_of<const I &> at = detail::as_range(indices);
    return detail::action{[at, here](const auto &v) { return views::permute(v, at, here.of("permute")); }};
}
template <class V> auto fill(const V &value) {
    return detail::action{[value](const auto &v) {
        using T = detail::element_type<std::decay_t<decltype(v)>>;
        return views::repeat(expr<T, 0>(value), std::int64_t(v.size()));
    }};
}
inline constexpr auto reverse_of = [](const auto &v) { return views::reverse(v); };
inline constexpr detail::action<std::decay_t<decltype(reverse_of)>> reverse{reverse_of};

} // namespace actions
} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_VIEWS_ACTIONS_HPP
