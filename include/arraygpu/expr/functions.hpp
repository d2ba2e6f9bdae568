// Functions of elements: of scalars, and of arrays element by element. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_FUNCTIONS_HPP
#define ARRAYGPU_EXPR_FUNCTIONS_HPP

#include <arraygpu/expr/operators.hpp>

#include <tuple>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// A function of floating-point numbers.
template <op Code, class... X> auto real(const X &...x) {
    static_assert(is_real<element_type<X...>>, "a function of float, double, half or bfloat16: write cast<float>(x) around integers");
    return elementwise<Code, element_type<X...>>(x...);
}
/// The type in which halves are computed.
template <class T> using wide_type = std::conditional_t<std::is_same_v<T, half> || std::is_same_v<T, bfloat16>, float, T>;
/// Whether n of ldexp(a, n) is of std::int32_t.
template <class A, class N> constexpr bool is_power() {
    if constexpr (is_operand<A> && is_operand<N>) return std::is_same_v<element_type<N>, std::int32_t>;
    return false;
}

} // namespace detail

template <class A, detail::if_operands<A> = 0> auto sqrt(const A &a) { return detail::real<detail::op::sqrt>(a); }
template <class A, detail::if_operands<A> = 0> auto rsqrt(const A &a) { return detail::real<detail::op::rsqrt>(a); }
template <class A, detail::if_operands<A> = 0> auto cbrt(const A &a) { return detail::real<detail::op::cbrt>(a); }
template <class A, detail::if_operands<A> = 0> auto floor(const A &a) { return detail::real<detail::op::floor>(a); }
template <class A, detail::if_operands<A> = 0> auto ceil(const A &a) { return detail::real<detail::op::ceil>(a); }
template <class A, detail::if_operands<A> = 0> auto trunc(const A &a) { return detail::real<detail::op::trunc>(a); }
template <class A, detail::if_operands<A> = 0> auto round(const A &a) { return detail::real<detail::op::round>(a); }
template <class A, detail::if_operands<A> = 0> auto nearbyint(const A &a) { return detail::real<detail::op::round_ties_even>(a); }
template <class A, detail::if_operands<A> = 0> auto rint(const A &a) { return detail::real<detail::op::round_ties_even>(a); }
template <class A, detail::if_operands<A> = 0> auto exp(const A &a) { return detail::real<detail::op::exp>(a); }
template <class A, detail::if_operands<A> = 0> auto exp2(const A &a) { return detail::real<detail::op::exp2>(a); }
template <class A, detail::if_operands<A> = 0> auto expm1(const A &a) { return detail::real<detail::op::expm1>(a); }
template <class A, detail::if_operands<A> = 0> auto log(const A &a) { return detail::real<detail::op::log>(a); }
template <class A, detail::if_operands<A> = 0> auto log2(const A &a) { return detail::real<detail::op::log2>(a); }
template <class A, detail::if_operands<A> = 0> auto log10(const A &a) { return detail::real<detail::op::log10>(a); }
template <class A, detail::if_operands<A> = 0> auto log1p(const A &a) { return detail::real<detail::op::log1p>(a); }
template <class A, detail::if_operands<A> = 0> auto sin(const A &a) { return detail::real<detail::op::sin>(a); }
template <class A, detail::if_operands<A> = 0> auto cos(const A &a) { return detail::real<detail::op::cos>(a); }
template <class A, detail::if_operands<A> = 0> auto tan(const A &a) { return detail::real<detail::op::tan>(a); }
template <class A, detail::if_operands<A> = 0> auto sinpi(const A &a) { return detail::real<detail::op::sinpi>(a); }
template <class A, detail::if_operands<A> = 0> auto cospi(const A &a) { return detail::real<detail::op::cospi>(a); }
template <class A, detail::if_operands<A> = 0> auto asin(const A &a) { return detail::real<detail::op::asin>(a); }
template <class A, detail::if_operands<A> = 0> auto acos(const A &a) { return detail::real<detail::op::acos>(a); }
template <class A, detail::if_operands<A> = 0> auto atan(const A &a) { return detail::real<detail::op::atan>(a); }
template <class A, detail::if_operands<A> = 0> auto sinh(const A &a) { return detail::real<detail::op::sinh>(a); }
template <class A, detail::if_operands<A> = 0> auto cosh(const A &a) { return detail::real<detail::op::cosh>(a); }
template <class A, detail::if_operands<A> = 0> auto tanh(const A &a) { return detail::real<detail::op::tanh>(a); }
template <class A, detail::if_operands<A> = 0> auto erf(const A &a) { return detail::real<detail::op::erf>(a); }
template <class A, detail::if_operands<A> = 0> auto erfc(const A &a) { return detail::real<detail::op::erfc>(a); }
template <class A, detail::if_operands<A> = 0> auto normcdf(const A &a) { return detail::real<detail::op::normcdf>(a); }
template <class A, class B, detail::if_operands<A, B> = 0> auto pow(const A &a, const B &b) { return detail::real<detail::op::pow>(a, b); }
template <class A, class B, detail::if_operands<A, B> = 0> auto atan2(const A &y, const B &x) { return detail::real<detail::op::atan2>(y, x); }
template <class A, class B, detail::if_operands<A, B> = 0> auto hypot(const A &a, const B &b) { return detail::real<detail::op::hypot>(a, b); }
template <class A, class B, detail::if_operands<A, B> = 0> auto fmod(const A &a, const B &b) { return detail::real<detail::op::fmod>(a, b); }
template <class A, class B, detail::if_operands<A, B> = 0> auto copysign(const A &a, const B &b) { return detail::real<detail::op::copysign>(a, b); }

