// Tuples of scalars as lists of nodes. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_PARTS_HPP
#define ARRAYGPU_EXPR_PARTS_HPP

#include <arraygpu/expr/complex.hpp>

#include <array>
#include <tuple>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// The value `which` of a node with several; it counts on.
inline node_ptr component(const node_ptr &joined, std::int64_t &which, agpu_type type, int rank = 0) {
    node_ptr made = make_node(op::component, type, rank, joined, joined->written);
    made->own.numbers[0] = which++;
    return made;
}

template <class E> struct is_tuple : std::false_type {};
template <class... E> struct is_tuple<std::tuple<E...>> : std::true_type {};
template <class A, class B> struct is_tuple<std::pair<A, B>> : std::true_type {};
template <class E, std::size_t N> struct is_tuple<std::array<E, N>> : std::true_type {};

/// Whether a tuple has references to its components, as those of std::tie and std::forward_as_tuple.
template <class X> struct refers : std::false_type {};
template <class... X> struct refers<std::tuple<X...>> : std::bool_constant<((std::is_reference_v<X> || refers<X>::value) || ...)> {};

template <std::size_t N> constexpr void few_components() {
    static_assert(N >= 1 && N <= 12, "a tuple has 1 to 12 components; each may be a tuple again");
}

/// What a traced function gets for a tuple of scalars: std::tuple of expr<T>, nested as the tuple is. Its nodes are in the order of the components.
template <class E> struct parts;
template <class T> struct parts_of_one {
    static constexpr std::size_t count = 1;

    static expr<T, 0> variables(node_ptr *&out) {
        *out = make_variable(type_of<T>::value);
        return expr<T, 0>(*out++);
    }
    /// The nodes of a tuple that has, or may have, these types: numbers of the host get the type of their place.
    template <class X> static void nodes(const X &x, node_ptr *&out) {
        static_assert(!is_tuple<X>::value, "a tuple stands in the place of a scalar: the components of both tuples must be the same");
        static_assert(rank_of<X>() == 0, "an array stands in the place of a scalar: reduce it, or read one element with at(x, i)");
        *out++ = node_of<T>(x);
    }
    static expr<T, 0> components(const node_ptr &joined, std::int64_t &which) { return expr<T, 0>(component(joined, which, type_of<T>::value)); }
    /// The tuple whose nodes these are.
    static expr<T, 0> of(const node_ptr *&in) { return expr<T, 0>(*in++); }
    /// The tuple of what f gives for each scalar.
    template <class F> static auto each(const expr<T, 0> &e, const F &f) { return f(e); }
};
/// Elements of several values.
template <class E> struct parts_of_several {
    using element = expr<E, 0>;
    static constexpr std::size_t count = value_count<E>;

    static element variables(node_ptr *&out) {
        return layout<E>::template made<0>(0, [&out](auto which, std::size_t) {
            *out = make_variable(type_of<typename decltype(which)::type>::value);
            return *out++;
        });
    }
    template <class X> static void nodes(const X &x, node_ptr *&out) {
        constexpr bool fits = std::is_same_v<compound_element<X>, E>;
        static_assert(fits || !is_complex_element<E>, "something else stands in the place of a complex number: complex(re, im) makes one");
        static_assert(fits || is_complex_element<E>, "something else stands in the place of a struct: make_record<T>(..) makes one of its fields");
        if constexpr (fits) layout<E>::each(element(x), 0, [&out](const auto &value, std::size_t) { *out++ = value.c_node(); });
    }
    static element components(const node_ptr &joined, std::int64_t &which) {
        return layout<E>::template made<0>(0, [&](auto value, std::size_t) { return component(joined, which, type_of<typename decltype(value)::type>::value); });
    }
    static element of(const node_ptr *&in) { return from_nodes<E, 0>(in); }
    template <class F> static auto each(const element &e, const F &f) { return of_values(e, f); }
};
template <class T> struct parts<expr<T, 0>> : std::conditional_t<compound<T>::is, parts_of_several<T>, parts_of_one<T>> {};
template <class... E> struct parts<std::tuple<E...>> {
    static constexpr std::size_t count = (parts<E>::count + ...);

    static std::tuple<E...> variables(node_ptr *&out) { return std::tuple<E...>{parts<E>::variables(out)...}; }
    template <class X> static void nodes(const X &x, node_ptr *&out) {
        static_assert(is_tuple<X>::value, "a scalar stands in the place of a tuple: the components of both tuples must be the same");
        if constexpr (is_tuple<X>::value) {
            static_assert(std::tuple_size_v<X> == sizeof...(E), "a tuple has more or fewer components than the one in whose place it stands");
            if constexpr (std::tuple_size_v<X> == sizeof...(E)) each_node(x, out, std::index_sequence_for<E...>());
        }
    }
    static std::tuple<E...> components(const node_ptr &joined, std::int64_t &which) {
        return std::tuple<E...>{parts<E>::components(joined, which)...};
    }
    static std::tuple<E...> of(const node_ptr *&in) { return std::tuple<E...>{parts<E>::of(in)...}; }
    template <class F> static auto each(const std::tuple<E...> &e, const F &f) {
        return std::apply([&f](const E &...c) { return std::tuple<decltype(parts<E>::each(c, f))...>{parts<E>::each(c, f)...}; }, e);
    }

private:
    template <class X, std::size_t... I> static void each_node(const X &x, node_ptr *&out, std::index_sequence<I...>) {
        (parts<E>::nodes(std::get<I>(x), out), ...);
    }
};
/// A small array of scalars or tuples.
template <class E, std::size_t N> struct parts<std::array<E, N>> {
    using list = std::array<E, N>;
    using indices = std::make_index_sequence<N>;
    static constexpr std::size_t count = N * parts<E>::count;

    static list variables(node_ptr *&out) {
        return made([&](std::size_t) { return parts<E>::variables(out); }, indices());
    }
    template <class X> static void nodes(const X &x, node_ptr *&out) {
        static_assert(is_tuple<X>::value, "a scalar stands in the place of a std::array: the elements of both must be the same");
        if constexpr (is_tuple<X>::value) {
            static_assert(std::tuple_size_v<X> == N, "a std::array has more or fewer elements than the one in whose place it stands");
            if constexpr (std::tuple_size_v<X> == N) each_node(x, out, indices());
        }
    }
    static list components(const node_ptr &joined, std::int64_t &which) {
        return made([&](std::size_t) { return parts<E>::components(joined, which); }, indices());
    }
    static list of(const node_ptr *&in) {
        return made([&](std::size_t) { return parts<E>::of(in); }, indices());
    }
    template <class F> static auto each(const list &all, const F &f) {
        return made([&](std::size_t i) { return parts<E>::each(all[i], f); }, indices());
    }
    /// What f gives for each index and element of another list.
    template <class X, class F> static list with(const std::array<X, N> &all, const F &f) {
        return made([&](std::size_t i) { return f(i, all[i]); }, indices());
    }

private:
    // braces keep the order
    template <class F, std::size_t... I> static auto made(const F &f, std::index_sequence<I...>) { return std::array<decltype(f(0)), N>{f(I)...}; }
    template <class X, std::size_t... I> static void each_node(const X &x, node_ptr *&out, std::index_sequence<I...>) {
        (parts<E>::nodes(std::get<I>(x), out), ...);
    }
};

} // namespace detail
} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_PARTS_HPP
