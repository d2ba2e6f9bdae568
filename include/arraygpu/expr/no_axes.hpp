// What a number behind the array of a reduction, a softmax or a sort says. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_NO_AXES_HPP
#define ARRAYGPU_EXPR_NO_AXES_HPP

#include <arraygpu/expr/arrays.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {

// A number fits no word; without these, the message would be a list of what does.
#define ARRAYGPU_NO_AXIS(word, why)                                                                                                  \
    template <class A, class N, detail::if_array<A> = 0, std::enable_if_t<std::is_integral_v<N>, int> = 0> void word(const A &, N) { \
        static_assert(detail::never<N>, #word " takes no axis" why);                                                                 \
    }
#define ARRAYGPU_HAS_LINES(word) ARRAYGPU_NO_AXIS(word, ", which is in the name: " #word "_rows(x), " #word "_cols(x), " #word "_planes(x)")
ARRAYGPU_HAS_LINES(sum)
ARRAYGPU_HAS_LINES(mean)
ARRAYGPU_HAS_LINES(norm)
ARRAYGPU_HAS_LINES(log_sum_exp)
ARRAYGPU_HAS_LINES(argmin)
ARRAYGPU_HAS_LINES(argmax)
ARRAYGPU_HAS_LINES(minmax)
ARRAYGPU_HAS_LINES(softmax)
ARRAYGPU_HAS_LINES(normalise)
ARRAYGPU_NO_AXIS(product, ": reduce_rows(x, 1, f)")
ARRAYGPU_NO_AXIS(any, ": reduce_rows(x, false, f)")
ARRAYGPU_NO_AXIS(all, ": reduce_rows(x, true, f)")
ARRAYGPU_NO_AXIS(sort, ": it orders vectors")
ARRAYGPU_NO_AXIS(sort_descending, ": it orders vectors")
#undef ARRAYGPU_HAS_LINES
#undef ARRAYGPU_NO_AXIS

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_NO_AXES_HPP
