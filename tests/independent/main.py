"""Compares the interpreter of arraygpu with an independent one, to the bit.

`main.py HELPER BOUNDS [FILE]`: HELPER is `fuzz/examples/oracle.rs`, whose programs are read unless FILE has others in the same form (`-` is standard input);
BOUNDS is `math/tests/bounds.txt`. Every operation, and every scalar operator of every type that the stream names, must have been computed.
"""

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections import Counter

import peers
import scalars
import text
from arrays import stored
from elementary import Elementary, Wrong
from machine import Machine, Refused

# differences that are shown
SHOWN = 40


def programs(lines):
    """What must occur, and each program with its calls: (name, text, [(arguments, what it gives, results)])."""
    must, found = [], []
    for line in lines:
        word, _, rest = line.rstrip("\n").partition(" ")
        if word in ("operator", "operation"):
            must.append((word, *rest.split()))
        elif word == "program":
            if found:
                yield must, found.pop()
            found.append((rest, [], []))
        elif word == "|":
            found[0][1].append(rest)
        elif word == "call":
            found[0][2].append(([], [], []))
        elif word == "arg":
            found[0][2][-1][0].append(rest)
        elif word == "gives":
            found[0][2][-1][1].append(rest)
        elif word == "result":
            found[0][2][-1][2].append(rest.split())
    if found:
        yield must, found.pop()


def value(rest):
    """An argument: a scalar, or an array."""
    ty, *words = rest.split()
    rank, elem = ty.count("["), ty.strip("[]")
    elements = [scalars.decode(elem, int(w, 16)) for w in words[rank:]]
    return stored(tuple(map(int, words[:rank])), elements) if rank else elements[0]


def words_of(node, result):
    """A result as the stream has it."""
    ty = "[" * node.rank + node.elem + "]" * node.rank
    if not node.rank:
        return [ty, f"{scalars.encode(node.elem, result):x}"]
    bits = [f"{scalars.encode(node.elem, x):x}" for x in result.elements()]
    return [ty, *map(str, result.extents), *bits]


def compare(machine, function, call):
    """What is different of one call, or None."""
    texts, (expected,), results = call
    args = [value(rest) for rest in texts]
    try:
        found, recorded = machine.call(function, args)
    except Refused as rule:
        return None if expected == "refused" else f"the rule `{rule}` does not hold here, the interpreter gives {expected}"
    if expected == "record" and not recorded:
        # an element that no result needs may have left it
        _, recorded = machine.call(function, args, all_elements=True)
        machine.unneeded += recorded
    outcome = "record" if recorded else "value"
    if outcome != expected:
        return f"{outcome} here, the interpreter gives {expected}"
    for i, (node, result, theirs) in enumerate(zip(function.results, found, results)):
        ours = words_of(node, result)
        if ours != theirs:
            at = next((k for k, (a, b) in enumerate(zip(ours, theirs)) if a != b), "the length")
            where = f"word {at}: {ours[at]} here, {theirs[at]} there" if at != "the length" else f"{len(ours)} words, {len(theirs)}"
            return f"result {i}, {where}"
    return None


class Tally:
    """Programs, calls and differences."""

    def __init__(self):
        self.programs = Counter()
        self.calls = Counter()
        self.shown = 0

    def program(self, machine, name, lines, calls):
        """Compares one program."""
        wrong = None
        try:
            function = text.parse("\n".join(lines))[-1]
            for number, call in enumerate(calls):
                self.calls[call[1][0]] += 1
                wrong = wrong or compare(machine, function, call)
                if wrong:
                    wrong = f"call {number}: {wrong}"
                    break
        except (Wrong, text.TextError, MemoryError, RecursionError, IndexError) as e:
            wrong = f"{type(e).__name__}: {e}"
        machine.codes.clear()
        self.programs["different" if wrong else "same"] += 1
        if wrong and self.shown < SHOWN:
            self.shown += 1
            print(f"DIFFERENT {name}: {wrong}")
            print("\n".join("  | " + line for line in lines[:60]))


