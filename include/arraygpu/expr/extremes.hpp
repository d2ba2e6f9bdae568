// Places of extremes, both extremes, means: of arrays, of their rows, columns and planes (docs/semantics.md 5.15). Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_EXTREMES_HPP
#define ARRAYGPU_EXPR_EXTREMES_HPP

#include <arraygpu/expr/loops.hpp>
#include <arraygpu/expr/moments.hpp>

#include <limits>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// What every element comes before, or is equal to: the infinities, and the ends of the integers.
template <class T> T extreme(bool least) {
    if constexpr (is_real<T>)
        return T(least ? -__builtin_huge_valf() : __builtin_huge_valf());
    else
        return least ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
}
template <class T> expr<T, 0> constant(T value) { return expr<T, 0>(make_number<T>(op::constant, value)); }

/// The numbers of the elements of an array in row-major order, as an array of its shape.
template <class T> expr<std::int64_t, 1> numbers(const expr<T, 1> &x, place at) {
    const std::int64_t size = x.c_node()->extent[0];
    return expr<std::int64_t, 1>(with_extents(make_node(op::iota, AGPU_I64, 1, length(x.c_node(), 0).c_node(), at), size));
}
template <class T> expr<std::int64_t, 2> numbers(const expr<T, 2> &x, place at) {
    const node_ptr rows = length(x.c_node(), 0).c_node(), cols = length(x.c_node(), 1).c_node();
    const trace inside;
    const auto number = [&](const auto &i, const auto &j) { return i * expr<std::int64_t>(cols) + j; };
    return generated<2>(number, at, {rows, cols}, extents_of(*x.c_node().get()), variable<std::int64_t>(), variable<std::int64_t>());
}
template <class T> expr<std::int64_t, 3> numbers(const expr<T, 3> &x, place at) {
    const node_ptr planes = length(x.c_node(), 0).c_node(), rows = length(x.c_node(), 1).c_node(), cols = length(x.c_node(), 2).c_node();
    const trace inside;
    const auto number = [&](const auto &k, const auto &i, const auto &j) { return (k * expr<std::int64_t>(rows) + i) * expr<std::int64_t>(cols) + j; };
    return generated<3>(number, at, {planes, rows, cols}, extents_of(*x.c_node().get()), variable<std::int64_t>(), variable<std::int64_t>(),
                        variable<std::int64_t>());
}

/// The number of the first of the extreme elements: a reduction of pairs of a value and its number, by which the order of the elements does not
/// matter.
template <class T, int Rank> expr<std::int64_t> place_of(const expr<T, Rank> &x, bool least, place at) {
    using Pair = std::tuple<expr<T>, expr<std::int64_t>>;
    const auto join = [least](const Pair &a, const Pair &b) {
        const auto &[u, i] = a;
        const auto &[v, j] = b;
        expr<bool> is_better = least ? v < u : v > u, is_same = u == v;
        if constexpr (is_real<T>) {
            const expr<bool> no_u = u != u, no_v = v != v;
            is_better = is_better | (no_v & !no_u);
            is_same = is_same | (no_u & no_v);
        }
        // -1, the number of no element, comes last
        const expr<bool> is_before = is_same & (cast<std::uint64_t>(j) < cast<std::uint64_t>(i)), takes = is_better | is_before;
        return Pair{select(takes, v, u), select(takes, j, i)};
    };
    std::array<node_ptr, 2> arrays{x.c_node(), numbers(x, at).c_node()};
    const Pair init{constant<T>(extreme<T>(!least)), constant<std::int64_t>(-1)};
    return std::get<1>(reduced<Pair>(at, std::move(arrays), init, join));
}
template <class A> auto extremes(const A &x, place at) {
    return std::make_tuple(arraygpu::min(x, at), arraygpu::max(x, at));
}
template <class T, int Rank> expr<T> mean(const expr<T, Rank> &x, place at) {
    return arraygpu::sum(x, at) / arraygpu::cast<T>(element_count(x.c_node()));
}

