// Complex numbers in expressions: two expressions, with the formulas of docs/semantics.md 2.11. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_COMPLEX_HPP
#define ARRAYGPU_EXPR_COMPLEX_HPP

#include <arraygpu/expr/compound.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

template <class T> struct compound<std::complex<T>, false> {
    static constexpr bool is = true;
    using fields = std::tuple<T, T>;
    static constexpr std::size_t place(std::size_t field) { return field * sizeof(T); }
    static std::string name(std::size_t field) { return field ? "im" : "re"; }
    template <int Rank> static auto all(const expr<std::complex<T>, Rank> &z) { return std::tie(z.re(), z.im()); }
    template <int Rank> static expr<std::complex<T>, Rank> made(expr<T, Rank> re, expr<T, Rank> im) { return {std::move(re), std::move(im)}; }
};
template <class E> inline constexpr bool is_complex_element = false;
template <class T> inline constexpr bool is_complex_element<std::complex<T>> = true;
template <class X> inline constexpr bool is_complex = is_complex_element<compound_element<X>>;

} // namespace detail

/// An expression of complex numbers that is not computed yet: its real and its imaginary parts, real(e) and imag(e).
template <class T, int Rank> class expr<std::complex<T>, Rank> {
public:
    using value_type = std::complex<T>;
    static constexpr int rank = Rank;

    expr(expr<T, Rank> re, expr<T, Rank> im) : re_(std::move(re)), im_(std::move(im)) {}
    /// An array or view of complex numbers, a number of the host.
    template <class X, std::enable_if_t<detail::is_complex<X> && !std::is_same_v<X, expr>, int> = 0> expr(const X &x) : expr(detail::compound_operand<X>::of(x)) {
        static_assert(detail::compound_operand<X>::rank == Rank, "an expression of another rank");
    }
    /// Zero.
    template <int R = Rank, std::enable_if_t<R == 0, int> = 0> expr() {}

    /// Computes a scalar and brings it to the host: one run, which waits.
    template <class U, std::enable_if_t<Rank == 0 && std::is_same_v<U, std::complex<T>>, int> = 0> operator U() const;

    std::size_t size() const noexcept { return re_.size(); }
    bool empty() const noexcept { return re_.empty(); }
    std::size_t extent(int axis) const noexcept { return re_.extent(axis); }
    std::size_t planes() const noexcept { return re_.planes(); }
    std::size_t rows() const noexcept { return re_.rows(); }
    std::size_t cols() const noexcept { return re_.cols(); }
    const expr<T, Rank> &re() const noexcept { return re_; }
    const expr<T, Rank> &im() const noexcept { return im_; }

private:
    expr<T, Rank> re_, im_;
};

namespace detail {

/// Enables what takes complex operands, at least one of which is no number of the host.
template <class... X> using if_complex = std::enable_if_t<(is_complex<X> && ...) && (!compound<X>::is || ...), int>;
template <class X> using if_complex_array = std::enable_if_t<is_complex<X> && (compound_operand<X>::rank > 0), int>;

template <class T, int Rank> expr<std::complex<T>, Rank> joined_parts(expr<T, Rank> re, expr<T, Rank> im) { return {std::move(re), std::move(im)}; }
/// The parts of two operands of one type.
template <class A, class B, class F> auto of_both(const A &a, const B &b, const F &f) {
    static_assert(std::is_same_v<compound_element<A>, compound_element<B>>,
                  "the element types differ: nothing converts by itself, so write cast<T>(z) around one of them");
    const auto &z = compound_operand<A>::of(a);
    const auto &w = compound_operand<B>::of(b);
    return f(z.re(), z.im(), w.re(), w.im());
}

} // namespace detail

/// The number with these parts.
template <class A, class B, detail::if_operands<A, B> = 0> auto complex(const A &re, const B &im) {
    using T = detail::element_type<A, B>;
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "complex numbers of float or double");
    constexpr int rank = detail::joined_rank<A, B>();
    return expr<std::complex<T>, rank>(expr<T, rank>(detail::node_of<T>(re)), expr<T, rank>(detail::node_of<T>(im)));
}
template <class T, int Rank> expr<T, Rank> real(const expr<std::complex<T>, Rank> &z) { return z.re(); }
template <class T, int Rank> expr<T, Rank> imag(const expr<std::complex<T>, Rank> &z) { return z.im(); }

