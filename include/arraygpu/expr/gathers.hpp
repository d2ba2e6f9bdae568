// Elements at indices that are data, all pairs, sums in order. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_GATHERS_HPP
#define ARRAYGPU_EXPR_GATHERS_HPP

#include <arraygpu/expr/extremes.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// Enables what takes a vector, also of structs and complex numbers.
template <class A> constexpr bool is_any_vector() {
    if constexpr (is_operand<A> || is_compound<A>) return rank_of_any<A>() == 1;
    return false;
}
template <class A> using if_any_vector = std::enable_if_t<is_any_vector<A>(), int>;

/// The number of elements of a vector, as a node and as the host knows it.
struct vector_length {
    node_ptr node;
    std::int64_t known;
};
template <class A> vector_length length_of_vector(const A &a, place at) {
    const node_ptr one = arrays(a, at)[0];
    return {length(one, 0).c_node(), one->extent[0]};
}

} // namespace detail

/// The elements at these indices, a vector of integers; the vector may be of structs. An index out of range gives 0, and an error when the program has run.
template <class A, class I, detail::if_any_vector<A> = 0, detail::if_vector<I> = 0>
auto gather(const A &a, const I &indices, detail::place here = ARRAYGPU_HERE) {
    return arraygpu::map([&](const auto &i) { return arraygpu::at(a, i, here.of("gather")); }, indices, here.of("gather"));
}
/// The matrix of f(a[i], b[j]) in row i, column j; of a function that gives a tuple a tuple of matrices. The vectors may be of structs.
template <class A, class B, class F, detail::if_any_vector<A> = 0, detail::if_any_vector<B> = 0>
auto outer(const A &a, const B &b, F &&f, detail::place here = ARRAYGPU_HERE) {
    const auto one = [&](const auto &i, const auto &j) { return f(arraygpu::at(a, i, here.of("outer")), arraygpu::at(b, j, here.of("outer"))); };
    const detail::vector_length rows = detail::length_of_vector(a, here.of("outer")), cols = detail::length_of_vector(b, here.of("outer"));
    const detail::trace inside;
    return detail::generated<2>(one, here.of("outer"), {rows.node, cols.node}, {{rows.known, cols.known, 1}}, detail::variable<std::int64_t>(),
                                detail::variable<std::int64_t>());
}
/// The sum of all elements, from the first to the last: by one thread. Halves are summed as floats and rounded once.
template <class A, detail::if_array<A> = 0> auto sum_in_order(const A &a, detail::place here = ARRAYGPU_HERE) {
    using T = detail::element_type<A>;
    static_assert(!std::is_same_v<T, bool>, "a sum of truth values: write cast<int>(x)");
    using Wide = detail::wide_type<T>;
    return detail::as<T>(arraygpu::fold(detail::as<Wide>(a), detail::constant<Wide>(Wide(0)), detail::plus(), here.of("sum_in_order")));
}

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_GATHERS_HPP