template <class A, detail::if_operands<A> = 0> auto abs(const A &a) {
    static_assert(std::is_signed_v<detail::element_type<A>> || detail::is_real<detail::element_type<A>>, "abs of what has no sign");
    return detail::arithmetic<detail::op::abs>(a);
}
template <class A, detail::if_operands<A> = 0> auto isnan(const A &a) { return a != a; }
namespace detail {
/// The lesser or the greater one, as Code says.
template <op Code, class A, class B> auto extremum(const A &a, const B &b) {
    has_order<element_type<A, B>>();
    return elementwise<Code, element_type<A, B>>(a, b);
}
template <class A, class L, class H> auto clamped_to(const A &a, const L &low, const H &high) {
    using T = element_type<A, L, H>;
    // with a number of the host it is an expression all the same
    return worded(extremum<op::min>(worded(extremum<op::max>(expr<T, rank_of<A>()>(node_of<T>(a)), low), "clamp"), high), "clamp");
}
/// Enables what takes operands that are no expressions by themselves: arrays, views, elements.
template <class X> struct is_expression : std::false_type {};
template <class T, int Rank> struct is_expression<expr<T, Rank>> : std::true_type {};
template <class X> using if_no_expression = std::enable_if_t<is_operand<X> && !is_expression<X>::value, int>;
} // namespace detail
/// The lesser one, element by element; NaN if one of them is NaN. With one operand, arraygpu::min(x) is its least element.
template <class A, class B, detail::if_operands<A, B> = 0> auto min(const A &a, const B &b) { return detail::extremum<detail::op::min>(a, b); }
template <class A, class B, detail::if_operands<A, B> = 0> auto max(const A &a, const B &b) { return detail::extremum<detail::op::max>(a, b); }
template <class A, class L, class H, detail::if_operands<A, L, H> = 0> auto clamp(const A &a, const L &low, const H &high) {
    return detail::clamped_to(a, low, high);
}
// Overloads for two operands of the same type. After `using std::max;` overload resolution would prefer std::max to the functions above. These
// are more specialized than std::max, for expressions as well as for arrays, views and elements.
template <class T, int Rank, detail::if_operands<expr<T, Rank>> = 0> auto min(const expr<T, Rank> &a, const expr<T, Rank> &b) {
    return detail::extremum<detail::op::min>(a, b);
}
template <class T, int Rank, detail::if_operands<expr<T, Rank>> = 0> auto max(const expr<T, Rank> &a, const expr<T, Rank> &b) {
    return detail::extremum<detail::op::max>(a, b);
}
template <class T, int Rank, detail::if_operands<expr<T, Rank>> = 0>
auto clamp(const expr<T, Rank> &a, const expr<T, Rank> &low, const expr<T, Rank> &high) {
    return detail::clamped_to(a, low, high);
}
template <template <class> class Array, class T, detail::if_no_expression<Array<T>> = 0> auto min(const Array<T> &a, const Array<T> &b) {
    return detail::extremum<detail::op::min>(a, b);
}
template <template <class> class Array, class T, detail::if_no_expression<Array<T>> = 0> auto max(const Array<T> &a, const Array<T> &b) {
    return detail::extremum<detail::op::max>(a, b);
}
template <template <class> class Array, class T, detail::if_no_expression<Array<T>> = 0>
auto clamp(const Array<T> &a, const Array<T> &low, const Array<T> &high) {
    return detail::clamped_to(a, low, high);
}
/// a * b + c, rounded once.
template <class A, class B, class C, detail::if_operands<A, B, C> = 0> auto mul_add(const A &a, const B &b, const C &c) {
    return detail::arithmetic<detail::op::mul_add>(a, b, c);
}
template <class A, class B, class C, detail::if_operands<A, B, C> = 0> auto fma(const A &a, const B &b, const C &c) {
    return detail::worded(detail::arithmetic<detail::op::mul_add>(a, b, c), "fma");
}

