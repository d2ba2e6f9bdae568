// What goes on with the elements that a filter keeps: map, reduce, and reductions by key (docs/semantics.md 5.22). Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_KEPT_HPP
#define ARRAYGPU_EXPR_KEPT_HPP

#include <arraygpu/expr/filters.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
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

} // namespace detail

/// f of each element that is kept, as a filtered vector of the same filter: of what is left out f is not computed, and leaves no error record there. Of
/// tuples f takes the components.
template <class F, class E> auto map(F &&f, const filtered<E> &kept, detail::place here = ARRAYGPU_HERE) {
    const auto one = [&](const auto &i, const auto &e) { return detail::where_kept(i < kept.count(), detail::call_with_state(f, e)); };
    return kept.with_values(detail::mapped_elements(one, here.of("map"), kept.numbers(), kept.in_order()), here.of("map"));
}
/// f of the elements that one filter keeps of several vectors: of each filtered vector an element, of a tuple the tuple.
template <class F, class E, class Second, class... More>
auto map(F &&f, const filtered<E> &kept, const filtered<Second> &second, const filtered<More> &...more) {
    const auto word = detail::place().of("map"); // no place can be known behind any number of arguments
    kept.is_of_filter(second.count(), word);
    (kept.is_of_filter(more.count(), word), ...);
    const auto one = [&](const auto &i, const auto &...e) { return detail::where_kept(i < kept.count(), f(e...)); };
    return kept.with_values(detail::mapped_elements(one, {}, kept.numbers(), kept.in_order(), second.in_order(), more.in_order()...), {});
}
namespace detail {
/// What a reduction or scan of the kept elements, `by`, makes of pairs of whether an element is kept and the element: what is kept stands before what is
/// not, in every join as well.
template <class E, class I, class F, class By> auto joined_kept(const filtered<E> &kept, const I &init, F &f, const By &by) {
    const auto join = [&f](const auto &a, const auto &b) {
        return std::make_tuple(std::get<0>(a), arraygpu::if_else(std::get<0>(b), E(f(std::get<1>(a), std::get<1>(b))), E(std::get<1>(a))));
    };
    const auto is_kept = kept.numbers() < kept.count();
    // what is left out is not computed, and leaves no error records
    const auto one = [&](const auto &i, const auto &e) { return where_kept(i < kept.count(), e); };
    const auto values = mapped_elements(one, {}, kept.numbers(), kept.in_order());
    return std::get<1>(by(std::make_tuple(is_kept, values), std::make_tuple(true, init), join));
}
} // namespace detail

/// The reduction by f of the elements that are kept, with the bits of reduce() of a vector of these alone.
template <class E, class I, class F>
auto reduce(const filtered<E> &kept, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    return detail::joined_kept(kept, init, f, [&](const auto &all, const auto &first, const auto &join) { return arraygpu::reduce(all, first, join, here.of("reduce")); });
}
/// The partial results of that reduction, with the bits of the scan of a vector of the kept elements alone.
template <class E, class I, class F>
auto inclusive_scan(const filtered<E> &kept, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    const auto scan = [&](const auto &all, const auto &first, const auto &join) { return arraygpu::inclusive_scan(all, first, join, here.of("inclusive_scan")); };
    return kept.with_values(detail::joined_kept(kept, init, f, scan), here.of("inclusive_scan"));
}
/// The same without the element itself: the first element is `init`.
template <class E, class I, class F>
auto exclusive_scan(const filtered<E> &kept, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    const auto scan = [&](const auto &all, const auto &first, const auto &join) { return arraygpu::exclusive_scan(all, first, join, here.of("exclusive_scan")); };
    return kept.with_values(detail::joined_kept(kept, init, f, scan), here.of("exclusive_scan"));
}
/// The sum of `init` and the elements that are kept.
template <class E, class I> auto reduce(const filtered<E> &kept, const I &init, detail::place here = ARRAYGPU_HERE) {
    return arraygpu::reduce(kept, init, detail::plus(), here.of("reduce"));
}
/// Sums of `init` and the kept elements so far.
template <class E, class I> auto inclusive_scan(const filtered<E> &kept, const I &init, detail::place here = ARRAYGPU_HERE) {
    return arraygpu::inclusive_scan(kept, init, detail::plus(), here.of("inclusive_scan"));
}
template <class E, class I> auto exclusive_scan(const filtered<E> &kept, const I &init, detail::place here = ARRAYGPU_HERE) {
    return arraygpu::exclusive_scan(kept, init, detail::plus(), here.of("exclusive_scan"));
}

namespace detail {

/// Those of the kept elements where `which` is true, which is false behind them; and where they stand among the kept elements.
template <class E> auto kept_among(const filtered<E> &from, const expr<bool, 1> &which, place at) {
    std::vector<node_ptr> operands{which.c_node()};
    nodes_of_vectors<typename filtered<E>::vectors>::add(from.in_order(), operands);
    operands.push_back(from.order().c_node());
    // the places in the vector from which the elements come are kept like these
    const auto all = kept<std::tuple<E, expr<std::int64_t>>>(composite::filter, at, std::move(operands), std::int64_t(from.capacity()));
    const auto &[values, order] = all.in_order();
    return std::make_tuple(filtered<E>(values, order, all.count(), at), all.order());
}
/// The first element of each run among the kept elements, and where it stands among these.
template <class T> auto runs_among(const filtered<expr<T>> &from, place at) {
    const auto begins = arraygpu::map([&](const auto &i) {
        const auto before = arraygpu::at(from.in_order(), arraygpu::max(i - 1, 0), at);
        return (i < from.count()) & ((i == 0) | (arraygpu::at(from.in_order(), i, at) != before));
    }, from.numbers(), at);
    return kept_among(from, begins, at);
}

} // namespace detail

