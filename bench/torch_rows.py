"""Rows that are needed several times, beside PyTorch in one process: milliseconds a call on one GPU, medians of 7 x 20 calls between events.

    python3 torch_rows.py LIBRARY PACKAGE [NAME ..] > rows.jsonl

LIBRARY is libarraygpu, PACKAGE the library of `rows-gen`. `copy_ms` is a device copy of as many bytes as the function must move, and each call
takes another of several arrays, so that none is in the L2 cache. `device_ms` is of calls in a graph, without the host's part. Results are compared with PyTorch's, and two calls with each other bit by bit.
Without arguments only PyTorch's rows are printed.
"""

import json
import math
import sys

import torch
import torch.nn.functional as F
from torch_ours import Ours, replayed, timed

torch.manual_seed(1)
DEV = "cuda"
BYTES = 1 << 30


def softmax(x):
    return torch.softmax(x, 1)


def layer_norm(x):
    return F.layer_norm(x, (x.shape[1],))


def shares(x):
    return x / x.sum(1, keepdim=True)


def unit(x):
    return x / x.dot(x).sqrt()


def softmax_cols(x):
    return torch.softmax(x, 0)


def normalise_cols(x):
    return x / (x * x).sum(0).sqrt()


def standardise_cols(x):
    return (x - x.mean(0)) * (x.var(0, unbiased=False) + 1e-5).rsqrt()


CASES = [
    (name, f, torch.float32, shape)
    for shape in ((65536, 1024), (8192, 8192), (1 << 20, 64), (2048, 32768), (262144, 256), (16384, 4096), (65536, 1000), (65536, 1001))
    for name, f in (("softmax", softmax), ("layer_norm", layer_norm), ("shares", shares))
]
# longer than a block holds: in clusters of blocks, where the device has them
CASES += [
    (name, f, torch.float32, shape)
    for shape in ((2048, 65536), (512, 131072), (256, 262144), (512, 131071), (4096, 16385), (4, 131072))
    for name, f in (("softmax", softmax), ("layer_norm", layer_norm))
]
CASES += [
    (name, f, torch.float32, shape)
    for shape in ((1024, 65536), (2048, 32768), (256, 262144), (64, 1 << 20), (8192, 8192))
    for name, f in (("softmax_cols", softmax_cols), ("normalise_cols", normalise_cols), ("standardise_cols", standardise_cols))
]
CASES += [("unit", unit, torch.float32, (1 << k,)) for k in (15, 16, 17, 18, 19)]
CASES += [("softmax_f64", softmax, torch.float64, shape) for shape in ((32768, 1024), (4096, 8192), (1 << 19, 64), (2048, 16384), (512, 65536))]


def main():
    # a call without a stream would use one of the library's own
    torch.cuda.set_stream(torch.cuda.Stream())
    ours = Ours(*sys.argv[1:3]) if len(sys.argv) > 2 else None
    print(json.dumps(dict(device=torch.cuda.get_device_name(0), torch=torch.__version__)), flush=True)
    cases = [case for case in CASES if len(sys.argv) < 4 or case[0] in sys.argv[3:]]
    for name, f, dtype, shape in cases:
        count = max(2, BYTES // (math.prod(shape) * dtype.itemsize))
        xs = [torch.rand(*shape, device=DEV, dtype=dtype) + 0.5 for _ in range(count)]
        outs = [torch.empty_like(x) for x in xs]
        row = dict(name=f"{name} {'x'.join(map(str, shape))}")
        row["copy_ms"] = round(timed(lambda i: outs[i % count].copy_(xs[i % count])), 4)
        torch._dynamo.reset()
        g = torch.compile(f)
        row["compile_ms"] = round(timed(lambda i: g(xs[i % count])), 4)
        if ours:
            run = ours.function(f"rows_{name}")
            row["ours_ms"] = round(timed(lambda i: run(xs[i % count], outs[i % count])), 4)
            row["device_ms"] = round(replayed(lambda i: run(xs[i % count], outs[i % count])), 4)
            first = run(xs[0], outs[0]).clone()
            row["same_bits"] = bool((run(xs[0], outs[1]).view(torch.uint8) == first.view(torch.uint8)).all())
            row["difference"] = float((first - f(xs[0].double())).abs().max())
            in_place = xs[0].clone()
            row["in_place"] = bool((run(in_place, in_place) == first).all())
            row["of_copy"], row["of_compile"] = (round(row[k] / row["ours_ms"], 3) for k in ("copy_ms", "compile_ms"))
            torch.cuda.synchronize()
            ours.forget()
        print(json.dumps(row), flush=True)
        del xs, outs


if __name__ == "__main__":
    main()
