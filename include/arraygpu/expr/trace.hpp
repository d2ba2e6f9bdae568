// Operations that take functions: each function is called once, with variables. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_TRACE_HPP
#define ARRAYGPU_EXPR_TRACE_HPP

#include <arraygpu/expr/arrays.hpp>

#include <tuple>

namespace arraygpu {
namespace detail {

template <class E> struct is_tuple : std::false_type {};
template <class... E> struct is_tuple<std::tuple<E...>> : std::true_type {};
template <class A, class B> struct is_tuple<std::pair<A, B>> : std::true_type {};

template <class T> expr<T, 0> variable() { return expr<T, 0>(make_variable(type_of<T>::value)); }

/// The result of a traced function as an element: its type, and its node.
template <class R> struct result {
    static_assert(!std::is_void_v<R>, "the function returns nothing: return the new value (for_each writes through its arguments)");
    static_assert(std::is_void_v<R> || (is_operand<R> || is_host<R>), "the function returns neither an expression nor a number");
    static_assert(rank_of<R>() == 0, "the function returns an array for each element");
    using type = typename std::conditional_t<is_operand<R>, elements<void, R>, std::common_type<R>>::type;
};
template <class T> struct result<staged<T>> {
    using type = T;
};
template <class F, class... X> using result_of = std::decay_t<decltype(std::declval<F &>()(std::declval<X>()...))>;

/// The node of map: the arrays, a variable for each, and the result of f.
template <class U, int Rank, std::uint32_t N, class F, class... V> node_ptr mapped(F &f, place at, node_ptr (&&arrays)[N], const V &...variables) {
    node_ptr operands[2 * N + 1];
    for (std::uint32_t i = 0; i < N; ++i) operands[i] = std::move(arrays[i]);
    std::uint32_t next = N;
    ((operands[next++] = variables.c_node()), ...);
    operands[next] = node_of<U>(f(variables...));
    return close(make_node(op::map, type_of<U>::value, Rank, operands, 2 * N + 1, at));
}
template <class U, class F, class V> node_ptr generated(F &f, place at, node_ptr n, const V &i) {
    node_ptr operands[] = {std::move(n), i.c_node(), node_of<U>(f(i))};
    return close(make_node(op::generate, type_of<U>::value, 1, operands, 3, at));
}
template <class U, class F, class V> node_ptr generated(F &f, place at, node_ptr rows, node_ptr cols, const V &i, const V &j) {
    node_ptr operands[] = {std::move(rows), std::move(cols), i.c_node(), j.c_node(), node_of<U>(f(i, j))};
    return close(make_node(op::generate, type_of<U>::value, 2, operands, 5, at));
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
    const expr<std::int64_t, 1> turns = arraygpu::iota(n, at.file, at.line);
    const trace inside;
    return folded<T>(op::fold, f, at, turns.c_node(), node_of<T>(init), variable<T>(), variable<std::int64_t>());
}

} // namespace detail

/// The array of f(a[i]), or of f(a[i], b[i], ..) for several arrays of the same extents.
template <class F, class A, detail::if_array<A> = 0> auto map(F &&f, const A &a, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    using S = expr<detail::element_type<A>>;
    using U = typename detail::result<detail::result_of<F, const S &>>::type;
    const detail::trace inside;
    return expr<U, detail::rank_of<A>()>(
        detail::mapped<U, detail::rank_of<A>(), 1>(f, {file, line}, {detail::operand<A>::node(a)}, detail::variable<detail::element_type<A>>()));
}
template <class F, class A, class B, class... X, detail::if_array<A> = 0, detail::if_array<B> = 0>
auto map(F &&f, const A &a, const B &b, const X &...x) {
    static_assert(detail::rank_of<A>() == detail::rank_of<B>() && ((detail::rank_of<X>() == detail::rank_of<A>()) && ...),
                  "map takes arrays of one rank");
    using U = typename detail::result<detail::result_of<F, const expr<detail::element_type<A>> &, const expr<detail::element_type<B>> &,
                                                        const expr<detail::element_type<X>> &...>>::type;
    const detail::trace inside;
    return expr<U, detail::rank_of<A>()>(detail::mapped<U, detail::rank_of<A>(), 2 + sizeof...(X)>(
        f, {}, {detail::operand<A>::node(a), detail::operand<B>::node(b), detail::operand<X>::node(x)...},
        detail::variable<detail::element_type<A>>(), detail::variable<detail::element_type<B>>(), detail::variable<detail::element_type<X>>()...));
}

/// The vector f(0), f(1), ... f(n - 1); with two extents, the matrix of f(i, j).
template <class N, class F, std::enable_if_t<std::is_invocable_v<F &, const expr<std::int64_t> &>, int> = 0>
auto generate(const N &n, F &&f, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    using U = typename detail::result<detail::result_of<F, const expr<std::int64_t> &>>::type;
    const detail::trace inside;
    return expr<U, 1>(detail::with_extents(detail::generated<U>(f, {file, line}, detail::index_node(n), detail::variable<std::int64_t>()),
                                           detail::known_length(n)));
}
template <class N, class M, class F, std::enable_if_t<std::is_invocable_v<F &, const expr<std::int64_t> &, const expr<std::int64_t> &>, int> = 0>
auto generate(const N &rows, const M &cols, F &&f, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    using U = typename detail::result<detail::result_of<F, const expr<std::int64_t> &, const expr<std::int64_t> &>>::type;
    const detail::trace inside;
    return expr<U, 2>(detail::with_extents(detail::generated<U>(f, {file, line}, detail::index_node(rows), detail::index_node(cols),
                                                                detail::variable<std::int64_t>(), detail::variable<std::int64_t>()),
                                           detail::known_length(rows), detail::known_length(cols)));
}

/// f(.. f(f(init, a[0]), a[1]) .., a[n-1]) in the order of sums, in parallel: f is associative and commutative, up to rounding.
template <class A, class I, class F, detail::if_array<A> = 0>
auto reduce(const A &a, const I &init, F &&f, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    using T = detail::element_type<A>;
    const detail::trace inside;
    return detail::folded<T>(detail::op::reduce, f, {file, line}, detail::operand<A>::node(a), detail::node_of<T>(init), detail::variable<T>(),
                             detail::variable<T>());
}
/// The sum of init and all elements.
template <class A, class I, detail::if_array<A> = 0>
auto reduce(const A &a, const I &init, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return arraygpu::reduce(
        a, init, [](const auto &x, const auto &y) { return x + y; }, file, line);
}
/// The left fold f(.. f(f(init, a[0]), a[1]) .., a[n-1]), strictly in this order, for any f(accumulated, element).
template <class A, class I, class F, std::enable_if_t<detail::is_one_fold<A, I>, int> = 0>
auto fold(const A &a, const I &init, F &&f, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    using T = detail::type_of_init<I>;
    const detail::trace inside;
    return detail::folded<T>(detail::op::fold, f, {file, line}, detail::operand<A>::node(a), detail::node_of<T>(init), detail::variable<T>(),
                             detail::variable<detail::element_type<A>>());
}
/// f(x), where x is computed once however often f uses it.
template <class X, class F, detail::if_operands<X> = 0> auto let(const X &x, F &&f) {
    using T = detail::element_type<X>;
    return f(expr<T, detail::rank_of<X>()>(
        detail::make_node(detail::op::bind, detail::type_of<T>::value, detail::rank_of<X>(), detail::operand<X>::node(x))));
}
template <class X, class F, std::enable_if_t<detail::is_host<X>, int> = 0> auto let(const X &x, F &&f) { return f(x); }

} // namespace arraygpu

#endif // ARRAYGPU_EXPR_TRACE_HPP
