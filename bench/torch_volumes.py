"""Stencils of volumes, and steps of two states, beside PyTorch in one process, as `torch_rows.py` measures rows.

    python3 torch_volumes.py LIBRARY PACKAGE > volumes.jsonl

LIBRARY is libarraygpu, PACKAGE the library of `rows-gen`. `copy_ms` is a device copy of the volume, `compile_ms` what torch.compile makes of slices of
the padded volume, and `conv_ms` PyTorch's convolution. `two_states4` are four steps of an iteration: `single_ms` is the time of four calls of one step,
`of_single` what part of it the call of four takes. Results are compared with PyTorch's, and two calls with each other bit by bit.
Without arguments only PyTorch's rows are printed.
"""

import json
import math
import sys

import torch
import torch.nn.functional as F
from torch_ours import Ours, timed

torch.manual_seed(1)
DEV = "cuda"
BYTES = 1 << 30


def weights27():
    away = [-128 / 30, 14 / 30, 3 / 30, 1 / 30]
    return [[[float(away[abs(p - 1) + abs(r - 1) + abs(c - 1)]) for c in range(3)] for r in range(3)] for p in range(3)]


def weights7():
    away = [-6, 1, 0, 0]
    return [[[float(away[abs(p - 1) + abs(r - 1) + abs(c - 1)]) for c in range(3)] for r in range(3)] for p in range(3)]


def clamped(u):
    return F.pad(u[None, None], (1,) * 6, mode="replicate")[0, 0]


def slices(weights, pad):
    """The weighted sum of slices: what torch.compile fuses."""

    def f(u):
        p = pad(u)
        n = [e - 2 for e in p.shape]
        taps = [(weights[k][i][j], k, i, j) for k in range(3) for i in range(3) for j in range(3)]
        return sum(w * p[k : k + n[0], i : i + n[1], j : j + n[2]] for w, k, i, j in taps if w)

    return f


def convolution(weights, pad):
    kernel = torch.tensor(weights, device=DEV)[None, None]
    return lambda u: F.conv3d(pad(u)[None, None], kernel)[0, 0]


CASES = [
    (name, weights, pad, shape)
    for shape in ((512, 512, 512), (256, 256, 256), (128, 1024, 1024), (1024, 256, 512), (511, 510, 509))
    for name, weights, pad in (("laplace3d", weights7(), clamped), ("laplace3d_inside", weights7(), lambda u: u), ("laplace27", weights27(), clamped))
]


def laplacian(x):
    w = weights9()
    p = F.pad(x[None, None], (1,) * 4, mode="replicate")[0, 0]
    return sum(w[i][j] * p[i : i + x.shape[0], j : j + x.shape[1]] for i in range(3) for j in range(3))


def weights9():
    return [[0.05, 0.2, 0.05], [0.2, -1.0, 0.2], [0.05, 0.2, 0.05]]


def reaction(u, v):
    r = u * v * v
    return u + (0.16 * laplacian(u) - r + 0.04 * (1 - u)), v + (0.08 * laplacian(v) + r - 0.1 * v)


def two_states(ours, shape):
    """The row of four steps of reaction and diffusion."""
    row = dict(name=f"two_states4 {'x'.join(map(str, shape))}")
    state = [torch.rand(*shape, device=DEV) for _ in range(2)]
    first, second, four = ([torch.empty_like(x) for x in state] for _ in range(3))
    row["copy_ms"] = round(timed(lambda i: [a.copy_(b) for a, b in zip(first, state)]), 4)
    torch._dynamo.reset()
    compiled = torch.compile(reaction)

    def steps(step):
        now = state
        for to in (first, second, first, second):
            now = step(now, to)
        return now

    row["compile_ms"] = round(timed(lambda i: steps(lambda now, to: compiled(*now))), 4)
    if ours:
        one, all_steps = ours.function("rows_two_states"), ours.function("rows_two_states4")
        row["single_ms"] = round(timed(lambda i: steps(lambda now, to: (one(*now, *to), to)[1])), 4)
        row["ours_ms"] = round(timed(lambda i: all_steps(*state, *four)), 4)
        torch.cuda.synchronize()
        row["same_bits"] = all(bool((a.view(torch.int32) == b.view(torch.int32)).all()) for a, b in zip(second, four))
        exact = [x.double() for x in state]
        for _ in range(4):
            exact = reaction(*exact)
        row["difference"] = max(float((a - b).abs().max()) for a, b in zip(four, exact))
        row["of_single"], row["of_compile"] = round(row["ours_ms"] / row["single_ms"], 3), round(row["compile_ms"] / row["ours_ms"], 3)
        torch.cuda.synchronize()
        ours.forget()
    print(json.dumps(row), flush=True)


def main():
    torch.cuda.set_stream(torch.cuda.Stream())
    ours = Ours(*sys.argv[1:3]) if len(sys.argv) > 2 else None
    print(json.dumps(dict(device=torch.cuda.get_device_name(0), torch=torch.__version__)), flush=True)
    for name, weights, pad, shape in CASES:
        count = max(2, BYTES // (math.prod(shape) * 4))
        us = [torch.rand(*shape, device=DEV) for _ in range(count)]
        f = slices(weights, pad)
        outs = [torch.empty_like(f(u)) for u in us]
        copies = [torch.empty_like(u) for u in us]
        row = dict(name=f"{name} {'x'.join(map(str, shape))}")
        row["copy_ms"] = round(timed(lambda i: copies[i % count].copy_(us[i % count])), 4)
        del copies
        torch._dynamo.reset()
        g = torch.compile(f)
        row["compile_ms"] = round(timed(lambda i: g(us[i % count])), 4)
        conv = convolution(weights, pad)
        row["conv_ms"] = round(timed(lambda i: conv(us[i % count])), 4)
        if ours:
            run = ours.function(f"rows_{name}")
            row["ours_ms"] = round(timed(lambda i: run(us[i % count], outs[i % count])), 4)
            first = run(us[0], outs[0]).clone()
            row["same_bits"] = bool((run(us[0], outs[1]) == first).all())
            row["difference"] = float((first - f(us[0].double())).abs().max())
            row["of_copy"], row["of_compile"] = (round(row[k] / row["ours_ms"], 3) for k in ("copy_ms", "compile_ms"))
            torch.cuda.synchronize()
            ours.forget()
        print(json.dumps(row), flush=True)
        del us, outs
    for shape in ((8192, 8192), (2048, 2048), (8191, 8189)):
        two_states(ours, shape)


if __name__ == "__main__":
    main()
