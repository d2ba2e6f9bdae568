// Operations that take functions: each function is called once, with variables. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_TRACE_HPP
#define ARRAYGPU_EXPR_TRACE_HPP

#include <arraygpu/expr/arrays.hpp>
#include <arraygpu/expr/parts.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

struct plus {
    template <class A, class B> auto operator()(const A &a, const B &b) const { return a + b; }
};
template <class T> expr<T, 0> variable() { return expr<T, 0>(make_variable(type_of<T>::value)); }

/// The result of a traced function as an element: its type, and its node.
template <class R> struct result {
    static_assert(!std::is_void_v<R>, "the function returns nothing: return the new value (for_each writes through its arguments)");
    static_assert(std::is_void_v<R> || (is_operand<R> || is_host<R>), "the function returns neither an expression nor a number");
    static_assert(rank_of<R>() == 0, "the function returns an array for each element");
    using type = typename std::conditional_t<is_operand<R>, elements<void, R>, host_type<R>>::type;
};
/// The result of a traced function: a scalar, or a tuple of scalars and tuples.
template <class R, bool Several = is_compound<R>> struct results_in {
    using type = expr<typename result<R>::type, 0>;
};
template <class R> struct results_in<R, true> {
    static_assert(compound_operand<R>::rank == 0, "the function returns an array for each element");
    using type = expr<compound_element<R>, 0>;
};
template <class... R> struct results_in<std::tuple<R...>, false> {
    static_assert((few_components<sizeof...(R)>(), true));
    using type = std::tuple<typename results_in<std::decay_t<R>>::type...>;
};
template <class A, class B> struct results_in<std::pair<A, B>, false> : results_in<std::tuple<A, B>> {};
template <class R, std::size_t N> struct results_in<std::array<R, N>, false> {
    using type = std::array<typename results_in<R>::type, N>;
};
template <class R> constexpr void gives_values() {
    static_assert(!std::is_void_v<R>, "the function returns nothing: return the new value (for_each writes through its arguments)");
    static_assert(!refers<R>::value, "the function returns references to its own variables, which are gone then: write std::make_tuple(..)");
}
template <class F, class... X> using result_of = std::decay_t<decltype(std::declval<F &>()(std::declval<X>()...))>;

