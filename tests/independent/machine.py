"""Calls of functions: every node of core IR, computed when a result asks for it (docs/semantics.md, docs/ir.md).

A region, and the body of a function, runs with a frame: a list whose first entry is the frame around it, and then a place for each node that belongs to the region.
A node is computed once a frame, and only where it is needed: that is what "an arm of `cond` not taken leaves no record" means.
"""

import functools

import arrays
import scalars
from scalars import Faults

UNKNOWN = object()

# what is computed once for the call if it depends on no element, and leaves its records, whether or not an element that uses it is computed (section 6)
ONCE = ("reduce", "reduce_ordered", "scan", "argsort", "fold", "dot", "panel_dot", "squared_deviations", "materialize", "iterate")


def components(value):
    """Those of a tuple; a scalar is one of a single component."""
    return value if isinstance(value, tuple) else (value,)


class Refused(Exception):
    """A shape rule does not hold."""


class Machine:
    """Calls functions, and remembers which operation was computed of which type.

    Only what a result needs is computed; with `all_elements` every element of each array that a result is made of. What no result needs may leave its record, or
    not (section 6): a call leaves one if the first way does, and none if the second does not.
    """

    def __init__(self, elementary):
        self.elementary = elementary
        self.seen = set()
        self.functions = set()
        self.codes = {}
        self.all_elements = False
        self.unneeded = 0

    def call(self, function, args, all_elements=False):
        """The results' values or arrays, all computed, and whether a record was left."""
        Faults.recorded, Faults.silent = False, 0
        self.all_elements = all_elements
        results = self.run(function, args)
        return results, Faults.recorded

    def run(self, function, args):
        """The results of a function or a step."""
        frame = new_frame(function.body, args)
        for rule, a, b in function.requires:
            check(rule, self.silently(a, frame), self.silently(b, frame))
        once = reachable(function)
        for node in once:
            if node.op == "iterate":
                self.check_steps(node, frame)
        for node in once:
            if node.op not in ONCE and not self.all_elements:
                continue
            value = self.value(node, frame)
            if node.rank:
                list(value.elements())
        found = []
        for node in function.results:
            value = self.value(node, frame)
            found.append(arrays.stored(value.extents, list(value.elements())) if node.rank else value)
        return found

    def check_steps(self, node, frame):
        """The shape rules of a step are checked before anything is computed, whatever the number of steps is (5.11)."""
        step, _, _, _, until = node.extra
        args = [self.value(a, frame) if a.rank else self.silently(a, frame) for a in node.operands[1:]]
        for called in [step, *(until or ())[:1]]:
            inner = new_frame(called.body, [*args, 0])
            for rule, a, b in called.requires:
                check(rule, self.silently(a, inner), self.silently(b, inner))
            for inside in reachable(called):
                if inside.op == "iterate":
                    self.check_steps(inside, inner)

    def value(self, node, frame):
        """A node's value in the frame of the function's body."""
        return self.code(node, node.home)(frame)

    def silently(self, node, frame):
        """A host scalar (4.2) leaves no record. It is computed by itself: what leaves one elsewhere does so there."""
        copy = new_frame(node.home, frame[0])
        Faults.silent += 1
        value = self.value(node, copy)
        Faults.silent -= 1
        return value

    def code(self, node, region):
        """How a frame of `region` gives a node's value."""
        key = (node, region)
        code = self.codes.get(key)
        if code is None:
            code = self.codes[key] = self.translate(node, region)
        return code

    def translate(self, node, region):
        if node.op == "const":
            value = node.extra
            return lambda frame: value
        up, slot = steps_out(region, node.home), node.slot
        if up:
            inner = self.code(node, node.home)

            def outer(frame):
                for _ in range(up):
                    frame = frame[0]
                return inner(frame)

            return outer
        if node.op == "binder":
            return lambda frame: frame[slot]
        if node.op == "param":
            place = node.extra
            return lambda frame: frame[0][place]
        if node.op == "turn":
            return lambda frame: frame[0][-1]
        if node.op == "checked":
            return lambda frame: 1
        compute = None

        def remembered(frame):
            nonlocal compute
            value = frame[slot]
            if value is UNKNOWN:
                if compute is None:
                    compute = self.compute(node)
                value = frame[slot] = compute(frame)
            return value

        return remembered

    def compute(self, node):
        """The operation itself."""
        codes = [self.code(o, node.home) for o in node.operands]
        method = getattr(self, "do_" + node.op, None)
        if method is not None:
            self.mark(node)
            return method(node, *codes)
        return self.scalar(node, codes)

    def mark(self, node):
        """Remembers that an operation was computed: its word, element type and rank, and whether it is inside of an element."""
        rank = max([node.rank, *(o.rank for o in node.operands)])
        self.seen.add((node.op, node.elem, rank, "nested" if node.home.depth else "outside"))

    def scalar(self, node, codes):
        """A scalar operator."""
        elem = node.operands[0].elem
        self.mark(node)
        self.functions.add((node.op, elem))
        if len(codes) == 1:
            (a,) = codes
            precise = scalars.UNARY_PRECISE.get(node.op, node.op)
            f = scalars.exact_unary(node.op, elem) or self.elementary.function(precise, elem)
            return lambda frame: f(a(frame))
        a, b = codes
        precise = scalars.BINARY_PRECISE.get(node.op, node.op)
        f = scalars.exact_binary(node.op, elem) or self.elementary.function(precise, elem)
        return lambda frame: f(a(frame), b(frame))

    def host(self, node, region):
        """How a frame gives a bound or a length: one that depends on no element leaves no record."""
        code = self.code(node, region)
        if node.home.depth or not may_record(node):
            return code
        up = steps_out(region, node.home)

        def quiet(frame):
            for _ in range(up):
                frame = frame[0]
            return self.silently(node, frame)

        return quiet

    def lambda_of(self, node):
        """A region as a function of a frame that gives a function of the binders."""
        region = node.region
        body = self.code(region.result, region)
        binders = region.binders

        def bound(frame):
            def function(*values):
                inner = new_frame(region, frame)
                for slot, value in zip(binders, values):
                    inner[slot] = value
                return body(inner)

            return function

        return bound

    def array(self, extents, compute):
        """An array of computed elements."""
        array = arrays.kept(extents, compute)
        if self.all_elements:
            list(array.elements())
        return array

    # each operation: from the node and how a frame gives its operands to how a frame gives its value

    def do_mul_add(self, node, a, b, c):
        f = scalars.mul_add(node.elem)
        return lambda frame: f(a(frame), b(frame), c(frame))

    def do_select(self, node, condition, a, b):
        return lambda frame: a(frame) if condition(frame) else b(frame)

    def do_cast(self, node, a):
        to, of = node.elem, node.operands[0].elem
        self.functions.add((f"cast to {to}", of))
        return lambda frame: scalars.cast(to, of, a(frame))

    def do_stage(self, node, a):
        return a

    def do_len(self, node, a):
        axis = node.extra
        return lambda frame: a(frame).extents[axis]

    def do_at(self, node, a, *indices):
        zero = scalars.zero(node.elem)

        def read(frame):
            array, index = a(frame), tuple(i(frame) for i in indices)
            if array.has(index):
                return array.element(index)
            Faults.leave()
            return zero

        return read

    def do_elem(self, node, a, *indices):
        return lambda frame: a(frame).element(tuple(i(frame) for i in indices))

    def do_within(self, node, i, n):
        def inside(frame):
            found = 0 <= i(frame) < n(frame)
            if not found:
                Faults.leave()
            return found

        return inside

    def do_map(self, node, *srcs):
        bound = self.lambda_of(node)

        def mapped(frame):
            found, f = [s(frame) for s in srcs], bound(frame)
            elements = [s.element for s in found]
            return self.array(found[0].extents, lambda index: f(*[e(index) for e in elements]))

        return mapped

    def do_generate(self, node, *_):
        extents = [self.host(o, node.home) for o in node.operands]
        bound = self.lambda_of(node)

        def generated(frame):
            f, lengths = bound(frame), tuple(n(frame) for n in extents)
            # there must be a rule that says so (4.1)
            if min(lengths) < 0:
                raise Refused(f"extent {min(lengths)}")
            return self.array(lengths, lambda index: f(*index))

        return generated

    def do_slice(self, node, a, *_):
        start, stop, stride = [self.host(o, node.home) for o in node.operands[1:]]
        axis = node.extra
        return lambda frame: arrays.slice_of(a(frame), axis, start(frame), stop(frame), stride(frame))

    def do_pick(self, node, a, _):
        axis, at = node.extra, self.host(node.operands[1], node.home)
        return lambda frame: arrays.pick(a(frame), axis, at(frame))

    def do_spread(self, node, a, _):
        axis, n = node.extra, self.host(node.operands[1], node.home)
        return lambda frame: arrays.spread(a(frame), axis, n(frame))

    def do_permute(self, node, a):
        return lambda frame: arrays.permute(a(frame), node.extra)

    def do_reverse(self, node, a):
        return lambda frame: arrays.reverse(a(frame), node.extra)

    def do_iota(self, node, _):
        n = self.host(node.operands[0], node.home)
        return lambda frame: arrays.Array((n(frame),), lambda index: index[0])

    def do_fill(self, node, _, value):
        n = self.host(node.operands[0], node.home)
        return lambda frame: arrays.Array((n(frame),), lambda index: value(frame))

    def do_materialize(self, node, a):
        return lambda frame: arrays.materialized(a(frame))

    def do_tuple(self, node, *components):
        return lambda frame: tuple(c(frame) for c in components)

    def joined(self, node, init, src, order):
        """5.14: a reduction or fold, the function of which takes the components of tuples."""
        bound, which = self.lambda_of(node), node.extra

        def value(frame):
            f = bound(frame)
            found = order(init(frame), list(src(frame).elements()), lambda a, b: f(*components(a), *components(b)))
            return found[which] if isinstance(found, tuple) else found

        return value

    def do_reduce(self, node, init, src):
        return self.joined(node, init, src, arrays.reduce)

    def do_reduce_ordered(self, node, init, src):
        return self.joined(node, init, src, arrays.reduce_ordered)

    def do_scan(self, node, init, src):
        """5.18, of tuples as `joined` has it."""
        bound, which = self.lambda_of(node), node.extra

        def scanned(frame):
            f = bound(frame)
            found = arrays.scan(init(frame), list(src(frame).elements()), lambda a, b: f(*components(a), *components(b)))
            found = [value[which] if isinstance(value, tuple) else value for value in found]
            return arrays.stored((len(found),), found)

        return scanned

    def do_argsort(self, node, src):
        """5.19"""

        def ordered(frame):
            values = list(src(frame).elements())
            found = sorted(range(len(values)), key=lambda i: scalars.place(values[i]))
            return arrays.stored((len(found),), found)

        return ordered

    def do_bins(self, node, parts, count, src, at):
        """5.21, of each part of the elements: these are cut at multiples of 4096."""
        operator = scalars.exact_binary(node.extra, node.elem)
        parts, count = (self.host(n, node.home) for n in node.operands[:2])
        least, greatest = scalars.bounds(node.elem)
        identity = {"min": greatest, "max": least, "and": scalars.wrap(node.elem, -1)}.get(node.extra, 0)

        def binned(frame):
            many, bins = max(parts(frame), 0), max(count(frame), 0)
            values, places = list(src(frame).elements()), list(at(frame).elements())
            cuts = -(-len(values) // 4096)
            each = 4096 * -(-cuts // max(many, 1))
            found = [identity] * (many * bins)
            for i, (value, place) in enumerate(zip(values, places)):
                if 0 <= place < bins:
                    k = i // each * bins + place
                    found[k] = operator(found[k], value)
            return arrays.stored((many, bins), found)

        return binned

    def do_put(self, node, at, src, base, after):
        """5.21, `scatter_unique`: the promise is checked by what is computed before."""

        def stored(frame):
            list(after(frame).elements())
            found = list(base(frame).elements())
            for place, value in zip(list(at(frame).elements()), list(src(frame).elements())):
                if 0 <= place < len(found):
                    found[place] = value
            return arrays.stored((len(found),), found)

        return stored

    def do_fold(self, node, init, src):
        return self.joined(node, init, src, arrays.fold)

    def do_loop(self, node, count, *init):
        """5.16: the step is computed only if the condition holds, and either only while there are steps left."""
        region, which = node.region, node.extra
        condition, *following = [self.code(c, region) for c in region.result.operands]

        def value(frame):
            number, states, most = 0, [s(frame) for s in init], count(frame)
            while number < most:
                inner = new_frame(region, frame)
                for slot, known in zip(region.binders, [number, *states]):
                    inner[slot] = known
                if not condition(inner):
                    break
                states, number = [f(inner) for f in following], number + 1
            return [*states, number][which]

        return value

    def product(self, node, init, a, b, order):
        operators = [scalars.exact_binary("mul", node.elem), scalars.mul_add(node.elem)]
        operators.append(scalars.exact_binary("add", node.elem))

        def sum_of_products(frame):
            values = [list(x(frame).elements()) for x in (a, b)]
            return order(init(frame), *values, *operators)

        return sum_of_products

    def do_dot(self, node, init, a, b):
        return self.product(node, init, a, b, arrays.dot)

    def do_panel_dot(self, node, init, a, b):
        return self.product(node, init, a, b, arrays.panel_dot)

    def do_squared_deviations(self, node, init, src):
        operators = [scalars.exact_binary(name, node.elem) for name in ("add", "sub", "mul", "div")]
        operators.append(scalars.mul_add(node.elem))
        return lambda frame: arrays.squared_deviations(init(frame), list(src(frame).elements()), *operators)

    def do_iterate(self, node, *codes):
        step, which, each, other, until = node.extra
        hosts = [c if o.rank else self.host(o, node.home) for o, c in zip(node.operands, codes)]

        def states(frame):
            count, *args = [h(frame) for h in hosts]
            first, rows, made = args[which], [], -1
            place = args.pop() if until else None
            if other and count == 0:
                return self.run(other, [*args, 0])[which]
            for turn in range(count + 1):
                if until and (turn % until[1] == 0 or turn == count):
                    (number,) = self.run(until[0], [*args, turn])
                    (made,) = number.elements()
                if made >= 0 or turn == count:
                    break
                # behind a step's arguments is its number
                args[: len(step.results)] = self.run(step, [*args, turn])
                if each:
                    rows.extend(args[which].elements())
            if each:
                return arrays.stored([count, *first.extents], rows)
            return arrays.stored(place.extents, [made]) if which == len(args) else args[which]

        return states


def new_frame(region, around):
    """A frame of a region, of which nothing but what is around it is known; around a body are its arguments."""
    frame = [UNKNOWN] * region.slots
    frame[0] = around
    return frame


def steps_out(region, home):
    """How many frames farther out the frame of `home` is."""
    steps = 0
    while region is not home:
        region, steps = region.parent, steps + 1
    return steps


def check(rule, a, b):
    """A shape rule of two lengths."""
    holds = a == b if rule == "same" else scalars.wrap("i64", a - 1) < b if rule == "inside" else a <= b
    if not holds:
        raise Refused(rule)


def may_record(node):
    """Whether computing a node may leave a record."""
    return node.op in ("at", "within") or node.op in ("div", "rem") and node.elem in scalars.INTEGERS or any(
        may_record(o) for o in node.operands
    )


@functools.cache
def reachable(function):
    """What may be computed once for the call: it belongs to the body, and no length alone asks for it."""
    seen, stack, found = set(), list(function.results), []
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if (node.op in ONCE or node.rank) and not node.home.depth:
            found.append(node)
        if node.op != "len":
            stack.extend(node.operands)
        if node.region is not None:
            stack.append(node.region.result)
    return found
