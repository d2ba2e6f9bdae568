// Scans, sorts and reductions of segments: composites, which the compiler makes of other constructs (docs/semantics.md 5.18 to 5.20). Included by
// arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_COMPOSITES_HPP
#define ARRAYGPU_EXPR_COMPOSITES_HPP

#include <arraygpu/expr/tuples.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// A composite with these operands, behind which stand the variables and results of its operator of so many components. Its values are components.
inline node_ptr composed(composite which, place at, node_ptr *operands, std::size_t count, std::int64_t components, std::int64_t values) {
    node_ptr made = make_node(op::composite, AGPU_F32, 0, operands, std::uint32_t(count), at);
    const std::int64_t numbers[] = {std::int64_t(which), std::int64_t(count) - 3 * components, components, values};
    std::memcpy(made->own.numbers, numbers, sizeof numbers);
    return components ? close(std::move(made)) : made;
}
/// The value `which` of a composite, a vector of n elements; it counts on.
template <class T> expr<T, 1> vector_of_composite(const node_ptr &made, std::int64_t &which, std::int64_t n) {
    return expr<T, 1>(with_extents(component(made, which, type_of<T>::value, 1), n));
}
/// Vectors of n elements each, in place of the scalars of a tuple.
template <class E> auto vectors_of_composite(const node_ptr &made, const E &like, std::int64_t &which, std::int64_t n) {
    return parts<E>::each(like, [&](const auto &e) { return vector_of_composite<typename std::decay_t<decltype(e)>::value_type>(made, which, n); });
}
template <class A> constexpr void of_vectors() {
    static_assert(joint<A>::rank == 1, "scans, sorts, filters and segments are of vectors; of rows, columns and planes there are inclusive_scan_rows and its kin");
}

/// A composite of arrays by an operator: the arrays, the initial values, what `more` has, and the operator.
template <class A, class I, class F, std::size_t More>
node_ptr composed_by(composite which, place at, const A &a, const I &init, F &f, std::array<node_ptr, More> &&more) {
    using E = elements_of<A>;
    constexpr std::size_t count = parts<E>::count;
    auto all = arrays(a, at);
    const trace inside;
    std::array<node_ptr, 5 * count + More> operands;
    node_ptr *next = std::move(all.begin(), all.end(), operands.data());
    parts<E>::nodes(init, next);
    next = std::move(more.begin(), more.end(), next);
    const E left = parts<E>::variables(next), right = parts<E>::variables(next);
    using R = std::decay_t<decltype(f(left, right))>;
    gives_values<R>();
    if constexpr (!std::is_void_v<R>) parts<E>::nodes(f(left, right), next);
    return composed(which, at, operands.data(), operands.size(), std::int64_t(count), std::int64_t(count));
}
/// A composite of vectors by an operator, whose values are vectors of n elements.
template <class A, class I, class F, std::size_t More>
auto joined_composite(composite which, place at, const A &a, const I &init, F &f, std::array<node_ptr, More> &&more, std::int64_t n) {
    of_vectors<A>();
    const node_ptr made = composed_by(which, at, a, init, f, std::move(more));
    std::int64_t first = 0;
    return vectors_of_composite(made, elements_of<A>(), first, n);
}
/// Scans of the rows, columns or planes of arrays of two or three dimensions.
template <lines Which, class A, class I, class F> auto scanned_along(composite which, place at, const A &a, const I &init, F &f) {
    constexpr int rank = joint<A>::rank;
    static_assert(rank_of_parts<Which, rank> > 0);
    const extents_in extents = extents_of(*arrays(a, at)[0].get());
    const node_ptr made = composed_by(which, at, a, init, f, std::array<node_ptr, 0>());
    std::int64_t next = 0;
    return parts<elements_of<A>>::each(elements_of<A>(), [&](const auto &e) {
        using T = typename std::decay_t<decltype(e)>::value_type;
        return expr<T, rank>(with_extents(component(made, next, type_of<T>::value, rank), extents));
    });
}
/// The number of elements of vectors of one length, if the host knows it.
template <class A> std::int64_t length_of(const A &a) { return arrays(a, {})[0]->extent[0]; }
template <class A, class I, class F> auto scanned(composite which, place at, const A &a, const I &init, F &f) {
    return joined_composite(which, at, a, init, f, std::array<node_ptr, 0>(), length_of(a));
}
/// A composite of one vector and its only value.
template <class T, class A> expr<T, 1> of_one_vector(composite which, const A &a, place at) {
    static_assert(rank_of<A>() == 1, "sorts are of vectors; rows of a matrix have none of their own");
    node_ptr operands[] = {operand<A>::node(a)};
    const std::int64_t n = operands[0]->extent[0];
    const node_ptr made = composed(which, at, operands, 1, 0, 1);
    std::int64_t first = 0;
    return vector_of_composite<T>(made, first, n);
}
template <class O> std::array<node_ptr, 1> offsets_of_segments(const O &offsets) {
    static_assert(rank_of<O>() == 1 && std::is_same_v<element_type<O>, std::int64_t>,
                  "the offsets of segments are a vector of std::int64_t: write cast<std::int64_t>(offsets)");
    return {operand<O>::node(offsets)};
}

} // namespace detail

