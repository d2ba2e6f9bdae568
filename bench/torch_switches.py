"""Functions of packages that differ in one optimisation (`--without NAME` of a generator), beside the package with all of them.

    python3 torch_switches.py LIBRARY FOLDER

LIBRARY is libarraygpu, FOLDER has the package `base`, others by the names of what they leave out, and `cases.json` of `nvcc_package.py`. One row of
JSON for each function: medians of batches in turn, and whether all results have the same bits.
"""

import json
import pathlib
import sys

import torch
import torch_nvcc as nvcc
from torch_ours import Ours


def measured(packages, case, function):
    arguments = [nvcc.argument(a) for a in case["arguments"]]
    calls, outs = {}, {}
    for name, package in packages.items():
        outs[name] = [nvcc.result(r, case) for r in function["results"]]
        calls[name] = lambda f=package.function(function["symbol"]), r=outs[name]: f(*arguments, *r)
        calls[name]()
    torch.cuda.synchronize()
    same = all(torch.equal(a.view(torch.uint8), b.view(torch.uint8)) for other in outs.values() for a, b in zip(outs["base"], other))
    n = max(3, min(100, int(3 / max(nvcc.batch(calls["base"], 2), 1e-3))))
    times = {name: [] for name in calls}
    for turn in range(nvcc.BATCHES):
        for name in list(calls)[:: 1 if turn % 2 else -1]:
            times[name].append(nvcc.batch(calls[name], n))
    for package in packages.values():
        package.forget()
    return {"same": same, "left_out_ms": {name: round(sorted(t)[nvcc.BATCHES // 2], 5) for name, t in times.items()}}


def main():
    folder = pathlib.Path(sys.argv[2])
    torch.cuda.set_stream(torch.cuda.Stream())
    libraries = {p.parts[-3]: str(p) for p in sorted(folder.glob("*/lib/lib*.so"))}
    packages = {name: Ours(sys.argv[1], library) for name, library in libraries.items()}
    manifest = json.loads(next((folder / "base/share").glob("*/manifest.json")).read_text())
    functions = {f["name"]: f for f in manifest["functions"]}
    for case in json.loads((folder / "cases.json").read_text()):
        row = {"function": case["function"], "device": torch.cuda.get_device_name()}
        try:
            row |= measured(packages, case, functions[case["function"]])
        except (RuntimeError, KeyError, AttributeError) as e:
            row["failed"] = str(e)[:200]
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
