// Variances, norms, softmax: docs/semantics.md 5.12 and 5.13. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_MOMENTS_HPP
#define ARRAYGPU_EXPR_MOMENTS_HPP

#include <arraygpu/expr/along.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

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
template <class T, int Rank> auto norm_of(const expr<T, Rank> &x, place at) { return arraygpu::sqrt(arraygpu::dot(x, x, at)); }
/// The greatest element if it is finite, else 0: what exponents are reduced by.
template <class T, int Rank> auto exponent_shift(const expr<T, Rank> &x, place at) {
    const expr<T, 0> most = arraygpu::max(x, at);
    return arraygpu::select(arraygpu::abs(most) < T(__builtin_huge_val()), most, T(0));
}

template <lines Which, class T, int Rank> auto shifts_along(const expr<T, Rank> &x, place at) {
    return of_parts_along<Which>(x, [&](const auto &part) { return exponent_shift(part, at); }, at);
}
template <lines Which, class T, int Rank> auto sums_along(const expr<T, Rank> &x, place at) {
    return of_parts_along<Which>(x, [&](const auto &part) { return arraygpu::sum(part, at); }, at);
}

template <lines Which, class A> auto variance_along(const A &a, std::int64_t ddof, place at) {
    return as<element_type<A>>(of_parts_along<Which>(widened(a), [&](const auto &part) { return variance(part, ddof, at); }, at));
}
template <lines Which, class A> auto stddev_along(const A &a, std::int64_t ddof, place at) {
    return as<element_type<A>>(of_parts_along<Which>(widened(a), [&](const auto &part) { return arraygpu::sqrt(variance(part, ddof, at)); }, at));
}
template <lines Which, class A> auto norm_along(const A &a, place at) {
    return as<element_type<A>>(of_parts_along<Which>(widened(a), [&](const auto &part) { return norm_of(part, at); }, at));
}
template <lines Which, class A> auto log_sum_exp_along(const A &a, place at) {
    const auto x = widened(a);
    const auto shifts = shifts_along<Which>(x, at);
    const auto sums = sums_along<Which>(as<wide_elements<A>>(arraygpu::exp(x - spread_along<Which>(shifts, x, at))), at);
    return as<element_type<A>>(shifts + arraygpu::log(sums));
}
template <lines Which, class A> auto softmax_along(const A &a, place at) {
    const auto x = widened(a);
    const auto all = as<wide_elements<A>>(arraygpu::exp(x - spread_along<Which>(shifts_along<Which>(x, at), x, at)));
    return as<element_type<A>>(all / spread_along<Which>(sums_along<Which>(all, at), x, at));
}
template <lines Which, class A> auto normalise_along(const A &a, place at) {
    const auto x = widened(a);
    const auto norms = of_parts_along<Which>(x, [&](const auto &part) { return norm_of(part, at); }, at);
    return as<element_type<A>>(x / spread_along<Which>(norms, x, at));
}

} // namespace detail

