// Errors of f64 functions, judged by glibc's in x87's extended precision (64 bits of mantissa, known errors of a few of its ulps; one of them is 2^-11 of
// an f64's). Much faster than MPFR, which decides where this is not enough.

#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <string.h>

struct bits {
    uint64_t mantissa;
    uint16_t exponent; // and the sign
};

static long double power(int e) {
    struct bits b = {1ull << 63, (uint16_t)(16383 + e)};
    long double x = 0;
    memcpy(&x, &b, 10);
    return x;
}

// |ours - exact| in ulps of f64 in the binade of exact; infinity where NaN, the sign of zero, or an overflow is wrong.
static double error(long double exact, double ours) {
    if (isnan(exact) || isnan(ours)) return isnan(exact) && isnan(ours) ? 0 : INFINITY;
    if ((exact == 0 || ours == 0) && !signbit(exact) != !signbit(ours)) return INFINITY;
    struct bits b;
    memcpy(&b, &exact, 10);
    int e = (b.exponent & 0x7fff) - 16383;
    e = e < -1022 ? -1022 : e > 1023 ? 1023 : e;
    long double value = ours;
    if (isinf(ours)) {
        // as if the exponent had no end
        if (fabsl(exact) >= power(1024)) return !signbit(exact) == !signbit(ours) ? 0 : INFINITY;
        value = copysignl(power(1024), ours);
    }
    return (double)(fabsl(value - exact) * power(52 - e));
}

#define ONE(name, f) \
    double extended_##name(double x, double y, double ours) { return (void)y, error(f((long double)x), ours); }
#define TWO(name, f) \
    double extended_##name(double x, double y, double ours) { return error(f((long double)x, (long double)y), ours); }

static long double rsqrtl(long double x) { return 1 / sqrtl(x); }

// r is exact: x modulo 2
static long double sinpil(long double x) {
    if (isinf(x)) return NAN;
    long double r = remainderl(x, 2);
    if (r == 0 || fabsl(r) == 1) return copysignl(0, x);
    return fabsl(r) > 0.5L ? copysignl(sinl(M_PIl * (1 - fabsl(r))), r) : sinl(M_PIl * r);
}
static long double cospil(long double x) {
    if (isinf(x)) return NAN;
    long double r = fabsl(remainderl(x, 2));
    return r == 0.5L ? 0 : r < 0.25L ? cosl(M_PIl * r) : sinl(M_PIl * (0.5L - r));
}

// a NaN's sign means nothing
static long double signed_as(long double x, long double y) { return isnan(y) ? fabsl(x) : copysignl(x, y); }
// by whole numbers; NaN: by 0
static long double scaled(long double x, long double n) {
    return isnan(n) ? x : ldexpl(x, (int)rintl(fmaxl(fminl(n, 4000), -4000)));
}

// 0.5 erfc(h + l), h + l = -x / sqrt(2): the first product is exact, and erfc's derivative takes care of l
static long double normcdfl(long double x) {
    long double a = -x * 0.70703125L, b = -x * 0.00007553118654752440084436210485L;
    long double h = a + b, l = (a - h) + b;
    if (isinf(x)) return x > 0;
    return 0.5L * (erfcl(h) - M_2_SQRTPIl * expl(-h * h) * l);
}

ONE(exp, expl)
ONE(exp2, exp2l)
ONE(expm1, expm1l)
ONE(log, logl)
ONE(log2, log2l)
ONE(log10, log10l)
ONE(log1p, log1pl)
ONE(cbrt, cbrtl)
ONE(rsqrt, rsqrtl)
ONE(sin, sinl)
ONE(cos, cosl)
ONE(tan, tanl)
ONE(sinpi, sinpil)
ONE(cospi, cospil)
ONE(asin, asinl)
ONE(acos, acosl)
ONE(atan, atanl)
ONE(sinh, sinhl)
ONE(cosh, coshl)
ONE(tanh, tanhl)
ONE(erf, erfl)
ONE(erfc, erfcl)
ONE(normcdf, normcdfl)
TWO(pow, powl)
TWO(atan2, atan2l)
TWO(hypot, hypotl)
TWO(fmod, fmodl)
TWO(copysign, signed_as)
TWO(ldexp, scaled)
