"""Arrays whose elements are computed when they are asked for, and reductions in the one order (docs/semantics.md, sections 4 and 5).

An element is computed at most once, and only where a result needs it: so exactly the error records are left that the element needs.
"""

from functools import reduce as folded
from itertools import product

TILE, COLUMNS, ROWS, PANEL = 2048, 128, 16, 512


class Array:
    """Extents, and the element at a tuple of indices inside of them."""

    def __init__(self, extents, element):
        self.extents = extents
        self.element = element

    def elements(self):
        """All of them, in row-major order."""
        if 0 in self.extents:
            # the others may be huge
            return iter(())
        return map(self.element, product(*map(range, self.extents)))

    def has(self, index):
        """Whether an index is inside."""
        return all(0 <= i < n for i, n in zip(index, self.extents))


def kept(extents, compute):
    """An array that keeps what it has computed."""
    known = {}

    def element(index):
        value = known.get(index)
        if value is None:
            value = known[index] = compute(index)
        return value

    return Array(extents, element)


def stored(extents, values):
    """An array of given elements in row-major order."""
    if len(extents) == 1:
        return Array(extents, lambda index: values[index[0]])

    def element(index):
        place = 0
        for i, n in zip(index, extents):
            place = place * n + i
        return values[place]

    return Array(extents, element)


def materialized(array):
    """The same, of which all is computed when any is."""
    found = []

    def element(index):
        if not found:
            found.append(stored(array.extents, list(array.elements())))
        return found[0].element(index)

    return Array(array.extents, element)


def changed(index, axis, value):
    """An index with another component."""
    return (*index[:axis], value, *index[axis + 1 :])


