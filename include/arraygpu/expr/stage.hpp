// Staged values: known on the host, and a part of the program. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_STAGE_HPP
#define ARRAYGPU_EXPR_STAGE_HPP

#include <arraygpu/expr/trace.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {

/// A number of the host that becomes a constant of the programs that use it: they are compiled again when it changes. It converts to a number, so
/// that C++ itself unrolls loops over staged bounds. Operators of staged and plain numbers give staged numbers; with an expression they give an
/// expression.
template <class T> class staged {
public:
    using value_type = T;

    constexpr explicit staged(T value) noexcept : value_(value) {}
    template <class U> constexpr staged(const staged<U> &other) noexcept : value_(static_cast<T>(other.value())) {}
    constexpr T value() const noexcept { return value_; }
    constexpr operator T() const noexcept { return value_; }

private:
    T value_;
};

/// Converts a staged number to another type; the result is staged, too.
template <class U, class T> constexpr staged<U> cast(const staged<T> &x) noexcept { return staged<U>(static_cast<U>(x.value())); }

namespace detail {

template <class X> constexpr const X &unstaged(const X &x) { return x; }
template <class T> constexpr T unstaged(const staged<T> &x) { return x.value(); }
template <class T> constexpr staged<T> restaged(T value) { return staged<T>(value); }
/// The quotient of two numbers of the host, or what is left: of integers an error if the divisor is 0; the least one by -1 wraps, as elements do.
template <bool Rest, class A, class B> constexpr auto divided(A a, B b) {
    using C = decltype(a / b);
    if constexpr (std::is_integral_v<C>) {
        if (b == B(0)) {
            fail(error(AGPU_ERROR_INVALID_ARGUMENT, "a staged number is divided by 0"));
            return C(0);
        }
        if constexpr (std::is_signed_v<C>) {
            if (C(b) == C(-1)) return Rest ? C(0) : C(std::make_unsigned_t<C>(0) - std::make_unsigned_t<C>(a));
        }
    }
    if constexpr (Rest)
        return C(a % b);
    else
        return C(a / b);
}
template <class A, class B> using if_staged =
    std::enable_if_t<(staged_type<A>::is || staged_type<B>::is) && (staged_type<A>::is || is_number<A>)&&(staged_type<B>::is || is_number<B>), int>;

} // namespace detail

template <class A, class B, detail::if_staged<A, B> = 0> constexpr auto operator+(A a, B b) {
    return detail::restaged(detail::unstaged(a) + detail::unstaged(b));
}
template <class A, class B, detail::if_staged<A, B> = 0> constexpr auto operator-(A a, B b) {
    return detail::restaged(detail::unstaged(a) - detail::unstaged(b));
}
template <class A, class B, detail::if_staged<A, B> = 0> constexpr auto operator*(A a, B b) {
    return detail::restaged(detail::unstaged(a) * detail::unstaged(b));
}
template <class A, class B, detail::if_staged<A, B> = 0> constexpr auto operator/(A a, B b) {
    return detail::restaged(detail::divided<false>(detail::unstaged(a), detail::unstaged(b)));
}
template <class A, class B, detail::if_staged<A, B> = 0> constexpr auto operator%(A a, B b) {
    return detail::restaged(detail::divided<true>(detail::unstaged(a), detail::unstaged(b)));
}
template <class A, class B, detail::if_staged<A, B> = 0> constexpr auto operator&(A a, B b) {
    return detail::restaged(detail::unstaged(a) & detail::unstaged(b));
}
template <class A, class B, detail::if_staged<A, B> = 0> constexpr auto operator|(A a, B b) {
    return detail::restaged(detail::unstaged(a) | detail::unstaged(b));
}
template <class A, class B, detail::if_staged<A, B> = 0> constexpr auto operator^(A a, B b) {
    return detail::restaged(detail::unstaged(a) ^ detail::unstaged(b));
}
template <class A, class B, detail::if_staged<A, B> = 0> constexpr auto operator<<(A a, B b) {
    return detail::restaged(detail::unstaged(a) << detail::unstaged(b));
}
template <class A, class B, detail::if_staged<A, B> = 0> constexpr auto operator>>(A a, B b) {
    return detail::restaged(detail::unstaged(a) >> detail::unstaged(b));
}
template <class A, class B, detail::if_staged<A, B> = 0> constexpr auto operator==(A a, B b) {
    return detail::restaged(detail::unstaged(a) == detail::unstaged(b));
}
template <class A, class B, detail::if_staged<A, B> = 0> constexpr auto operator!=(A a, B b) {
    return detail::restaged(detail::unstaged(a) != detail::unstaged(b));
}
template <class A, class B, detail::if_staged<A, B> = 0> constexpr auto operator<(A a, B b) {
    return detail::restaged(detail::unstaged(a) < detail::unstaged(b));
}
template <class A, class B, detail::if_staged<A, B> = 0> constexpr auto operator<=(A a, B b) {
    return detail::restaged(detail::unstaged(a) <= detail::unstaged(b));
}
template <class A, class B, detail::if_staged<A, B> = 0> constexpr auto operator>(A a, B b) {
    return detail::restaged(detail::unstaged(a) > detail::unstaged(b));
}
template <class A, class B, detail::if_staged<A, B> = 0> constexpr auto operator>=(A a, B b) {
    return detail::restaged(detail::unstaged(a) >= detail::unstaged(b));
}
template <class T> constexpr staged<decltype(-T{})> operator-(staged<T> a) { return staged<decltype(-T{})>(-a.value()); }

/// Makes a staged value. A value that is computed on the device cannot be staged: it is not known before the program runs.
template <class X, std::enable_if_t<!std::is_invocable_v<X &>, int> = 0> constexpr auto stage(const X &x) {
    static_assert(!detail::is_operand<X>, "stage: this value is computed on the device, and would be needed before the program is compiled");
    static_assert(detail::is_operand<X> || detail::is_host<X>, "stage: a number, or a function that gives one");
    if constexpr (detail::staged_type<X>::is)
        return x;
    else if constexpr (detail::is_number<X>)
        return staged<X>(x);
}
/// Calls f now with numbers and staged numbers, and stages its result.
template <class F, class... X, std::enable_if_t<std::is_invocable_v<F &, decltype(detail::unstaged(std::declval<const X &>()))...>, int> = 0>
constexpr auto stage(F &&f, const X &...x) {
    static_assert((!detail::is_operand<X> && ...),
                  "stage: an argument is computed on the device, and would be needed before the program is compiled");
    using R = std::decay_t<decltype(f(detail::unstaged(x)...))>;
    static_assert(!std::is_void_v<R> && !detail::is_operand<R>, "stage: the function gives no number of the host");
    if constexpr (detail::staged_type<R>::is)
        return f(detail::unstaged(x)...);
    else if constexpr (detail::is_number<R>)
        return staged<R>(f(detail::unstaged(x)...));
}

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_STAGE_HPP
