"""The text form of core IR (docs/ir.md), read into functions, regions and nodes."""

import re
from dataclasses import dataclass, field

import scalars

TOKEN = re.compile(
    r"\s*(?:;[^\n]*\n?\s*)*(?:"
    r'(?P<string>"[^"]*")'
    r"|(?P<loc>![^\s<]+(?:<[^\s<]+)*)"
    r"|(?P<name>[%@][A-Za-z0-9_]+)"
    r"|(?P<arrow>->)"
    r"|(?P<number>-?[0-9][0-9A-Za-z.]*(?:(?<=e)[-+]?[0-9][0-9A-Za-z]*)?|-?inf[a-z0-9]+)"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<mark>[][(){},:=])"
    r")"
)

RULES = ["same", "start", "order", "stop", "stride", "index", "inside", "extent", "margin", "count", "part"]


class TextError(Exception):
    """The text is not core IR."""


@dataclass(eq=False)
class Region:
    """A function of scalars: its binders and what it yields. `depth` is 0 for the body of a function.

    `parent` is where its node is computed, which may be farther out than where the text has it. A frame has `slots` places.
    """

    depth: int
    parent: "Region | None" = None
    binders: list = field(default_factory=list)
    result: "Node | None" = None
    slots: int = 1
    uses: "Region | None" = None


@dataclass(eq=False)
class Node:
    """One value. `home` is the innermost region whose binders it uses: there it is computed, wherever it was written."""

    op: str
    operands: list
    home: Region
    elem: str
    rank: int
    region: Region | None = None
    extra: object = None
    slot: int = 0


@dataclass(eq=False)
class Function:
    """A function of the program, or a step."""

    name: str
    params: list
    results: list
    requires: list
    steps: dict
    body: Region


def tokens(text):
    """Kind and text of every token."""
    at, found = 0, []
    text = text + "\n"
    while True:
        match = TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            rest = re.sub(r";[^\n]*", "", text[at:]).strip()
            if rest:
                raise TextError(f"unexpected: {rest[:40]!r}")
            return found
        at = match.end()
        if match.lastgroup != "loc":
            found.append((match.lastgroup, match.group(match.lastgroup)))


class Parser:
    """Reads the functions of a text."""

    def __init__(self, text):
        self.tokens = tokens(text)
        self.at = 0

    def functions(self):
        """All functions, in order."""
        found = []
        while self.at < len(self.tokens):
            self.expect("func")
            found.append(FunctionParser(self).function())
        return found

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def take(self, kind):
        found, text = self.peek()
        if found != kind:
            raise TextError(f"expected a {kind}, found {text!r}")
        self.at += 1
        return text

    def eat(self, text):
        if self.peek()[1] == text:
            self.at += 1
            return True
        return False

    def expect(self, text):
        if not self.eat(text):
            raise TextError(f"expected {text!r}, found {self.peek()[1]!r}")

    def list_of(self, end, item):
        """Items between commas, up to `end`."""
        found = []
        while not self.eat(end):
            if found:
                self.expect(",")
            found.append(item())
        return found

    def elem(self):
        word = self.take("word")
        if word not in scalars.TYPES:
            raise TextError(f"{word!r} is no element type")
        return word

    def type(self):
        """Element type and rank."""
        rank = 0
        while self.eat("["):
            rank += 1
        elem = self.elem()
        for _ in range(rank):
            self.expect("]")
        return elem, rank

    def small(self):
        return int(self.take("number"))


