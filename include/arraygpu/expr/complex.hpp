// Complex numbers in expressions: two expressions, with the formulas of docs/semantics.md 2.11. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_COMPLEX_HPP
#define ARRAYGPU_EXPR_COMPLEX_HPP

#include <arraygpu/expr/arrays.hpp>
#include <arraygpu/field.hpp>

namespace arraygpu {
namespace detail {

/// Operands that are complex: their parts' type, their rank, and their parts.
template <class X> struct complex_operand {
    static constexpr bool is = false;
    using real = void;
};
template <class T, int Rank> struct complex_operand_of {
    static constexpr bool is = true;
    static constexpr int rank = Rank;
    using real = T;
};
template <class X> inline constexpr bool is_complex = complex_operand<X>::is;
/// Arrays of complex numbers are no arrays of one operand.
struct no_operand {
    static constexpr bool ours = false;
};
template <class T, int Rank> struct operand<expr<std::complex<T>, Rank>> : no_operand {};
template <class T> struct operand<gpu_vector<std::complex<T>>> : no_operand {};
template <class T> struct operand<gpu_vector_view<std::complex<T>>> : no_operand {};
template <class T> struct operand<gpu_vector_view<const std::complex<T>>> : no_operand {};
template <class T> struct operand<gpu_matrix<std::complex<T>>> : no_operand {};
template <class T> struct operand<gpu_matrix_view<std::complex<T>>> : no_operand {};
template <class T> struct operand<gpu_matrix_view<const std::complex<T>>> : no_operand {};

} // namespace detail

/// An expression of complex numbers that is not computed yet: its real and its imaginary parts, real(e) and imag(e).
template <class T, int Rank> class expr<std::complex<T>, Rank> {
public:
    using value_type = std::complex<T>;
    static constexpr int rank = Rank;

    expr(expr<T, Rank> re, expr<T, Rank> im) : re_(std::move(re)), im_(std::move(im)) {}
    /// An array or view of complex numbers, a number of the host.
    template <class X, std::enable_if_t<detail::is_complex<X> && !std::is_same_v<X, expr>, int> = 0> expr(const X &x) : expr(detail::complex_operand<X>::of(x)) {
        static_assert(detail::complex_operand<X>::rank == Rank, "an expression of another rank");
    }
    /// Zero.
    template <int R = Rank, std::enable_if_t<R == 0, int> = 0> expr() {}

    /// Computes a scalar and brings it to the host: one run, which waits.
    template <class U, std::enable_if_t<Rank == 0 && std::is_same_v<U, std::complex<T>>, int> = 0> operator U() const;

    std::size_t size() const noexcept { return re_.size(); }
    bool empty() const noexcept { return re_.empty(); }
    std::size_t rows() const noexcept { return re_.rows(); }
    std::size_t cols() const noexcept { return re_.cols(); }
    const expr<T, Rank> &re() const noexcept { return re_; }
    const expr<T, Rank> &im() const noexcept { return im_; }

private:
    expr<T, Rank> re_, im_;
};

namespace detail {

template <class T, int Rank> struct complex_operand<expr<std::complex<T>, Rank>> : complex_operand_of<T, Rank> {
    static const expr<std::complex<T>, Rank> &of(const expr<std::complex<T>, Rank> &e) { return e; }
};
template <class T> struct complex_operand<std::complex<T>> : complex_operand_of<T, 0> {
    static expr<std::complex<T>> of(const std::complex<T> &z) { return {expr<T>(z.real()), expr<T>(z.imag())}; }
};
/// An array or view: its parts are views of the same memory, which they keep if the array owns it.
template <class A, class T, int Rank> struct complex_array : complex_operand_of<T, Rank> {
    static expr<std::complex<T>, Rank> of(const A &a) {
        const auto part = [&](std::int64_t at) {
            return expr<T, Rank>(make_array(field_of<T>(a.c_view(), at, std::int64_t(sizeof(std::complex<T>))), type_of<T>::value, Rank, share(a, 0)));
        };
        return {part(0), part(std::int64_t(sizeof(T)))};
    }

private:
    template <class B> static auto share(const B &owned, int) -> decltype(owned.owner().share()) { return owned.owner().share(); }
    template <class B> static buffer_owner::block *share(const B &, long) { return nullptr; }
};
template <class T> struct complex_operand<gpu_vector<std::complex<T>>> : complex_array<gpu_vector<std::complex<T>>, T, 1> {};
template <class T> struct complex_operand<gpu_vector_view<std::complex<T>>> : complex_array<gpu_vector_view<std::complex<T>>, T, 1> {};
template <class T> struct complex_operand<gpu_vector_view<const std::complex<T>>> : complex_array<gpu_vector_view<const std::complex<T>>, T, 1> {};
template <class T> struct complex_operand<gpu_matrix<std::complex<T>>> : complex_array<gpu_matrix<std::complex<T>>, T, 2> {};
template <class T> struct complex_operand<gpu_matrix_view<std::complex<T>>> : complex_array<gpu_matrix_view<std::complex<T>>, T, 2> {};
template <class T> struct complex_operand<gpu_matrix_view<const std::complex<T>>> : complex_array<gpu_matrix_view<const std::complex<T>>, T, 2> {};

/// Enables what takes complex operands, at least one of which is no number of the host.
template <class X> inline constexpr bool is_host_complex = false;
template <class T> inline constexpr bool is_host_complex<std::complex<T>> = true;
template <class... X> using if_complex = std::enable_if_t<(is_complex<X> && ...) && ((is_complex<X> && !is_host_complex<X>) || ...), int>;
template <class X> using if_complex_array = std::enable_if_t<is_complex<X> && (sizeof(complex_operand<X>) > 0) && (complex_operand<X>::rank > 0), int>;

template <class T, int Rank> expr<std::complex<T>, Rank> joined_parts(expr<T, Rank> re, expr<T, Rank> im) { return {std::move(re), std::move(im)}; }
template <class A, class F> auto of_parts(const A &a, const F &f) {
    const auto &z = complex_operand<A>::of(a);
    return joined_parts(f(z.re()), f(z.im()));
}
/// The parts of two operands of one type.
template <class A, class B, class F> auto of_both(const A &a, const B &b, const F &f) {
    static_assert(std::is_same_v<typename complex_operand<A>::real, typename complex_operand<B>::real>,
                  "the element types differ: nothing converts by itself, so write cast<T>(z) around one of them");
    const auto &z = complex_operand<A>::of(a);
    const auto &w = complex_operand<B>::of(b);
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
/// An array as an expression.
template <class A, detail::if_complex<A> = 0> auto operator+(const A &a) {
    return detail::of_parts(a, [](const auto &x) { return x; });
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
    const auto &z = detail::complex_operand<A>::of(a);
    return detail::joined_parts(z.re(), -z.im());
}
/// The product of both parts with a real number, or real numbers.
template <class A, class X, detail::if_complex<A> = 0> auto scale(const A &a, const X &factor) {
    return detail::of_parts(a, [&](const auto &x) { return x * factor; });
}
/// re * re + im * im.
template <class A, detail::if_complex<A> = 0> auto norm_sqr(const A &a) {
    const auto &z = detail::complex_operand<A>::of(a);
    return z.re() * z.re() + z.im() * z.im();
}
template <class A, detail::if_complex<A> = 0> auto abs(const A &a) {
    const auto &z = detail::complex_operand<A>::of(a);
    return hypot(z.re(), z.im());
}
/// The angle in radians.
template <class A, detail::if_complex<A> = 0> auto arg(const A &a) {
    const auto &z = detail::complex_operand<A>::of(a);
    return atan2(z.im(), z.re());
}
template <class U, class A, detail::if_complex<A> = 0> auto cast(const A &a) {
    return detail::of_parts(a, [](const auto &x) { return arraygpu::cast<U>(x); });
}
/// The sum of the real parts, and that of the imaginary parts.
template <class A, detail::if_complex_array<A> = 0> auto sum(const A &a, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return detail::of_parts(a, [&](const auto &x) { return arraygpu::sum(x, file, line); });
}
/// Four products of the parts.
template <class A, class B, detail::if_complex_array<A> = 0, detail::if_complex_array<B> = 0>
auto matmul(const A &x, const B &y, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    const auto product = [&](const auto &p, const auto &q) { return arraygpu::matmul(p, q, file, line); };
    return detail::of_both(x, y, [&](const auto &a, const auto &b, const auto &c, const auto &d) {
        return detail::joined_parts(product(a, c) - product(b, d), product(a, d) + product(b, c));
    });
}
template <class C, class A, class B, detail::if_complex<A, B> = 0> auto select(const C &condition, const A &x, const B &y) {
    return detail::of_both(x, y, [&](const auto &a, const auto &b, const auto &c, const auto &d) {
        return detail::joined_parts(arraygpu::select(condition, a, c), arraygpu::select(condition, b, d));
    });
}

/// The number of elements, known on the host.
template <class A, detail::if_complex_array<A> = 0> std::size_t size(const A &a) { return a.size(); }
// parts of arrays, as of real ones
template <class A, class... X, detail::if_complex_array<A> = 0> auto slice(const A &a, const X &...x) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::slice(part, x...); });
}
template <class A, class... X, detail::if_complex_array<A> = 0> auto slice_rows(const A &a, const X &...x) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::slice_rows(part, x...); });
}
template <class A, class... X, detail::if_complex_array<A> = 0> auto slice_cols(const A &a, const X &...x) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::slice_cols(part, x...); });
}
template <class A, detail::if_complex_array<A> = 0> auto reverse(const A &a) {
    return detail::of_parts(a, [](const auto &part) { return arraygpu::reverse(part); });
}
template <class A, detail::if_complex_array<A> = 0> auto transpose(const A &a) {
    return detail::of_parts(a, [](const auto &part) { return arraygpu::transpose(part); });
}
template <class A, class I, detail::if_complex_array<A> = 0> auto row(const A &a, const I &i) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::row(part, i); });
}
template <class A, class I, detail::if_complex_array<A> = 0> auto col(const A &a, const I &j) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::col(part, j); });
}
template <class A, class... I, detail::if_complex_array<A> = 0> auto at(const A &a, const I &...index) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::at(part, index...); });
}
template <class A, detail::if_complex_array<A> = 0> auto sum_rows(const A &a) {
    return detail::of_parts(a, [](const auto &part) { return arraygpu::sum_rows(part); });
}
template <class A, detail::if_complex_array<A> = 0> auto sum_cols(const A &a) {
    return detail::of_parts(a, [](const auto &part) { return arraygpu::sum_cols(part); });
}
template <class A, detail::if_complex_array<A> = 0> auto materialize(const A &a) {
    return detail::of_parts(a, [](const auto &part) { return arraygpu::materialize(part); });
}

} // namespace arraygpu

#endif // ARRAYGPU_EXPR_COMPLEX_HPP