def missing(must, found):
    """What never occurred."""
    operations = {op for op, _, _, _ in found["seen"]}
    for kind, *what in must:
        if kind == "operation" and what[0] not in operations:
            yield f"the operation {what[0]}"
        elif kind == "operator" and (" ".join(what[:-1]), what[-1]) not in found["functions"]:
            yield f"{' '.join(what)}"


def table(found):
    """Operators and operations, with the types of which they were computed."""
    types = {}
    for op, elem in found["functions"]:
        types.setdefault(op, set()).add(elem)
    for op in sorted(types):
        print(f"  {op:24}", " ".join(t if t in types[op] else "-" * len(t) for t in scalars.TYPES))
    print()
    operations = {}
    for op, elem, rank, place in found["seen"]:
        if op not in types:
            operations.setdefault(op, set()).add((elem, f"{rank}{place[0]}"))
    for op in sorted(operations):
        elems, places = ({x[k] for x in operations[op]} for k in (0, 1))
        print(f"  {op:24}", " ".join(t if t in elems else "-" * len(t) for t in scalars.TYPES), " ", " ".join(sorted(places)))


def share(number, count, helper, bounds, file):
    """Compares the programs `number`, `number + count`, .. of the stream; what was found of them."""
    machine, tally, must = Machine(Elementary(helper, bounds)), Tally(), []
    source = None
    if file is None:
        source = subprocess.Popen([helper, "programs"], stdout=subprocess.PIPE, text=True)
        stream = source.stdout
    else:
        stream = sys.stdin if file == "-" else open(file, encoding="utf-8")
    for place, (must, (name, lines, calls)) in enumerate(programs(stream)):
        if place % count == number:
            tally.program(machine, name, lines, calls)
    if source is not None and source.wait() != 0:
        raise SystemExit("the helper failed")
    machine.elementary.close()
    sys.stdout.flush()
    return {
        "must": must,
        "programs": tally.programs,
        "calls": tally.calls,
        "seen": set(machine.seen),
        "functions": set(machine.functions),
        "figures": Counter(
            checked=machine.elementary.checked, unspecified=machine.elementary.unspecified, unneeded=machine.unneeded
        ),
    }


def joined(parts):
    """What all shares found."""
    whole = parts[0]
    for part in parts[1:]:
        for key in ("programs", "calls", "figures"):
            whole[key].update(part[key])
        for key in ("seen", "functions"):
            whole[key] |= part[key]
    return whole


def main():
    """Everything, a share on each processor; the last line is `N passed, M failed`."""
    helper, bounds, *files = sys.argv[1:]
    file, start = files[0] if files else None, time.monotonic()
    # standard input is read once
    count = 1 if file == "-" else len(os.sched_getaffinity(0))
    shares = [(number, count, helper, bounds, file) for number in range(count)]
    with multiprocessing.get_context("fork").Pool(count) as pool:
        found = joined(pool.starmap(share_on_a_big_stack, shares, chunksize=1))
    failed = found["programs"]["different"]
    for what in peers.check():
        print(f"NOT NUMPY'S: {what}")
        failed += 1
    table(found)
    for what in missing(found["must"], found):
        print(f"MISSING {what}")
        failed += 1
    kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(found["calls"].items()))
    figures = found["figures"]
    print(
        f"{sum(found['programs'].values())} programs, {sum(found['calls'].values())} calls ({kinds}), "
        f"{figures['checked']} values of elementary functions judged by MPFR, {figures['unspecified']} unspecified, "
        f"{figures['unneeded']} records that nothing needs, in {time.monotonic() - start:.0f} s"
    )
    print(f"{found['programs']['same']} passed, {failed} failed")
    return 1 if failed else 0


def share_on_a_big_stack(*arguments):
    """Programs are deep."""
    sys.setrecursionlimit(1_000_000)
    threading.stack_size(1 << 30)
    results = []
    thread = threading.Thread(target=lambda: results.append(share(*arguments)))
    thread.start()
    thread.join()
    return results[0]


if __name__ == "__main__":
    sys.exit(main())
