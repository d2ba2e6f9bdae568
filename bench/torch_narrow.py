"""Functions of narrow elements, and a deviation, beside PyTorch in one process, as `torch_rows.py` measures rows.

    python3 torch_narrow.py LIBRARY PACKAGE [NAME ..] > narrow.jsonl
"""

import json
import sys

import torch
from torch_ours import Ours, replayed, timed

torch.manual_seed(1)
DEV = "cuda"
BYTES = 1 << 30
SIDE = 16384
N = 1 << 28


def weighted(r, g, b):
    return torch.round(0.299 * r.float() + 0.587 * g.float() + 0.114 * b.float()).to(torch.uint8)


def interleaved(x):
    t = x.view(-1, 3)
    return weighted(t[:, 0], t[:, 1], t[:, 2])


def box3(x, mode):
    t = x.to(torch.int16)
    rows, cols = x.shape

    def ends(n):
        i = torch.arange(-1, n + 1, device=DEV)
        return i % n if mode == "wrap" else i.clamp(0, n - 1)

    t = t[ends(rows)][:, ends(cols)]
    total = sum(t[i : i + rows, j : j + cols] for i in range(3) for j in range(3))
    return (total // 9).to(torch.uint8)


def total(kind):
    return lambda x: x.sum(dtype=kind).view(1)


def rank2_matvec(a, u1, v1, u2, v2, y, z, b):
    b.copy_(a + torch.outer(u1, v1) + torch.outer(u2, v2))
    return b @ (b.t() @ y + z)


def along(axis):
    return lambda *shape: torch.rand(shape[axis], device=DEV)


def bytes_of(*shape):
    return torch.randint(0, 256, shape, device=DEV, dtype=torch.uint8)


def uniform(kind):
    return lambda *shape: torch.rand(*shape, device=DEV).to(kind)


def shorts(*shape):
    return torch.randint(-1000, 1000, shape, device=DEV, dtype=torch.int16)


IMAGE = (SIDE, SIDE)
# name, what PyTorch computes, arguments, shape, type and shape of the result
CASES = [
    ("grey", weighted, [bytes_of] * 3, (8192, 8192), torch.uint8, (8192, 8192)),
    ("grey", weighted, [bytes_of] * 3, IMAGE, torch.uint8, IMAGE),
    ("grey_interleaved", interleaved, [bytes_of], (3 << 26,), torch.uint8, (1 << 26,)),
    ("u8_to_f32", lambda x: x / 255.0, [bytes_of], (N,), torch.float32, (N,)),
    ("f32_to_u8", lambda x: (x * 255.0 + 0.5).to(torch.uint8), [uniform(torch.float32)], (N,), torch.uint8, (N,)),
    ("f16_map", lambda x, y: x * 1.5 + y, [uniform(torch.float16)] * 2, (N,), torch.float16, (N,)),
    ("u8_box3", lambda x: box3(x, "clamp"), [bytes_of], IMAGE, torch.uint8, IMAGE),
    ("u8_box3_wrapped", lambda x: box3(x, "wrap"), [bytes_of], IMAGE, torch.uint8, IMAGE),
    ("u8_transpose", lambda x: x.t().contiguous(), [bytes_of], IMAGE, torch.uint8, IMAGE),
]
for kind, side in ((torch.float16, 16384), (torch.float32, 8192), (torch.float64, 8192), (torch.float32, 512), (torch.float32, 128)):
    name = f"f{torch.finfo(kind).bits}_transpose"
    CASES.append((name, lambda x: x.t().contiguous(), [uniform(kind)], (side, side), kind, (side, side)))
CASES.append(("add_transposed", lambda x, y: x + y.t(), [uniform(torch.float32)] * 2, (8192, 8192), torch.float32, (8192, 8192)))
# the first result is given as an argument that is written
for rows in (65536, 1 << 20):
    shape = (rows, (1 << 26) // rows)
    CASES.append(("exponentials", lambda x, e: e.copy_(x.exp()).sum(1), [uniform(torch.float32)] * 2, shape, torch.float32, (rows,)))
for n in (1 << 10, 1 << 13, 1 << 15, 1 << 16):
    CASES.append(("unit", lambda x: x / x.dot(x).sqrt(), [uniform(torch.float32)], (n,), torch.float32, (n,)))
for count in (1 << 26, N):
    CASES += [
        ("sum_u8", total(torch.int32), [bytes_of], (count,), torch.uint32, (1,)),
        ("sum_i16", total(torch.int32), [shorts], (count,), torch.int32, (1,)),
        ("sum_f16", total(torch.float32), [uniform(torch.float16)], (count,), torch.float32, (1,)),
        ("sum_bf16", total(torch.float32), [uniform(torch.bfloat16)], (count,), torch.float32, (1,)),
    ]
CASES += [("sum_f32", total(torch.float32), [uniform(torch.float32)], (1 << k,), torch.float32, (1,)) for k in (24, 25, 26, 28)]
CASES += [(name, lambda x: x.std(correction=0).view(1), [uniform(torch.float32)], (1 << 26,), torch.float32, (1,)) for name in ("deviation", "std")]
for rows, cols in ((65536, 1024), (1 << 20, 64), (8192, 8192)):
    CASES.append(("std_rows", lambda x: x.std(1, correction=0), [uniform(torch.float32)], (rows, cols), torch.float32, (rows,)))
    CASES.append(("sum_rows", lambda x: x.sum(1), [uniform(torch.float32)], (rows, cols), torch.float32, (rows,)))
    CASES.append(("argmax_rows", lambda x: x.argmax(1), [uniform(torch.float32)], (rows, cols), torch.int64, (rows,)))
    CASES.append(("std_cols", lambda x: x.std(0, correction=0), [uniform(torch.float32)], (rows, cols), torch.float32, (cols,)))
for shape in ((65536, 1024), (8192, 8192)):
    CASES.append(("atax", lambda a, x: a.t() @ (a @ x), [uniform(torch.float32), along(1)], shape, torch.float32, shape[1:]))
WEIGHTS = [0.02 + 0.005 * k - 0.0001 * k * k for k in range(17)]


def taps(x, axis):
    n = x.shape[axis] - 16
    return sum(w * x.narrow(axis, k, n) for k, w in enumerate(WEIGHTS))


def clamped(x, axis):
    n = x.shape[axis]
    return taps(x.index_select(axis, torch.arange(-8, n + 8, device=DEV).clamp(0, n - 1)), axis)


def separable_clamped(x):
    return clamped(clamped(x, 1), 0)


SEPARABLE = [
    ("separable17", lambda x: taps(taps(x, 1), 0), [uniform(torch.float32)], 16),
    ("separable17_two", lambda x, t: taps(t.copy_(taps(x, 1)), 0), [uniform(torch.float32), lambda m, n: torch.empty(m, n - 16, device=DEV)], 16),
    ("separable17_clamped", separable_clamped, [uniform(torch.float32)], 0),
    ("unsharp17", lambda x: (x - separable_clamped(x)) * 0.5 + x, [uniform(torch.float32)], 0),
]
for name, f, makers, less in SEPARABLE:
    for side in (8192, 1024):
        CASES.append((name, f, makers, (side, side), torch.float32, (side - less, side - less)))
sides = [along(axis) for axis in (0, 1, 0, 1, 0, 1)]
CASES.append(("rank2_matvec", rank2_matvec, [uniform(torch.float32), *sides, uniform(torch.float32)], (8192, 8192), torch.float32, (8192,)))
# the arguments that must move once more: the matrix that is read after it is written
AGAIN = {"rank2_matvec": [7]}


def main():
    torch.cuda.set_stream(torch.cuda.Stream())
    ours = Ours(*sys.argv[1:3]) if len(sys.argv) > 2 else None
    print(json.dumps(dict(device=torch.cuda.get_device_name(0), torch=torch.__version__)), flush=True)
    cases = [case for case in CASES if len(sys.argv) < 4 or case[0] in sys.argv[3:]]
    for name, f, makers, shape, kind, result in cases:
        inputs = [make(*shape) for make in makers]
        out = torch.empty(result, device=DEV, dtype=kind)
        moved = sum(x.nbytes for x in inputs) + sum(inputs[i].nbytes for i in AGAIN.get(name, ())) + out.nbytes
        count = min(max(2, BYTES // moved), 256)
        xs = [inputs] + [[x.clone() for x in inputs] for _ in range(count - 1)]
        outs = [torch.empty_like(out) for _ in range(count)]
        # a copy reads half of the bytes and writes the other half
        halves = [torch.empty(2, moved // 2, device=DEV, dtype=torch.uint8) for _ in range(count)]
        row = dict(name=f"{name} {'x'.join(map(str, shape))}")
        row["copy_ms"] = round(timed(lambda i: halves[i % count][0].copy_(halves[i % count][1])), 4)
        torch._dynamo.reset()
        g = torch.compile(f)
        row["compile_ms"] = round(timed(lambda i: g(*xs[i % count])), 4)
        if ours:
            run = ours.function(f"rows_{name}")
            row["ours_ms"] = round(timed(lambda i: run(*xs[i % count], outs[i % count])), 4)
            row["device_ms"] = round(replayed(lambda i: run(*xs[i % count], outs[i % count])), 4)
            first = run(*xs[0], outs[0]).clone()
            row["same_bits"] = bool((run(*xs[1 % count], outs[1]).view(torch.uint8) == first.view(torch.uint8)).all())
            expected = f(*xs[0])
            difference = float((first.double() - expected.double()).abs().max())
            # sums of 32 bits wrap around
            row["difference"] = difference % 2**32 if name in ("sum_u8", "sum_i16") else difference
            row["of_copy"], row["of_compile"] = (round(row[k] / row["ours_ms"], 3) for k in ("copy_ms", "compile_ms"))
            torch.cuda.synchronize()
            ours.forget()
        print(json.dumps(row), flush=True)
        del inputs, xs, outs, halves


if __name__ == "__main__":
    main()