/// The sum of the squared deviations of all elements from their mean, divided by their number less `ddof`: 0 for a population, 1 for a sample.
/// One pass, which loses no digits to a large mean. NaN of no elements. Halves are computed as floats and rounded once, here and below.
template <class A, detail::if_array<A> = 0>
auto variance(const A &a, std::int64_t ddof = 0, detail::place here = ARRAYGPU_HERE) {
    return detail::as<detail::element_type<A>>(detail::variance(detail::widened(a), ddof, here.of("variance")));
}
/// The square root of the variance.
template <class A, detail::if_array<A> = 0>
auto stddev(const A &a, std::int64_t ddof = 0, detail::place here = ARRAYGPU_HERE) {
    return detail::as<detail::element_type<A>>(arraygpu::sqrt(detail::variance(detail::widened(a), ddof, here.of("stddev"))));
}
/// log(sum(exp(a))) without overflow; minus infinity of no elements.
template <class A, detail::if_array<A> = 0> auto log_sum_exp(const A &a, detail::place here = ARRAYGPU_HERE) {
    const auto x = detail::widened(a);
    const auto shift = detail::exponent_shift(x, here.of("log_sum_exp"));
    return detail::as<detail::element_type<A>>(shift + arraygpu::log(arraygpu::sum(arraygpu::exp(x - shift), here.of("log_sum_exp"))));
}
/// exp(a) / sum(exp(a)) without overflow.
template <class A, detail::if_array<A> = 0> auto softmax(const A &a, detail::place here = ARRAYGPU_HERE) {
    const auto x = detail::widened(a);
    const auto all = arraygpu::exp(x - detail::exponent_shift(x, here.of("softmax")));
    return detail::as<detail::element_type<A>>(all / arraygpu::sum(all, here.of("softmax")));
}
/// a divided by its norm; NaN if all elements are 0.
template <class A, detail::if_array<A> = 0> auto normalise(const A &a, detail::place here = ARRAYGPU_HERE) {
    const auto x = detail::widened(a);
    return detail::as<detail::element_type<A>>(x / detail::norm_of(x, here.of("normalise")));
}
/// The variance of each row of a matrix, of each column; of an array of three dimensions of each row or column of each plane, a matrix, and of each plane.
template <class A, detail::if_planar<A> = 0>
auto variance_rows(const A &a, std::int64_t ddof = 0, detail::place here = ARRAYGPU_HERE) {
    return detail::variance_along<detail::lines::rows>(a, ddof, here.of("variance_rows"));
}
template <class A, detail::if_planar<A> = 0>
auto variance_cols(const A &a, std::int64_t ddof = 0, detail::place here = ARRAYGPU_HERE) {
    return detail::variance_along<detail::lines::cols>(a, ddof, here.of("variance_cols"));
}
template <class A, detail::if_volume<A> = 0>
auto variance_planes(const A &a, std::int64_t ddof = 0, detail::place here = ARRAYGPU_HERE) {
    return detail::variance_along<detail::lines::planes>(a, ddof, here.of("variance_planes"));
}
template <class A, detail::if_planar<A> = 0>
auto stddev_rows(const A &a, std::int64_t ddof = 0, detail::place here = ARRAYGPU_HERE) {
    return detail::stddev_along<detail::lines::rows>(a, ddof, here.of("stddev_rows"));
}
template <class A, detail::if_planar<A> = 0>
auto stddev_cols(const A &a, std::int64_t ddof = 0, detail::place here = ARRAYGPU_HERE) {
    return detail::stddev_along<detail::lines::cols>(a, ddof, here.of("stddev_cols"));
}
template <class A, detail::if_volume<A> = 0>
auto stddev_planes(const A &a, std::int64_t ddof = 0, detail::place here = ARRAYGPU_HERE) {
    return detail::stddev_along<detail::lines::planes>(a, ddof, here.of("stddev_planes"));
}
template <class A, detail::if_planar<A> = 0> auto norm_rows(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::norm_along<detail::lines::rows>(a, here.of("norm_rows"));
}
template <class A, detail::if_planar<A> = 0> auto norm_cols(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::norm_along<detail::lines::cols>(a, here.of("norm_cols"));
}
template <class A, detail::if_volume<A> = 0> auto norm_planes(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::norm_along<detail::lines::planes>(a, here.of("norm_planes"));
}
template <class A, detail::if_planar<A> = 0> auto log_sum_exp_rows(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::log_sum_exp_along<detail::lines::rows>(a, here.of("log_sum_exp_rows"));
}
template <class A, detail::if_planar<A> = 0> auto log_sum_exp_cols(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::log_sum_exp_along<detail::lines::cols>(a, here.of("log_sum_exp_cols"));
}
template <class A, detail::if_volume<A> = 0> auto log_sum_exp_planes(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::log_sum_exp_along<detail::lines::planes>(a, here.of("log_sum_exp_planes"));
}
/// softmax of each row, column or plane by itself.
template <class A, detail::if_planar<A> = 0> auto softmax_rows(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::softmax_along<detail::lines::rows>(a, here.of("softmax_rows"));
}
template <class A, detail::if_planar<A> = 0> auto softmax_cols(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::softmax_along<detail::lines::cols>(a, here.of("softmax_cols"));
}
template <class A, detail::if_volume<A> = 0> auto softmax_planes(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::softmax_along<detail::lines::planes>(a, here.of("softmax_planes"));
}
/// normalise of each row, column or plane by itself.
template <class A, detail::if_planar<A> = 0> auto normalise_rows(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::normalise_along<detail::lines::rows>(a, here.of("normalise_rows"));
}
template <class A, detail::if_planar<A> = 0> auto normalise_cols(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::normalise_along<detail::lines::cols>(a, here.of("normalise_cols"));
}
template <class A, detail::if_volume<A> = 0> auto normalise_planes(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::normalise_along<detail::lines::planes>(a, here.of("normalise_planes"));
}

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_MOMENTS_HPP
