// Functions of the rows, columns and planes of an array, one after another. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_LINES_HPP
#define ARRAYGPU_EXPR_LINES_HPP

#include <arraygpu/expr/extremes.hpp>

namespace arraygpu {
namespace detail {

/// The array of f of each part of an array: of each combination of indices of these axes, which ascend.
template <std::size_t N, class T, int Rank, class F> auto over_parts(const expr<T, Rank> &x, const std::array<int, N> &axes, F &f, place at) {
    constexpr auto count = std::uint32_t(N);
    const trace inside;
    node_ptr operands[2 * count + 1], part = x.c_node();
    extents_in extents{{1, 1, 1}};
    for (std::uint32_t i = 0; i < count; ++i) {
        operands[i] = length(x.c_node(), axes[i]).c_node();
        operands[count + i] = make_variable(AGPU_I64);
        extents.n[i] = x.c_node()->extent[axes[i]];
    }
    // the last axis is picked first, so that the others keep their numbers
    for (std::uint32_t i = count; i-- > 0;) part = picked(std::move(part), axes[i], operands[count + i], at);
    using Part = expr<T, Rank - int(N)>;
    using R = result_of<F, const Part &>;
    gives_values<R>();
    if constexpr (!std::is_void_v<R>) {
        const auto &value = f(Part(std::move(part)));
        return closed<int(N)>(op::generate, operands, 2 * count + 1, value, at, [&](node_ptr made) { return with_extents(std::move(made), extents); });
    }
}
template <class A, class F> auto over_planes(const A &a, F &f, place at) { return over_parts<1>(as<element_type<A>>(a), {0}, f, at); }
/// Applies a function to each row of a matrix, or to each row of each plane.
template <class A, class F> auto over_rows(const A &a, F &f, place at) {
    if constexpr (rank_of<A>() == 3) return over_parts<2>(as<element_type<A>>(a), {0, 1}, f, at);
    else return over_parts<1>(as<element_type<A>>(a), {0}, f, at);
}

} // namespace detail

/// f of each plane of an array of three dimensions, a matrix: a vector with an element for each plane. Of a function
/// that gives a tuple a tuple of vectors.
template <class F, class A, detail::if_volume<A> = 0>
auto map_planes(F &&f, const A &a, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::over_planes(a, f, {file, line});
}
/// f of each row: of a matrix a vector with an element for each row, of an array of three dimensions a matrix with a
/// row for each plane.
template <class F, class A, detail::if_planar<A> = 0>
auto map_rows(F &&f, const A &a, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::over_rows(a, f, {file, line});
}
/// f of each column of a matrix: a vector with an element for each column.
template <class F, class A, detail::if_matrix<A> = 0>
auto map_cols(F &&f, const A &a, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::over_parts<1>(detail::as<detail::element_type<A>>(a), {1}, f, {file, line});
}
/// The sum, the mean of each plane: a vector.
template <class A, detail::if_volume<A> = 0> auto sum_planes(const A &a, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return arraygpu::map_planes([&](const auto &plane) { return arraygpu::sum(plane, file, line); }, a, file, line);
}
template <class A, detail::if_volume<A> = 0> auto mean_planes(const A &a, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return arraygpu::map_planes([&](const auto &plane) { return arraygpu::mean(plane, file, line); }, a, file, line);
}
/// The sum, the mean of each row of each plane: a matrix with a row for each plane.
template <class A, detail::if_volume<A> = 0> auto sum_rows(const A &a, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return arraygpu::map_rows([&](const auto &row) { return arraygpu::sum(row, file, line); }, a, file, line);
}
template <class A, detail::if_volume<A> = 0> auto mean_rows(const A &a, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return arraygpu::map_rows([&](const auto &row) { return arraygpu::mean(row, file, line); }, a, file, line);
}

} // namespace arraygpu

#endif // ARRAYGPU_EXPR_LINES_HPP