/// Those of the kept elements for which another condition holds, which is not computed of what is left out.
template <class E, class F> auto filter(const filtered<E> &from, F &&condition, detail::place here = ARRAYGPU_HERE) {
    const auto which = arraygpu::map(condition, from, here.of("filter"));
    constexpr bool is_condition = std::is_same_v<std::decay_t<decltype(which)>, filtered<expr<bool>>>;
    static_assert(is_condition, "the condition of a filter is a truth value: compare the numbers");
    if constexpr (is_condition) return std::get<0>(detail::kept_among(from, which.in_order(), here.of("filter")));
}
/// The first element of each run of equal ones among the kept elements, as unique() of a vector finds them.
template <class T> auto unique(const filtered<expr<T>> &from, detail::place here = ARRAYGPU_HERE) {
    return std::get<0>(detail::runs_among(from, here.of("unique")));
}
/// The first element of each run among the kept elements, and how many of these each run has.
template <class T> auto run_lengths(const filtered<expr<T>> &from, detail::place here = ARRAYGPU_HERE) {
    const auto [runs, among] = detail::runs_among(from, here.of("run_lengths"));
    detail::node_ptr operands[] = {among.c_node(), runs.count().c_node(), from.count().c_node()};
    const detail::node_ptr made = detail::composed(detail::composite::run_lengths, here.of("run_lengths"), operands, 3, 0, 1);
    std::int64_t which = 0;
    auto lengths = detail::vector_of_composite<std::int64_t>(made, which, std::int64_t(from.capacity()));
    return std::make_tuple(runs, filtered<expr<std::int64_t>>(std::move(lengths), runs.order(), runs.count(), here.of("run_lengths")));
}

/// The first key of each run of equal ones, and the reduction of the run's elements of `a` by f, beginning with `init`: two filtered vectors of one length,
/// in a tuple. Each has the bits of reduce() of the run's elements alone; of sorted keys they are those of scatter_reduce.
template <class K, class A, class I, class F, detail::if_array<K> = 0, detail::if_joinable<A> = 0>
auto reduce_by_key(const K &keys, const A &a, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    const auto runs = arraygpu::unique(keys, here.of("reduce_by_key"));
    std::array<detail::node_ptr, 2> where{runs.order().c_node(), runs.count().c_node()};
    auto values = detail::joined_composite(detail::composite::reduce_by_key, here.of("reduce_by_key"), a, init, f, std::move(where), std::int64_t(runs.capacity()));
    return std::make_tuple(runs, filtered<detail::elements_of<A>>(std::move(values), runs.order(), runs.count(), here.of("reduce_by_key")));
}
/// reduce_by_key of the keys that a filter keeps, and of the elements that it keeps of another vector.
template <class T, class E, class I, class F>
auto reduce_by_key(const filtered<expr<T>> &keys, const filtered<E> &a, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    keys.is_of_filter(a.count(), here.of("reduce_by_key"));
    const auto [runs, among] = detail::runs_among(keys, here.of("reduce_by_key"));
    std::array<detail::node_ptr, 3> where{among.c_node(), runs.count().c_node(), keys.count().c_node()};
    auto values = detail::joined_composite(detail::composite::reduce_by_key, here.of("reduce_by_key"), a.in_order(), init, f, std::move(where), std::int64_t(keys.capacity()));
    return std::make_tuple(runs, filtered<E>(std::move(values), runs.order(), runs.count(), here.of("reduce_by_key")));
}
/// Sums of `init` and the elements of each run.
template <class K, class A, class I, detail::if_array<K> = 0, detail::if_array<A> = 0>
auto reduce_by_key(const K &keys, const A &a, const I &init, detail::place here = ARRAYGPU_HERE) {
    return arraygpu::reduce_by_key(keys, a, init, detail::plus(), here.of("reduce_by_key"));
}
template <class T, class E, class I>
auto reduce_by_key(const filtered<expr<T>> &keys, const filtered<E> &a, const I &init, detail::place here = ARRAYGPU_HERE) {
    return arraygpu::reduce_by_key(keys, a, init, detail::plus(), here.of("reduce_by_key"));
}

// Words of vectors that what is kept does not have, because only the device knows how many elements there are.
#define ARRAYGPU_NOT_OF_KEPT(word, instead)                                                                                           \
    template <class E> void word(const filtered<E> &) {                                                                               \
        static_assert(detail::never<E>, #word " is of vectors, and what a filter keeps is none: " instead ", or kept.filled(rest)");   \
    }
ARRAYGPU_NOT_OF_KEPT(sum, "write reduce(kept, 0)")
ARRAYGPU_NOT_OF_KEPT(product, "write reduce(kept, 1, f)")
ARRAYGPU_NOT_OF_KEPT(min, "write reduce(kept, init, f)")
ARRAYGPU_NOT_OF_KEPT(max, "write reduce(kept, init, f)")
ARRAYGPU_NOT_OF_KEPT(mean, "divide reduce(kept, 0) by kept.count()")
ARRAYGPU_NOT_OF_KEPT(any, "write reduce(kept, false, f)")
ARRAYGPU_NOT_OF_KEPT(all, "write reduce(kept, true, f)")
ARRAYGPU_NOT_OF_KEPT(sort, "compute it by kept.to_vector()")
ARRAYGPU_NOT_OF_KEPT(sort_descending, "compute it by kept.to_vector()")
#undef ARRAYGPU_NOT_OF_KEPT

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_KEPT_HPP
