// Tuples of scalars: what reductions and folds of several arrays join, and the states of loops (docs/semantics.md 5.14). Included by
// arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_TUPLES_HPP
#define ARRAYGPU_EXPR_TUPLES_HPP

#include <arraygpu/expr/along.hpp>

#include <array>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// The type of what begins a loop or fold, as the function gets it: a scalar expression, a number, or a tuple of them.
template <class X, bool Several = is_compound<X>> struct begun {
    static_assert(is_operand<X> || is_host<X>, "this is neither a scalar nor a tuple of scalars");
    static_assert(rank_of<X>() == 0,
                  "an array cannot be the state of a loop of an element, or what a fold begins with; the function may read it by at(x, i)");
    using type = expr<typename result<X>::type, 0>;
};
template <class X> struct begun<X, true> : results_in<X> {};
template <class... X> struct begun<std::tuple<X...>, false> {
    static_assert((few_components<sizeof...(X)>(), true));
    using type = std::tuple<typename begun<std::decay_t<X>>::type...>;
};
template <class A, class B> struct begun<std::pair<A, B>, false> : begun<std::tuple<A, B>> {};
template <class X, std::size_t N> struct begun<std::array<X, N>, false> {
    using type = std::array<typename begun<X>::type, N>;
};

/// Arrays of one rank whose elements at the same place are joined: an array, or a tuple of them, nested as one likes.
template <class X, class = void> struct joint {
    static constexpr bool is = false;
};
template <class X> struct joint<X, std::enable_if_t<is_operand<X> && (rank_of<X>() > 0)>> {
    static constexpr bool is = true;
    static constexpr int rank = rank_of<X>();
    using elements = expr<element_type<X>, 0>;
    static void arrays(const X &x, node_ptr *&out, place) { *out++ = operand<X>::node(x); }
};
template <class X> struct joint<X, std::enable_if_t<is_compound<X> && (compound_operand<X>::rank > 0)>> {
    static constexpr bool is = true;
    static constexpr int rank = compound_operand<X>::rank;
    using elements = expr<compound_element<X>, 0>;
    static void arrays(const X &x, node_ptr *&out, place) {
        const expr<compound_element<X>, rank> e(x);
        layout<compound_element<X>>::each(e, 0, [&out](const auto &value, std::size_t) { *out++ = value.c_node(); });
    }
};
template <class First, class... X>
struct joint<std::tuple<First, X...>, std::enable_if_t<joint<std::decay_t<First>>::is && (joint<std::decay_t<X>>::is && ...)>> {
    static_assert((few_components<1 + sizeof...(X)>(), true));
    static constexpr bool is = true;
    static constexpr int rank = joint<std::decay_t<First>>::rank;
    static_assert(((joint<std::decay_t<X>>::rank == rank) && ...), "a tuple of a vector and a matrix: their elements have no places in common");
    using elements = std::tuple<typename joint<std::decay_t<First>>::elements, typename joint<std::decay_t<X>>::elements...>;
    static void arrays(const std::tuple<First, X...> &x, node_ptr *&out, place at) {
        std::apply([&](const auto &...a) { (joint<std::decay_t<decltype(a)>>::arrays(a, out, at), ...); }, x);
    }
};
template <class A, class B> struct joint<std::pair<A, B>, std::enable_if_t<joint<std::tuple<A, B>>::is>> : joint<std::tuple<A, B>> {};
/// Several arrays, and not one that is an operand by itself.
template <class X> using if_joint = std::enable_if_t<joint<X>::is && !is_operand<X>, int>;
template <class X> using if_joinable = std::enable_if_t<joint<X>::is, int>;
template <class X> using elements_of = typename joint<X>::elements;
template <class X> using arrays_of = std::array<node_ptr, parts<elements_of<X>>::count>;

template <class X> arrays_of<X> arrays(const X &x, place at) {
    arrays_of<X> all;
    node_ptr *next = all.data();
    joint<X>::arrays(x, next, at);
    return all;
}

