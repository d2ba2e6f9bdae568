// Arrays from arrays, and reductions. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_ARRAYS_HPP
#define ARRAYGPU_EXPR_ARRAYS_HPP

#include <arraygpu/expr/functions.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

template <class A> using if_array = std::enable_if_t<is_operand<A> && (rank_of<A>() > 0), int>;
template <class A> using if_vector = std::enable_if_t<is_operand<A> && rank_of<A>() == 1, int>;
template <class A> using if_matrix = std::enable_if_t<is_operand<A> && rank_of<A>() == 2, int>;
template <class A> using if_volume = std::enable_if_t<is_operand<A> && rank_of<A>() == 3, int>;
template <class A> using if_planar = std::enable_if_t<is_operand<A> && (rank_of<A>() >= 2), int>;
/// The axis of the rows of a matrix, or of the planes of an array of three dimensions.
template <class A> constexpr int rows_of() { return rank_of<A>() == 3 ? 1 : 0; }

/// A length or an index as a node: a number of the host, a staged value, or a traced one.
template <class N> node_ptr index_node(const N &n) {
    if constexpr (is_operand<N>) {
        static_assert(rank_of<N>() == 0 && !is_real<element_type<N>> && !std::is_same_v<element_type<N>, bool>, "an index or length is an integer");
        return cast<std::int64_t>(n).c_node();
    } else {
        static_assert(!is_real<N>, "an index or length is an integer");
        return node_of<std::int64_t>(n);
    }
}
/// A length if the host knows it, else -1.
template <class N> std::int64_t known_length(const N &n) {
    if constexpr (is_operand<N>)
        return -1;
    else
        return static_cast<std::int64_t>(n);
}

