"""Each function of two packages of `nvcc_package.py`: our PTX beside nvcc's code of the same kernels.

    python3 torch_nvcc.py LIBRARY FOLDER [FUNCTION ..]

LIBRARY is libarraygpu, FOLDER what `nvcc_package.py` wrote. One row of JSON for each function: `ours_ms` and `nvcc_ms` are medians of batches in turn, `same`
says whether all results have the same bits, and the kernels that the call may launch have registers, spilled bytes, instructions and seconds to
compile of both. A call has the host's work in it, the same on both sides.
"""

import ctypes
import json
import pathlib
import sys

import torch
from torch_ours import Ours

TYPES = {"f32": torch.float32, "f64": torch.float64, "i32": torch.int32, "i64": torch.int64, "u32": torch.uint32, "u8": torch.uint8}
TYPES |= {"i8": torch.int8, "i16": torch.int16, "f16": torch.float16, "bf16": torch.bfloat16}
BATCHES = 7


def argument(given):
    extents = given["extents"]
    if not extents:
        return {"f32": ctypes.c_float, "f64": ctypes.c_double}.get(given["type"], lambda x: ctypes.c_int64(8))(0.5)
    ty = TYPES[given["type"]]
    if ty.is_floating_point:
        return torch.rand(extents, device="cuda").to(ty)
    return torch.randint(0, 100, extents, device="cuda").to(ty)


def result(described, case):
    """An array for a result, whose extents the manifest has as formulas of the parameters'."""
    of = {a["name"]: a["extents"] for a in case["arguments"]}
    words = {"rows": lambda x: x[-2], "cols": lambda x: x[-1], "len": lambda x: x[0]}
    words |= {"extent": lambda x, axis: x[axis], "select": lambda c, a, b: a if c else b, "min": min, "max": max}
    extents = [eval(e.replace("/", "//"), words | of) for e in described.get("extent", ["1"])]
    return torch.zeros(extents, dtype=TYPES[described["type"]], device="cuda")


def batch(f, n):
    a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    a.record()
    for _ in range(n):
        f()
    b.record()
    torch.cuda.synchronize()
    return a.elapsed_time(b) / n


def measured(packages, case, function):
    arguments = [argument(a) for a in case["arguments"]]
    calls, outs = [], []
    for package in packages:
        outs.append([result(r, case) for r in function["results"]])
        calls.append(lambda f=package.function(function["symbol"]), r=outs[-1]: f(*arguments, *r))
    for call in calls:
        call()
    torch.cuda.synchronize()
    same = all(torch.equal(a.view(torch.uint8), b.view(torch.uint8)) for a, b in zip(*outs))
    n = max(3, min(100, int(4 / max(batch(calls[0], 2), 1e-3))))
    times = [[], []]
    for turn in range(BATCHES):
        for which in (0, 1) if turn % 2 else (1, 0):
            times[which].append(batch(calls[which], n))
    ours, nvcc = (sorted(t)[BATCHES // 2] for t in times)
    for package in packages:
        package.forget()
    return {"ours_ms": round(ours, 5), "nvcc_ms": round(nvcc, 5), "ratio": round(nvcc / ours, 4), "same": same}


def main():
    folder, wanted = pathlib.Path(sys.argv[2]), sys.argv[3:]
    torch.cuda.set_stream(torch.cuda.Stream())
    kernels = json.loads((folder / "kernels.json").read_text())
    packages = [Ours(sys.argv[1], str(next((folder / p / "lib").glob("lib*.so")))) for p in ("ptx", "nvcc")]
    manifest = json.loads(next((folder / "ptx/share").glob("*/manifest.json")).read_text())
    functions = {f["name"]: f for f in manifest["functions"]}
    for case in json.loads((folder / "cases.json").read_text()):
        if wanted and case["function"] not in wanted:
            continue
        row = {"function": case["function"], "device": torch.cuda.get_device_name()}
        try:
            row |= measured(packages, case, functions[case["function"]])
        except (RuntimeError, KeyError, AttributeError) as e:
            row["left_out"] = str(e)[:200]
        row["kernels"] = {k: kernels[k] for k in case["kernels"] if k in kernels}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
