// Functions of the parts of an array along its axes: of rows, columns and planes. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_ALONG_HPP
#define ARRAYGPU_EXPR_ALONG_HPP

#include <arraygpu/expr/trace.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// The parts of which a function is applied to each: rows and columns of a matrix, or of each plane; planes.
enum class lines { rows, cols, planes };

/// The axes whose indices say which part it is, in ascending order.
template <lines Which, int Rank> constexpr auto axes_of() {
    static_assert(Rank >= 2, "rows and columns are of matrices and arrays of three dimensions");
    static_assert(Rank == 3 || Which != lines::planes, "planes are of arrays of three dimensions");
    if constexpr (Which == lines::planes) return std::array<int, 1>{0};
    else if constexpr (Rank == 3) return std::array<int, 2>{0, Which == lines::rows ? 1 : 2};
    else return std::array<int, 1>{Which == lines::rows ? 0 : 1};
}
/// The number of axes of what has an element for each part.
template <lines Which, int Rank> inline constexpr int rank_of_parts = int(axes_of<Which, Rank>().size());

/// While it lives, a function is traced that gives a value for each part of arrays of one shape.
template <lines Which, int Rank> class each_part {
public:
    static constexpr int rank = rank_of_parts<Which, Rank>;
    static constexpr int rank_of_one = Rank - rank;

    each_part(const node_ptr &array, place at) : at_(at) {
        for (std::size_t i = 0; i < count; ++i) {
            operands_[i] = length(array, axes[i]).c_node();
            operands_[count + i] = make_variable(AGPU_I64);
            extents_.n[i] = array->extent[axes[i]];
        }
    }
    /// The part of one of the arrays.
    node_ptr of(node_ptr array) const {
        // the last axis is picked first, so that the others keep their numbers
        for (std::size_t i = count; i-- > 0;) array = picked(std::move(array), axes[i], operands_[count + i], at_);
        return array;
    }
    /// The array of the values, of a tuple a tuple of arrays.
    template <class R> auto collected(const R &value) {
        return closed<rank>(op::generate, operands_, 2 * count + 1, value, at_, [this](node_ptr made) { return with_extents(std::move(made), extents_); });
    }

private:
    static constexpr auto axes = axes_of<Which, Rank>();
    static constexpr auto count = std::uint32_t(rank);
    const trace inside_;
    place at_;
    node_ptr operands_[2 * count + 1];
    extents_in extents_{{1, 1, 1}};
};

/// f of each part of an array.
template <lines Which, class T, int Rank, class F> auto of_parts_along(const expr<T, Rank> &x, const F &f, place at) {
    each_part<Which, Rank> each(x.c_node(), at);
    return each.collected(f(expr<T, Rank - each.rank>(each.of(x.c_node()))));
}
/// A number for each part, as an array of the shape of x.
template <lines Which, class T, int Rank> auto spread_along(const expr<T, rank_of_parts<Which, Rank>> &numbers, const expr<T, Rank> &x, place at) {
    constexpr auto axes = axes_of<Which, Rank>();
    const node_ptr like = x.c_node();
    node_ptr wide = numbers.c_node();
    for (int axis = 0; axis < Rank; ++axis) {
        bool is_new = true;
        for (const int known : axes) is_new = is_new && known != axis;
        if (is_new) wide = spread(std::move(wide), axis, length(like, axis).c_node(), like->extent[axis], at);
    }
    return expr<T, Rank>(std::move(wide));
}

} // namespace detail
} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_ALONG_HPP
