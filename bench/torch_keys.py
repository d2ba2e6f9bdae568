"""Sums of runs of equal keys (cpp-examples/generators/src/groups.rs, `sums_by_key`): the bits of the CPU first, then times in ms on one GPU beside PyTorch's `unique_consecutive` and a copy of as many bytes.

    python3 torch_keys.py LIBRARY PACKAGE > keys.jsonl

LIBRARY is libarraygpu, PACKAGE the library of `rows-gen`.
"""

import ctypes
import json
import random
import sys

import torch
from torch_bits import OnCpu
from torch_ours import Call, Ours, timed
from torch_segments import lengths_of

DEV = "cuda"


def keys_of(lengths, n):
    """Keys of n elements in runs of these lengths; a length of 0 is no run."""
    lengths = lengths[lengths > 0]
    keys = torch.repeat_interleave(torch.arange(len(lengths), dtype=torch.int32), lengths)[:n]
    return (keys * 7).to(DEV).view(torch.uint32)


def bits(gpu, cpu, kind, n):
    """Whether keys, sums and their number are those of the CPU."""
    keys = keys_of(lengths_of(kind, n), n)
    if len(keys) == 0:
        return dict(kind=kind, n=0)
    x = torch.randn(len(keys), device=DEV)
    out = [torch.empty_like(keys), torch.empty_like(x), torch.zeros(1, dtype=torch.int64, device=DEV)]
    gpu.function("rows_sums_by_key_device")(keys, x, *out)
    call, count = Call(size=ctypes.sizeof(Call), context=cpu.context), ctypes.c_int64()
    on_cpu = [t.cpu() for t in (keys, x)] + [torch.empty(len(keys), dtype=torch.uint32), torch.empty(len(keys))]
    cpu.check(cpu.package.rows_sums_by_key(ctypes.byref(call), *(cpu.view(t) for t in on_cpu), ctypes.byref(count)))
    pairs = zip(out, on_cpu[2:])
    same = all(torch.equal(a.cpu().view(torch.int32), b.view(torch.int32)) for a, b in pairs)
    same = same and int(out[2]) == count.value
    gpu.forget(), cpu.forget()
    return dict(kind=kind, n=len(keys), runs=count.value, bits=same)


def time(gpu, kind, n):
    keys = [keys_of(lengths_of(kind, n), n) for _ in range(2)]
    m = min(len(k) for k in keys)
    keys = [k[:m] for k in keys]
    x = [torch.randn(m, device=DEV) for _ in range(2)]
    out = [torch.empty_like(keys[0]), torch.empty_like(x[0]), torch.zeros(1, dtype=torch.int64, device=DEV)]
    f = gpu.function("rows_sums_by_key_device")
    ms = timed(lambda i: f(keys[i % 2], x[i % 2], *out), 10)
    runs = int(out[2])
    gpu.forget()
    return dict(keys=kind, n=m, runs=runs, ms=round(ms, 4))


def main():
    torch.cuda.set_stream(torch.cuda.Stream())
    torch.manual_seed(3)
    random.seed(3)
    gpu = Ours(*sys.argv[1:3])
    cpu = OnCpu(gpu)
    print(json.dumps(dict(device=torch.cuda.get_device_name(0))), flush=True)
    for kind in ("edges", "short", "one", "powerlaw", 16, 5000):
        for n in (1, 40, 2049, 70_001, 1_000_003, 5_000_001):
            print(json.dumps(bits(gpu, cpu, kind, n)), flush=True)
    for n in (1 << 16, 1 << 20, 1 << 26):
        for kind in ("one", "powerlaw", 1, 4, 16, 100, 5000):
            print(json.dumps(time(gpu, kind, n)), flush=True)
        x = [torch.randn(n, device=DEV) for _ in range(3)]
        print(json.dumps(dict(copy=n, ms=round(timed(lambda i: x[2].copy_(x[i % 2]), 10), 4))), flush=True)


if __name__ == "__main__":
    main()