/// An array for each scalar of a function's result, which is the last operand of its node; `sized` gives the node its extents.
template <int Rank, class R, class Sized>
auto closed(op code, node_ptr *operands, std::uint32_t count, const R &result, place at, const Sized &sized) {
    using E = typename results_in<R>::type;
    if constexpr (is_tuple<R>::value || is_compound<R>) {
        node_ptr values[parts<E>::count], *next = values;
        parts<E>::nodes(result, next);
        const node_ptr *first = values;
        return parts<E>::each(parts<E>::of(first), [&](const auto &value) {
            std::vector<node_ptr> own(operands, operands + count);
            return detail::closed<Rank>(code, own.data(), count, value, at, sized);
        });
    } else {
        using U = typename E::value_type;
        operands[count - 1] = node_of<U>(result);
        return expr<U, Rank>(sized(close(make_node(code, type_of<U>::value, Rank, operands, count, at))));
    }
}
/// map: the arrays, a variable for each, and the result of f.
template <int Rank, std::uint32_t N, class F, class... V> auto mapped(F &f, place at, node_ptr (&&arrays)[N], const V &...variables) {
    node_ptr operands[2 * N + 1];
    for (std::uint32_t i = 0; i < N; ++i) operands[i] = std::move(arrays[i]);
    std::uint32_t next = N;
    ((operands[next++] = variables.c_node()), ...);
    gives_values<result_of<F, const V &...>>();
    if constexpr (!std::is_void_v<result_of<F, const V &...>>)
        return closed<Rank>(op::map, operands, 2 * N + 1, f(variables...), at, [](node_ptr made) { return made; });
}
/// generate: the extents, a variable for the index of each axis, and the result of f.
template <int Rank, class F, class... V>
auto generated(F &f, place at, std::array<node_ptr, std::size_t(Rank)> extents, const extents_in &known, const V &...index) {
    static_assert(sizeof...(V) == Rank);
    const auto &element = f(index...);
    node_ptr operands[2 * std::size_t(Rank) + 1];
    int axis = 0;
    ((operands[axis] = count_of(index.c_node().get(), std::move(extents[std::size_t(axis)]), known.n[axis]), operands[Rank + axis] = index.c_node(), ++axis),
     ...);
    return closed<Rank>(op::generate, operands, 2 * Rank + 1, element, at, [&](node_ptr made) { return with_extents(std::move(made), known); });
}
/// The node of reduce or fold: the array, the initial value, and two variables.
template <class T, class F, class V, class W>
expr<T, 0> folded(op code, F &f, place at, node_ptr array, node_ptr init, const V &left, const W &right) {
    static_assert(std::is_same_v<typename result<result_of<F, const V &, const W &>>::type, T> || is_host<result_of<F, const V &, const W &>>,
                  "the function gives another type than it begins with: write cast<T>(x)");
    node_ptr operands[] = {std::move(array), std::move(init), left.c_node(), right.c_node(), node_of<T>(f(left, right))};
    return expr<T, 0>(close(make_node(code, type_of<T>::value, 0, operands, 5, at)));
}
/// The type of a number or scalar that a fold begins with.
template <class I> using type_of_init = typename result<I>::type;
template <class I> inline constexpr bool is_scalar = is_host<I> || (is_operand<I> && rank_of<I>() == 0);
/// Whether a fold has one array and one accumulator.
template <class A, class I> inline constexpr bool is_one_fold = is_operand<A> && (rank_of<A>() > 0) && !is_tuple<I>::value;
/// x = f(x, i) for i = 0, 1, .. n - 1 as a fold: short ones whose length is staged become straight code.
template <class N, class I, class F> auto counted(const N &n, const I &init, F &f, place at) {
    using T = type_of_init<I>;
    const expr<std::int64_t, 1> turns = arraygpu::iota(n, at);
    const trace inside;
    return folded<T>(op::fold, f, at, turns.c_node(), node_of<T>(init), variable<T>(), variable<std::int64_t>());
}

/// The elements f(a[i], ..) of several arrays.
template <class F, class A, class... X> auto mapped_at(place at, F &f, const A &a, const X &...x) {
    static_assert(((rank_of<X>() == rank_of<A>()) && ...), "map takes arrays of one rank");
    const trace inside;
    return mapped<rank_of<A>(), 1 + sizeof...(X)>(f, at, {operand<A>::node(a), operand<X>::node(x)...}, variable<element_type<A>>(), variable<element_type<X>>()...);
}

} // namespace detail

/// The array of f(a[i]), or of f(a[i], b[i], ..) for several arrays of the same extents; of a function that gives a tuple a tuple of arrays.
template <class F, class A, detail::if_array<A> = 0> auto map(F &&f, const A &a, detail::place here = ARRAYGPU_HERE) {
    const detail::trace inside;
    return detail::mapped<detail::rank_of<A>(), 1>(f, here.of("map"), {detail::operand<A>::node(a)}, detail::variable<detail::element_type<A>>());
}
template <class F, class A, class B, detail::if_array<A> = 0, detail::if_array<B> = 0>
auto map(F &&f, const A &a, const B &b, detail::place here = ARRAYGPU_HERE) {
    return detail::mapped_at(here.of("map"), f, a, b);
}
template <class F, class A, class B, class C, detail::if_array<A> = 0, detail::if_array<B> = 0, detail::if_array<C> = 0>
auto map(F &&f, const A &a, const B &b, const C &c, detail::place here = ARRAYGPU_HERE) {
    return detail::mapped_at(here.of("map"), f, a, b, c);
}
template <class F, class A, class B, class C, class D, class... X, detail::if_array<A> = 0, detail::if_array<B> = 0, detail::if_array<C> = 0, detail::if_array<D> = 0,
          std::enable_if_t<!(detail::is_compound<X> || ...), int> = 0>
auto map(F &&f, const A &a, const B &b, const C &c, const D &d, const X &...x) {
    return detail::mapped_at({}, f, a, b, c, d, x...); // no place can be known behind any number of arguments
}

