"""Writes the C code of programs (core IR) and a driver for each that follows its plan, to be measured beside
`peers.c` without the runtime. Used as: emit.py ARRAYGPU_OPT FOLDER PROGRAM.core ..

A driver is `void run_NAME(void **arrays, const int64_t extents[][3], int instead)`: parameters, then results.
Where `instead` is 0, launches that go over rows or columns once are skipped, and those behind them run.
"""
import pathlib
import re
import subprocess
import sys

TYPES = {"f32": "float", "f64": "double", "i64": "int64_t", "u8": "uint8_t", "u16": "uint16_t", "i32": "int32_t"}
OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def value_of(words, types):
    """The C expression of a host scalar."""
    if words[0] == "len":
        return f"extents[{words[1]}][{words[3] if len(words) > 3 else 0}]"
    if words[0] == "const":
        return re.sub(r"(i64|f32|f64)$", "", words[1])
    if words[0] == "cast":
        return f"({types})h{words[-1][1:]}"
    if words[0] in OPERATORS:
        a, b = (w.strip(",")[1:] for w in words[1:3])
        return f"h{a} {OPERATORS[words[0]]} h{b}"
    if words[0] in ("max", "min"):
        a, b = (w.strip(",")[1:] for w in words[1:3])
        return f"h{a} {'>' if words[0] == 'max' else '<'} h{b} ? h{a} : h{b}"
    sys.exit(f"a host scalar that has no C form here: {' '.join(words)}")


class Plan:
    """A plan's text, read line by line."""

    def __init__(self, text):
        self.lines = [line.split() for line in text.splitlines()]
        self.name = self.lines[0][1][1:]
        self.params = [words for words in self.lines if words[0] == "param"]
        self.ranks, self.code, self.temps = {}, [], []
        for at, words in enumerate(self.params):
            self.ranks["param", at] = words[2].count("[")
        self.results = 0

    def array(self, kind, number):
        at = int(number)
        return {"param": f"arrays[{at}]", "result": f"arrays[{len(self.params) + at}]", "temp": f"t{at}"}[kind]

    def stride(self, place, axis):
        extents = [f"extent_{place[0]}{place[1]}_{a}" for a in range(axis + 1, self.ranks[place])]
        return " * ".join(extents) or "1"

    def launch(self, at):
        """The call of a kernel. Returns the lines and the number of the line behind it."""
        head = self.lines[at]
        kernel = int(head[1])
        over = re.search(r"over ((?:%\d+(?:, )?)+)", " ".join(head))
        over = [w[1:] for w in over.group(1).split(", ")] if over else []
        grain = head[head.index("grain") + 1] if "grain" in head else "2048"
        arrays, scalars, slots, scratch, finish = [], [], [], [], False
        at += 1
        while self.lines[at] != ["}"]:
            words = self.lines[at]
            if words[0] in ("pointwise", "read", "write"):
                arrays.append((words[1], int(words[2])))
            elif words[0] == "in":
                scalars.append(f"bits(&h{words[1][1:]}, sizeof h{words[1][1:]})")
            elif words[0] == "stride":
                scalars.append(f"(uint64_t)({self.stride(arrays[int(words[1].strip(','))], int(words[2]))})")
            elif words[0] == "slot":
                slots.append(self.array(words[1], words[2]))
            elif words[0] == "scratch":
                scratch.append(f"scratch({len(scratch)}, tiles * (int64_t)sizeof({TYPES[words[1]]}))")
            finish |= words[0] == "finish"
            at += 1
        count = " * ".join(f"h{n}" for n in over) or "0"
        of = lambda items: ", ".join(items) or "0"
        lines = [
            "{",
            f"    int64_t tiles = ({count} + {grain} - 1) / {grain};",
            f"    void *a[] = {{ {of(self.array(*x) for x in arrays)} }};",
            f"    int64_t strides[] = {{ {of('1' for _ in arrays)} }};",
            f"    uint64_t scalars[] = {{ {of(scalars)} }};",
            f"    void *slots[] = {{ {of(slots)} }};",
            f"    void *s[] = {{ {of(scratch)} }};",
            "    int64_t records[64] = { 0 };",
            "    agpu_kernel_args args = { a, strides, scalars, slots, s, records, { 0 } };",
            f"    launch(&module_cpu_{self.name}[{kernel}], &args, tiles, {int(finish)});",
            "}",
        ]
        return lines, at + 1

    def driver(self):
        steps, at = [], 1
        head = [f"void run_{self.name}(void **arrays, const int64_t extents[][3], int instead)", "{"]
        for number, _ in enumerate(self.params):
            for axis in range(self.ranks["param", number]):
                head.append(f"    int64_t extent_param{number}_{axis} = extents[{number}][{axis}];")
        left = 0
        while self.lines[at] != ["}"]:
            words = self.lines[at]
            if words[0].startswith("%"):
                ty = TYPES[words[1]]
                head.append(f"    {ty} h{words[0][1:-1]} = {value_of(words[3:], ty)};")
                at += 1
            elif words[0] in ("result", "temp"):
                number = self.results if words[0] == "result" else len(self.temps)
                ty = re.sub(r"[\[\]]", "", words[2])
                extents = [w.strip(",")[1:] for w in words[4:]]
                self.ranks[words[0], number] = len(extents)
                for axis, n in enumerate(extents):
                    head.append(f"    int64_t extent_{words[0]}{number}_{axis} = h{n};")
                if words[0] == "temp":
                    size = " * ".join(["(int64_t)sizeof(" + TYPES[ty] + ")"] + [f"h{n}" for n in extents])
                    head.append(f"    void *t{number} = temporary({number}, {size});")
                    self.temps.append(number)
                else:
                    self.results += 1
                at += 1
            elif words[0] == "instead":
                lines, behind = self.launch(at + 1)
                steps += ["if (instead)"] + lines + ["else {"]
                left, at = int(words[2]) + 1, behind
            elif words[0] == "launch":
                lines, at = self.launch(at)
                steps += lines
            else:
                at += 1
            if left and words[0] in ("instead", "launch", "alloc", "free"):
                left -= 1
                steps += ["}"] if left == 0 else []
        steps += ["}"] if left else []
        return "\n".join(head + ["    " + line for line in steps] + ["}", ""])


def emit(opt, folder, program):
    """Writes the code of a program, with its driver behind it."""
    run = lambda what: subprocess.run(
        [opt, program, "--target", "cpu", "--emit", what], check=True, capture_output=True, text=True
    ).stdout
    plan = Plan(run("plan"))
    code = f"#define AGPU_LEVEL {plan.name}\n" + run("c") + '\n#include "driver.h"\n' + plan.driver()
    (folder / f"{plan.name}.c").write_text(code)


for path in sys.argv[3:]:
    emit(sys.argv[1], pathlib.Path(sys.argv[2]), path)
