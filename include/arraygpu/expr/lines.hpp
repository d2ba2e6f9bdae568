// Functions of the rows, columns and planes of an array, one after another. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_LINES_HPP
#define ARRAYGPU_EXPR_LINES_HPP

#include <arraygpu/expr/extremes.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// The array of f of each part of an array, which may be of structs or complex numbers.
template <lines Which, class A, class F> auto mapped_along(const A &a, F &f, place at) {
    constexpr int rank = joint<A>::rank;
    auto all = arrays(a, at);
    if constexpr (all.size() > 1) say_one_shape(all, at);
    each_part<Which, rank> each(all[0], at);
    for (node_ptr &one : all) one = each.of(std::move(one));
    using Part = expr<typename elements_of<A>::value_type, rank - rank_of_parts<Which, rank>>;
    using R = result_of<F, const Part &>;
    gives_values<R>();
    const node_ptr *next = all.data();
    if constexpr (!std::is_void_v<R>) return each.collected(f(Part(from_nodes<typename Part::value_type, rank - rank_of_parts<Which, rank>>(next))));
}
/// The sum of each part.
template <lines Which, class A> auto summed_along(const A &a, place at) {
    const auto sum_of = [&](const auto &part) { return arraygpu::sum(part, at); };
    return mapped_along<Which>(a, sum_of, at);
}

template <class A> std::size_t extent_of(const A &a, int axis) { return std::size_t(arrays(a, place{})[0]->extent[axis]); }

/// Enables what takes arrays of two or three dimensions, also of structs and complex numbers.
template <class A> constexpr int rank_if_one() {
    if constexpr (is_operand<A> || is_compound<A>) return rank_of_any<A>();
    return 0;
}
template <class F> using if_no_array = std::enable_if_t<!is_operand<std::decay_t<F>>, int>;
template <class A> using if_any_planar = std::enable_if_t<(rank_if_one<A>() >= 2), int>;
template <class A> using if_any_volume = std::enable_if_t<rank_if_one<A>() == 3, int>;
/// Enables what takes arrays of complex numbers of these ranks.
template <class A> constexpr bool is_complex_planar(int least) {
    if constexpr (is_compound<A>) return is_complex<A> && compound_operand<A>::rank >= least;
    return false;
}
template <class A> using if_complex_planar = std::enable_if_t<is_complex_planar<A>(2), int>;
template <class A> using if_complex_volume = std::enable_if_t<is_complex_planar<A>(3), int>;

} // namespace detail

/// The extents of an array of two or three dimensions, which may be of structs: an expression of these has no members but their fields.
template <class A, detail::if_any_volume<A> = 0> std::size_t planes(const A &a) { return detail::extent_of(a, 0); }
template <class A, detail::if_any_planar<A> = 0> std::size_t rows(const A &a) { return detail::extent_of(a, detail::rank_of_any<A>() - 2); }
template <class A, detail::if_any_planar<A> = 0> std::size_t cols(const A &a) { return detail::extent_of(a, detail::rank_of_any<A>() - 1); }

/// f of each plane of an array of three dimensions, a matrix: a vector with an element for each plane. Of a function
/// that gives a tuple a tuple of vectors. The array may be of structs or complex numbers.
template <class F, class A, detail::if_any_volume<A> = 0>
auto map_planes(F &&f, const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::mapped_along<detail::lines::planes>(a, f, here.of("map_planes"));
}
/// f of each row: of a matrix a vector with an element for each row, of an array of three dimensions a matrix with a
/// row for each plane.
template <class F, class A, detail::if_any_planar<A> = 0>
auto map_rows(F &&f, const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::mapped_along<detail::lines::rows>(a, f, here.of("map_rows"));
}
/// f of each column: of a matrix a vector with an element for each column, of an array of three dimensions a matrix
/// with a row for each plane.
template <class F, class A, detail::if_any_planar<A> = 0>
auto map_cols(F &&f, const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::mapped_along<detail::lines::cols>(a, f, here.of("map_cols"));
}
/// Says what is wrong: in map and its kin the function comes first.
template <class A, class F, detail::if_array<A> = 0, detail::if_no_array<F> = 0> void map(const A &, F &&) {
    static_assert(detail::never<A>, "map takes the function first: map(f, x)");
}
template <class A, class F, detail::if_array<A> = 0, detail::if_no_array<F> = 0> void map_rows(const A &, F &&) {
    static_assert(detail::never<A>, "map_rows takes the function first: map_rows(f, m)");
}
template <class A, class F, detail::if_array<A> = 0, detail::if_no_array<F> = 0> void map_cols(const A &, F &&) {
    static_assert(detail::never<A>, "map_cols takes the function first: map_cols(f, m)");
}
/// The sum of each plane: a vector.
template <class A, detail::if_volume<A> = 0> auto sum_planes(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::summed_along<detail::lines::planes>(a, here.of("sum_planes"));
}
/// The sum of each row of each plane: a matrix with a row for each plane.
template <class A, detail::if_volume<A> = 0> auto sum_rows(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::summed_along<detail::lines::rows>(a, here.of("sum_rows"));
}
/// The sum of each column of each plane, likewise.
template <class A, detail::if_volume<A> = 0> auto sum_cols(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::summed_along<detail::lines::cols>(a, here.of("sum_cols"));
}
/// Sums of complex numbers: of the real parts, and of the imaginary parts.
template <class A, detail::if_complex_volume<A> = 0> auto sum_planes(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::sum_planes(part, here.of("sum_planes")); });
}
template <class A, detail::if_complex_planar<A> = 0> auto sum_rows(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::sum_rows(part, here.of("sum_rows")); });
}
template <class A, detail::if_complex_planar<A> = 0> auto sum_cols(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::sum_cols(part, here.of("sum_cols")); });
}

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_LINES_HPP