/// The vector f(0), f(1), ... f(n - 1); with two extents, the matrix of f(i, j); with three, f(k, i, j) in plane k, row i, column j. Of a function that
/// gives a tuple a tuple of arrays.
template <class N, class F, std::enable_if_t<std::is_invocable_v<F &, const expr<std::int64_t> &>, int> = 0>
auto generate(const N &n, F &&f, detail::place here = ARRAYGPU_HERE) {
    const detail::trace inside;
    return detail::generated<1>(f, here.of("generate"), {detail::index_node(n)}, {{detail::known_length(n), 1, 1}}, detail::variable<std::int64_t>());
}
template <class N, class M, class F, std::enable_if_t<std::is_invocable_v<F &, const expr<std::int64_t> &, const expr<std::int64_t> &>, int> = 0>
auto generate(const N &rows, const M &cols, F &&f, detail::place here = ARRAYGPU_HERE) {
    const detail::trace inside;
    return detail::generated<2>(f, here.of("generate"), {detail::index_node(rows), detail::index_node(cols)},
                                {{detail::known_length(rows), detail::known_length(cols), 1}}, detail::variable<std::int64_t>(),
                                detail::variable<std::int64_t>());
}
template <class P, class N, class M, class F,
          std::enable_if_t<std::is_invocable_v<F &, const expr<std::int64_t> &, const expr<std::int64_t> &, const expr<std::int64_t> &>, int> = 0>
auto generate(const P &planes, const N &rows, const M &cols, F &&f, detail::place here = ARRAYGPU_HERE) {
    const detail::trace inside;
    return detail::generated<3>(f, here.of("generate"), {detail::index_node(planes), detail::index_node(rows), detail::index_node(cols)},
                                {{detail::known_length(planes), detail::known_length(rows), detail::known_length(cols)}},
                                detail::variable<std::int64_t>(), detail::variable<std::int64_t>(), detail::variable<std::int64_t>());
}

/// f(.. f(f(init, a[0]), a[1]) .., a[n-1]) in the order of sums, in parallel: f is associative and commutative, up to rounding.
template <class A, class I, class F, detail::if_array<A> = 0>
auto reduce(const A &a, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    using T = detail::element_type<A>;
    const detail::trace inside;
    return detail::folded<T>(detail::op::reduce, f, here.of("reduce"), detail::operand<A>::node(a), detail::node_of<T>(init), detail::variable<T>(),
                             detail::variable<T>());
}
/// The sum of init and all elements.
template <class A, class I, detail::if_array<A> = 0>
auto reduce(const A &a, const I &init, detail::place here = ARRAYGPU_HERE) {
    return arraygpu::reduce(
        a, init, [](const auto &x, const auto &y) { return x + y; }, here.of("reduce"));
}
/// The left fold f(.. f(f(init, a[0]), a[1]) .., a[n-1]), strictly in this order, for any f(accumulated, element).
template <class A, class I, class F, std::enable_if_t<detail::is_one_fold<A, I>, int> = 0>
auto fold(const A &a, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    using T = detail::type_of_init<I>;
    const detail::trace inside;
    return detail::folded<T>(detail::op::fold, f, here.of("fold"), detail::operand<A>::node(a), detail::node_of<T>(init), detail::variable<T>(),
                             detail::variable<detail::element_type<A>>());
}
/// f(x), where x is computed once however often f uses it.
template <class X, class F, detail::if_operands<X> = 0> auto let(const X &x, F &&f) {
    using T = detail::element_type<X>;
    return f(expr<T, detail::rank_of<X>()>(
        detail::make_node(detail::op::bind, detail::type_of<T>::value, detail::rank_of<X>(), detail::operand<X>::node(x))));
}
template <class X, class F, detail::if_compound<X> = 0> auto let(const X &x, F &&f) {
    const auto once = [](const auto &part) { return part; };
    return f(detail::of_parts(x, [&](const auto &part) { return arraygpu::let(part, once); }));
}
template <class X, class F, std::enable_if_t<detail::is_host<X>, int> = 0> auto let(const X &x, F &&f) { return f(x); }

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_TRACE_HPP