inline node_ptr sliced(node_ptr array, int axis, std::int64_t start, std::int64_t stop, std::int64_t stride, place at) {
    const auto type = agpu_type(array->type);
    const int rank = array->rank;
    node_ptr made = make_node(op::slice, type, rank, std::move(array), at);
    const std::int64_t numbers[] = {axis, start, stop, stride};
    std::memcpy(made->own.numbers, numbers, sizeof numbers);
    made->extent[axis] = stride > 0 && start >= 0 && stop >= start ? (stop - start) / stride + ((stop - start) % stride != 0) : 0;
    return made;
}
inline node_ptr along(op code, int rank, node_ptr array, int axis, place at) {
    const auto type = agpu_type(array->type);
    node_ptr made = make_node(code, type, rank, std::move(array), at);
    made->own.numbers[0] = axis;
    return made;
}
inline node_ptr picked(node_ptr array, int axis, node_ptr index, place at) {
    const extents_in left = without(extents_of(*array.get()), axis);
    note_read(array, axis, index.get());
    const auto type = agpu_type(array->type);
    const int rank = array->rank - 1;
    node_ptr made = make_node(op::pick, type, rank, std::move(array), std::move(index), at);
    made->own.numbers[0] = axis;
    return with_extents(std::move(made), left);
}
inline node_ptr spread(node_ptr array, int axis, node_ptr count, std::int64_t n, place at) {
    const extents_in more = with(extents_of(*array.get()), axis, n);
    const auto type = agpu_type(array->type);
    const int rank = array->rank + 1;
    node_ptr made = make_node(op::spread, type, rank, std::move(array), std::move(count), at);
    made->own.numbers[0] = axis;
    return with_extents(std::move(made), more);
}
inline node_ptr exchanged(node_ptr array, int first, int second, place at) {
    extents_in extents = extents_of(*array.get());
    std::swap(extents.n[first], extents.n[second]);
    const int rank = array->rank;
    node_ptr made = along(op::transpose, rank, std::move(array), first, at);
    made->own.numbers[1] = second;
    return with_extents(std::move(made), extents);
}
inline expr<std::int64_t, 0> length(node_ptr array, int axis) {
    node_ptr made = make_node(op::length, AGPU_I64, 0, std::move(array), place{});
    made->own.numbers[0] = axis;
    return expr<std::int64_t, 0>(std::move(made));
}
/// The number of the elements of an array.
inline expr<std::int64_t, 0> element_count(const node_ptr &array) {
    expr<std::int64_t, 0> count = length(array, 0);
    for (int axis = 1; axis < array->rank; ++axis) count = count * length(array, axis);
    return count;
}
/// The number of a variable's values. An array of that extent which is read at the variable gives it, so that the program knows that the reads are
/// in bounds: a number of the host would be a parameter that has nothing to do with the array.
inline node_ptr count_of(const node *variable, node_ptr n, std::int64_t known) {
    if (n->code == op::literal)
        for (const noted_read &r : noted_reads())
            if (r.variable == variable && r.array->extent[r.axis] == known) return length(r.array, r.axis).c_node();
    return n;
}
/// An index into an array; where it is clamped to 0 and to the last place, which the host wrote as a number, the program is to know so.
inline node_ptr bounded(const node_ptr &array, int axis, node_ptr index, int depth = 0) {
    constexpr int deepest = 4;
    const bool is_least = index->code == op::min, is_greatest = index->code == op::max;
    if (depth == deepest || index->level == 0 || array->level != 0 || array->extent[axis] < 0 || !(is_least || is_greatest)) return index;
    const std::int64_t end = is_least ? array->extent[axis] - 1 : 0;
    node_ptr operands[2];
    bool changed = false;
    for (int k = 0; k < 2; ++k) {
        node *operand = index->operands[k];
        operand->uses.fetch_add(1, std::memory_order_relaxed);
        operands[k] = bounded(array, axis, node_ptr(operand), depth + 1);
        if (operand->code == op::literal && operand->own.numbers[0] == end)
            operands[k] = is_least ? make_node(op::sub, AGPU_I64, 0, length(array, axis).c_node(), make_number<std::int64_t>(op::constant, 1))
                                   : make_number<std::int64_t>(op::constant, 0);
        changed = changed || operands[k].get() != operand;
    }
    return changed ? make_node(index->code, AGPU_I64, 0, operands, 2) : index;
}
/// One element, by an index for each axis.
template <class A, class... I> auto element(const A &a, place at, const I &...index) {
    using T = element_type<A>;
    constexpr std::uint32_t count = 1 + sizeof...(I);
    node_ptr operands[count] = {operand<A>::node(a)};
    std::uint32_t next = 1;
    ((operands[next] = bounded(operands[0], int(next) - 1, index_node(index)), ++next), ...);
    for (std::uint32_t axis = 0; axis + 1 < count; ++axis) note_read(operands[0], int(axis), operands[1 + axis].get());
    return expr<T, 0>(make_node(op::read, type_of<T>::value, 0, operands, count, at));
}
template <class A> auto part(const A &a, int axis, std::int64_t start, std::int64_t stop, std::int64_t stride, place at) {
    return expr<element_type<A>, rank_of<A>()>(sliced(operand<A>::node(a), axis, start, stop, stride, at));
}
template <class A> auto reversed(const A &a, int axis, place at) {
    return expr<element_type<A>, rank_of<A>()>(along(op::reverse, rank_of<A>(), operand<A>::node(a), axis, at));
}
template <class T, int Rank, class A> expr<T, Rank> reduction(op code, const A &a, place at) {
    return expr<T, Rank>(make_node(code, type_of<T>::value, Rank, operand<A>::node(a), at));
}

} // namespace detail

/// The number of elements, as far as the host knows it: of an array whose length is computed with it SIZE_MAX.
template <class A, detail::if_array<A> = 0> std::size_t size(const A &a) { return a.size(); }

