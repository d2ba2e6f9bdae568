"""The other interpreter's own arithmetic against NumPy's: scalars on random bits, and the one order of reductions (semantics 5.1)."""

import random

import arrays
import numpy as np
import scalars

DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "bool": np.bool_}
DTYPES |= {name: np.dtype(("int" if name[0] == "i" else "uint") + name[1:]).type for name in scalars.INTEGERS}

FLOAT_BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
FLOAT_UNARY = {
    "neg": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round_ties_even": np.rint,
}
INTEGER_BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
} | {name: FLOAT_BINARY[name] for name in scalars.COMPARISONS}
INTEGER_UNARY = {"neg": np.negative, "not": np.invert}


def bits_of(elem, values):
    """NumPy's values as our bits, every NaN the same."""
    values = np.asarray(values, dtype=DTYPES[elem])
    if elem == "bool":
        return [int(x) for x in values]
    width = values.dtype.itemsize
    bits = [int(x) for x in values.view(f"u{width}")]
    return [scalars.encode(elem, scalars.decode(elem, b)) for b in bits]


def samples(elem, count, rng):
    """Random bits, every other near to 1 or a small number."""
    width = np.dtype(DTYPES[elem]).itemsize * 8
    found = [rng.getrandbits(width) for _ in range(count)]
    for i in range(0, count, 2):
        x = rng.randrange(0, 100)
        if elem in scalars.FLOATS:
            x = scalars.narrow(elem, (x - 50) / 16)
        found[i] = scalars.encode(elem, x)
    return found


def differences(count, rng):
    """Operators and casts whose value is not NumPy's."""
    for elem in [*scalars.INTEGERS, "f16", "f32", "f64"]:
        width = np.dtype(DTYPES[elem]).itemsize
        raw = [samples(elem, count, rng) for _ in range(2)]
        a, b = ([scalars.decode(elem, bits) for bits in side] for side in raw)
        x, y = (np.array(side, dtype=f"u{width}").view(DTYPES[elem]) for side in raw)
        is_float = elem in scalars.FLOATS
        for op, function in (FLOAT_UNARY if is_float else INTEGER_UNARY).items():
            ours = [scalars.encode(elem, scalars.exact_unary(op, elem)(p)) for p in a]
            if ours != bits_of(elem, function(x)):
                yield f"{op} {elem}"
        for op, function in (FLOAT_BINARY if is_float else INTEGER_BINARY).items():
            to = "bool" if op in scalars.COMPARISONS else elem
            ours = [scalars.encode(to, scalars.exact_binary(op, elem)(p, q)) for p, q in zip(a, b)]
            if ours != bits_of(to, function(x, y)):
                yield f"{op} {elem}"
        for to in DTYPES:
            # what is out of range is not NumPy's to say
            if not is_float or to in scalars.FLOATS or to == "bool":
                ours = [scalars.encode(to, scalars.cast(to, elem, p)) for p in a]
                if ours != bits_of(to, x.astype(DTYPES[to])):
                    yield f"cast {to} {elem}"


def sum_of(x):
    """5.1 of + in f32, column by column."""
    while True:
        tiles = []
        for start in range(0, len(x), arrays.TILE):
            tile = x[start : start + arrays.TILE]
            columns = tile[: arrays.COLUMNS].copy()
            for row in range(arrays.COLUMNS, len(tile), arrays.COLUMNS):
                part = tile[row : row + arrays.COLUMNS]
                columns[: len(part)] += part
            while len(columns) > 1:
                even, odd = columns[::2].copy(), columns[1::2]
                even[: len(odd)] += odd
                columns = even
            tiles.append(columns[0])
        if len(tiles) == 1:
            return tiles[0]
        x = np.array(tiles)


def orders(rng):
    """Lengths of which the sum is not NumPy's."""
    add = scalars.exact_binary("add", "f32")
    for length in [1, 2, 3, 127, 128, 129, 255, 2047, 2048, 2049, 4500, 128 * 37, 2048 * 40 + 7]:
        values = [scalars.narrow("f32", rng.uniform(-1, 1) * 2.0 ** rng.randrange(-8, 8)) for _ in range(length)]
        ours = arrays.reduce(0.25, values, add)
        if ours != float(np.float32(0.25) + sum_of(np.array(values, dtype=np.float32))):
            yield f"the sum of {length}"


def check(count=600, seed=1):
    """All that differs."""
    rng = random.Random(seed)
    with np.errstate(all="ignore"):
        return [*differences(count, rng), *orders(rng)]
