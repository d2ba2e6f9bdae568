// Scans, sorts and filters of views; algorithms that write what a filter keeps. Included by arraygpu/views.hpp.
#ifndef ARRAYGPU_VIEWS_COMPOSITES_HPP
#define ARRAYGPU_VIEWS_COMPOSITES_HPP

#include <arraygpu/expr/filters.hpp>
#include <arraygpu/views/actions.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// A vector as a view; a tuple of vectors as a view of tuples; what a filter keeps as it is.
template <class R> auto as_view(const R &made) {
    if constexpr (is_filtered<R>::value)
        return made;
    else if constexpr (is_tuple<R>::value)
        return std::apply([](const auto &...one) { return views::zip(one...); }, made);
    else
        return as_range(made);
}
/// Writes the elements that are kept to the front of `out`, which keeps what it has behind them. Returns their number.
template <class E, class Out> std::int64_t put_kept(const filtered<E> &kept, Out &out, place at) {
    const auto room = std::int64_t(out.size());
    const std::size_t n = std::min(kept.capacity(), out.size());
    std::int64_t count = 0;
    auto front = arraygpu::subview(out, 0, std::int64_t(n));
    const auto fitting = arraygpu::select(kept.count() <= room, kept.count(), 0);
    arraygpu::assign(front, kept.filled_to(n, front, fitting), count, kept.count());
    if (count <= room) return count;
    fail(AGPU_ERROR_OUT_OF_BOUNDS, "the number of elements that are kept is " + std::to_string(count) + ", and there is room for " + std::to_string(room), at);
}

} // namespace detail

/// Writes the elements for which the condition holds, in their order, to the front of `out`, a vector or a view, which keeps what it has behind them. Returns
/// their number. If `out` has fewer elements, nothing is written, and an error is thrown.
template <class In, class Out, class F>
std::int64_t copy_if(In &&in, Out &&out, F &&condition, detail::place here = ARRAYGPU_HERE) {
    return detail::put_kept(arraygpu::filter(detail::reducible(detail::as_range(in)), condition, here.of("copy_if")), out, here.of("copy_if"));
}
/// Writes the first element of each run of equal ones to the front of `out`, as copy_if does.
template <class In, class Out> std::int64_t unique_copy(In &&in, Out &&out, detail::place here = ARRAYGPU_HERE) {
    return detail::put_kept(arraygpu::unique(detail::as_range(in).array(), here.of("unique_copy")), out, here.of("unique_copy"));
}

namespace views {

/// The partial results of a reduction, of scalars or of tuples, also of what a filter keeps: see arraygpu::inclusive_scan(x, init, f).
template <class I, class F> auto inclusive_scan(const I &init, F f, detail::place here = ARRAYGPU_HERE) {
    return detail::adaptor{[=](auto &&x) { return detail::as_view(arraygpu::inclusive_scan(detail::in_words(x), init, f, here.of("inclusive_scan"))); }};
}
template <class I, class F> auto exclusive_scan(const I &init, F f, detail::place here = ARRAYGPU_HERE) {
    return detail::adaptor{[=](auto &&x) { return detail::as_view(arraygpu::exclusive_scan(detail::in_words(x), init, f, here.of("exclusive_scan"))); }};
}
/// The elements for which the condition holds, as a filtered vector, whose size only the device knows.
template <class F> auto filter(F condition, detail::place here = ARRAYGPU_HERE) {
    return detail::adaptor{[=](auto &&x) { return arraygpu::filter(detail::in_words(x), condition, here.of("filter")); }};
}

namespace functions {
struct sort {
    template <class X> auto operator()(X &&x) const {
        if constexpr (detail::is_filtered<std::decay_t<X>>::value)
            arraygpu::sort(x);
        else
            return detail::as_range(arraygpu::sort(detail::as_range(static_cast<X &&>(x)).array()));
    }
};
struct sort_descending {
    template <class X> auto operator()(X &&x) const {
        if constexpr (detail::is_filtered<std::decay_t<X>>::value)
            arraygpu::sort_descending(x);
        else
            return detail::as_range(arraygpu::sort_descending(detail::as_range(static_cast<X &&>(x)).array()));
    }
};
struct unique {
    template <class X> auto operator()(X &&x) const { return arraygpu::unique(detail::in_words(static_cast<X &&>(x))); }
};
} // namespace functions
/// The elements in order: `x | views::sort`.
inline constexpr detail::adaptor<functions::sort> sort{};
inline constexpr detail::adaptor<functions::sort_descending> sort_descending{};
/// The first element of each run of equal ones, as a filtered vector.
inline constexpr detail::adaptor<functions::unique> unique{};

} // namespace views

namespace actions {

template <class I, class F> auto inclusive_scan(const I &init, F f, detail::place here = ARRAYGPU_HERE) {
    return detail::action{[=](const auto &v) { return v | views::inclusive_scan(init, f, here.of("inclusive_scan")); }};
}
template <class I, class F> auto exclusive_scan(const I &init, F f, detail::place here = ARRAYGPU_HERE) {
    return detail::action{[=](const auto &v) { return v | views::exclusive_scan(init, f, here.of("exclusive_scan")); }};
}
/// Keeps the elements for which the condition holds: the vector gets their number as its size.
template <class F> auto filter(F condition, detail::place here = ARRAYGPU_HERE) {
    return detail::action{[=](const auto &v) { return v | views::filter(condition, here.of("filter")); }};
}
inline constexpr detail::action<views::functions::sort> sort{};
inline constexpr detail::action<views::functions::sort_descending> sort_descending{};
/// Keeps the first element of each run of equal ones.
inline constexpr detail::action<views::functions::unique> unique{};

} // namespace actions
} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_VIEWS_COMPOSITES_HPP