/// The vector of the partial results of a reduction: element i joins `init` and the elements up to and with i by f, always a part of the vector with
/// the part that follows it (docs/semantics.md 5.18). f is associative, up to rounding; it need not be commutative. The vector may be of structs, or a
/// tuple of vectors, of which the results are a tuple. From the last element on it is reverse(inclusive_scan(reverse(a), init, f)).
template <class A, class I, class F, detail::if_joinable<A> = 0>
auto inclusive_scan(const A &a, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    return detail::scanned(detail::composite::scan, here.of("inclusive_scan"), a, init, f);
}
/// The same without the element itself: the first element is `init`.
template <class A, class I, class F, detail::if_joinable<A> = 0>
auto exclusive_scan(const A &a, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    return detail::scanned(detail::composite::scan_exclusive, here.of("exclusive_scan"), a, init, f);
}
/// Sums of `init` and the elements so far.
template <class A, class I, detail::if_array<A> = 0>
auto inclusive_scan(const A &a, const I &init, detail::place here = ARRAYGPU_HERE) {
    return arraygpu::inclusive_scan(a, init, detail::plus(), here.of("inclusive_scan"));
}
template <class A, class I, detail::if_array<A> = 0>
auto exclusive_scan(const A &a, const I &init, detail::place here = ARRAYGPU_HERE) {
    return arraygpu::exclusive_scan(a, init, detail::plus(), here.of("exclusive_scan"));
}

