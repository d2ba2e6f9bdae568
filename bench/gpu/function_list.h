/* The elementary functions that are timed, with ordinary ranges of their arguments: FUNCTIONS_OF_ONE(F) writes F(name, from, to) for each,
   FUNCTIONS_OF_TWO(F) writes F(name, from, to, from of the second, to). ldexp, whose second is an integer, stands alone. */
#pragma once

#define FUNCTIONS_OF_ONE(F)                                                                                                          \
    F(exp, -10, 10) F(exp2, -10, 10) F(expm1, -5, 5) F(log, .01, 100) F(log2, .01, 100) F(log10, .01, 100) F(log1p, -.9, 10)         \
    F(cbrt, -10, 10) F(rsqrt, .01, 100) F(sin, -10, 10) F(cos, -10, 10) F(tan, -10, 10) F(sinpi, -10, 10) F(cospi, -10, 10)          \
    F(asin, -1, 1) F(acos, -1, 1) F(atan, -10, 10) F(sinh, -5, 5) F(cosh, -5, 5) F(tanh, -5, 5) F(erf, -4, 4) F(erfc, -4, 4)         \
    F(normcdf, -4, 4)

#define FUNCTIONS_OF_TWO(F)                                                                                                          \
    F(pow, .01, 100, .3, 3.3) F(atan2, -10, 10, .3, 3.3) F(hypot, -10, 10, .3, 3.3) F(fmod, -10, 10, .3, 3.3)                        \
    F(copysign, -10, 10, -3.3, 3.3)

#define LDEXP_RANGE -10, 10, -20, 20
