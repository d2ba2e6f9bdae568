"""Scans (cpp-examples/generators/src/scans.rs) on one GPU: first their bits at every edge of the order of docs/semantics.md, 5.18, against the same order written
with PyTorch's elementwise additions, then times in ms beside `torch.cumsum` (CUB) and a copy.

    python3 torch_scans.py LIBRARY PACKAGE > scans.jsonl

LIBRARY is libarraygpu, PACKAGE the library of `rows-gen`.
"""

import json
import sys

import torch
from torch_ours import Ours, timed

torch.manual_seed(1)
DEV = "cuda"
SIZES = (1, 3, 4, 127, 128, 129, 8191, 8192, 8193, 262143, 262144, 262145, (1 << 20) + 1, 1 << 26)
PARTS = (4, 32, 64, 32)


def halved(parts, size):
    """The halved values of parts in rows of a matrix."""
    block = 1
    while block < size:
        pairs = parts.view(parts.shape[0], -1, 2, block)
        pairs[:, :, 1] = pairs[:, :, 0, -1:] + pairs[:, :, 1]
        block *= 2
    return parts


def before(inside, nothing):
    """What stands before each value of a part."""
    found = torch.full_like(inside, nothing)
    found[:, 1:] = inside[:, :-1]
    return found


def reference(x):
    """Inclusive sums in the order of 5.18. -0 adds nothing to a float, and 0 nothing to an integer."""
    nothing = -0.0 if x.dtype.is_floating_point else 0
    values, levels = x, []
    for size in PARTS:
        whole = torch.full(((values.numel() + size - 1) // size * size,), nothing, dtype=x.dtype, device=x.device)
        whole[: values.numel()] = values
        levels.append(halved(whole.view(-1, size), size))
        values = levels[-1][:, -1].contiguous()
    chain = [torch.zeros((), dtype=x.dtype)]
    for total in values.cpu()[:-1]:
        chain.append(chain[-1] + total)
    chain = torch.stack(chain).to(x.device)
    elements, chunks, rows, tiles = levels
    group_and_tile = (chain[:, None] + before(tiles, nothing)).view(-1)
    row, chunk = (before(level, nothing).view(-1) for level in (rows, chunks))
    row = row[: chunk.numel() // 32 + 1]
    place = torch.arange(elements.shape[0], device=x.device)
    inside = row[place // 32] + chunk[: place.numel()]
    return ((group_and_tile[place // 2048] + inside)[:, None] + elements).view(-1)[: x.numel()]


def same(a, b):
    return bool((a.view(torch.int32) == b.view(torch.int32)).all())


def main():
    torch.cuda.set_stream(torch.cuda.Stream())
    ours = Ours(*sys.argv[1:3])
    print(json.dumps(dict(device=torch.cuda.get_device_name(0))), flush=True)
    floats, integers, both, pairs = (ours.function(f"rows_scan_{name}") for name in ("f32", "u32", "map", "recurrence"))
    for n in SIZES:
        ours.forget()
        x = torch.rand(n, device=DEV) - 0.25
        k = torch.randint(0, 1 << 30, (n,), dtype=torch.int32, device=DEV)
        row = dict(n=n)
        out = torch.full_like(x, torch.nan)
        row["scan_f32"] = same(floats(x, out), reference(x))
        in_place = x.clone()
        row["in_place"] = same(floats(in_place, in_place), out)
        counts = torch.empty_like(k)
        integers(k.view(torch.uint32), counts.view(torch.uint32))
        row["scan_u32"] = same(counts, reference(k)) and same(counts, k.cumsum(0, dtype=torch.int32))
        print(json.dumps(row), flush=True)
        torch.cuda.synchronize()
    for n in (1 << 16, 1 << 20, 1 << 26):
        ours.forget()
        count = 3 if n > 1 << 20 else 8
        xs = [torch.rand(n, device=DEV) - 0.25 for _ in range(count)]
        outs = [torch.empty_like(x) for x in xs]
        ks, counts = ([torch.empty_like(x).view(torch.uint32) for x in xs] for _ in range(2))
        result = torch.empty(1, device=DEV)
        times = dict(
            scan_f32=lambda i: floats(xs[i % count], outs[i % count]),
            scan_u32=lambda i: integers(ks[i % count], counts[i % count]),
            scan_map=lambda i: both(xs[i % count], result),
            scan_recurrence=lambda i: pairs(xs[i % count], xs[(i + 1) % count], outs[i % count]),
            cumsum=lambda i: torch.cumsum(xs[i % count], 0, out=outs[i % count]),
            copy=lambda i: outs[i % count].copy_(xs[i % count]),
        )
        print(json.dumps(dict(n=n) | {name: round(timed(f), 4) for name, f in times.items()}), flush=True)
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