template <lines Which, class A> auto places_along(const A &a, bool least, place at) {
    has_order<element_type<A>>();
    return of_parts_along<Which>(as<element_type<A>>(a), [&](const auto &part) { return place_of(part, least, at); }, at);
}
template <lines Which, class A> auto extremes_along(const A &a, place at) {
    has_order<element_type<A>>();
    const auto x = as<element_type<A>>(a);
    return std::make_tuple(of_parts_along<Which>(x, [&](const auto &part) { return arraygpu::min(part, at); }, at),
                           of_parts_along<Which>(x, [&](const auto &part) { return arraygpu::max(part, at); }, at));
}
template <lines Which, class A> auto means_along(const A &a, place at) {
    return as<element_type<A>>(of_parts_along<Which>(widened(a), [&](const auto &part) { return mean(part, at); }, at));
}

} // namespace detail

/// The index of the least element, counted in row-major order: the first one if several are equal. A NaN is less than all other elements, as min()
/// has it. -1 if there are no elements.
template <class A, detail::if_array<A> = 0> auto argmin(const A &a, detail::place here = ARRAYGPU_HERE) {
    detail::has_order<detail::element_type<A>>();
    return detail::place_of(detail::as<detail::element_type<A>>(a), true, here.of("argmin"));
}
/// The index of the greatest element, as argmin; a NaN is greater than all other elements.
template <class A, detail::if_array<A> = 0> auto argmax(const A &a, detail::place here = ARRAYGPU_HERE) {
    detail::has_order<detail::element_type<A>>();
    return detail::place_of(detail::as<detail::element_type<A>>(a), false, here.of("argmax"));
}
/// The least and the greatest element: a std::tuple of min() and max().
template <class A, detail::if_array<A> = 0> auto minmax(const A &a, detail::place here = ARRAYGPU_HERE) {
    detail::has_order<detail::element_type<A>>();
    return detail::extremes(detail::as<detail::element_type<A>>(a), here.of("minmax"));
}
/// The sum of all elements divided by their number; NaN of none. Halves are computed as floats and rounded once.
template <class A, detail::if_array<A> = 0> auto mean(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::as<detail::element_type<A>>(detail::mean(detail::widened(a), here.of("mean")));
}
/// argmin of each row of a matrix, of each column: the index of an element in each; of each row, column or plane of an array of three dimensions, in a plane
/// counted in row-major order.
template <class A, detail::if_planar<A> = 0> auto argmin_rows(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::places_along<detail::lines::rows>(a, true, here.of("argmin_rows"));
}
template <class A, detail::if_planar<A> = 0> auto argmin_cols(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::places_along<detail::lines::cols>(a, true, here.of("argmin_cols"));
}
template <class A, detail::if_volume<A> = 0> auto argmin_planes(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::places_along<detail::lines::planes>(a, true, here.of("argmin_planes"));
}
template <class A, detail::if_planar<A> = 0> auto argmax_rows(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::places_along<detail::lines::rows>(a, false, here.of("argmax_rows"));
}
template <class A, detail::if_planar<A> = 0> auto argmax_cols(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::places_along<detail::lines::cols>(a, false, here.of("argmax_cols"));
}
template <class A, detail::if_volume<A> = 0> auto argmax_planes(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::places_along<detail::lines::planes>(a, false, here.of("argmax_planes"));
}
/// minmax of each row, column or plane: a std::tuple of two arrays.
template <class A, detail::if_planar<A> = 0> auto minmax_rows(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::extremes_along<detail::lines::rows>(a, here.of("minmax_rows"));
}
template <class A, detail::if_planar<A> = 0> auto minmax_cols(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::extremes_along<detail::lines::cols>(a, here.of("minmax_cols"));
}
template <class A, detail::if_volume<A> = 0> auto minmax_planes(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::extremes_along<detail::lines::planes>(a, here.of("minmax_planes"));
}
template <class A, detail::if_planar<A> = 0> auto mean_rows(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::means_along<detail::lines::rows>(a, here.of("mean_rows"));
}
template <class A, detail::if_planar<A> = 0> auto mean_cols(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::means_along<detail::lines::cols>(a, here.of("mean_cols"));
}
template <class A, detail::if_volume<A> = 0> auto mean_planes(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::means_along<detail::lines::planes>(a, here.of("mean_planes"));
}

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_EXTREMES_HPP
