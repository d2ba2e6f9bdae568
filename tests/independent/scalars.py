"""Scalars of the 13 types: constants, bits, exact arithmetic and casts (docs/semantics.md, section 2).

A float of any type is a Python float that is a number of the type; an integer is a Python int within the type's range; a bool is a bool. Sums, products,
quotients and roots of f32 are rounded to f64 first and then to f32: f64 has more than twice the digits and two more, so the second rounding sees no tie that was
not there. What is rounded from more digits than that goes through `nearest`, which is exact.
"""

import ctypes
import math
import struct
from fractions import Fraction

import gmpy2

# digits, exponent of the smallest number, exponent of the power of two that overflows, bits, the NaN
FLOATS = {
    "f16": (11, -24, 16, 16, 0x7E00),
    "bf16": (8, -133, 128, 16, 0x7FC0),
    "f32": (24, -149, 128, 32, 0x7FC00000),
    "f64": (53, -1074, 1024, 64, 0x7FF8000000000000),
}
HALVES = ("f16", "bf16")
INTEGERS = {kind + str(width): (kind == "i", width) for kind in "iu" for width in (8, 16, 32, 64)}
TYPES = [*FLOATS, *INTEGERS, "bool"]

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
NAN = math.nan
INF = math.inf


class Faults:
    """Whether an error record was left (section 6). Host scalars leave none: `silent` is above 0 while one is computed."""

    recorded = False
    silent = 0

    @classmethod
    def leave(cls):
        if not cls.silent:
            cls.recorded = True


def nearest(elem, exact):
    """The number of a float type nearest to a fraction, ties to even."""
    digits, least, over, _, _ = FLOATS[elem]
    if exact == 0:
        return 0.0
    magnitude, sign = abs(exact), -1.0 if exact < 0 else 1.0
    size = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    # 2^(size - 1) < magnitude < 2^(size + 1)
    if magnitude < Fraction(2) ** (size):
        size -= 1
    step = max(size + 1 - digits, least)
    whole = round(magnitude / Fraction(2) ** step)
    if whole * Fraction(2) ** step >= Fraction(2) ** over:
        return sign * INF
    return sign * math.ldexp(whole, step)


def narrow(elem, x):
    """A Python float rounded once to a float type."""
    if elem == "f64" or x != x or x in (INF, -INF) or x == 0:
        return x
    if elem == "f32":
        return ctypes.c_float(x).value
    digits, least, over, _, _ = FLOATS[elem]
    step = max(math.frexp(x)[1] - digits, least)
    rounded = math.ldexp(round(math.ldexp(x, -step)), step)
    if abs(rounded) >= math.ldexp(1.0, over):
        return math.copysign(INF, x)
    return math.copysign(rounded, x)


def wrap(elem, x):
    """The low bits of an integer, as a number of the type."""
    signed, width = INTEGERS[elem]
    x &= (1 << width) - 1
    return x - (1 << width) if signed and x >> (width - 1) else x


def bounds(elem):
    """The least and the greatest integer of a type."""
    signed, width = INTEGERS[elem]
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)


def decode(elem, bits):
    """The value of which a word has the bits."""
    if elem == "bool":
        return bits != 0
    if elem in INTEGERS:
        return wrap(elem, bits)
    if elem == "f64":
        return struct.unpack("<d", bits.to_bytes(8, "little"))[0]
    if elem == "f16":
        return struct.unpack("<e", bits.to_bytes(2, "little"))[0]
    if elem == "bf16":
        bits <<= 16
    return struct.unpack("<f", bits.to_bytes(4, "little"))[0]


def encode(elem, x):
    """The bits of a value; every NaN is the one NaN (2.4)."""
    if elem == "bool":
        return int(x)
    if elem in INTEGERS:
        return x & ((1 << INTEGERS[elem][1]) - 1)
    if x != x:
        return FLOATS[elem][4]
    if elem == "f64":
        return int.from_bytes(struct.pack("<d", x), "little")
    if elem == "f16":
        return int.from_bytes(struct.pack("<e", x), "little")
    bits = int.from_bytes(struct.pack("<f", x), "little")
    return bits >> 16 if elem == "bf16" else bits


