"""Filters, sorts, groups and segments (cpp-examples/generators/src/groups.rs) on one GPU: first their results at the edges of runs and tiles, sums against the order of
docs/semantics.md, 5.1, then times in ms beside PyTorch's (`masked_select` and `unique_consecutive`, which are CUB's and wait for the number of results, CUB's sort, `bincount`, `index_add_`, cuSPARSE).

    python3 torch_groups.py LIBRARY PACKAGE [SORTS] > groups.jsonl

LIBRARY is libarraygpu, PACKAGE the library of `rows-gen`, SORTS the program `gpu/sorts.cu`, whose times of CUB stand beside the sorts'.
"""

import json
import subprocess
import sys

import torch
from torch_ours import Ours, timed

torch.manual_seed(1)
DEV = "cuda"
SIZES = (1, 2, 3, 127, 128, 129, 2047, 2048, 2049, 65535, 65537, (1 << 20) + 1, 1 << 24)
TILE, COLUMNS = 2048, 128


def neighbours(columns):
    """The columns of a tile, joined as a tree of neighbours."""
    while len(columns) > 1:
        pairs = columns[: len(columns) // 2 * 2].view(-1, 2)
        columns = torch.cat([pairs[:, 0] + pairs[:, 1], columns[len(pairs) * 2 :]])
    return columns


def sum_of(v):
    """The sum of a vector in the order of 5.1."""
    while len(v) > 1:
        totals = []
        for tile in v.split(TILE):
            columns = tile[:COLUMNS].clone()
            for row in tile.split(COLUMNS)[1:]:
                columns[: len(row)] += row
            totals.append(neighbours(columns))
        v = torch.cat(totals)
    return v.sum() + 0.0


def same(a, b):
    return bool((a.view(torch.int32) == b.view(torch.int32)).all())


def keys(n):
    """Floats of which some are equal, with both zeros, infinities and NaNs."""
    x = (torch.rand(n, device=DEV) * 64).floor() - 32
    for i, special in enumerate((torch.nan, torch.inf, -torch.inf, -0.0, 0.0)):
        x[i * 11 + 3 :: 67] = special
    return x


def offsets_of(lengths):
    return torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)]).to(DEV)


def csr_rows(rows, most=100_000):
    """Row lengths of Zipf's law with the exponent 1.5, cut, with a mean of 16."""
    u = torch.rand(rows, dtype=torch.float64)
    lengths = (u ** -2.0).clamp(max=most).long()
    wanted = rows * 16
    return (lengths.double() * (wanted / lengths.sum())).long()


def check_sorts(ours, n):
    integers, floats, pairs = (ours(f"rows_sort_{name}") for name in ("u32", "f32", "pairs"))
    k = torch.randint(0, 1 << 31, (n,), device=DEV).to(torch.int32) if n % 2 else torch.randint(0, 50, (n,), device=DEV, dtype=torch.int32)
    x, order = keys(n), torch.empty(n, dtype=torch.int64, device=DEV)
    out, kept, moved = torch.empty_like(x), torch.empty_like(k), torch.empty_like(x)
    row = dict(n=n)
    integers(k.view(torch.uint32), kept.view(torch.uint32), order)
    wanted = torch.sort(k, stable=True)
    row["sort_u32"] = bool((kept == wanted.values).all() and (order == wanted.indices).all())
    ours("rows_sort_keys_u32")(k.view(torch.uint32), kept.view(torch.uint32))
    row["sort_keys_u32"] = bool((kept == wanted.values).all())
    pairs(k.view(torch.uint32), x, kept.view(torch.uint32), moved)
    row["sort_pairs"] = bool((kept == wanted.values).all()) and same(moved, x[wanted.indices])
    floats(x, out, order)
    bits = x.view(torch.int32)
    bits = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    bits = torch.where(x.isnan(), torch.full_like(bits, 0x7FFFFFFF), bits)
    wanted = torch.sort(bits, stable=True).indices
    ours("rows_sort_keys_f32")(x, moved)
    row["sort_keys_f32"] = same(torch.nan_to_num(moved, nan=7.0), torch.nan_to_num(x[wanted], nan=7.0))
    wide, sorted_wide = x.double() * 1.000000001, torch.empty(n, dtype=torch.float64, device=DEV)
    ours("rows_sort_keys_f64")(wide, sorted_wide)
    row["sort_keys_f64"] = same(torch.nan_to_num(sorted_wide, nan=7.0), torch.nan_to_num(wide[wanted], nan=7.0))
    row["sort_f32"] = bool((order == wanted).all()) and same(torch.nan_to_num(out, nan=7.0), torch.nan_to_num(x[wanted], nan=7.0))
    return row