template <class A, class B, detail::if_complex<A, B> = 0> auto operator+(const A &x, const B &y) {
    return detail::of_both(x, y, [](const auto &a, const auto &b, const auto &c, const auto &d) { return detail::joined_parts(a + c, b + d); });
}
template <class A, class B, detail::if_complex<A, B> = 0> auto operator-(const A &x, const B &y) {
    return detail::of_both(x, y, [](const auto &a, const auto &b, const auto &c, const auto &d) { return detail::joined_parts(a - c, b - d); });
}
template <class A, class B, detail::if_complex<A, B> = 0> auto operator*(const A &x, const B &y) {
    return detail::of_both(
        x, y, [](const auto &a, const auto &b, const auto &c, const auto &d) { return detail::joined_parts(a * c - b * d, a * d + b * c); });
}
/// Smith's quotient: by the larger part of the divisor, so that squares of it cannot overflow.
template <class A, class B, detail::if_complex<A, B> = 0> auto operator/(const A &x, const B &y) {
    return detail::of_both(x, y, [](const auto &a, const auto &b, const auto &c, const auto &d) {
        const auto by_real = abs(c) >= abs(d);
        const auto large = select(by_real, c, d), small = select(by_real, d, c);
        const auto ratio = small / large, divisor = large + small * ratio;
        return detail::joined_parts(select(by_real, a + b * ratio, a * ratio + b) / divisor, select(by_real, b - a * ratio, b * ratio - a) / divisor);
    });
}
template <class A, detail::if_complex<A> = 0> auto operator-(const A &a) {
    return detail::of_parts(a, [](const auto &x) { return -x; });
}
template <class A, class B, detail::if_complex<A, B> = 0> auto operator==(const A &x, const B &y) {
    return detail::of_both(x, y, [](const auto &a, const auto &b, const auto &c, const auto &d) { return a == c && b == d; });
}
template <class A, class B, detail::if_complex<A, B> = 0> auto operator!=(const A &x, const B &y) { return !(x == y); }

namespace detail {
template <class A, class B> using if_complex_and_real = std::enable_if_t<(is_complex<A> && (is_operand<B> || is_host<B>)) || (is_complex<B> && (is_operand<A> || is_host<A>)), int>;
template <class A> constexpr void no_mixture() {
    static_assert(never<A>, "a real number beside complex ones: scale(z, x) multiplies both parts; complex(x, 0 * x) and std::complex are complex numbers");
}
} // namespace detail
template <class A, class B, detail::if_complex_and_real<A, B> = 0> void operator+(const A &, const B &) { detail::no_mixture<A>(); }
template <class A, class B, detail::if_complex_and_real<A, B> = 0> void operator-(const A &, const B &) { detail::no_mixture<A>(); }
template <class A, class B, detail::if_complex_and_real<A, B> = 0> void operator*(const A &, const B &) { detail::no_mixture<A>(); }
template <class A, class B, detail::if_complex_and_real<A, B> = 0> void operator/(const A &, const B &) { detail::no_mixture<A>(); }

/// The imaginary part with the other sign.
template <class A, detail::if_complex<A> = 0> auto conj(const A &a) {
    const auto &z = detail::compound_operand<A>::of(a);
    return detail::joined_parts(z.re(), -z.im());
}
/// The product of both parts with a real number, or real numbers.
template <class A, class X, detail::if_complex<A> = 0> auto scale(const A &a, const X &factor) {
    return detail::of_parts(a, [&](const auto &x) { return x * factor; });
}
/// re * re + im * im.
template <class A, detail::if_complex<A> = 0> auto norm_sqr(const A &a) {
    const auto &z = detail::compound_operand<A>::of(a);
    return z.re() * z.re() + z.im() * z.im();
}
template <class A, detail::if_complex<A> = 0> auto abs(const A &a) {
    const auto &z = detail::compound_operand<A>::of(a);
    return hypot(z.re(), z.im());
}
/// The angle in radians.
template <class A, detail::if_complex<A> = 0> auto arg(const A &a) {
    const auto &z = detail::compound_operand<A>::of(a);
    return atan2(z.im(), z.re());
}
template <class U, class A, detail::if_complex<A> = 0> auto cast(const A &a) {
    const auto &z = detail::compound_operand<A>::of(a);
    return detail::joined_parts(arraygpu::cast<U>(z.re()), arraygpu::cast<U>(z.im()));
}
/// The sum of the real parts, and that of the imaginary parts.
template <class A, detail::if_complex_array<A> = 0> auto sum(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(a, [&](const auto &x) { return arraygpu::sum(x, here.of("sum")); });
}
/// Four products of the parts.
template <class A, class B, detail::if_complex_array<A> = 0, detail::if_complex_array<B> = 0>
auto matmul(const A &x, const B &y, detail::place here = ARRAYGPU_HERE) {
    const auto product = [&](const auto &p, const auto &q) { return arraygpu::matmul(p, q, here.of("matmul")); };
    return detail::of_both(x, y, [&](const auto &a, const auto &b, const auto &c, const auto &d) {
        return detail::joined_parts(product(a, c) - product(b, d), product(a, d) + product(b, c));
    });
}

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_COMPLEX_HPP
