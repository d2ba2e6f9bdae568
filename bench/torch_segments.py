"""Sums of segments whose lengths are data (cpp-examples/generators/src/groups.rs): the bits of the CPU first, then times in ms on one GPU, of segments of one length and of others, beside a copy of as many bytes.

    python3 torch_segments.py LIBRARY PACKAGE > segments.jsonl

LIBRARY is libarraygpu, PACKAGE the library of `rows-gen`.
"""

import ctypes
import json
import random
import sys

import torch
from torch_bits import OnCpu
from torch_groups import csr_rows, offsets_of
from torch_ours import Call, Ours, timed

DEV = "cuda"
EDGES = (0, 0, 1, 2, 3, 16, 31, 32, 33, 127, 128, 129, 255, 2047, 2048, 2049, 4095, 4096, 4097, 5000)


def lengths_of(kind, n):
    """The lengths of segments of about n elements together."""
    if kind == "edges":
        lengths = []
        while sum(lengths) < n:
            lengths.append(random.choice(EDGES))
        return torch.tensor(lengths)
    if kind == "short":
        return torch.randint(0, 40, (max(n // 20, 1),))
    if kind == "one":
        return torch.tensor([0, n, 0])
    if kind == "powerlaw":
        return csr_rows(max(n // 16, 1))
    return torch.full((max(n // kind, 1),), kind, dtype=torch.int64)


def bits(gpu, cpu, kind, n):
    """Whether segments have the bits of the CPU."""
    offsets = offsets_of(lengths_of(kind, n))
    x = torch.randn(int(offsets[-1]), device=DEV)
    sums, others = torch.full((len(offsets) - 1,), 7.0, device=DEV), torch.empty(len(offsets) - 1)
    gpu.function("rows_segment_sums")(x, offsets, sums)
    call = Call(size=ctypes.sizeof(Call), context=cpu.context)
    on_cpu = [t.cpu() for t in (x, offsets)] + [others]
    cpu.check(cpu.package.rows_segment_sums(ctypes.byref(call), *(cpu.view(t) for t in on_cpu)))
    same = torch.equal(sums.cpu().view(torch.int32), others.view(torch.int32))
    gpu.forget(), cpu.forget()
    return dict(kind=kind, n=len(x), segments=len(others), bits=same)


def time(gpu, kind, n):
    offsets = offsets_of(lengths_of(kind, n))
    x = [torch.randn(int(offsets[-1]), device=DEV) for _ in range(2)]
    sums, f = torch.empty(len(offsets) - 1, device=DEV), gpu.function("rows_segment_sums")
    ms = timed(lambda i: f(x[i % 2], offsets, sums), 10)
    gpu.forget()
    return dict(kind=kind, n=len(x[0]), segments=len(sums), ms=round(ms, 4))


def main():
    torch.cuda.set_stream(torch.cuda.Stream())
    torch.manual_seed(3)
    random.seed(3)
    gpu = Ours(*sys.argv[1:3])
    cpu = OnCpu(gpu)
    print(json.dumps(dict(device=torch.cuda.get_device_name(0))), flush=True)
    for kind in ("edges", "short", "one", "powerlaw", 16, 100):
        for n in (1, 40, 2049, 70_001, 1_000_003, 5_000_001):
            print(json.dumps(bits(gpu, cpu, kind, n)), flush=True)
    for n in (1 << 16, 1 << 20, 1 << 26):
        for kind in ("one", "powerlaw", 4, 16, 32, 64, 100, 500, 2000, 5000, 100_000):
            print(json.dumps(time(gpu, kind, n)), flush=True)
        x = [torch.randn(n, device=DEV) for _ in range(3)]
        print(json.dumps(dict(copy=n, ms=round(timed(lambda i: x[2].copy_(x[i % 2]), 10), 4))), flush=True)


if __name__ == "__main__":
    main()