/// The values of a reduction or fold of the elements of N arrays from a tuple `init` of A. Its operands are the arrays, the initial values,
/// variables for the accumulators and the elements, and the results of f.
template <class A, class E, std::size_t N, class I, class F>
A joined_values(op code, place at, std::array<node_ptr, N> &&arrays, const I &init, F &f) {
    static_assert(N == parts<E>::count);
    constexpr std::size_t accumulators = parts<A>::count;
    using R = std::decay_t<decltype(f(std::declval<const A &>(), std::declval<const E &>()))>;
    gives_values<R>();
    std::array<node_ptr, 2 * N + 3 * accumulators> operands;
    node_ptr *next = std::move(arrays.begin(), arrays.end(), operands.data());
    parts<A>::nodes(init, next);
    const A accumulator = parts<A>::variables(next);
    const E element = parts<E>::variables(next);
    if constexpr (!std::is_void_v<R>) parts<A>::nodes(f(accumulator, element), next);
    node_ptr made = close(make_node(code, AGPU_F32, 0, operands.data(), std::uint32_t(operands.size()), at));
    made->own.numbers[0] = accumulators;
    std::int64_t which = 0;
    return parts<A>::components(made, which);
}
template <class E, std::size_t N, class I, class F>
E reduced(place at, std::array<node_ptr, N> &&arrays, const I &init, F &f, op code = op::reduce_tuples) {
    const trace inside;
    return joined_values<E, E>(code, at, std::move(arrays), init, f);
}

/// reduce of each part of arrays of one shape.
template <lines Which, class X, class I, class F> auto reduce_along(const X &x, const I &init, F &f, place at) {
    auto all = arrays(x, at);
    if constexpr (all.size() > 1) say_one_shape(all, at);
    each_part<Which, joint<X>::rank> each(all[0], at);
    for (node_ptr &one : all) one = each.of(std::move(one));
    return each.collected(reduced<elements_of<X>>(at, std::move(all), init, f));
}

/// map of arrays, and tuples of them, of one rank: f takes an element of each.
template <class F, class... A> auto mapped_elements(F &f, place at, const A &...a) {
    using E = std::tuple<elements_of<A>...>;
    constexpr std::size_t count = parts<E>::count;
    const trace inside;
    std::array<node_ptr, 2 * count + 1> operands;
    node_ptr *next = operands.data();
    (joint<A>::arrays(a, next, at), ...);
    const E elements = parts<E>::variables(next);
    using R = std::decay_t<decltype(std::apply(f, elements))>;
    gives_values<R>();
    if constexpr (!std::is_void_v<R>)
        return closed<joint<std::tuple<A...>>::rank>(op::map, operands.data(), std::uint32_t(operands.size()), std::apply(f, elements), at, [](node_ptr made) { return made; });
}

} // namespace detail

/// map of arrays among which are some of complex numbers or structs: f takes expr<std::complex<T>>, expr<S> for their elements.
template <class F, class... A, std::enable_if_t<(detail::is_compound<A> || ...) && (detail::joint<A>::is && ...), int> = 0> auto map(F &&f, const A &...a) {
    return detail::mapped_elements(f, {}, a...);
}

/// reduce of the tuples of the elements of arrays of one shape: f takes two tuples and gives one. It is associative and commutative, up to
/// rounding. The arrays are a tuple: `std::tie(x, y)` of arrays, `std::forward_as_tuple(x * y, y)` of anything, or views::zip.
template <class A, class I, class F, detail::if_joint<A> = 0>
auto reduce(const A &a, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    return detail::reduced<detail::elements_of<A>>(here.of("reduce"), detail::arrays(a, here.of("reduce")), init, f);
}
/// reduce by a function that need not be commutative: it always joins a part of the array, or of the tuple of arrays, with the part that follows it
/// (docs/semantics.md 5.17).
template <class A, class I, class F, detail::if_joinable<A> = 0>
auto reduce_noncommutative(const A &a, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    return detail::reduced<detail::elements_of<A>>(here.of("reduce_noncommutative"), detail::arrays(a, here.of("reduce_noncommutative")), init, f, detail::op::reduce_noncommutative);
}
/// fold of the elements of several arrays, or with an accumulator that is a tuple: f takes the accumulator and the elements.
template <class A, class I, class F, std::enable_if_t<detail::joint<A>::is && !detail::is_one_fold<A, I>, int> = 0>
auto fold(const A &a, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    auto all = detail::arrays(a, here.of("fold"));
    const detail::trace inside;
    using Accumulator = typename detail::begun<I>::type;
    return detail::joined_values<Accumulator, detail::elements_of<A>>(detail::op::fold_tuples, here.of("fold"), std::move(all), init, f);
}
/// reduce of each row of a matrix, or of a tuple of matrices of one shape: a vector, or a tuple of them; of an array of three dimensions of each row of each
/// plane, a matrix.
template <class A, class I, class F, detail::if_joinable<A> = 0>
auto reduce_rows(const A &a, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    return detail::reduce_along<detail::lines::rows>(a, init, f, here.of("reduce_rows"));
}
/// reduce of each column, likewise.
template <class A, class I, class F, detail::if_joinable<A> = 0>
auto reduce_cols(const A &a, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    return detail::reduce_along<detail::lines::cols>(a, init, f, here.of("reduce_cols"));
}
/// reduce of each plane of an array of three dimensions, row by row: a vector.
template <class A, class I, class F, detail::if_joinable<A> = 0>
auto reduce_planes(const A &a, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    return detail::reduce_along<detail::lines::planes>(a, init, f, here.of("reduce_planes"));
}