def literal(text):
    """Type and value of a constant."""
    if text in ("true", "false"):
        return "bool", text == "true"
    ends = [t for t in TYPES if text.endswith(t)]
    if text.startswith("0x") and "bf16" in ends and len(text) != len("0x7fc0bf16"):
        ends.remove("bf16")
    elem = max(ends, key=len)
    number = text[: -len(elem)]
    if number.startswith("0x"):
        return elem, decode(elem, int(number, 16))
    if elem in INTEGERS:
        return elem, int(number)
    if number in ("inf", "-inf"):
        return elem, float(number)
    return elem, math.copysign(nearest(elem, Fraction(number)), -1.0 if number.startswith("-") else 1.0)


def zero(elem):
    """0, or false."""
    return False if elem == "bool" else 0 if elem in INTEGERS else 0.0


def cast(to, of, x):
    """2.6"""
    if to == of:
        return x
    if to == "bool":
        return x != 0
    if to in INTEGERS:
        if of not in FLOATS:
            return wrap(to, int(x))
        least, greatest = bounds(to)
        if x != x:
            return 0
        return least if x <= least else greatest if x >= greatest else int(x)
    if of in FLOATS:
        return narrow(to, x)
    return nearest(to, Fraction(int(x)))


def divide(a, b):
    """The quotient of two floats in f64."""
    if b == 0:
        if a == 0 or a != a:
            return NAN
        return math.copysign(INF, math.copysign(1.0, a) * math.copysign(1.0, b))
    return a / b


def minimum(a, b):
    """2.2"""
    if a != a or b != b:
        return NAN
    if a == b:
        return a if math.copysign(1.0, a) < math.copysign(1.0, b) else b
    return a if a < b else b


def maximum(a, b):
    """2.2"""
    return -minimum(-a, -b)


def whole(function):
    """A rounding to an integer, which keeps what has no fraction, and the sign of zero."""

    def rounded(x):
        if x != x or abs(x) >= 2.0**53:
            return x
        return math.copysign(float(function(x)), x)

    return rounded


def half_away(x):
    """The nearest integer, halves away from zero."""
    near = math.trunc(x)
    return near + (math.copysign(1, x) if abs(x - near) >= 0.5 else 0)


def quotient(elem):
    """Division of integers (2.5)."""

    def divided(a, b):
        if b == 0:
            Faults.leave()
            return 0
        q = abs(a) // abs(b)
        return wrap(elem, q if (a < 0) == (b < 0) else -q)

    return divided


def remainder(elem):
    """The remainder of integers (2.5)."""

    def left(a, b):
        if b == 0:
            Faults.leave()
            return 0
        r = abs(a) % abs(b)
        return wrap(elem, -r if a < 0 else r)

    return left


FUSED = {
    elem: gmpy2.context(precision=FLOATS[elem][0], emax=FLOATS[elem][2], emin=FLOATS[elem][1] + 1, subnormalize=True)
    for elem in ("f32", "f64")
}


def mul_add(elem):
    """a b + c, rounded once; of halves in f32, then rounded to the half (2.9)."""
    if elem in INTEGERS:
        return lambda a, b, c: wrap(elem, a * b + c)
    fma = FUSED["f32" if elem in HALVES else elem].fma
    if elem in HALVES:
        return lambda a, b, c: narrow(elem, float(fma(a, b, c)))
    return lambda a, b, c: float(fma(a, b, c))


def place(x):
    """5.19: what a value is ordered by."""
    if not isinstance(x, float):
        return (0, x, 0)
    return (1, 0, 0) if math.isnan(x) else (0, x, math.copysign(1, x))


