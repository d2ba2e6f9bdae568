// What a number behind the array of a reduction, a softmax or a sort says. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_NO_AXES_HPP
#define ARRAYGPU_EXPR_NO_AXES_HPP

#include <arraygpu/expr/arrays.hpp>

namespace arraygpu {

// The number 0 would be taken for the place of the call, and the word be that of the whole array.
#define ARRAYGPU_NO_AXIS(word)                                                                                                                \
    template <class A, class N, detail::if_array<A> = 0, std::enable_if_t<std::is_integral_v<N>, int> = 0> void word(const A &, N) {          \
        static_assert(detail::never<N>, #word " takes no axis, which is in the name: " #word "_rows(x), " #word "_cols(x), " #word "_planes(x)"); \
    }
ARRAYGPU_NO_AXIS(sum)
ARRAYGPU_NO_AXIS(mean)
ARRAYGPU_NO_AXIS(norm)
ARRAYGPU_NO_AXIS(log_sum_exp)
ARRAYGPU_NO_AXIS(argmin)
ARRAYGPU_NO_AXIS(argmax)
ARRAYGPU_NO_AXIS(minmax)
ARRAYGPU_NO_AXIS(softmax)
ARRAYGPU_NO_AXIS(normalise)
#undef ARRAYGPU_NO_AXIS

// Of these there are no words for rows and columns but those that a function is given to.
#define ARRAYGPU_NO_AXIS(word, instead)                                                                                                       \
    template <class A, class N, detail::if_array<A> = 0, std::enable_if_t<std::is_integral_v<N>, int> = 0> void word(const A &, N) {          \
        static_assert(detail::never<N>, #word " takes no axis: " instead);                                                                    \
    }
ARRAYGPU_NO_AXIS(product, "reduce_rows(x, 1, f)")
ARRAYGPU_NO_AXIS(any, "reduce_rows(x, false, f)")
ARRAYGPU_NO_AXIS(all, "reduce_rows(x, true, f)")
ARRAYGPU_NO_AXIS(sort, "it orders vectors")
ARRAYGPU_NO_AXIS(sort_descending, "it orders vectors")
#undef ARRAYGPU_NO_AXIS

} // namespace arraygpu

#endif // ARRAYGPU_EXPR_NO_AXES_HPP
