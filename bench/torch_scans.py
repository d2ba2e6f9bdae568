"""Scans (cpp-examples/generators/src/scans.rs) on one GPU: first their bits at every edge of the order of docs/semantics.md, 5.18, against the same order written
with PyTorch's elementwise additions, those of rows, columns and segments line by line; then times in ms beside `torch.cumsum` (CUB) and a copy.

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
SHAPES = ((1, 1), (3, 5), (5, 127), (6, 128), (7, 129), (600, 33), (2, 8193), (9, 20001), (1, 262145), (2, 600001))


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


def line_by_line(ours):
    """Whether each row, column and segment has the bits of a scan of its own."""

    def called(name, *arguments):
        # an array may have the address of an earlier one of another shape
        ours.forget()
        out = torch.full_like(arguments[0], torch.nan)
        ours.function(f"rows_scan_{name}_f32")(*arguments, out)
        torch.cuda.synchronize()
        return out

    for n, m in SHAPES:
        x = torch.rand(n, m, device=DEV) - 0.25
        row = dict(lines=n, length=m)
        row["rows"] = same(called("rows", x), torch.stack([reference(line) for line in x]))
        down = called("cols", x.t().contiguous())
        row["cols"] = same(down.t().contiguous(), torch.stack([reference(line) for line in x]))
        # as many segments as rows, some of them empty, and elements in none
        flat = x.view(-1)
        offsets = torch.randint(0, n * m + 1, (n + 1,), device=DEV).sort().values
        expected = torch.zeros_like(flat)
        ends = offsets.tolist()
        for begin, end in zip(ends, ends[1:]):
            if begin < end:
                expected[begin:end] = reference(flat[begin:end])
        row["segments"] = same(called("segments", flat, offsets), expected)
        print(json.dumps(row), flush=True)


def times_of_lines(ours):
    """Times of 2^26 elements as lines of several lengths, in ms."""
    rows, cols, segments = (ours.function(f"rows_scan_{name}_f32") for name in ("rows", "cols", "segments"))
    n = 1 << 26
    for length in (16, 128, 1024, 16384, 1 << 20, 1 << 26):
        ours.forget()
        xs = [torch.rand(n // length, length, device=DEV) - 0.25 for _ in range(3)]
        flat, outs = [x.view(-1) for x in xs], [torch.empty_like(x) for x in xs]
        of_flat = [x.view(-1) for x in outs]
        offsets = torch.arange(0, n + 1, length, device=DEV)
        row = dict(length=length, copy=timed(lambda i: outs[i % 3].copy_(xs[i % 3])))
        row["rows"] = timed(lambda i: rows(xs[i % 3], outs[i % 3]))
        row["cumsum"] = timed(lambda i: torch.cumsum(xs[i % 3], 1, out=outs[i % 3]))
        ours.forget()
        row["segments"] = timed(lambda i: segments(flat[i % 3], offsets, of_flat[i % 3]))
        ours.forget()
        ys, to = [x.view(length, -1) for x in xs], [x.view(length, -1) for x in outs]
        row["cols"] = timed(lambda i: cols(ys[i % 3], to[i % 3]))
        row["cumsum_cols"] = timed(lambda i: torch.cumsum(ys[i % 3], 0, out=to[i % 3]))
        print(json.dumps({k: round(v, 4) for k, v in row.items()}), flush=True)
        torch.cuda.synchronize()


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
    line_by_line(ours)
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
    times_of_lines(ours)


if __name__ == "__main__":
    main()