/// inclusive_scan of each row of a matrix, or of each plane of an array of three dimensions, by itself, with the bits of the scan of that vector. The array
/// may be of structs, or a tuple of arrays.
template <class A, class I, class F, detail::if_joinable<A> = 0>
auto inclusive_scan_rows(const A &a, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    return detail::scanned_along<detail::lines::rows>(detail::composite::scan_rows, here.of("inclusive_scan_rows"), a, init, f);
}
template <class A, class I, class F, detail::if_joinable<A> = 0>
auto exclusive_scan_rows(const A &a, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    return detail::scanned_along<detail::lines::rows>(detail::composite::scan_rows_exclusive, here.of("exclusive_scan_rows"), a, init, f);
}
/// Scans of each column by itself, with the same arguments.
template <class A, class I, class F, detail::if_joinable<A> = 0>
auto inclusive_scan_cols(const A &a, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    return detail::scanned_along<detail::lines::cols>(detail::composite::scan_cols, here.of("inclusive_scan_cols"), a, init, f);
}
template <class A, class I, class F, detail::if_joinable<A> = 0>
auto exclusive_scan_cols(const A &a, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    return detail::scanned_along<detail::lines::cols>(detail::composite::scan_cols_exclusive, here.of("exclusive_scan_cols"), a, init, f);
}
/// Scans of each plane of an array of three dimensions, the sequence of its elements row by row.
template <class A, class I, class F, detail::if_joinable<A> = 0>
auto inclusive_scan_planes(const A &a, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    return detail::scanned_along<detail::lines::planes>(detail::composite::scan_planes, here.of("inclusive_scan_planes"), a, init, f);
}
template <class A, class I, class F, detail::if_joinable<A> = 0>
auto exclusive_scan_planes(const A &a, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    return detail::scanned_along<detail::lines::planes>(detail::composite::scan_planes_exclusive, here.of("exclusive_scan_planes"), a, init, f);
}
/// Sums of `init` and the elements of each row, column or plane so far.
template <class A, class I, detail::if_array<A> = 0>
auto inclusive_scan_rows(const A &a, const I &init, detail::place here = ARRAYGPU_HERE) {
    return arraygpu::inclusive_scan_rows(a, init, detail::plus(), here.of("inclusive_scan_rows"));
}
template <class A, class I, detail::if_array<A> = 0>
auto exclusive_scan_rows(const A &a, const I &init, detail::place here = ARRAYGPU_HERE) {
    return arraygpu::exclusive_scan_rows(a, init, detail::plus(), here.of("exclusive_scan_rows"));
}
template <class A, class I, detail::if_array<A> = 0>
auto inclusive_scan_cols(const A &a, const I &init, detail::place here = ARRAYGPU_HERE) {
    return arraygpu::inclusive_scan_cols(a, init, detail::plus(), here.of("inclusive_scan_cols"));
}
template <class A, class I, detail::if_array<A> = 0>
auto exclusive_scan_cols(const A &a, const I &init, detail::place here = ARRAYGPU_HERE) {
    return arraygpu::exclusive_scan_cols(a, init, detail::plus(), here.of("exclusive_scan_cols"));
}
template <class A, class I, detail::if_array<A> = 0>
auto inclusive_scan_planes(const A &a, const I &init, detail::place here = ARRAYGPU_HERE) {
    return arraygpu::inclusive_scan_planes(a, init, detail::plus(), here.of("inclusive_scan_planes"));
}
template <class A, class I, detail::if_array<A> = 0>
auto exclusive_scan_planes(const A &a, const I &init, detail::place here = ARRAYGPU_HERE) {
    return arraygpu::exclusive_scan_planes(a, init, detail::plus(), here.of("exclusive_scan_planes"));
}

/// The elements in ascending order: -0 before +0, NaNs last, false before true, equal ones in the order of their indices (docs/semantics.md 5.19).
template <class A, detail::if_array<A> = 0> auto sort(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::of_one_vector<detail::element_type<A>>(detail::composite::sort, a, here.of("sort"));
}
/// In descending order: +0 before -0, NaNs last as well.
template <class A, detail::if_array<A> = 0> auto sort_descending(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::of_one_vector<detail::element_type<A>>(detail::composite::sort_descending, a, here.of("sort_descending"));
}
/// The indices of the elements in the order of sort.
template <class A, detail::if_array<A> = 0> auto sort_permutation(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::of_one_vector<std::int64_t>(detail::composite::argsort, a, here.of("sort_permutation"));
}
template <class A, detail::if_array<A> = 0> auto sort_permutation_descending(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::of_one_vector<std::int64_t>(detail::composite::argsort_descending, a, here.of("sort_permutation_descending"));
}
/// The keys in ascending order, and the elements of another vector in the same order: a tuple. That vector may be of structs, or a tuple of vectors.
template <class K, class V, detail::if_array<K> = 0, detail::if_joinable<V> = 0>
auto sort_by_key(const K &keys, const V &values, detail::place here = ARRAYGPU_HERE) {
    static_assert(detail::rank_of<K>() == 1, "sorts are of vectors; rows of a matrix have none of their own");
    detail::of_vectors<V>();
    using E = detail::elements_of<V>;
    constexpr std::size_t count = detail::parts<E>::count;
    auto all = detail::arrays(values, here.of("sort_by_key"));
    std::array<detail::node_ptr, 1 + count> operands;
    operands[0] = detail::operand<K>::node(keys);
    std::move(all.begin(), all.end(), operands.data() + 1);
    const std::int64_t n = operands[0]->extent[0];
    const detail::node_ptr made = detail::composed(detail::composite::sort, here.of("sort_by_key"), operands.data(), operands.size(), 0, std::int64_t(operands.size()));
    std::int64_t which = 0;
    auto sorted = detail::vector_of_composite<detail::element_type<K>>(made, which, n);
    return std::make_tuple(std::move(sorted), detail::vectors_of_composite(made, E(), which, n));
}