/// a where the condition holds, else b. Both are computed, but the value that is not taken leaves no error record.
template <
    class C, class A, class B,
    std::enable_if_t<detail::is_operand<C> && (detail::is_operand<A> || detail::is_host<A>)&&(detail::is_operand<B> || detail::is_host<B>), int> = 0>
auto select(const C &condition, const A &a, const B &b) {
    static_assert(std::is_same_v<detail::element_type<C>, bool>, "the condition is a truth value: compare the numbers first");
    static_assert(detail::ranks_fit<C, A, B>(), "a vector beside a matrix, or a matrix beside an array of three dimensions: repeat it with spread_rows, spread_cols or spread_planes");
    constexpr int rank = detail::joined_rank<C, A, B>();
    // of two numbers that of C++
    using T = typename std::conditional_t<detail::is_operand<A> || detail::is_operand<B>, detail::elements<void, A, B>, detail::host_type<A, B>>::type;
    return expr<T, rank>(detail::make_node(detail::op::select, detail::type_of<T>::value, rank, detail::node_of<bool>(condition),
                                           detail::node_of<T>(a), detail::node_of<T>(b)));
}
/// select() for numbers of the host, so that a function works with these and with expressions.
template <class A, class B, std::enable_if_t<detail::is_host<A> && detail::is_host<B>, int> = 0> auto select(bool condition, A a, B b) {
    using T = typename detail::host_type<A, B>::type;
    using R = std::conditional_t<detail::is_number<A> && detail::is_number<B>, T, staged<T>>;
    return condition ? R(T(a)) : R(T(b));
}
template <class C, class A, class B, std::enable_if_t<detail::is_host<C> && (detail::is_operand<A> || detail::is_operand<B>), int> = 0>
auto select(const C &condition, const A &a, const B &b) {
    return arraygpu::select(expr<bool>(condition), a, b);
}

