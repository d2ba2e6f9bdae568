// Elements that go to destinations which are data: scatter, scatter_unique, scatter_reduce, histogram (docs/semantics.md 5.21). Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_SCATTERS_HPP
#define ARRAYGPU_EXPR_SCATTERS_HPP

#include <arraygpu/expr/composites.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {

/// Where elements go: indices of the result, and what happens to those outside of it. Plain indices leave an error record there; `ignored(i)` and
/// `clamped(i)` are made of them.
class destinations {
public:
    /// Each index outside of the result leaves an error record.
    template <class I, detail::if_array<I> = 0> destinations(const I &indices, detail::composite outside = detail::composite::destinations) : outside_(outside) {
        static_assert(detail::rank_of<I>() == 1 && std::is_same_v<detail::element_type<I>, std::int64_t>,
                      "destinations are a vector of std::int64_t: write cast<std::int64_t>(indices)");
        if constexpr (std::is_same_v<detail::element_type<I>, std::int64_t>) indices_ = detail::operand<I>::node(indices);
    }
    /// For the functions of this header: from 0 to n, which is nowhere.
    detail::node_ptr in(const detail::node_ptr &n, detail::place at) const {
        detail::node_ptr operands[] = {indices_, n};
        std::int64_t which = 0;
        return detail::vector_of_composite<std::int64_t>(detail::composed(outside_, at, operands, 2, 0, 1), which, indices_->extent[0]).c_node();
    }

    /// scatter_reduce of what goes there.
    detail::composite reduced() const noexcept { return is_unordered_ ? detail::composite::scatter_reduce_unordered : detail::composite::scatter_reduce; }

private:
    friend destinations unordered(destinations to);
    detail::node_ptr indices_;
    detail::composite outside_;
    bool is_unordered_ = false;
};
/// These indices; what goes outside of the result is left out.
template <class I, detail::if_array<I> = 0> destinations ignored(const I &indices) { return {indices, detail::composite::destinations_ignored}; }
/// These indices; what is below 0 goes to the first element of the result, what is past the end to the last one.
template <class I, detail::if_array<I> = 0> destinations clamped(const I &indices) { return {indices, detail::composite::destinations_clamped}; }

/// The same destinations, where scatter_reduce may add float and double in any order, which then takes no sort: the bits of a sum may differ from run to
/// run on a GPU (docs/semantics.md 8).
inline destinations unordered(destinations to) {
    to.is_unordered_ = true;
    return to;
}

/// How many of the destinations are 0, 1, .. n - 1.
template <class N> expr<std::int64_t, 1> histogram(const destinations &to, const N &n, detail::place here = ARRAYGPU_HERE) {
    const detail::node_ptr length = detail::index_node(n);
    detail::node_ptr operands[] = {to.in(length, here.of("histogram")), length};
    std::int64_t which = 0;
    return detail::vector_of_composite<std::int64_t>(detail::composed(detail::composite::histogram, here.of("histogram"), operands, 2, 0, 1), which, detail::known_length(n));
}
namespace detail {
/// scatter or scatter_unique.
template <class A, class N, class R> auto scattered(composite which_one, const A &a, const N &n, const destinations &to, const R &rest, place at) {
    of_vectors<A>();
    using E = elements_of<A>;
    constexpr std::size_t count = parts<E>::count;
    auto all = arrays(a, at);
    std::array<node_ptr, 2 * count + 2> operands;
    operands[1] = index_node(n);
    operands[0] = to.in(operands[1], at);
    node_ptr *next = std::move(all.begin(), all.end(), operands.data() + 2);
    parts<E>::nodes(rest, next);
    const node_ptr made = composed(which_one, at, operands.data(), operands.size(), 0, std::int64_t(count));
    std::int64_t which = 0;
    return vectors_of_composite(made, E(), which, known_length(n));
}
} // namespace detail

/// A vector of n elements: element i of `a` goes to its destination, of several the last one counts, and the others are `rest`. The vector may be of
/// structs, or a tuple of vectors.
template <class A, class N, class R, detail::if_joinable<A> = 0>
auto scatter(const A &a, const N &n, const destinations &to, const R &rest, detail::place here = ARRAYGPU_HERE) {
    return detail::scattered(detail::composite::scatter, a, n, to, rest, here.of("scatter"));
}
/// scatter() by plain stores: the caller promises that no two elements have one destination. If two have, it is unspecified which of them is
/// stored; with ARRAYGPU_CHECK=1 the second one leaves an error record.
template <class A, class N, class R, detail::if_joinable<A> = 0>
auto scatter_unique(const A &a, const N &n, const destinations &to, const R &rest, detail::place here = ARRAYGPU_HERE) {
    return detail::scattered(detail::composite::scatter_unique, a, n, to, rest, here.of("scatter_unique"));
}
/// A vector of n elements, each the reduction by f, beginning with `init`, of the elements that go there, in the order of their indices: it has the bits
/// of reduce() of these alone.
template <class A, class N, class I, class F, detail::if_joinable<A> = 0>
auto scatter_reduce(const A &a, const N &n, const destinations &to, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    const detail::node_ptr length = detail::index_node(n);
    std::array<detail::node_ptr, 2> where{to.in(length, here.of("scatter_reduce")), length};
    return detail::joined_composite(to.reduced(), here.of("scatter_reduce"), a, init, f, std::move(where), detail::known_length(n));
}
/// Sums of `init` and the elements that go there.
template <class A, class N, class I, detail::if_array<A> = 0>
auto scatter_reduce(const A &a, const N &n, const destinations &to, const I &init, detail::place here = ARRAYGPU_HERE) {
    return arraygpu::scatter_reduce(a, n, to, init, detail::plus(), here.of("scatter_reduce"));
}

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_SCATTERS_HPP