UNARY_EXACT = ("neg", "abs", "not", "sqrt", "floor", "ceil", "trunc", "round", "round_ties_even")
UNARY_BITS = ("to_bits", "from_bits", "unlikely")
UNARY_ELEMENTARY = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan sinpi cospi asin acos atan sinh cosh tanh cbrt rsqrt erf erfc normcdf "
    "frexp_mantissa frexp_exponent"
).split()
# what only a GPU does in another way (docs/ir.md)
UNARY_PRECISE = {"approx_" + name: name for name in "sqrt rsqrt exp2 log2 sin cos exp log log10 tan".split()}
UNARY_PRECISE["sqrt_near"] = "sqrt"
BINARY_PRECISE = {"approx_" + name: name for name in ("add", "sub", "mul", "div")}
BINARY_PRECISE |= {"div_near": "div", "div_wide": "div", "rem_slow": "fmod"}
BINARY_ELEMENTARY = ("pow", "atan2", "hypot", "fmod", "copysign", "ldexp")
UNARY = {*UNARY_EXACT, *UNARY_BITS, *UNARY_ELEMENTARY, *UNARY_PRECISE}
BINARY = {*"add sub mul div rem min max and or xor shl shr".split(), *COMPARISONS, *BINARY_PRECISE, *BINARY_ELEMENTARY}


def unary_result(op, elem):
    """The type of the result."""
    if op == "to_bits":
        return {"f32": "u32", "f64": "u64"}[elem]
    if op == "from_bits":
        return {"u32": "f32", "u64": "f64"}[elem]
    return elem


def float_unary(op):
    """Operators of floats that are rounded once, in f64."""
    return {
        "neg": lambda x: -x,
        "abs": abs,
        "sqrt": lambda x: math.sqrt(x) if x >= 0 else (x if x == 0 else NAN),
        "floor": whole(math.floor),
        "ceil": whole(math.ceil),
        "trunc": whole(math.trunc),
        "round": whole(half_away),
        "round_ties_even": whole(round),
    }.get(op)


def float_binary(op):
    """The same, of two operands."""
    return {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": divide,
        "min": minimum,
        "max": maximum,
    }.get(op)


def integer_binary(op, elem):
    """Operators of integers."""
    _, width = INTEGERS[elem]
    return {
        "add": lambda a, b: wrap(elem, a + b),
        "sub": lambda a, b: wrap(elem, a - b),
        "mul": lambda a, b: wrap(elem, a * b),
        "div": quotient(elem),
        "rem": remainder(elem),
        "min": min,
        "max": max,
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
        "shl": lambda a, b: wrap(elem, a << (b % width)),
        "shr": lambda a, b: a >> (b % width),
    }.get(op)


COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
LOGIC = {"and": lambda a, b: a and b, "or": lambda a, b: a or b, "xor": lambda a, b: a != b}


def exact_unary(op, elem):
    """The function of an operator that is not elementary, or None."""
    op = UNARY_PRECISE.get(op, op)
    if op == "unlikely":
        return lambda x: x
    if op == "to_bits":
        return lambda x: encode(elem, x)
    if op == "from_bits":
        to = unary_result(op, elem)
        return lambda x: decode(to, x)
    if elem in FLOATS:
        function = float_unary(op)
        if function is None or elem == "f64" or op in ("neg", "abs"):
            return function
        if elem in HALVES:
            return lambda x: narrow(elem, narrow("f32", function(x)))
        return lambda x: narrow(elem, function(x))
    if elem == "bool":
        return {"not": lambda x: not x}.get(op)
    return {
        "neg": lambda x: wrap(elem, -x),
        "abs": lambda x: wrap(elem, abs(x)),
        "not": lambda x: wrap(elem, ~x),
    }.get(op)


def exact_binary(op, elem):
    """The same, of two operands."""
    op = BINARY_PRECISE.get(op, op)
    if op in COMPARE:
        return COMPARE[op]
    if elem == "bool":
        return LOGIC.get(op)
    if elem in INTEGERS:
        return integer_binary(op, elem)
    function = float_binary(op)
    if function is None or elem == "f64" or op in ("min", "max"):
        return function
    if elem in HALVES:
        return lambda a, b: narrow(elem, narrow("f32", function(a, b)))
    return lambda a, b: narrow(elem, function(a, b))
