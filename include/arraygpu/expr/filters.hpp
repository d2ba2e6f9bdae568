// Filters: elements of vectors that a condition keeps, whose number only the device knows (docs/semantics.md 5.22). Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_FILTERS_HPP
#define ARRAYGPU_EXPR_FILTERS_HPP

#include <arraygpu/expr/assign.hpp>
#include <arraygpu/expr/composites.hpp>
#include <arraygpu/expr/loops.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// Vectors of the elements E: of a scalar a vector, of a tuple a tuple of them.
template <class E> using vectors_of = decltype(vectors_of_composite(std::declval<const node_ptr &>(), std::declval<const E &>(), std::declval<std::int64_t &>(), 0));

/// The nodes of vectors, or of scalars.
template <class V> struct nodes_of_vectors {
    static void add(const V &v, std::vector<node_ptr> &out) {
        if constexpr (is_compound<V>)
            layout<compound_element<V>>::each(v, 0, [&out](const auto &value, std::size_t) { out.push_back(value.c_node()); });
        else
            out.push_back(v.c_node());
    }
};
template <class... V> struct nodes_of_vectors<std::tuple<V...>> {
    static void add(const std::tuple<V...> &all, std::vector<node_ptr> &out) {
        std::apply([&out](const auto &...v) { (nodes_of_vectors<std::decay_t<decltype(v)>>::add(v, out), ...); }, all);
    }
};

/// What f gives for each vector.
template <class V> struct each_vector {
    template <class F> static V of(const V &v, const F &f) {
        if constexpr (is_compound<V>) return of_values(v, f);
        else return f(v);
    }
};
template <class... V> struct each_vector<std::tuple<V...>> {
    template <class F> static std::tuple<V...> of(const std::tuple<V...> &all, const F &f) {
        return std::apply([&f](const V &...v) { return std::tuple<V...>{each_vector<V>::of(v, f)...}; }, all);
    }
};

} // namespace detail

