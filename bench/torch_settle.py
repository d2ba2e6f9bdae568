"""Iterations that a condition ends (cpp-examples/generators/src/settle.rs, rof.rs), in one process: microseconds a check and a step on one GPU, medians
of 5 calls by the host's clock, because a call waits for its end.

    python3 torch_settle.py LIBRARY PACKAGE > settle.jsonl

LIBRARY is libarraygpu, PACKAGE the library of `rows-gen`. `gpu/settle.cu` has the first loop by hand, decided in each way.
"""

import json
import sys
import time

import torch
from torch_ours import Ours

torch.manual_seed(1)
DEV = "cuda"


def measured(run, steps):
    run()
    times = []
    for _ in range(5):
        torch.cuda.synchronize()
        before = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - before) * 1e6)
    return sorted(times)[2], int(steps.item())


def row(name, every, time_us, steps):
    checks = steps // every + 1
    times = dict(us_a_check=round(time_us / checks, 2), us_a_step=round(time_us / max(steps, 1), 3))
    print(json.dumps(dict(name=name, steps=steps, checks=checks) | times), flush=True)


def main():
    torch.cuda.set_stream(torch.cuda.Stream())
    ours = Ours(*sys.argv[1:3])
    print(json.dumps(dict(device=torch.cuda.get_device_name(0))), flush=True)
    steps = torch.zeros(1, dtype=torch.int64, device=DEV)
    for n in (1000, 100_000, 1_000_000, 1 << 24):
        for every, name in ((1, "scaled_until"), (10, "scaled_until_10")):
            ours.forget()
            f = ours.function(f"rows_{name}")
            x = torch.full((n,), 2.0, device=DEV)
            out = torch.empty_like(x)
            checks = 1000 if n <= 1_000_000 else 300
            for wanted in (checks * every, 3 * every):
                factor = 0.5 ** (1 / wanted)
                row(f"{name} {n}", every, *measured(lambda: f(x, factor, out, steps), steps))
    for shape, eps in (((512, 512), 0.001), ((4096, 4096), 0.01)):
        ours.forget()
        m = torch.rand(*shape, device=DEV)
        out = torch.empty_like(m)
        f = ours.function("rows_jacobi_until")
        row(f"jacobi_until {shape[0]}", 8, *measured(lambda: f(m, eps, out, steps), steps))
    for shape in ((512, 512), (2048, 2048)):
        ours.forget()
        noisy = torch.rand(*shape, device=DEV) * 255
        zero = torch.zeros_like(noisy)
        outs = [torch.empty_like(noisy) for _ in range(3)]
        f = ours.function("rows_rof_until")
        row(f"rof_until {shape[0]}", 10, *measured(lambda: f(noisy, noisy, zero, zero, 20.0, 0.25, 0.5, 0.5, *outs, steps), steps))


if __name__ == "__main__":
    main()
