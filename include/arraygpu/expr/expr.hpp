// The class expr, and the operands that may be combined with one. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_EXPR_HPP
#define ARRAYGPU_EXPR_EXPR_HPP

#include <arraygpu/expr/make.hpp>
#include <arraygpu/matrix.hpp>
#include <arraygpu/record.hpp>
#include <arraygpu/tensor3.hpp>
#include <arraygpu/vector.hpp>

#include <limits>
#include <string>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {

template <class T> class staged;

namespace detail {

template <class T> T run_scalar(const node_ptr &node);

/// Elements of several values, each of which is an expression by itself: complex numbers, described structs (arraygpu/expr/compound.hpp).
template <class E, bool = record<E>::described> struct compound {
    static constexpr bool is = false;
};
template <class X> struct compound_operand;
template <class X> inline constexpr bool is_compound = compound_operand<X>::is;

/// Operands of expressions, beside numbers of the host: element type, rank, and node of each.
template <class X, class = void> struct operand {
    static constexpr bool ours = false;
};
template <class T, int Rank> struct operand_of {
    static constexpr bool ours = true;
    static constexpr int rank = Rank;
    using type = T;
};
template <class T, int Rank> struct expr_operand : operand_of<T, Rank> {
    static node_ptr node(const expr<T, Rank> &e) { return e.c_node(); }
};
/// The memory that an array owns, with a use more; null for a view, which keeps nothing.
template <class A> auto share(const A &owned, int) -> decltype(owned.owner().share()) { return owned.owner().share(); }
template <class A> buffer_owner::block *share(const A &, long) { return nullptr; }
template <class A, class T, int Rank> struct array_operand : operand_of<T, Rank> {
    static node_ptr node(const A &a, const char *name = nullptr) { return make_array(a.c_view(), type_of<T>::value, Rank, share(a, 0), name); }
};
/// An element that stays on the device.
template <class T> struct element_operand : operand_of<T, 0> {
    static node_ptr node(const gpu_scalar<T> &s, const char *name = nullptr) {
        return make_node(op::read, type_of<T>::value, 0, array_operand<gpu_scalar<T>, T, 1>::node(s, name), make_number<std::int64_t>(op::constant, 0));
    }
};
struct no_operand {
    static constexpr bool ours = false;
};
/// Elements of several values are no operand, but several.
template <class T, class Operand> using one_operand = std::conditional_t<compound<T>::is, no_operand, Operand>;
template <class T, int Rank> struct operand<expr<T, Rank>> : one_operand<T, expr_operand<T, Rank>> {};
template <class T> struct operand<gpu_vector<T>> : one_operand<T, array_operand<gpu_vector<T>, T, 1>> {};
template <class T> struct operand<gpu_vector_view<T>> : one_operand<std::remove_const_t<T>, array_operand<gpu_vector_view<T>, std::remove_const_t<T>, 1>> {};
template <class T> struct operand<gpu_matrix<T>> : one_operand<T, array_operand<gpu_matrix<T>, T, 2>> {};
template <class T> struct operand<gpu_matrix_view<T>> : one_operand<std::remove_const_t<T>, array_operand<gpu_matrix_view<T>, std::remove_const_t<T>, 2>> {};
template <class T> struct operand<gpu_tensor3<T>> : one_operand<T, array_operand<gpu_tensor3<T>, T, 3>> {};
template <class T> struct operand<gpu_tensor3_view<T>> : one_operand<std::remove_const_t<T>, array_operand<gpu_tensor3_view<T>, std::remove_const_t<T>, 3>> {};
template <class T> struct operand<gpu_scalar<T>> : one_operand<T, element_operand<T>> {};

template <class X> inline constexpr bool is_operand = operand<X>::ours;
template <class X> inline constexpr bool is_number = std::is_arithmetic_v<X> || std::is_same_v<X, half> || std::is_same_v<X, bfloat16>;
template <class X> struct staged_type {
    static constexpr bool is = false;
};
template <class T> struct staged_type<staged<T>> {
    static constexpr bool is = true;
    using type = T;
};
template <class X> inline constexpr bool is_host = is_number<X> || staged_type<X>::is;
/// The type of the number of numbers of the host, plain or staged; of several the one that C++ gives them.
template <class... X> struct host_type : std::common_type<typename host_type<X>::type...> {};
template <class X> struct host_type<X> : std::conditional_t<staged_type<X>::is, staged_type<X>, std::common_type<X>> {};
template <class T> inline constexpr bool is_real = std::is_floating_point_v<T> || std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

/// Enables an operator if one operand is an expression, array or view of arraygpu, and the others may be combined with it.
template <class... X> using if_operands = std::enable_if_t<(is_operand<X> || ...) && ((is_operand<X> || is_host<X>)&&...), int>;
template <class X> using if_number = std::enable_if_t<is_number<X>, int>;

/// The common element type of the operands that belong to arraygpu.
template <class Known, class X, bool = is_operand<X>> struct joined {
    using type = Known;
};
template <class Known, class X> struct joined<Known, X, true> {
    using type = typename operand<X>::type;
    static_assert(std::is_void_v<Known> || std::is_same_v<Known, type>,
                  "the element types differ: nothing converts by itself, so write cast<T>(x) around one of them");
};
template <class Known, class... X> struct elements {
    using type = Known;
};
template <class Known, class X, class... Rest> struct elements<Known, X, Rest...> : elements<typename joined<Known, X>::type, Rest...> {};
template <class... X> using element_type = typename elements<void, X...>::type;

template <class X> constexpr int rank_of() noexcept {
    if constexpr (is_operand<X>) return operand<X>::rank;
    return 0;
}
/// The rank of an element-wise operation.
template <class... X> constexpr int joined_rank() {
    int rank = 0;
    ((rank = rank_of<X>() > rank ? rank_of<X>() : rank), ...);
    return rank;
}
template <class... X> constexpr bool ranks_fit() { return ((rank_of<X>() == 0 || rank_of<X>() == joined_rank<X...>()) && ...); }

/// Whether a number of type X may stand beside elements of type T.
template <class T, class X> constexpr void beside() noexcept {
    static_assert(!std::is_same_v<T, bool> || std::is_same_v<X, bool>, "a number beside truth values: compare it first");
    static_assert(is_real<T> || !is_real<X>, "a number with a fraction beside integers: write cast<float>(x) around them, or an integer");
}

/// Whether an integer of C++ is a number of the integer type T.
template <class T, class X> constexpr bool has_number(X x) noexcept {
    using limits = std::numeric_limits<T>;
    if constexpr (std::is_unsigned_v<X>) return std::uint64_t(x) <= std::uint64_t(limits::max());
    else if constexpr (std::is_unsigned_v<T>) return std::int64_t(x) >= 0 && std::uint64_t(x) <= std::uint64_t(limits::max());
    else return std::int64_t(x) >= std::int64_t(limits::min()) && std::int64_t(x) <= std::int64_t(limits::max());
}
[[noreturn]] inline void no_number(const std::string &number, bool is_signed, std::size_t bytes, const std::string &least, const std::string &greatest) {
    throw error(AGPU_ERROR_INVALID_ARGUMENT, "the number " + number + " beside elements of " + (is_signed ? "int" : "uint") + std::to_string(8 * bytes) +
                                                 "_t, which are " + least + " to " + greatest + ": write cast<T>(x) around them, or a number that they have");
}
/// A number of C++ as one of the type T. Integers do not wrap around: one that T does not have is an error.
template <class T, class X> T number_as(X x) {
    if constexpr (std::is_integral_v<T> && std::is_integral_v<X>) {
        using limits = std::numeric_limits<T>;
        if (!has_number<T>(x)) no_number(std::to_string(x), std::is_signed_v<T>, sizeof(T), std::to_string(limits::min()), std::to_string(limits::max()));
    }
    return static_cast<T>(x);
}

/// An operand as a node of this element type; numbers of the host become parameters, staged ones constants.
template <class T, class X> node_ptr node_of(const X &x) {
    if constexpr (is_operand<X>) {
        static_assert(std::is_same_v<typename operand<X>::type, T>,
                      "the element types differ: nothing converts by itself, so write cast<T>(x) around one of them");
        return operand<X>::node(x);
    } else if constexpr (staged_type<X>::is) {
        beside<T, typename staged_type<X>::type>();
        return make_number<T>(op::constant, number_as<T>(x.value()));
    } else {
        static_assert(is_number<X>, "this is neither an expression nor a number");
        beside<T, X>();
        return make_number<T>(op::literal, number_as<T>(x));
    }
}

} // namespace detail