/// The elements of a vector that a condition keeps, in their order; E is the scalar, struct or tuple that stands for one. The host knows how many there
/// may be, the device how many there are. to_vector() and to_host() compute them; copy_if and unique_copy write them.
template <class E> class filtered {
public:
    using vectors = detail::vectors_of<E>;

    /// `values` has as many elements as there may be, of which the first `count` are kept; `order` says where they stand in the vector.
    filtered(vectors values, expr<std::int64_t, 1> order, expr<std::int64_t> count, detail::place at)
        : values_(std::move(values)), order_(std::move(order)), count_(std::move(count)), at_(at) {}

    /// How many there are: a scalar that the device computes.
    const expr<std::int64_t> &count() const noexcept { return count_; }
    /// How many there may be: the size of the vector.
    std::size_t capacity() const noexcept { return order_.size(); }
    /// 0, 1, .. for each element of the vector, whose size may be computed with it.
    expr<std::int64_t, 1> numbers() const {
        const std::int64_t known = order_.c_node()->extent[0];
        return known >= 0 ? arraygpu::iota(std::size_t(known)) : arraygpu::iota(detail::length(order_.c_node(), 0));
    }
    /// A vector of that size: the elements, then `rest`, a value or a vector of the same size.
    template <class R> vectors filled(const R &rest) const { return filled_to(capacity(), rest, count_); }
    /// The vector of the n elements that are kept. That n elements are kept is checked: if not, an error says how many there are.
    vectors with_len(std::int64_t n, detail::place here = ARRAYGPU_HERE) const {
        const detail::place at = here.of("with_len");
        const expr<std::int64_t> wanted(n);
        const auto below = cast<std::int64_t>(count_ < wanted), most = cast<std::int64_t>(count_ <= wanted);
        const auto within = [&](const auto &) { return expr<bool>(detail::make_node(detail::op::within, AGPU_BOOL, 0, below.c_node(), most.c_node(), at)); };
        // stored, so that it is computed even where n is 0
        const auto fits = materialize(generate(staged<std::int64_t>(1), within));
        const auto front = [&](const auto &all) {
            using T = typename std::decay_t<decltype(all)>::value_type;
            const expr<T, 1> some(detail::sliced(all.c_node(), 0, 0, n, 1, at));
            return arraygpu::map([&](const auto &v) { return arraygpu::select(arraygpu::at(fits, staged<std::int64_t>(0)), v, expr<T>()); }, some, here.of("with_len"));
        };
        return detail::each_vector<vectors>::of(values_, front);
    }
    /// Where the elements stand in the vector.
    filtered<expr<std::int64_t>> indices() const { return {order_, order_, count_, at_}; }
    /// The vector, with the elements first; those that are left out follow.
    const vectors &in_order() const noexcept { return values_; }
    const expr<std::int64_t, 1> &order() const noexcept { return order_; }

    /// The elements, computed: a vector of as many as there are.
    auto to_vector() const {
        auto [all, n] = eval(std::make_tuple(values_, count_));
        return shortened(all, n);
    }
    auto to_host() const { return to_vector().to_host(); }
    template <class T, class V = vectors, std::enable_if_t<std::is_same_v<V, expr<T, 1>>, int> = 0> operator gpu_vector<T>() const { return to_vector(); }

    /// For the functions of this header: the first `n` of the places, filled.
    template <class R> vectors filled_to(std::size_t n, const R &rest, const expr<std::int64_t> &count) const {
        std::vector<detail::node_ptr> operands;
        operands.push_back(count.c_node());
        detail::nodes_of_vectors<vectors>::add(values_, operands);
        if (n < capacity())
            for (std::size_t i = 1; i < operands.size(); ++i) operands[i] = detail::sliced(operands[i], 0, 0, std::int64_t(n), 1, at_);
        const std::size_t several = operands.size() - 1;
        if constexpr (detail::joint<R>::is) {
            for (auto &one : detail::arrays(rest, at_)) operands.push_back(std::move(one));
        } else {
            std::array<detail::node_ptr, detail::parts<E>::count> values;
            detail::node_ptr *next = values.data();
            detail::parts<E>::nodes(rest, next);
            for (auto &one : values) operands.push_back(std::move(one));
        }
        const detail::node_ptr made =
            detail::composed(detail::composite::filled, at_, operands.data(), operands.size(), 0, std::int64_t(several));
        std::int64_t which = 0;
        return detail::vectors_of_composite(made, E(), which, std::int64_t(n));
    }

    /// For the functions of this header: other values of the same elements.
    template <class V> auto with_values(V values, detail::place at) const {
        return filtered<typename detail::joint<V>::elements>(std::move(values), order_, count_, at);
    }
    /// For the functions of this header: throws unless it is the number of what this filter keeps.
    void is_of_filter(const expr<std::int64_t> &count, detail::place at) const {
        if (count.c_node().get() == count_.c_node().get()) return;
        detail::fail(AGPU_ERROR_INVALID_ARGUMENT, "these elements are kept by two filters, and may differ in number: filter one vector of both elements, or read the "
                                                  "second one at indices()", at);
    }

private:
    template <class T> static gpu_vector<T> shortened(gpu_vector<T> &all, std::int64_t n) {
        if (std::size_t(n) == all.size()) return std::move(all);
        return gpu_vector<T>(arraygpu::slice(all, 0, n));
    }
    template <class... T> static std::tuple<gpu_vector<T>...> shortened(std::tuple<gpu_vector<T>...> &all, std::int64_t n) {
        return std::apply([n](auto &...one) { return std::tuple<gpu_vector<T>...>(shortened(one, n)...); }, all);
    }

    vectors values_;
    expr<std::int64_t, 1> order_;
    expr<std::int64_t> count_;
    detail::place at_;
};

