"""An iteration of denoising by total variation (cpp-examples/rof) beside one kernel an operation, a copy of as many bytes, and PyTorch, in one process:
milliseconds on one GPU, medians of 7 x 20 calls between events.

    python3 torch_rof.py LIBRARY PACKAGE > rof.jsonl

LIBRARY is libarraygpu, PACKAGE the library of `rows-gen`. `copy_ms` is a device copy of as many bytes as an iteration must move: four images are read, three
written. The arrays are larger than the L2 cache. `same_bits` compares the results of both functions, `difference` those with PyTorch's in f64.
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
ALPHA, TAU, SIGMA = 20.0, 0.25, 0.5
SHAPES = ((8192, 8192), (8191, 8189), (2048, 2048), (512, 512))


def step(f, u, p, q):
    divergence = (p - F.pad(p, (1, 0))[:, :-1]) + (q - F.pad(q, (0, 0, 1, 0))[:-1])
    v = (u + TAU * divergence + TAU * f) * (1 / (1 + TAU))
    ahead = 2 * v - u
    dx = torch.cat((ahead[:, 1:], ahead[:, -1:]), 1) - ahead
    dy = torch.cat((ahead[1:], ahead[-1:])) - ahead
    p, q = p + SIGMA * dx, q + SIGMA * dy
    scale = ALPHA / torch.clamp(torch.sqrt(p * p + q * q), min=ALPHA)
    return v, p * scale, q * scale


def main():
    # a call without a stream would use one of the library's own
    torch.cuda.set_stream(torch.cuda.Stream())
    ours = Ours(*sys.argv[1:3]) if len(sys.argv) > 2 else None
    print(json.dumps(dict(device=torch.cuda.get_device_name(0), torch=torch.__version__)), flush=True)
    for shape in SHAPES:
        row = dict(name=f"rof_step {'x'.join(map(str, shape))}")
        f = torch.rand(*shape, device=DEV) * 255
        state = [f + torch.rand_like(f), torch.randn_like(f) * 10, torch.randn_like(f) * 10]
        outs, others = ([torch.empty_like(f) for _ in range(3)] for _ in range(2))
        source = torch.empty(7 * math.prod(shape) // 2, device=DEV)
        target = torch.empty_like(source)
        row["copy_ms"] = round(timed(lambda i: target.copy_(source)), 4)
        del source, target
        row["eager_ms"] = round(timed(lambda i: step(f, *state)), 4)
        torch._dynamo.reset()
        compiled = torch.compile(step)
        row["compile_ms"] = round(timed(lambda i: compiled(f, *state)), 4)
        if ours:
            fused, unfused = (ours.function(f"rows_{name}") for name in ("rof_step", "rof_step_unfused"))
            row["ours_ms"] = round(timed(lambda i: fused(f, *state, ALPHA, TAU, SIGMA, *outs)), 4)
            row["unfused_ms"] = round(timed(lambda i: unfused(f, *state, ALPHA, TAU, SIGMA, *others)), 4)
            torch.cuda.synchronize()
            row["same_bits"] = all(bool((a.view(torch.int32) == b.view(torch.int32)).all()) for a, b in zip(outs, others))
            if math.prod(shape) <= 1 << 24:
                exact = step(f.double(), *(x.double() for x in state))
                row["difference"] = max(float((a - b).abs().max()) for a, b in zip(outs, exact))
            for what in ("copy", "eager", "compile", "unfused"):
                row[f"of_{what}"] = round(row[f"{what}_ms"] / row["ours_ms"], 3)
            torch.cuda.synchronize()
            ours.forget()
        print(json.dumps(row), flush=True)
        del f, state, outs, others


if __name__ == "__main__":
    main()