/// The reduction of each segment of a vector by f, beginning with `init`: segment k has the elements from offsets[k] up to offsets[k + 1], so that there
/// is one offset more than there are segments, as of the rows of a matrix in CSR. Each has the bits of reduce() of its elements alone
/// (docs/semantics.md 5.20). An offset below 0 or the one before it, or past the end, leaves an error record.
template <class A, class O, class I, class F, detail::if_joinable<A> = 0, detail::if_array<O> = 0>
auto segmented_reduce(const A &a, const O &offsets, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    auto of_segments = detail::offsets_of_segments(offsets);
    const std::int64_t n = of_segments[0]->extent[0];
    return detail::joined_composite(detail::composite::segmented_reduce, here.of("segmented_reduce"), a, init, f, std::move(of_segments), n < 0 ? -1 : n - 1);
}
/// Sums of `init` and the elements of each segment.
template <class A, class O, class I, detail::if_array<A> = 0, detail::if_array<O> = 0>
auto segmented_reduce(const A &a, const O &offsets, const I &init, detail::place here = ARRAYGPU_HERE) {
    return arraygpu::segmented_reduce(a, offsets, init, detail::plus(), here.of("segmented_reduce"));
}

/// inclusive_scan of each segment of a vector by itself, with the bits of the scan of that vector. Segments are those of segmented_reduce; an element in
/// none of them is `init`.
template <class A, class O, class I, class F, detail::if_joinable<A> = 0, detail::if_array<O> = 0>
auto segmented_inclusive_scan(const A &a, const O &offsets, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    return detail::joined_composite(detail::composite::segmented_scan, here.of("segmented_inclusive_scan"), a, init, f, detail::offsets_of_segments(offsets), detail::length_of(a));
}
/// The same without each element itself: the first element of a segment is `init`.
template <class A, class O, class I, class F, detail::if_joinable<A> = 0, detail::if_array<O> = 0>
auto segmented_exclusive_scan(const A &a, const O &offsets, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    return detail::joined_composite(detail::composite::segmented_scan_exclusive, here.of("segmented_exclusive_scan"), a, init, f, detail::offsets_of_segments(offsets),
                                    detail::length_of(a));
}
/// Sums of `init` and the elements of each segment so far.
template <class A, class O, class I, detail::if_array<A> = 0, detail::if_array<O> = 0>
auto segmented_inclusive_scan(const A &a, const O &offsets, const I &init, detail::place here = ARRAYGPU_HERE) {
    return arraygpu::segmented_inclusive_scan(a, offsets, init, detail::plus(), here.of("segmented_inclusive_scan"));
}
template <class A, class O, class I, detail::if_array<A> = 0, detail::if_array<O> = 0>
auto segmented_exclusive_scan(const A &a, const O &offsets, const I &init, detail::place here = ARRAYGPU_HERE) {
    return arraygpu::segmented_exclusive_scan(a, offsets, init, detail::plus(), here.of("segmented_exclusive_scan"));
}

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_COMPOSITES_HPP