def check_groups(ours, n, groups):
    x = torch.rand(n, device=DEV) - 0.25
    group = torch.randint(0, groups, (n,), device=DEV)
    counts = torch.empty(groups, dtype=torch.int64, device=DEV)
    sums, means = torch.empty(groups, device=DEV), torch.empty(groups, device=DEV)
    ours("rows_group_statistics")(x, group, groups, counts, sums, means)
    wanted = torch.stack([sum_of(x[group == k].cpu()) if bool((group == k).any()) else torch.zeros(()) for k in range(groups)]).to(DEV)
    return dict(n=n, groups=groups, counts=bool((counts == group.bincount(minlength=groups)).all()), sums=same(sums, wanted))


def check_segments(ours):
    lengths = torch.tensor([0, 1, 2, 127, 128, 129, 0, 300, 2047, 2048, 2049, 5000, 3, 4096, 300_000])
    offsets = offsets_of(lengths)
    x = torch.rand(int(offsets[-1]), device=DEV) - 0.25
    sums = torch.empty(len(lengths), device=DEV)
    ours("rows_segment_sums")(x, offsets, sums)
    parts = x.cpu().split(lengths.tolist())
    return dict(segments=same(sums, torch.stack([sum_of(p) if len(p) else torch.zeros(()) for p in parts]).to(DEV)))


def check_filters(ours, n):
    row = dict(n=n)
    for kind, x in dict(half=torch.rand(n, device=DEV) - 0.5, all=torch.ones(n, device=DEV), none=-torch.ones(n, device=DEV)).items():
        out, count = torch.full_like(x, 7.0), torch.empty(1, dtype=torch.int64, device=DEV)
        kept, others = x[x > 0], x[x <= 0]
        ours("rows_positive_device")(x, out, count)
        row[f"filter_{kind}"] = int(count) == len(kept) and same(out, torch.cat([kept, torch.zeros_like(others)]))
        ours("rows_positive_first_device")(x, out, count)
        row[f"partition_{kind}"] = int(count) == len(kept) and same(out, torch.cat([kept, others]))
        total = torch.empty(1, device=DEV)
        ours("rows_positive_sum_device")(x, total)
        row[f"sum_{kind}"] = same(total, sum_of(kept).view(1) if len(kept) else torch.zeros(1, device=DEV))
        ours.forget()
    x = torch.repeat_interleave(torch.randint(0, 3, (n,), device=DEV), torch.randint(1, 9, (n,), device=DEV))[:n].to(torch.uint8)
    values, lengths = torch.empty_like(x), torch.empty(n, dtype=torch.int64, device=DEV)
    ours("rows_run_lengths_device")(x, values, lengths, count)
    wanted = torch.unique_consecutive(x, return_counts=True)
    runs = int(count)
    row["run_lengths"] = runs == len(wanted[0]) and bool((values[:runs] == wanted[0]).all() and (lengths[:runs] == wanted[1]).all() and (lengths[runs:] == 0).all())
    return row