namespace detail {

/// Values of a choice component by component.
template <class C, class A, class B> auto chosen(const C &condition, const A &a, const B &b);
template <class C, class A, class B, std::size_t... I> auto chosen(const C &condition, const A &a, const B &b, std::index_sequence<I...>) {
    return std::make_tuple(detail::chosen(condition, std::get<I>(a), std::get<I>(b))...);
}
template <class C, class A, class B> auto chosen(const C &condition, const A &a, const B &b) {
    constexpr bool tuples = is_tuple<A>::value && is_tuple<B>::value;
    static_assert(tuples || !(is_tuple<A>::value || is_tuple<B>::value), "if_else of a tuple and a scalar: both must have the same components");
    if constexpr (tuples) {
        static_assert(std::tuple_size_v<A> == std::tuple_size_v<B>, "if_else of two tuples with different numbers of components");
        return detail::chosen(condition, a, b, std::make_index_sequence<std::tuple_size_v<A>>());
    } else if constexpr (!is_tuple<A>::value && !is_tuple<B>::value) {
        return arraygpu::select(condition, a, b);
    }
}
/// A value, or what a function without arguments gives.
template <class A> decltype(auto) arm(A &&a) {
    if constexpr (std::is_invocable_v<A &>) {
        gives_values<std::decay_t<decltype(a())>>();
        return a();
    } else {
        return static_cast<const std::remove_reference_t<A> &>(a);
    }
}

} // namespace detail

/// a where the condition holds, else b: select() of scalars and arrays, and of tuples component by component. For longer values each may be a
/// function without arguments, `[&] { return .. }`, which is called once. The value that is not taken leaves no error record.
template <class C, class A, class B> auto if_else(const C &condition, A &&a, B &&b) {
    return detail::chosen(condition, detail::arm(a), detail::arm(b));
}

namespace detail {
/// An index that only the element knows, in a small array.
struct local_index {
    template <class I> local_index(const I &index, std::size_t size, op test, place at)
        : i(index_node(index)), inside(make_node(test, AGPU_BOOL, 0, i.c_node(), constant(size).c_node(), at)) {}
    static expr<std::int64_t> constant(std::size_t k) { return expr<std::int64_t>(make_number(op::constant, std::int64_t(k))); }
    expr<bool> is(std::size_t k) const { return i == constant(k); }
    expr<std::int64_t> i;
    expr<bool> inside;
};
} // namespace detail

/// The element of a std::array of scalars or tuples at an index that only the element knows; one that the host knows is a[i]. An index outside gives 0
/// and leaves an error record. One of the elements, which are registers, is selected: an operation for each.
template <class E, std::size_t N, class I, detail::if_operands<I> = 0>
auto at(const std::array<E, N> &a, const I &i, detail::place here = ARRAYGPU_HERE) {
    static_assert(N > 0, "an array without elements has none to read");
    using S = typename detail::results_in<E>::type;
    const detail::local_index index(i, N, detail::op::within_small_read, here.of("at"));
    S found(a[N - 1]);
    for (std::size_t k = N - 1; k-- > 0;) found = S(arraygpu::if_else(index.is(k), S(a[k]), found));
    return S(detail::parts<S>::each(found, [&](const auto &e) { return arraygpu::select(index.inside, e, std::decay_t<decltype(e)>()); }));
}
/// The std::array with another element at an index that only the element knows. An index outside changes nothing and leaves an error record.
template <class E, std::size_t N, class I, class V, detail::if_operands<I> = 0>
auto with_at(const std::array<E, N> &a, const I &i, const V &value, detail::place here = ARRAYGPU_HERE) {
    using S = typename detail::results_in<E>::type;
    const detail::local_index index(i, N, detail::op::within_small_update, here.of("with_at"));
    const S changed(value);
    return detail::parts<std::array<S, N>>::with(a, [&](std::size_t k, const E &e) { return S(arraygpu::if_else(index.inside && index.is(k), changed, S(e))); });
}

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_TUPLES_HPP