namespace detail {

/// What a composite keeps of vectors like E, which are the first of its values.
template <class E> filtered<E> kept(composite which, place at, std::vector<node_ptr> &&operands, std::int64_t n) {
    constexpr std::size_t values = parts<E>::count;
    const node_ptr made = composed(which, at, operands.data(), operands.size(), 0, std::int64_t(values + 2));
    std::int64_t next = 0;
    auto all = vectors_of_composite(made, E(), next, n);
    auto order = vector_of_composite<std::int64_t>(made, next, n);
    return filtered<E>(std::move(all), std::move(order), expr<std::int64_t>(component(made, next, AGPU_I64)), at);
}
template <class A, class F> auto filtered_by(const A &a, F &f, place at) {
    of_vectors<A>();
    using E = elements_of<A>;
    auto all = arrays(a, at);
    const std::int64_t n = all[0]->extent[0];
    constexpr std::size_t count = parts<E>::count;
    std::vector<node_ptr> operands;
    {
        const trace inside;
        std::array<node_ptr, 2 * count + 1> of_map;
        for (std::size_t i = 0; i < count; ++i) of_map[i] = all[i];
        node_ptr *next = of_map.data() + count;
        const E element = parts<E>::variables(next);
        using R = std::decay_t<decltype(call_with_state(f, element))>;
        gives_values<R>();
        static_assert(is_truth<R>(), "the condition of a filter is a truth value: compare the numbers");
        if constexpr (is_truth<R>()) *next = node_of<bool>(call_with_state(f, element));
        operands.push_back(close(make_node(op::map, AGPU_BOOL, 1, of_map.data(), std::uint32_t(of_map.size()), at)));
    }
    for (auto &one : all) operands.push_back(std::move(one));
    return kept<E>(composite::filter, at, std::move(operands), n);
}

} // namespace detail

/// The elements for which the condition holds, in their order. The vector may be of structs, or a tuple of vectors.
template <class A, class F, detail::if_joinable<A> = 0>
auto filter(const A &a, F &&condition, detail::place here = ARRAYGPU_HERE) {
    return detail::filtered_by(a, condition, here.of("filter"));
}
/// The elements for which the condition holds, then the others, both in their order; and the number of the first ones: a tuple.
template <class A, class F, detail::if_joinable<A> = 0>
auto partition(const A &a, F &&condition, detail::place here = ARRAYGPU_HERE) {
    const auto all = detail::filtered_by(a, condition, here.of("partition"));
    return std::make_tuple(all.in_order(), all.count());
}
/// The first element of each run of equal ones: as by ==, -0 equals 0 and each NaN is a run of its own.
template <class A, detail::if_array<A> = 0> auto unique(const A &a, detail::place here = ARRAYGPU_HERE) {
    static_assert(detail::rank_of<A>() == 1, "runs are of vectors");
    std::vector<detail::node_ptr> operands{detail::operand<A>::node(a)};
    const std::int64_t n = operands[0]->extent[0];
    return detail::kept<expr<detail::element_type<A>>>(detail::composite::unique, here.of("unique"), std::move(operands), n);
}
/// The first element of each run of equal ones, and how many elements each run has: two filtered vectors of one length, in a tuple.
template <class A, detail::if_array<A> = 0> auto run_lengths(const A &a, detail::place here = ARRAYGPU_HERE) {
    const auto runs = arraygpu::unique(a, here.of("run_lengths"));
    detail::node_ptr operands[] = {runs.order().c_node(), runs.count().c_node()};
    const detail::node_ptr made = detail::composed(detail::composite::run_lengths, here.of("run_lengths"), operands, 2, 0, 1);
    std::int64_t which = 0;
    auto lengths = detail::vector_of_composite<std::int64_t>(made, which, std::int64_t(runs.capacity()));
    return std::make_tuple(runs, filtered<expr<std::int64_t>>(std::move(lengths), runs.order(), runs.count(), here.of("run_lengths")));
}

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_FILTERS_HPP
