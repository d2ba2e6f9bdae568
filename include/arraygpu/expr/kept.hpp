// What goes on with the elements that a filter keeps: map, reduce, and reductions by key (docs/semantics.md 5.22). Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_KEPT_HPP
#define ARRAYGPU_EXPR_KEPT_HPP

#include <arraygpu/expr/filters.hpp>

namespace arraygpu {
namespace detail {

template <class X> struct is_filtered : std::false_type {};
template <class E> struct is_filtered<filtered<E>> : std::true_type {};

/// The values where an element is kept, and 0 in all of them behind these.
template <class R> auto where_kept(const expr<bool> &is_kept, const R &values) {
    return parts<R>::each(values, [&is_kept](const auto &e) {
        using T = typename std::decay_t<decltype(e)>::value_type;
        return arraygpu::if_else(is_kept, e, expr<T>(node_of<T>(T())));
    });
}
/// A function of the vectors of elements: of one vector, or of those of a tuple.
template <class V, class F> auto with_vectors(const V &vectors, const F &f) {
    if constexpr (is_tuple<V>::value)
        return std::apply(f, vectors);
    else
        return f(vectors);
}

} // namespace detail

/// f of each element that is kept, as a filtered vector of the same filter: of what is left out f is not computed, and leaves no error record there. Of
/// tuples f takes the components.
template <class F, class E> auto map(F &&f, const filtered<E> &kept, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    const auto all = iota(kept.capacity());
    const auto one = [&](const auto &i, const auto &...e) { return detail::where_kept(i < kept.count(), f(e...)); };
    auto values = detail::with_vectors(kept.in_order(), [&](const auto &...v) { return arraygpu::map(one, all, v...); });
    using R = typename detail::joint<decltype(values)>::elements;
    return filtered<R>(std::move(values), kept.order(), kept.count(), {file, line});
}
/// The reduction by f of the elements that are kept, with the bits of reduce() of a vector of these alone.
template <class E, class I, class F>
auto reduce(const filtered<E> &kept, const I &init, F &&f, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    const auto is_kept = iota(kept.capacity()) < kept.count();
    // what is kept stands before what is not, in every join as well
    const auto join = [&f](const auto &a, const auto &b) {
        return std::make_tuple(std::get<0>(a), arraygpu::if_else(std::get<0>(b), E(f(std::get<1>(a), std::get<1>(b))), E(std::get<1>(a))));
    };
    return std::get<1>(arraygpu::reduce(std::make_tuple(is_kept, kept.in_order()), std::make_tuple(true, init), join, file, line));
}
/// The sum of `init` and the elements that are kept.
template <class E, class I> auto reduce(const filtered<E> &kept, const I &init, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return arraygpu::reduce(kept, init, detail::plus(), file, line);
}

/// The first key of each run of equal ones, and the reduction of the run's elements of `a` by f, beginning with `init`: two filtered vectors of one length,
/// in a tuple. Each has the bits of reduce() of the run's elements alone; of sorted keys they are those of scatter_reduce.
template <class K, class A, class I, class F, detail::if_array<K> = 0, detail::if_joinable<A> = 0>
auto reduce_by_key(const K &keys, const A &a, const I &init, F &&f, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    const auto runs = arraygpu::unique(keys, file, line);
    std::array<detail::node_ptr, 2> where{runs.order().c_node(), runs.count().c_node()};
    auto values = detail::joined_composite(detail::composite::reduce_by_key, {file, line}, a, init, f, std::move(where), std::int64_t(runs.capacity()));
    return std::make_tuple(runs, filtered<detail::elements_of<A>>(std::move(values), runs.order(), runs.count(), {file, line}));
}
/// Sums of `init` and the elements of each run.
template <class K, class A, class I, detail::if_array<K> = 0, detail::if_array<A> = 0>
auto reduce_by_key(const K &keys, const A &a, const I &init, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return arraygpu::reduce_by_key(keys, a, init, detail::plus(), file, line);
}

} // namespace arraygpu

#endif // ARRAYGPU_EXPR_KEPT_HPP