/// An expression that is not computed yet: a scalar (Rank 0), a vector (1), a matrix (2) or an array of three dimensions (3) of T. Cheap to copy. It reads its arrays when it is
/// computed, and keeps their memory alive until then; the memory of views it does not keep alive. An array that is assigned another size gets new
/// memory: expressions that were made before still read the old memory.
///
/// Inside of a function that is called with them (map, loop, views::transform ..), scalars stand for the elements: they are traced, not computed.
template <class T, int Rank, class> class expr {
    static_assert(!detail::is_record<T>::value, "a struct that is not described: AGPU_RECORD(T, ..) names its fields; field(v, &T::member) is the array of one");
    static_assert(detail::type_of<T>::known, "elements are float, double, half, bfloat16, int8_t .. int64_t, uint8_t .. uint64_t or bool");
    static_assert(Rank >= 0 && Rank <= 3, "expressions are scalars, vectors, matrices and arrays of three dimensions");

public:
    using value_type = T;
    static constexpr int rank = Rank;

    /// For the functions of this header.
    explicit expr(detail::node_ptr node) noexcept : node_(std::move(node)) {}
    /// An array, a view, a scalar that stays on the device.
    template <class X, std::enable_if_t<detail::is_operand<X> && !std::is_same_v<X, expr>, int> = 0> expr(const X &x) : node_(detail::node_of<T>(x)) {
        static_assert(detail::rank_of<X>() == Rank, "an expression of another rank");
    }
    /// A number.
    template <class X, int R = Rank, std::enable_if_t<detail::is_host<X> && R == 0, int> = 0> expr(const X &x) : node_(detail::node_of<T>(x)) {}
    /// Zero.
    template <int R = Rank, std::enable_if_t<R == 0, int> = 0> expr() : node_(detail::make_number<T>(detail::op::constant, T{})) {}
    /// To move is to copy, so that no expression is without a value.
    expr(const expr &) = default;
    expr &operator=(const expr &) = default;

    /// Computes a scalar and brings it to the host: one run, which waits. Throws if the scalar depends on a traced value.
    template <class U, std::enable_if_t<Rank == 0 && std::is_same_v<U, T>, int> = 0> operator U() const { return detail::run_scalar<T>(node_); }
    /// Conditions of branches choose this function, which is no template, also for truth values.
    explicit operator bool() const {
        static_assert(detail::never<T>, "a branch on a value that is not computed yet: use select(condition, a, b); eval(condition) computes it now");
        return false;
    }

    /// The number of elements.
    std::size_t size() const noexcept { return extent(0) * (Rank > 1 ? extent(1) : 1) * (Rank > 2 ? extent(2) : 1); }
    bool empty() const noexcept { return size() == 0; }
    /// The extent along an axis, 0 (outermost) to Rank - 1.
    std::size_t extent(int axis) const noexcept { return std::size_t(node_->extent[axis]); }
    /// Returns the number of planes of an array of three dimensions.
    std::size_t planes() const noexcept {
        static_assert(Rank == 3, "planes are of arrays of three dimensions");
        return extent(0);
    }
    /// Return the extents of a matrix, or of each plane of an array of three dimensions.
    std::size_t rows() const noexcept { return extent(Rank == 3 ? 1 : 0); }
    std::size_t cols() const noexcept { return extent(Rank == 3 ? 2 : 1); }
    const detail::node_ptr &c_node() const noexcept { return node_; }

    template <class X> expr &operator+=(const X &x) { return *this = expr(*this + x); }
    template <class X> expr &operator-=(const X &x) { return *this = expr(*this - x); }
    template <class X> expr &operator*=(const X &x) { return *this = expr(*this * x); }
    template <class X> expr &operator/=(const X &x) { return *this = expr(*this / x); }
    template <class X> expr &operator%=(const X &x) { return *this = expr(*this % x); }
    template <class X> expr &operator&=(const X &x) { return *this = expr(*this & x); }
    template <class X> expr &operator|=(const X &x) { return *this = expr(*this | x); }
    template <class X> expr &operator^=(const X &x) { return *this = expr(*this ^ x); }
    template <class X> expr &operator<<=(const X &x) { return *this = expr(*this << x); }
    template <class X> expr &operator>>=(const X &x) { return *this = expr(*this >> x); }

private:
    detail::node_ptr node_;
};

/// Gives the array a name for messages and explanations.
template <class X, std::enable_if_t<detail::is_operand<X>, int> = 0>
expr<typename detail::operand<X>::type, detail::operand<X>::rank> named(const char *name, const X &x) {
    return expr<typename detail::operand<X>::type, detail::operand<X>::rank>(detail::operand<X>::node(x, name));
}

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_EXPR_HPP