class FunctionParser:
    """Reads one function."""

    def __init__(self, parser):
        self.p = parser
        self.body = self.region = Region(0)
        self.names = {}
        self.steps = {}
        self.requires = []

    def function(self):
        p = self.p
        name = p.take("name")
        p.expect("(")
        params = p.list_of(")", self.parameter)
        p.expect("->")
        p.expect("(")
        declared = p.list_of(")", lambda: (p.take("word"), p.expect(":"), p.type())[::2])
        p.eat("fast")
        p.eat("tensor_cores")
        if p.eat("stencil"):
            p.take("word")
        p.expect("{")
        for place, (param, elem, rank) in enumerate(params):
            self.names[param] = self.node("param", [], elem, rank, extra=place)
        while not p.eat("return"):
            if p.eat("step"):
                step = FunctionParser(p).function()
                self.steps[step.name] = step
            elif p.eat("require"):
                rule = p.take("word")
                if rule not in RULES:
                    raise TextError(f"{rule!r} is no shape rule")
                a = self.operand()
                self.requires.append((rule, a, self.after(",")))
                p.take("string")
            else:
                self.statement()
        values = p.list_of("}", self.operand)
        if [(v.elem, v.rank) for v in values] != [t for _, t in declared]:
            raise TextError(f"{name} returns other types than it declares")
        return Function(name, params, values, self.requires, self.steps, self.body)

    def parameter(self):
        name = self.p.take("name")
        self.p.expect(":")
        return (name, *self.p.type())

    def node(self, op, operands, elem, rank, region=None, extra=None, home=None):
        """A new value, which belongs to the innermost region that it depends on."""
        home = home or self.homes(operands, region)
        if region is not None:
            region.parent = home
        slot = home.slots
        home.slots += 1
        return Node(op, operands, home, elem, rank, region, extra, slot)

    def homes(self, operands, region):
        """The innermost of the homes of the operands and of what a region takes from outside."""
        homes = [o.home for o in operands]
        if region is not None:
            homes.append(region.uses)
        return max(homes, key=lambda h: h.depth, default=self.body)

    def operand(self):
        kind, text = self.p.peek()
        if kind == "name":
            self.p.at += 1
            if text not in self.names:
                raise TextError(f"{text} is not defined here")
            return self.names[text]
        if kind == "number" or text in ("true", "false"):
            self.p.at += 1
            elem, value = scalars.literal(text)
            return self.node("const", [], elem, 0, extra=value)
        raise TextError(f"expected an operand, found {text!r}")

    def after(self, word):
        self.p.expect(word)
        return self.operand()

    def more(self):
        found = [self.operand()]
        while self.p.eat(","):
            found.append(self.operand())
        return found

    def axis(self):
        return self.p.small() if self.p.eat("axis") else 0

    def statement(self):
        self.p.eat("let")
        name = self.p.take("name")
        self.p.expect("=")
        self.names[name] = self.operation(self.p.take("word"))

    def operation(self, word):
        """What follows a `=`."""
        method = getattr(self, "op_" + word, None)
        if method is not None:
            return method(word)
        if word in scalars.UNARY:
            a = self.operand()
            return self.node(word, [a], scalars.unary_result(word, a.elem), 0)
        if word in scalars.BINARY:
            a = self.operand()
            b = self.after(",")
            if a.elem != b.elem:
                raise TextError(f"{word} of {a.elem} and {b.elem}")
            return self.node(word, [a, b], "bool" if word in scalars.COMPARISONS else a.elem, 0)
        raise TextError(f"{word!r} is no operation")

    def op_mul_add(self, word):
        operands = [self.operand(), self.after(","), self.after(",")]
        return self.node(word, operands, operands[0].elem, 0)

    def op_select(self, word):
        operands = [self.operand(), self.after(","), self.after(",")]
        return self.node(word, operands, operands[1].elem, 0)

    def op_cast(self, word):
        elem = self.p.elem()
        return self.node(word, [self.operand()], elem, 0)

    def op_stage(self, word):
        a = self.operand()
        return self.node(word, [a], a.elem, 0)

    def op_len(self, word):
        a = self.operand()
        return self.node(word, [a], "i64", 0, extra=self.axis())

    def op_turn(self, word):
        return self.node(word, [], "i64", 0)

    op_checked = op_turn

    def op_at(self, word):
        operands = self.more()
        if len(operands) != operands[0].rank + 1:
            raise TextError("an index an axis")
        return self.node(word, operands, operands[0].elem, 0)

    op_elem = op_at

    def op_within(self, word):
        operands = [self.operand(), self.after(",")]
        any(self.p.eat(word) for word in ("destination", "small_read", "small_update"))
        return self.node(word, operands, "bool", 0)

    def op_reverse(self, word):
        a = self.operand()
        return self.node(word, [a], a.elem, a.rank, extra=self.axis())

    def op_permute(self, word):
        a = self.operand()
        self.p.expect("to")
        axes = [self.p.small()]
        while self.p.eat(","):
            axes.append(self.p.small())
        return self.node(word, [a], a.elem, a.rank, extra=axes)

    def op_pick(self, word):
        a = self.operand()
        axis = self.axis()
        return self.node(word, [a, self.after("at")], a.elem, a.rank - 1, extra=axis)

    def op_spread(self, word):
        a = self.operand()
        axis = self.axis()
        return self.node(word, [a, self.after("by")], a.elem, a.rank + 1, extra=axis)

    def op_iota(self, word):
        return self.node(word, [self.operand()], "i64", 1)

    op_argsort = op_iota

    def op_bins(self, word):
        operator = self.p.take("word")
        self.p.expect("of")
        parts, count = self.operand(), self.after(",")
        src, at = self.after("over"), self.after("at")
        return self.node(word, [parts, count, src, at], src.elem, 2, extra=operator)

    def op_put(self, word):
        src, at = self.operand(), self.after("at")
        base, after = self.after("over"), self.after("after")
        return self.node(word, [at, src, base, after], src.elem, 1)

    def op_materialize(self, word):
        a = self.operand()
        return self.node(word, [a], a.elem, a.rank)

    def op_fill(self, word):
        operands = [self.operand(), self.after(",")]
        return self.node(word, operands, operands[1].elem, 1)

    def op_slice(self, word):
        a = self.operand()
        axis = self.axis()
        operands = [a, self.after("from"), self.after("to"), self.after("by")]
        return self.node(word, operands, a.elem, a.rank, extra=axis)

    def op_dot(self, word):
        operands = [self.after("from"), self.after("over"), self.after(",")]
        return self.node(word, operands, operands[0].elem, 0)

    op_panel_dot = op_dot

    def op_squared_deviations(self, word):
        operands = [self.after("from"), self.after("over")]
        return self.node(word, operands, operands[0].elem, 0)

    def op_map(self, word):
        binders = self.binders()
        self.p.expect("over")
        srcs = self.more()
        region = self.lambda_of(binders)
        return self.node(word, srcs, region.result.elem, srcs[0].rank, region)

    def op_generate(self, word):
        extents = self.more()
        region = self.lambda_of(self.binders())
        return self.node(word, extents, region.result.elem, len(extents), region)

    def op_tuple(self, word):
        operands = self.more()
        return self.node(word, operands, operands[0].elem, 0)

    def op_reduce(self, word):
        which = 0 if self.p.peek()[1] == "(" else self.p.small()
        binders = self.binders()
        operands = [self.after("from"), self.after("over")]
        region = self.lambda_of(binders)
        init = operands[0]
        elem = init.operands[which].elem if init.op == "tuple" else init.elem
        return self.node(word, operands, elem, 0, region, extra=which)

    op_fold = op_reduce
    op_reduce_ordered = op_reduce

    def op_scan(self, word):
        node = self.op_reduce(word)
        node.rank = 1
        return node

    def op_loop(self, word):
        which = self.p.small()
        binders = self.binders()
        count = self.after("by")
        self.p.expect("from")
        init = self.more()
        region = self.lambda_of(binders)
        elem = init[which].elem if which < len(init) else "i64"
        return self.node(word, [count, *init], elem, 0, region, extra=which)

    def step(self):
        step = self.steps.get(self.p.take("name"))
        if step is None:
            raise TextError("no such step")
        return step

    def op_iterate(self, word):
        step = self.step()
        which = self.p.small()
        count = self.after("by")
        each, other, until = self.p.eat("each"), None, None
        if self.p.eat("or"):
            other = self.step()
        elif self.p.eat("until"):
            check = self.step()
            self.p.expect("every")
            until = (check, self.p.small())
        self.p.expect("from")
        args = self.more()
        state = args[which]
        rank = state.rank + 1 if each else state.rank
        return self.node(word, [count, *args], state.elem, rank, extra=(step, which, each, other, until))

    def binders(self):
        self.p.expect("(")
        return self.p.list_of(")", lambda: (self.p.take("name"), self.p.expect(":"), self.p.elem())[::2])

    def lambda_of(self, binders):
        """A region; what it binds and names ends with it."""
        names, outer = dict(self.names), self.region
        region = self.region = Region(outer.depth + 1, outer)
        for name, elem in binders:
            self.names[name] = self.node("binder", [], elem, 0, home=region)
            region.binders.append(self.names[name].slot)
        self.p.expect("{")
        while not self.p.eat("yield"):
            self.statement()
        region.result = self.operand()
        self.p.expect("}")
        self.names, self.region = names, outer
        region.uses = used_from_outside(region, self.body)
        return region


def used_from_outside(region, body):
    """The innermost region around it that it takes something from."""
    innermost, seen, stack = body, set(), [region.result]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.home.depth < region.depth:
            innermost = max(innermost, node.home, key=lambda h: h.depth)
            continue
        stack.extend(node.operands)
        if node.region is not None:
            stack.append(node.region.result)
    return innermost


def parse(text):
    """The functions of a text."""
    return Parser(text).functions()