def slice_of(array, axis, start, stop, stride):
    """4.1"""
    length = -((start - stop) // stride)
    element = array.element
    return Array(
        changed(array.extents, axis, length),
        lambda index: element(changed(index, axis, start + index[axis] * stride)),
    )


def reverse(array, axis):
    """Back to front along an axis."""
    last, element = array.extents[axis] - 1, array.element
    return Array(array.extents, lambda index: element(changed(index, axis, last - index[axis])))


def permute(array, axes):
    """Axis k of the result is axis `axes[k]`."""
    element = array.element

    def permuted(index):
        of = [0] * len(axes)
        for axis, i in zip(axes, index):
            of[axis] = i
        return element(tuple(of))

    return Array(tuple(array.extents[axis] for axis in axes), permuted)


def pick(array, axis, at):
    """The part at an index of an axis, which it loses."""
    element, extents = array.element, array.extents
    return Array(
        extents[:axis] + extents[axis + 1 :],
        lambda index: element((*index[:axis], at, *index[axis:])),
    )


def spread(array, axis, n):
    """n times, along a new axis."""
    element, extents = array.element, array.extents
    return Array(
        (*extents[:axis], n, *extents[axis:]),
        lambda index: element(index[:axis] + index[axis + 1 :]),
    )


def tile_of(columns, f):
    """Joins the columns of a tile as a tree of neighbours; an absent one (None) leaves the other."""
    while len(columns) > 1:
        pairs = zip(columns[::2], columns[1::2])
        columns = [a if b is None else b if a is None else f(a, b) for a, b in pairs]
    return columns[0]


def level(values, f):
    """One value for each tile: its columns from top to bottom, then joined."""
    tiles = []
    for start in range(0, len(values), TILE):
        tile = values[start : start + TILE]
        columns = []
        for c in range(COLUMNS):
            total = None
            for value in tile[c::COLUMNS]:
                total = value if total is None else f(total, value)
            columns.append(total)
        tiles.append(tile_of(columns, f))
    return tiles


def reduce(init, values, f):
    """5.1"""
    if not values:
        return init
    while True:
        values = level(values, f)
        if len(values) == 1:
            return f(init, values[0])


def reduce_ordered(init, values, f):
    """5.17: column c of a tile folds its values from 16 c on, ROWS of them; then groups of tiles are joined as columns are."""
    if not values:
        return init
    columns = [folded(f, values[start : start + ROWS]) for start in range(0, len(values), ROWS)]
    while len(columns) > 1:
        columns = [neighbours(columns[start : start + COLUMNS], f) for start in range(0, len(columns), COLUMNS)]
    return f(init, columns[0])


def neighbours(values, f):
    """Joins up to COLUMNS values as a tree of neighbours."""
    return tile_of(values + [None] * (COLUMNS - len(values)), f)


def halved(values, size, f):
    """5.18: the values of a part that has room for `size` of them."""
    if size == 1 or not values:
        return list(values)
    half = size // 2
    low = halved(values[:half], half, f)
    return low + [f(low[-1], value) for value in halved(values[half:], half, f)]


def scan(init, values, f):
    """5.18: chunks, rows, tiles, and the groups in a chain."""

    def join(a, b):
        return b if a is None else a if b is None else f(a, b)

    levels, sizes = [], (4, 32, 64, 32)
    for size in sizes:
        parts = [halved(values[start : start + size], size, f) for start in range(0, len(values), size)]
        levels.append([value for part in parts for value in part])
        values = [part[-1] for part in parts if len(part) == size]
    groups = [init]
    for total in values:
        groups.append(f(groups[-1], total))
    found = []
    for i, own in enumerate(levels[0]):
        places = (i // 4, i // 128, i // 8192)
        c, r, t = (level[p - 1] if p % size else None for level, size, p in zip(levels[1:], sizes[1:], places))
        found.append(join(join(join(groups[i // 262144], t), join(r, c)), own))
    return found


def dot(init, a, b, multiply, mul_add, add):
    """5.3"""
    if not a:
        return init
    tiles = []
    for start in range(0, len(a), TILE):
        columns = []
        for c in range(start, start + COLUMNS):
            places = range(c, min(start + TILE, len(a)), COLUMNS)
            columns.append(chain(a, b, places, multiply, mul_add))
        tiles.append(tile_of(columns, add))
    return add(init, tiles[0]) if len(tiles) == 1 else reduce(init, tiles, add)


def chain(a, b, places, multiply, mul_add):
    """The first product rounded, each further one by a multiply-add; None of nothing."""
    total = None
    for i in places:
        total = multiply(a[i], b[i]) if total is None else mul_add(a[i], b[i], total)
    return total


def panel_dot(init, a, b, multiply, mul_add, add):
    """5.7"""
    total = None
    for start in range(0, len(a), PANEL):
        panel = chain(a, b, range(start, min(start + PANEL, len(a))), multiply, mul_add)
        total = panel if total is None else add(total, panel)
    return init if total is None else add(init, total)


def squared_deviations(init, values, add, sub, mul, div, mul_add):
    """5.12: of each column the count, the mean and the sum of squared deviations; None of no values."""
    if not values:
        return init

    def after(moments, x):
        count, mean, total = moments
        count = add(count, 1.0)
        d = sub(x, mean)
        mean = mul_add(d, div(1.0, count), mean)
        return count, mean, mul_add(d, sub(x, mean), total)

    def join(a, b):
        count = add(a[0], b[0])
        d, weight = sub(b[1], a[1]), div(b[0], count)
        total = mul_add(d, mul(d, mul(a[0], weight)), add(a[2], b[2]))
        return count, mul_add(d, weight, a[1]), total

    tiles = []
    for start in range(0, len(values), TILE):
        tile = values[start : start + TILE]
        columns = []
        for c in range(COLUMNS):
            moments = None
            for x in tile[c::COLUMNS]:
                moments = after(moments or (0.0, 0.0, 0.0), x)
            columns.append(moments)
        tiles.append(tile_of(columns, join))
    while len(tiles) > 1:
        tiles = level(tiles, join)
    return add(init, tiles[0][2])


def fold(init, values, f):
    """5.5"""
    for value in values:
        init = f(init, value)
    return init