/// The elements start, start + stride, ... below stop; 0 <= start <= stop <= size, stride >= 1.
template <class A, detail::if_vector<A> = 0> auto slice(const A &a, std::int64_t start, std::int64_t stop, std::int64_t stride = 1,
                                                        detail::place here = ARRAYGPU_HERE) {
    return detail::part(a, 0, start, stop, stride, here.of("slice"));
}
/// These rows of a matrix, and of these the columns from col_start up to, not including, col_stop; every row_stride-th and col_stride-th.
template <class A, detail::if_matrix<A> = 0>
auto slice(const A &a, std::int64_t row_start, std::int64_t row_stop, std::int64_t col_start, std::int64_t col_stop, std::int64_t row_stride = 1,
           std::int64_t col_stride = 1, detail::place here = ARRAYGPU_HERE) {
    const auto rows = detail::part(a, 0, row_start, row_stop, row_stride, here.of("slice"));
    return detail::part(rows, 1, col_start, col_stop, col_stride, here.of("slice"));
}
/// The planes, the rows, the columns start, start + stride, ... below stop: of a matrix, of an array of three dimensions.
template <class A, detail::if_volume<A> = 0> auto slice_planes(const A &a, std::int64_t start, std::int64_t stop, std::int64_t stride = 1,
                                                               detail::place here = ARRAYGPU_HERE) {
    return detail::part(a, 0, start, stop, stride, here.of("slice_planes"));
}
template <class A, detail::if_planar<A> = 0> auto slice_rows(const A &a, std::int64_t start, std::int64_t stop, std::int64_t stride = 1,
                                                             detail::place here = ARRAYGPU_HERE) {
    return detail::part(a, detail::rows_of<A>(), start, stop, stride, here.of("slice_rows"));
}
template <class A, detail::if_planar<A> = 0> auto slice_cols(const A &a, std::int64_t start, std::int64_t stop, std::int64_t stride = 1,
                                                             detail::place here = ARRAYGPU_HERE) {
    return detail::part(a, detail::rows_of<A>() + 1, start, stop, stride, here.of("slice_cols"));
}
/// The last element, row, or plane first.
template <class A, detail::if_array<A> = 0> auto reverse(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::reversed(a, 0, here.of("reverse"));
}
/// The last plane, row, column first.
template <class A, detail::if_volume<A> = 0> auto reverse_planes(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::reversed(a, 0, here.of("reverse_planes"));
}
template <class A, detail::if_planar<A> = 0> auto reverse_rows(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::reversed(a, detail::rows_of<A>(), here.of("reverse_rows"));
}
template <class A, detail::if_planar<A> = 0> auto reverse_cols(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::reversed(a, detail::rows_of<A>() + 1, here.of("reverse_cols"));
}
/// Rows as columns.
template <class A, detail::if_matrix<A> = 0> auto transpose(const A &a, detail::place here = ARRAYGPU_HERE) {
    return expr<detail::element_type<A>, 2>(detail::exchanged(detail::operand<A>::node(a), 0, 1, here.of("transpose")));
}
/// The same elements with the axes in another order: axis k of the result is the k-th of these axes (0: planes, 1: rows, 2: columns).
template <int First, int Second, int Third, class A, detail::if_volume<A> = 0>
auto permute(const A &a, detail::place here = ARRAYGPU_HERE) {
    constexpr bool is_order = (1 << First | 1 << Second | 1 << Third) == 7;
    static_assert(is_order, "permute<2, 0, 1>(x): these are no order of the axes 0, 1 and 2");
    detail::node_ptr array = detail::operand<A>::node(a);
    if constexpr (is_order) {
        if (First != 0) array = detail::exchanged(std::move(array), 0, First, here.of("permute"));
        // the axis that now stands where axis 0 came from is 0
        if (Second != (First == 1 ? 0 : 1)) array = detail::exchanged(std::move(array), 1, 2, here.of("permute"));
    }
    return expr<detail::element_type<A>, 3>(std::move(array));
}
/// Row i, column j; inside of a traced function the index may be a traced one, which reads as at() does.
template <class A, class I, detail::if_matrix<A> = 0>
auto row(const A &a, const I &i, detail::place here = ARRAYGPU_HERE) {
    return expr<detail::element_type<A>, 1>(detail::picked(detail::operand<A>::node(a), 0, detail::index_node(i), here.of("row")));
}
template <class A, class I, detail::if_matrix<A> = 0>
auto col(const A &a, const I &j, detail::place here = ARRAYGPU_HERE) {
    return expr<detail::element_type<A>, 1>(detail::picked(detail::operand<A>::node(a), 1, detail::index_node(j), here.of("col")));
}
/// Plane k of an array of three dimensions, a matrix; its index is as that of a row.
template <class A, class I, detail::if_volume<A> = 0>
auto plane(const A &a, const I &k, detail::place here = ARRAYGPU_HERE) {
    return expr<detail::element_type<A>, 2>(detail::picked(detail::operand<A>::node(a), 0, detail::index_node(k), here.of("plane")));
}
/// An array of n planes, each of which is the matrix.
template <class A, class N, detail::if_matrix<A> = 0>
auto spread_planes(const A &a, const N &n, detail::place here = ARRAYGPU_HERE) {
    return expr<detail::element_type<A>, 3>(
        detail::spread(detail::operand<A>::node(a), 0, detail::index_node(n), detail::known_length(n), here.of("spread_planes")));
}
/// A matrix of n rows, each of which is the vector; a matrix of n such columns.
template <class A, class N, detail::if_vector<A> = 0>
auto spread_rows(const A &a, const N &n, detail::place here = ARRAYGPU_HERE) {
    return expr<detail::element_type<A>, 2>(
        detail::spread(detail::operand<A>::node(a), 0, detail::index_node(n), detail::known_length(n), here.of("spread_rows")));
}
template <class A, class N, detail::if_vector<A> = 0>
auto spread_cols(const A &a, const N &n, detail::place here = ARRAYGPU_HERE) {
    return expr<detail::element_type<A>, 2>(
        detail::spread(detail::operand<A>::node(a), 1, detail::index_node(n), detail::known_length(n), here.of("spread_cols")));
}
/// 0, 1, 2, ... n - 1.
template <class T = std::int64_t, class N> expr<T, 1> iota(const N &n, detail::place here = ARRAYGPU_HERE) {
    detail::node_ptr made = detail::make_node(detail::op::iota, AGPU_I64, 1, detail::index_node(n), here.of("iota"));
    return cast<T>(expr<std::int64_t, 1>(detail::with_extents(std::move(made), detail::known_length(n))));
}
/// n times the value, which is a number or a scalar expression.
template <class V, class N, std::enable_if_t<!detail::is_compound<V>, int> = 0> auto repeat(const V &value, const N &n, detail::place here = ARRAYGPU_HERE) {
    static_assert(detail::rank_of<V>() == 0, "repeat a scalar; spread_rows and spread_cols repeat a vector");
    using T = typename std::conditional_t<detail::is_operand<V>, detail::elements<void, V>, detail::host_type<V>>::type;
    detail::node_ptr made = detail::make_node(detail::op::fill, detail::type_of<T>::value, 1, detail::index_node(n), detail::node_of<T>(value),
                                              here.of("repeat"));
    return expr<T, 1>(detail::with_extents(std::move(made), detail::known_length(n)));
}
/// One element. An index out of range gives 0, and an error when the program has run.
template <class A, class I, detail::if_vector<A> = 0>
auto at(const A &a, const I &i, detail::place here = ARRAYGPU_HERE) {
    return detail::element(a, here.of("at"), i);
}
template <class A, class I, class J, detail::if_matrix<A> = 0>
auto at(const A &a, const I &i, const J &j, detail::place here = ARRAYGPU_HERE) {
    return detail::element(a, here.of("at"), i, j);
}
/// The element in plane k, row i, column j.
template <class A, class K, class I, class J, detail::if_volume<A> = 0>
auto at(const A &a, const K &k, const I &i, const J &j, detail::place here = ARRAYGPU_HERE) {
    return detail::element(a, here.of("at"), k, i, j);
}
namespace detail {
template <class A, class... I> constexpr bool is_misread() {
    if constexpr (is_operand<A>) return rank_of<A>() > 0 && rank_of<A>() != sizeof...(I) && ((is_operand<I> || is_host<I>) && ...);
    return false;
}
} // namespace detail
/// Says what is wrong.
template <class A, class... I, std::enable_if_t<detail::is_misread<A, I...>(), int> = 0> void at(const A &, const I &...) {
    static_assert(detail::never<A>, "at: an index for each axis of the array; row(m, i), col(m, j) and plane(x, k) are parts of it");
}
/// The product of two matrices; of two arrays of three dimensions that of each plane with the same plane.
template <class A, class B, detail::if_planar<A> = 0, detail::if_planar<B> = 0>
auto matmul(const A &a, const B &b, detail::place here = ARRAYGPU_HERE) {
    using T = detail::element_type<A, B>;
    constexpr int rank = detail::rank_of<A>();
    detail::has_sums<T>();
    static_assert(rank == detail::rank_of<B>(), "matmul of a matrix and of an array of planes: spread_planes(m, n) repeats the matrix");
    detail::node_ptr left = detail::operand<A>::node(a), right = detail::operand<B>::node(b);
    detail::extents_in extents = detail::extents_of(*left.get());
    extents.n[rank - 1] = right->extent[rank - 1];
    return expr<T, rank>(detail::with_extents(
        detail::make_node(detail::op::matmul, detail::type_of<T>::value, rank, std::move(left), std::move(right), here.of("matmul")), extents));
}

