// Variances, norms, softmax: docs/semantics.md 5.12 and 5.13. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_MOMENTS_HPP
#define ARRAYGPU_EXPR_MOMENTS_HPP

#include <arraygpu/expr/trace.hpp>

namespace arraygpu {
namespace detail {

/// The type in which halves are computed.
template <class T> using wide_type = std::conditional_t<std::is_same_v<T, half> || std::is_same_v<T, bfloat16>, float, T>;
template <class A> using wide_elements = wide_type<element_type<A>>;

template <class U, class A> auto as(const A &a) {
    if constexpr (std::is_same_v<U, element_type<A>>)
        return expr<U, rank_of<A>()>(operand<A>::node(a));
    else
        return arraygpu::cast<U>(a);
}
template <class A> auto widened(const A &a) {
    static_assert(is_real<element_type<A>>, "a function of float, double, half or bfloat16: write cast<float>(x) around integers");
    return as<wide_elements<A>>(a);
}

template <class T, int Rank> auto variance(const expr<T, Rank> &x, std::int64_t ddof, place at) {
    const expr<T, 0> sum(make_node(op::squared_deviations, type_of<T>::value, 0, x.c_node(), at));
    return sum / arraygpu::cast<T>(arraygpu::max(element_count(x.c_node()) - ddof, std::int64_t(0)));
}
template <class T, int Rank> auto norm_of(const expr<T, Rank> &x, place at) { return arraygpu::sqrt(arraygpu::dot(x, x, at.file, at.line)); }
/// The greatest element if it is finite, else 0: what exponents are reduced by.
template <class T, int Rank> auto exponent_shift(const expr<T, Rank> &x, place at) {
    const expr<T, 0> most = arraygpu::max(x, at.file, at.line);
    return arraygpu::select(arraygpu::abs(most) < T(__builtin_huge_val()), most, T(0));
}

/// The vector of f of each row (axis 0) or column (axis 1).
template <class T, class F> auto of_lines(const expr<T, 2> &x, int axis, F f, place at) {
    const node_ptr matrix = x.c_node();
    const std::int64_t lines = matrix->extent[axis];
    const trace inside;
    const expr<std::int64_t> i = variable<std::int64_t>();
    const auto value = f(expr<T, 1>(picked(matrix, axis, i.c_node(), at)));
    using U = element_type<std::decay_t<decltype(value)>>;
    node_ptr operands[] = {length(matrix, axis).c_node(), i.c_node(), value.c_node()};
    return expr<U, 1>(with_extents(close(make_node(op::generate, type_of<U>::value, 1, operands, 3, at)), lines));
}
/// A number for each row (axis 0) or column as a matrix of the shape of x.
template <class T> auto wide_lines(const expr<T, 1> &numbers, const expr<T, 2> &x, int axis, place at) {
    const node_ptr count = length(x.c_node(), 1 - axis).c_node();
    return expr<T, 2>(spread(numbers.c_node(), 1 - axis, count, x.c_node()->extent[1 - axis], at));
}
template <class T> auto shifts_of_lines(const expr<T, 2> &x, int axis, place at) {
    return of_lines(x, axis, [&](const auto &line) { return exponent_shift(line, at); }, at);
}
template <class T> auto sums_of_lines(const expr<T, 2> &x, int axis, place at) {
    return of_lines(x, axis, [&](const auto &line) { return arraygpu::sum(line, at.file, at.line); }, at);
}

template <class A> auto variance_of_lines(const A &a, int axis, std::int64_t ddof, place at) {
    return as<element_type<A>>(of_lines(widened(a), axis, [&](const auto &line) { return variance(line, ddof, at); }, at));
}
template <class A> auto stddev_of_lines(const A &a, int axis, std::int64_t ddof, place at) {
    return as<element_type<A>>(of_lines(widened(a), axis, [&](const auto &line) { return arraygpu::sqrt(variance(line, ddof, at)); }, at));
}
template <class A> auto norm_of_lines(const A &a, int axis, place at) {
    return as<element_type<A>>(of_lines(widened(a), axis, [&](const auto &line) { return norm_of(line, at); }, at));
}
template <class A> auto log_sum_exp_of_lines(const A &a, int axis, place at) {
    const auto x = widened(a);
    const auto shifts = shifts_of_lines(x, axis, at);
    const auto sums = sums_of_lines(as<wide_elements<A>>(arraygpu::exp(x - wide_lines(shifts, x, axis, at))), axis, at);
    return as<element_type<A>>(shifts + arraygpu::log(sums));
}
template <class A> auto softmax_of_lines(const A &a, int axis, place at) {
    const auto x = widened(a);
    const auto all = as<wide_elements<A>>(arraygpu::exp(x - wide_lines(shifts_of_lines(x, axis, at), x, axis, at)));
    return as<element_type<A>>(all / wide_lines(sums_of_lines(all, axis, at), x, axis, at));
}
template <class A> auto normalise_lines(const A &a, int axis, place at) {
    const auto x = widened(a);
    const auto norms = of_lines(x, axis, [&](const auto &line) { return norm_of(line, at); }, at);
    return as<element_type<A>>(x / wide_lines(norms, x, axis, at));
}

} // namespace detail

/// The sum of the squared deviations of all elements from their mean, divided by their number less `ddof`: 0 for a population, 1 for a sample.
/// One pass, which loses no digits to a large mean. NaN of no elements. Halves are computed as floats and rounded once, here and below.
template <class A, detail::if_array<A> = 0>
auto variance(const A &a, std::int64_t ddof = 0, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::as<detail::element_type<A>>(detail::variance(detail::widened(a), ddof, {file, line}));
}
/// The square root of the variance.
template <class A, detail::if_array<A> = 0>
auto stddev(const A &a, std::int64_t ddof = 0, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::as<detail::element_type<A>>(arraygpu::sqrt(detail::variance(detail::widened(a), ddof, {file, line})));
}
/// log(sum(exp(a))) without overflow; minus infinity of no elements.
template <class A, detail::if_array<A> = 0> auto log_sum_exp(const A &a, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    const auto x = detail::widened(a);
    const auto shift = detail::exponent_shift(x, {file, line});
    return detail::as<detail::element_type<A>>(shift + arraygpu::log(arraygpu::sum(arraygpu::exp(x - shift), file, line)));
}
/// exp(a) / sum(exp(a)) without overflow.
template <class A, detail::if_array<A> = 0> auto softmax(const A &a, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    const auto x = detail::widened(a);
    const auto all = arraygpu::exp(x - detail::exponent_shift(x, {file, line}));
    return detail::as<detail::element_type<A>>(all / arraygpu::sum(all, file, line));
}
/// a divided by its norm; NaN if all elements are 0.
template <class A, detail::if_array<A> = 0> auto normalise(const A &a, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    const auto x = detail::widened(a);
    return detail::as<detail::element_type<A>>(x / detail::norm_of(x, {file, line}));
}
/// The variance of each row of a matrix, and of each column.
template <class A, detail::if_matrix<A> = 0>
auto variance_rows(const A &a, std::int64_t ddof = 0, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::variance_of_lines(a, 0, ddof, {file, line});
}
template <class A, detail::if_matrix<A> = 0>
auto variance_cols(const A &a, std::int64_t ddof = 0, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::variance_of_lines(a, 1, ddof, {file, line});
}
template <class A, detail::if_matrix<A> = 0>
auto stddev_rows(const A &a, std::int64_t ddof = 0, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::stddev_of_lines(a, 0, ddof, {file, line});
}
template <class A, detail::if_matrix<A> = 0>
auto stddev_cols(const A &a, std::int64_t ddof = 0, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::stddev_of_lines(a, 1, ddof, {file, line});
}
template <class A, detail::if_matrix<A> = 0> auto norm_rows(const A &a, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::norm_of_lines(a, 0, {file, line});
}
template <class A, detail::if_matrix<A> = 0> auto norm_cols(const A &a, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::norm_of_lines(a, 1, {file, line});
}
template <class A, detail::if_matrix<A> = 0> auto log_sum_exp_rows(const A &a, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::log_sum_exp_of_lines(a, 0, {file, line});
}
template <class A, detail::if_matrix<A> = 0> auto log_sum_exp_cols(const A &a, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::log_sum_exp_of_lines(a, 1, {file, line});
}
template <class A, detail::if_matrix<A> = 0> auto softmax_rows(const A &a, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::softmax_of_lines(a, 0, {file, line});
}
template <class A, detail::if_matrix<A> = 0> auto softmax_cols(const A &a, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::softmax_of_lines(a, 1, {file, line});
}
template <class A, detail::if_matrix<A> = 0> auto normalise_rows(const A &a, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::normalise_lines(a, 0, {file, line});
}
template <class A, detail::if_matrix<A> = 0> auto normalise_cols(const A &a, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::normalise_lines(a, 1, {file, line});
}

} // namespace arraygpu

#endif // ARRAYGPU_EXPR_MOMENTS_HPP
