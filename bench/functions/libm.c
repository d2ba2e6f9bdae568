/* -O3 -mavx2 -mfma -fno-builtin: a loop over the system's function, as a C programmer writes it. What the system's library lacks is the usual formula with what
   it has. */
#define _GNU_SOURCE
#include "libm.h"
#include "../gpu/function_list.h"
#include <math.h>

static float rsqrtf(float x) { return 1 / sqrtf(x); }
static double rsqrt(double x) { return 1 / sqrt(x); }
static float sinpif(float x) { return sinf((float)M_PI * x); }
static double sinpi(double x) { return sin(M_PI * x); }
static float cospif(float x) { return cosf((float)M_PI * x); }
static double cospi(double x) { return cos(M_PI * x); }
static float normcdff(float x) { return 0.5f * erfcf(-(float)M_SQRT1_2 * x); }
static double normcdf(double x) { return 0.5 * erfc(-M_SQRT1_2 * x); }

#define LOOP(name, type, second, value)                                                                                              \
    static void name(const void *px, const void *py, void *pout, size_t n) {                                                         \
        const type *x = px;                                                                                                          \
        const second *y = py;                                                                                                        \
        type *restrict out = pout;                                                                                                   \
        (void)y;                                                                                                                     \
        for (size_t i = 0; i < n; i++) out[i] = value;                                                                               \
    }
#define ONE(name, from, to) LOOP(name##_32, float, float, name##f(x[i])) LOOP(name##_64, double, double, name(x[i]))
#define TWO(name, from, to, from_y, to_y)                                                                                            \
    LOOP(name##_32, float, float, name##f(x[i], y[i])) LOOP(name##_64, double, double, name(x[i], y[i]))
FUNCTIONS_OF_ONE(ONE)
FUNCTIONS_OF_TWO(TWO)
LOOP(ldexp_32, float, int, ldexpf(x[i], y[i]))
LOOP(ldexp_64, double, int, ldexp(x[i], y[i]))

#define ROW_ONE(name, from, to) {#name, 0, 0, from, to, 0, 0, name##_32}, {#name, 1, 0, from, to, 0, 0, name##_64},
#define ROW_TWO(name, from, to, from_y, to_y) {#name, 0, 1, from, to, from_y, to_y, name##_32}, {#name, 1, 1, from, to, from_y, to_y, name##_64},
const struct libm_loop libm_loops[] = {
    FUNCTIONS_OF_ONE(ROW_ONE) FUNCTIONS_OF_TWO(ROW_TWO)
    {"ldexp", 0, 2, LDEXP_RANGE, ldexp_32},
    {"ldexp", 1, 2, LDEXP_RANGE, ldexp_64},
    {0, 0, 0, 0, 0, 0, 0, 0},
};