/// Says what is wrong.
template <class A, class B, detail::if_planar<A> = 0, detail::if_vector<B> = 0> void matmul(const A &, const B &) {
    static_assert(detail::never<A>, "matmul is of two matrices: a matrix by a vector is map_rows([&](auto row) { return dot(row, v); }, m)");
}

/// Reductions of all elements, in the order of docs/semantics.md section 5, which depends on their number alone.
template <class A, detail::if_array<A> = 0> auto sum(const A &a, detail::place here = ARRAYGPU_HERE) {
    detail::has_sums<detail::element_type<A>>();
    return detail::reduction<detail::element_type<A>, 0>(detail::op::sum, a, here.of("sum"));
}
template <class A, detail::if_array<A> = 0> auto product(const A &a, detail::place here = ARRAYGPU_HERE) {
    detail::has_sums<detail::element_type<A>>();
    return detail::reduction<detail::element_type<A>, 0>(detail::op::product, a, here.of("product"));
}
template <class A, detail::if_array<A> = 0> auto min(const A &a, detail::place here = ARRAYGPU_HERE) {
    detail::has_order<detail::element_type<A>>();
    return detail::reduction<detail::element_type<A>, 0>(detail::op::least, a, here.of("min"));
}
template <class A, detail::if_array<A> = 0> auto max(const A &a, detail::place here = ARRAYGPU_HERE) {
    detail::has_order<detail::element_type<A>>();
    return detail::reduction<detail::element_type<A>, 0>(detail::op::greatest, a, here.of("max"));
}
template <class A, detail::if_array<A> = 0> auto any(const A &a, detail::place here = ARRAYGPU_HERE) {
    static_assert(std::is_same_v<detail::element_type<A>, bool>, "any and all are of truth values: compare the numbers first");
    return detail::reduction<bool, 0>(detail::op::any, a, here.of("any"));
}
template <class A, detail::if_array<A> = 0> auto all(const A &a, detail::place here = ARRAYGPU_HERE) {
    static_assert(std::is_same_v<detail::element_type<A>, bool>, "any and all are of truth values: compare the numbers first");
    return detail::reduction<bool, 0>(detail::op::all, a, here.of("all"));
}
template <class A, class B, detail::if_array<A> = 0, detail::if_array<B> = 0>
auto dot(const A &a, const B &b, detail::place here = ARRAYGPU_HERE) {
    using T = detail::element_type<A, B>;
    detail::has_sums<T>();
    static_assert(detail::rank_of<A>() == detail::rank_of<B>(), "dot of arrays of different ranks");
    return expr<T, 0>(detail::make_node(detail::op::dot, detail::type_of<T>::value, 0, detail::operand<A>::node(a), detail::operand<B>::node(b),
                                        here.of("dot")));
}
/// The square root of dot(a, a).
template <class A, detail::if_array<A> = 0> auto norm(const A &a, detail::place here = ARRAYGPU_HERE) {
    const expr<detail::element_type<A>, detail::rank_of<A>()> once(detail::operand<A>::node(a));
    return arraygpu::sqrt(arraygpu::dot(once, once, here.of("norm")));
}
/// The sums of a matrix's rows (a vector of rows() elements), of its columns (cols() elements).
template <class A, detail::if_matrix<A> = 0> auto sum_rows(const A &a, detail::place here = ARRAYGPU_HERE) {
    detail::has_sums<detail::element_type<A>>();
    expr<detail::element_type<A>, 1> made = detail::reduction<detail::element_type<A>, 1>(detail::op::row_sums, a, here.of("sum_rows"));
    made.c_node()->extent[0] = made.c_node()->operands[0]->extent[0];
    return made;
}
template <class A, detail::if_matrix<A> = 0> auto sum_cols(const A &a, detail::place here = ARRAYGPU_HERE) {
    detail::has_sums<detail::element_type<A>>();
    expr<detail::element_type<A>, 1> made = detail::reduction<detail::element_type<A>, 1>(detail::op::col_sums, a, here.of("sum_cols"));
    made.c_node()->extent[0] = made.c_node()->operands[0]->extent[1];
    return made;
}
/// Stores the array before it is used, so that its elements are not computed again by each use.
template <class A, detail::if_array<A> = 0> auto materialize(const A &a) {
    using T = detail::element_type<A>;
    return expr<T, detail::rank_of<A>()>(
        detail::make_node(detail::op::materialize, detail::type_of<T>::value, detail::rank_of<A>(), detail::operand<A>::node(a)));
}

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_ARRAYS_HPP