/// The bits of a float or double as a std::uint32_t or std::uint64_t (docs/semantics.md 2.10); those of a NaN are the bits of the one NaN of results.
template <class A, detail::if_operands<A> = 0> auto to_bits(const A &a) {
    using T = detail::element_type<A>;
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "the bits of float or double");
    using bits = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;
    constexpr bits one_nan = static_cast<bits>(std::is_same_v<T, float> ? std::uint64_t(0x7fc00000) : std::uint64_t(0x7ff8) << 48);
    return arraygpu::select(arraygpu::isnan(a), one_nan, detail::elementwise<detail::op::to_bits, bits>(a));
}
/// The float or double with the bits of a std::uint32_t or std::uint64_t.
template <class A, detail::if_operands<A> = 0> auto from_bits(const A &a) {
    using T = detail::element_type<A>;
    static_assert(std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::uint64_t>, "bits are a std::uint32_t or std::uint64_t");
    return detail::elementwise<detail::op::from_bits, std::conditional_t<std::is_same_v<T, std::uint32_t>, float, double>>(a);
}

/// Converts to another element type (docs/semantics.md 2.6).
template <class U, class A, detail::if_operands<A> = 0> expr<U, detail::rank_of<A>()> cast(const A &a) {
    static_assert(detail::type_of<U>::known, "cast to an element type");
    if constexpr (std::is_same_v<U, detail::element_type<A>>)
        return expr<U, detail::rank_of<A>()>(detail::operand<A>::node(a));
    else
        return expr<U, detail::rank_of<A>()>(
            detail::make_node(detail::op::cast, detail::type_of<U>::value, detail::rank_of<A>(), detail::operand<A>::node(a)));
}
template <class U, class A, detail::if_number<A> = 0> U cast(A a) { return static_cast<U>(a); }

/// The parts of frexp(a): a number of at least a half and below 1, and the power of two beside it, as a number of a's element type.
template <class A, detail::if_operands<A> = 0> auto frexp_mantissa(const A &a) { return detail::real<detail::op::frexp_mantissa>(a); }
template <class A, detail::if_operands<A> = 0> auto frexp_exponent(const A &a) { return detail::real<detail::op::frexp_exponent>(a); }
/// Both parts in a std::tuple; the power is a std::int32_t.
template <class A, detail::if_operands<A> = 0> auto frexp(const A &a) {
    return std::make_tuple(arraygpu::frexp_mantissa(a), arraygpu::cast<std::int32_t>(arraygpu::frexp_exponent(a)));
}
/// a times two to the n, which is made of std::int32_t, or of a's elements.
template <class A, class B, detail::if_operands<A, B> = 0> auto ldexp(const A &a, const B &n) {
    if constexpr (detail::is_power<A, B>()) {
        // no half has each of these powers
        using Wide = detail::wide_type<detail::element_type<A>>;
        const auto power = arraygpu::min(arraygpu::max(n, -5000), 5000);
        return arraygpu::cast<detail::element_type<A>>(detail::real<detail::op::ldexp>(arraygpu::cast<Wide>(a), arraygpu::cast<Wide>(power)));
    } else {
        return detail::real<detail::op::ldexp>(a, n);
    }
}

/// Lets GPUs compute with the approximations of fast_math (docs/semantics.md 8), in the whole program that contains the expression.
template <class A, detail::if_operands<A> = 0> auto fast_math(const A &a) {
    using T = detail::element_type<A>;
    return expr<T, detail::rank_of<A>()>(
        detail::make_node(detail::op::fast_math, detail::type_of<T>::value, detail::rank_of<A>(), detail::operand<A>::node(a)));
}

/// Lets GPUs compute matrix products with tensor cores (docs/semantics.md 8), in the whole program that contains the expression.
template <class A, detail::if_operands<A> = 0> auto tensor_cores(const A &a) {
    using T = detail::element_type<A>;
    return expr<T, detail::rank_of<A>()>(
        detail::make_node(detail::op::tensor_cores, detail::type_of<T>::value, detail::rank_of<A>(), detail::operand<A>::node(a)));
}

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_FUNCTIONS_HPP
