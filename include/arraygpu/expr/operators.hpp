// Operators on expressions, arrays and views. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_OPERATORS_HPP
#define ARRAYGPU_EXPR_OPERATORS_HPP

#include <arraygpu/expr/expr.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// An element-wise operation of operands of one type.
template <op Code, class R, class... X> auto elementwise(const X &...x) {
    using T = element_type<X...>;
    static_assert(ranks_fit<X...>(), "a vector beside a matrix, or a matrix beside an array of three dimensions: repeat it with spread_rows, spread_cols or spread_planes");
    constexpr int rank = joined_rank<X...>();
    return expr<R, rank>(make_node(Code, type_of<R>::value, rank, node_of<T>(x)...));
}
template <op Code, class... X> auto arithmetic(const X &...x) {
    using T = element_type<X...>;
    static_assert(!std::is_same_v<T, bool>, "arithmetic on truth values: use && || ! ^, or cast<int>(x)");
    return elementwise<Code, T>(x...);
}
/// An operation that was just made, as one that an author writes by this word.
template <class E> E worded(E made, const char *word) {
    made.c_node()->written.word = word;
    return made;
}
template <class T> constexpr void has_bits() { static_assert(!is_real<T>, "an operation on bits, of numbers with fractions"); }
/// A number of C++ beside bits of type T is a mask, whose bits that T does not have are all 0 or all 1: ~0x80, the int -129, is 0x7f beside std::uint8_t.
template <class T, class X> decltype(auto) mask(const X &x) {
    if constexpr (std::is_integral_v<T> && std::is_integral_v<X> && !std::is_same_v<T, bool> && !std::is_same_v<X, bool>) {
        const bool is_mask = has_number<std::make_unsigned_t<T>>(x < X(0) ? ~x : +x);
        return is_mask ? static_cast<T>(x) : number_as<T>(x);
    } else if constexpr (staged_type<X>::is) {
        return staged(mask<T>(x.value()));
    } else {
        return (x);
    }
}
/// An element-wise operation of integers or truth values.
template <op Code, class... X> auto bitwise(const X &...x) {
    using T = element_type<X...>;
    has_bits<T>();
    return elementwise<Code, T>(mask<T>(x)...);
}
template <op Code, class... X> auto shift(const X &...x) {
    using T = element_type<X...>;
    static_assert(!std::is_same_v<T, bool>, "truth values are not shifted");
    has_bits<T>();
    return elementwise<Code, T>(x...);
}
template <class T> constexpr void has_order() {
    static_assert(!std::is_same_v<T, bool>, "truth values have no order: use any, all, or cast<int>(x)");
}
template <class T> constexpr void has_sums() {
    static_assert(!std::is_same_v<T, bool>, "a sum or product of truth values: write cast<int>(x)");
}
template <op Code, class... X> auto order(const X &...x) {
    has_order<element_type<X...>>();
    return elementwise<Code, bool>(x...);
}
template <op Code, class... X> auto comparison(const X &...x) { return elementwise<Code, bool>(x...); }
template <op Code, class... X> auto logical(const X &...x) {
    static_assert(std::is_same_v<element_type<X...>, bool>, "&& || and ! take truth values: compare the numbers first");
    return elementwise<Code, bool>(x...);
}

} // namespace detail

template <class A, class B, detail::if_operands<A, B> = 0> auto operator+(const A &a, const B &b) {
    return detail::arithmetic<detail::op::add>(a, b);
}
template <class A, class B, detail::if_operands<A, B> = 0> auto operator-(const A &a, const B &b) {
    return detail::arithmetic<detail::op::sub>(a, b);
}
template <class A, class B, detail::if_operands<A, B> = 0> auto operator*(const A &a, const B &b) {
    return detail::arithmetic<detail::op::mul>(a, b);
}
template <class A, class B, detail::if_operands<A, B> = 0> auto operator/(const A &a, const B &b) {
    return detail::arithmetic<detail::op::div>(a, b);
}
template <class A, class B, detail::if_operands<A, B> = 0> auto operator%(const A &a, const B &b) {
    // of numbers with fractions it is fmod, as in the language
    if constexpr (detail::is_real<detail::element_type<A, B>>)
        return detail::worded(detail::arithmetic<detail::op::fmod>(a, b), "%");
    else
        return detail::arithmetic<detail::op::rem>(a, b);
}
template <class A, detail::if_operands<A> = 0> auto operator-(const A &a) { return detail::arithmetic<detail::op::neg>(a); }
template <class A, detail::if_operands<A> = 0> auto operator+(const A &a) {
    return expr<typename detail::operand<A>::type, detail::rank_of<A>()>(detail::operand<A>::node(a));
}

template <class A, class B, detail::if_operands<A, B> = 0> auto operator&(const A &a, const B &b) { return detail::bitwise<detail::op::and_>(a, b); }
template <class A, class B, detail::if_operands<A, B> = 0> auto operator|(const A &a, const B &b) { return detail::bitwise<detail::op::or_>(a, b); }
template <class A, class B, detail::if_operands<A, B> = 0> auto operator^(const A &a, const B &b) { return detail::bitwise<detail::op::xor_>(a, b); }
template <class A, class B, detail::if_operands<A, B> = 0> auto operator<<(const A &a, const B &b) { return detail::shift<detail::op::shl>(a, b); }
template <class A, class B, detail::if_operands<A, B> = 0> auto operator>>(const A &a, const B &b) { return detail::shift<detail::op::shr>(a, b); }
template <class A, detail::if_operands<A> = 0> auto operator~(const A &a) { return detail::bitwise<detail::op::not_>(a); }

template <class A, class B, detail::if_operands<A, B> = 0> auto operator==(const A &a, const B &b) {
    return detail::comparison<detail::op::eq>(a, b);
}
template <class A, class B, detail::if_operands<A, B> = 0> auto operator!=(const A &a, const B &b) {
    return detail::comparison<detail::op::ne>(a, b);
}
template <class A, class B, detail::if_operands<A, B> = 0> auto operator<(const A &a, const B &b) { return detail::order<detail::op::lt>(a, b); }
template <class A, class B, detail::if_operands<A, B> = 0> auto operator<=(const A &a, const B &b) {
    return detail::order<detail::op::le>(a, b);
}
template <class A, class B, detail::if_operands<A, B> = 0> auto operator>(const A &a, const B &b) { return detail::order<detail::op::gt>(a, b); }
template <class A, class B, detail::if_operands<A, B> = 0> auto operator>=(const A &a, const B &b) {
    return detail::order<detail::op::ge>(a, b);
}

/// Both sides are computed: there is no branch.
template <class A, class B, detail::if_operands<A, B> = 0> auto operator&&(const A &a, const B &b) { return detail::worded(detail::logical<detail::op::and_>(a, b), "&&"); }
template <class A, class B, detail::if_operands<A, B> = 0> auto operator||(const A &a, const B &b) { return detail::worded(detail::logical<detail::op::or_>(a, b), "||"); }
template <class A, detail::if_operands<A> = 0> auto operator!(const A &a) { return detail::logical<detail::op::not_>(a); }

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_OPERATORS_HPP