def time_filters(ours, n):
    x = [torch.rand(n, device=DEV) - 0.5 for _ in range(2)]
    out, count, total = torch.empty_like(x[0]), torch.empty(1, dtype=torch.int64, device=DEV), torch.empty(1, device=DEV)
    runs = torch.repeat_interleave(torch.randint(0, 3, (n // 4,), device=DEV), 4).to(torch.uint8)
    values, lengths = torch.empty_like(runs), torch.empty(len(runs), dtype=torch.int64, device=DEV)
    positive, first, sum_of_positive, run_lengths = (ours(f"rows_{name}_device") for name in ("positive", "positive_first", "positive_sum", "run_lengths"))
    times = dict(
        filter=lambda i: positive(x[i % 2], out, count),
        partition=lambda i: first(x[i % 2], out, count),
        filtered_sum=lambda i: sum_of_positive(x[i % 2], total),
        run_lengths=lambda i: run_lengths(runs, values, lengths, count),
        masked_select=lambda i: x[i % 2][x[i % 2] > 0],
        unique_consecutive=lambda i: torch.unique_consecutive(runs, return_counts=True),
    )
    return dict(n=n) | {name: round(timed(f, 5), 4) for name, f in times.items()}


def time_sorts(ours, n):
    k = [torch.randint(0, 1 << 31, (n,), device=DEV).to(torch.int32) for _ in range(2)]
    x = [torch.rand(n, device=DEV) - 0.5 for _ in range(2)]
    wide = [torch.rand(n, dtype=torch.float64, device=DEV) - 0.5 for _ in range(2)]
    out, kept, order = torch.empty_like(x[0]), torch.empty_like(k[0]), torch.empty(n, dtype=torch.int64, device=DEV)
    sorted_wide = torch.empty_like(wide[0])
    integers, floats, pairs = (ours(f"rows_sort_{name}") for name in ("u32", "f32", "pairs"))
    keys_u32, keys_f32, keys_f64 = (ours(f"rows_sort_keys_{name}") for name in ("u32", "f32", "f64"))
    times = dict(
        sort_keys_u32=lambda i: keys_u32(k[i % 2].view(torch.uint32), kept.view(torch.uint32)),
        sort_keys_f32=lambda i: keys_f32(x[i % 2], out),
        sort_keys_f64=lambda i: keys_f64(wide[i % 2], sorted_wide),
        sort_u32=lambda i: integers(k[i % 2].view(torch.uint32), kept.view(torch.uint32), order),
        sort_f32=lambda i: floats(x[i % 2], out, order),
        sort_pairs=lambda i: pairs(k[i % 2].view(torch.uint32), x[i % 2], kept.view(torch.uint32), out),
        torch_sort=lambda i: torch.sort(x[i % 2], stable=True),
    )
    return dict(n=n) | {name: round(timed(f, 5), 4) for name, f in times.items()}


def time_groups(ours, n):
    x = torch.rand(n, device=DEV)
    of_bytes = torch.randint(0, 256, (n,), device=DEV).to(torch.uint8)
    counts = torch.empty(256, dtype=torch.int64, device=DEV)
    row = dict(n=n)
    histogram = ours("rows_histogram_256")
    row["histogram_256"] = round(timed(lambda i: histogram(of_bytes, counts), 5), 4)
    row["bincount"] = round(timed(lambda i: of_bytes.bincount(minlength=256), 5), 4)
    for groups in (1, 65536):
        group = torch.randint(0, groups, (n,), device=DEV)
        found, sums, means = torch.empty(groups, dtype=torch.int64, device=DEV), torch.empty(groups, device=DEV), torch.empty(groups, device=DEV)
        statistics = ours("rows_group_statistics")
        row[f"group_statistics_{groups}"] = round(timed(lambda i: statistics(x, group, groups, found, sums, means), 5), 4)
        row[f"index_add_{groups}"] = round(timed(lambda i: sums.index_add_(0, group, x), 5), 4)
        ours.forget()
    return row


def time_segments(ours, n):
    row, x = dict(n=n), torch.rand(n, device=DEV)
    sums_of = ours("rows_segment_sums")
    for length in (16, 5000):
        count = n // length
        offsets = (torch.arange(count + 1, device=DEV) * length)
        sums = torch.empty(count, device=DEV)
        row[f"segment_sums_{length}"] = round(timed(lambda i: sums_of(x, offsets, sums), 5), 4)
        row[f"segment_reduce_{length}"] = round(timed(lambda i: torch.segment_reduce(x, "sum", offsets=offsets, axis=0), 2), 4)
        ours.forget()
    return row


def time_csr(ours, rows):
    lengths = csr_rows(rows)
    offsets = offsets_of(lengths)
    count = int(offsets[-1])
    columns, values = torch.randint(0, rows, (count,), device=DEV), torch.rand(count, device=DEV)
    x, out = torch.rand(rows, device=DEV), torch.empty(rows, device=DEV)
    by_vector = ours("rows_csr_by_vector")
    matrix = torch.sparse_csr_tensor(offsets, columns, values, (rows, rows))
    by_vector(offsets, columns, values, x, out)
    error = float((out - matrix @ x).abs().max() / out.abs().max())
    row = dict(rows=rows, elements=count, longest=int(lengths.max()), error=error)
    row["csr_by_vector"] = round(timed(lambda i: by_vector(offsets, columns, values, x, out), 5), 4)
    row["cusparse"] = round(timed(lambda i: matrix @ x, 5), 4)
    return row


def times_of_cub():
    """The times of CUB's sorts by their lengths."""
    lines = subprocess.run(sys.argv[3:4], capture_output=True, check=True, text=True).stdout.splitlines() if sys.argv[3:] else []
    return {row["n"]: row for row in map(json.loads, lines)}


def main():
    cub = times_of_cub()
    torch.cuda.set_stream(torch.cuda.Stream())
    library = Ours(*sys.argv[1:3])

    def ours(name):
        return library.function(name)

    ours.forget = library.forget

    def show(row):
        print(json.dumps(row), flush=True)
        torch.cuda.synchronize()
        library.forget()

    show(dict(device=torch.cuda.get_device_name(0)))
    for n in SIZES:
        show(check_filters(ours, n))
        show(check_sorts(ours, n))
    for n, groups in ((1, 3), (5000, 7), (1 << 20, 2), (1 << 20, 300)):
        show(check_groups(ours, n, groups))
    show(check_segments(ours))
    for n in (1 << 16, 1 << 20, 1 << 26):
        show(time_filters(ours, n))
        show(time_sorts(ours, n) | cub.get(n, {}))
        show(time_groups(ours, n))
        show(time_segments(ours, n))
    show(time_csr(ours, 10**6))


if __name__ == "__main__":
    main()
