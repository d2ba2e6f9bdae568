"""Elementary functions: our own value, once MPFR has confirmed that it is within its bound (docs/elementary.md, semantics section 3).

Exact functions (`fmod copysign ldexp frexp`) are computed here. The others are not correctly rounded, so a program that goes on computing with one needs the very
bits: they come from the helper program, and each is checked against MPFR before it is used. Special values are C99's, as MPFR's are.
"""

import math
import subprocess
from fractions import Fraction

import gmpy2
from scalars import FLOATS, HALVES, INF, NAN, decode, encode, narrow, nearest

WIDE = gmpy2.context(precision=240, emax=gmpy2.get_emax_max(), emin=gmpy2.get_emin_min())


class Wrong(Exception):
    """A value is farther from the exact one than it may be."""


def read_bounds(path):
    """Ulps of each function in f32 and f64."""
    found = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            words = line.split("#")[0].split()
            if words:
                found[words[0]] = {"f32": Fraction(words[1]), "f64": Fraction(words[2])}
    return found


def pi_times(fraction):
    """sin(pi d) of an exact d that is no integer."""
    near = gmpy2.rint(fraction)
    sine = gmpy2.sin(gmpy2.const_pi() * (fraction - near))
    return -sine if int(near) % 2 else sine


def sinpi(x):
    """sin(pi x); of an integer 0 with its sign."""
    if not math.isfinite(x):
        return gmpy2.mpfr(NAN)
    turn = math.fmod(x, 2.0)
    if turn == int(turn):
        return gmpy2.mpfr(math.copysign(0.0, x))
    return pi_times(gmpy2.mpfr(turn, 53))


def cospi(x):
    """cos(pi x); of an odd half +0."""
    if not math.isfinite(x):
        return gmpy2.mpfr(NAN)
    shifted = gmpy2.mpfr("0.5") - gmpy2.mpfr(math.fmod(abs(x), 2.0), 53)
    return gmpy2.mpfr(0) if gmpy2.is_integer(shifted) else pi_times(shifted)


def rsqrt(x):
    """1 / sqrt(x); of -0 -inf, as IEEE 754's rSqrt."""
    return gmpy2.mpfr(math.copysign(INF, x)) if x == 0 else gmpy2.rec_sqrt(x)


def normcdf(x):
    """The distribution function of the normal distribution."""
    return gmpy2.erfc(-gmpy2.mpfr(x, 53) / gmpy2.sqrt(2)) / 2


REFERENCE = {
    name: getattr(WIDE, name)
    for name in "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh cbrt erf erfc atan2 hypot pow".split()
}
REFERENCE |= {"sinpi": sinpi, "cospi": cospi, "rsqrt": rsqrt, "normcdf": normcdf}


def judge(elem, operands, value, exact, limit):
    """What is wrong with a value, or None."""
    digits, least, over, _, _ = FLOATS[elem]
    if gmpy2.is_nan(exact):
        return None if value != value else "is no NaN"
    if value != value:
        return "is a NaN"
    if math.copysign(1.0, value) != (-1.0 if gmpy2.is_signed(exact) else 1.0):
        return "has the wrong sign"
    special = any(not math.isfinite(x) or x == 0 for x in operands) or operands[0] == 1
    if gmpy2.is_infinite(exact) or gmpy2.is_zero(exact) or special and narrow(elem, float(exact)) == exact:
        # too great or too small for MPFR is so for any type
        return None if value == narrow(elem, float(exact)) else "is not exact"
    # infinity counts as the power of two above the greatest number, and so does what is beyond it
    top = gmpy2.mpfr(2) ** over
    found, exact = (top if math.isinf(value) else abs(gmpy2.mpfr(value, 53))), min(abs(exact), top)
    ulp = min(max(gmpy2.get_exp(exact) - digits, least), over - digits)
    distance = abs(found - exact) / gmpy2.mpfr(2) ** ulp
    return None if distance <= limit else f"is off by {float(distance):.4f} ulp, more than {limit}"


class Elementary:
    """Values of elementary functions, each asked for and judged once."""

    def __init__(self, helper, bounds):
        # of this thread: every function and operator of gmpy2 works with it
        gmpy2.set_context(WIDE)
        if gmpy2.get_context().precision != WIDE.precision:
            raise RuntimeError("MPFR has another precision")
        self.bounds = read_bounds(bounds)
        self.known = {}
        self.checked = 0
        self.unspecified = 0
        self.helper = subprocess.Popen([helper, "functions"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def close(self):
        """Ends the helper."""
        self.helper.stdin.close()
        self.helper.wait()

    def ask(self, name, elem, operands):
        """The bits that our functions give."""
        words = [f"{encode(elem, x):x}" for x in operands]
        self.helper.stdin.write(" ".join([name, elem, *words]) + "\n")
        self.helper.stdin.flush()
        return decode(elem, int(self.helper.stdout.readline(), 16))

    def function(self, name, elem):
        """An elementary function of a type; of halves that of f32, then rounded (2.9)."""
        of = "f32" if elem in HALVES else elem
        if name in EXACT:
            exact = EXACT[name]
            if name == "ldexp":
                exact = lambda x, n: self.unusual(of, x, n) if n != n or n != int_or(n) else ldexp(of, x, n)
            return exact if elem == of else lambda *x: narrow(elem, exact(*x))
        known = self.known.setdefault((name, of), {})

        def value(*operands):
            key = tuple(encode(of, x) for x in operands)
            found = known.get(key)
            if found is None:
                found = known[key] = self.judged(name, of, operands)
            return found

        return value if elem == of else lambda *x: narrow(elem, value(*x))

    def judged(self, name, elem, operands):
        """Our value, within its bound."""
        value = self.ask(name, elem, operands)
        exact = REFERENCE[name](*operands)
        wrong = judge(elem, operands, value, exact, self.bounds[name][elem])
        self.checked += 1
        if wrong:
            raise Wrong(f"{name} of {operands} in {elem}: {value!r} {wrong} ({float(exact)!r})")
        return value

    def unusual(self, elem, x, n):
        """`ldexp` by what is no integer, of which nothing is said."""
        self.unspecified += 1
        return self.ask("ldexp", elem, (x, n))


def int_or(n):
    """A finite number without its fraction."""
    return math.trunc(n) if math.isfinite(n) else None


def ldexp(elem, x, n):
    """x 2^n, rounded once."""
    if x != x or math.isinf(x) or x == 0:
        return x
    # beyond this every number has overflowed, or is less than half of the smallest
    n = max(-5000, min(5000, int(n)))
    rounded = nearest(elem, Fraction(x) * Fraction(2) ** n)
    return math.copysign(rounded, x)


def fmod(x, y):
    """The remainder with the sign of x; exact."""
    if x != x or y != y or math.isinf(x) or y == 0:
        return NAN
    if math.isinf(y) or x == 0:
        return x
    return math.copysign(float(abs(Fraction(x)) % abs(Fraction(y))), x)


def copysign(x, sign):
    """|x| with a sign; a NaN counts as positive (3.3)."""
    return abs(x) if sign != sign else math.copysign(x, sign)


def frexp(part):
    """Mantissa or exponent; of 0, infinity and NaN the number itself and 0 (3.4)."""

    def of(x):
        if x == 0 or not math.isfinite(x):
            return x if part == 0 else 0.0
        return float(math.frexp(x)[part])

    return of


EXACT = {"fmod": fmod, "copysign": copysign, "ldexp": ldexp, "frexp_mantissa": frexp(0), "frexp_exponent": frexp(1)}
