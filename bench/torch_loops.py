"""Loops inside of an element, beside CUDA kernels by hand in one process: milliseconds a call on one GPU, medians of 7 x 20 calls between events.

    nvcc -O3 -std=c++17 -arch=native -shared -cudart static -Xcompiler -fPIC -o loops.so gpu/loops.cu
    nvcc -fmad=false (the same) -o loops_exact.so gpu/loops.cu
    python3 torch_loops.py loops.so loops_exact.so [LIBRARY PACKAGE] > rows.jsonl

LIBRARY is libarraygpu, PACKAGE the library of `rows-gen`. `exact` peers are compiled without contraction: each of their operations rounds, as ours, so they
are the same formula, and the bar of 1.0 is against them (`of_exact`); `peer` rows say what contraction would gain. Peers have the best block size of three.
All results are compared with the formula in f64, or with its properties. Without LIBRARY and PACKAGE only the peers' rows are printed.
"""

import ctypes
import json
import sys

import torch
from torch_ours import Ours, timed

torch.manual_seed(1)
DEV = "cuda"
VELOCITIES = [(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, -1), (-1, 1)]
WEIGHTS = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4


def passed(x):
    """An argument of a peer: an array, several arrays, or a number."""
    if isinstance(x, torch.Tensor):
        return ctypes.c_void_p(x.data_ptr())
    if isinstance(x, list):
        return (ctypes.c_void_p * len(x))(*(y.data_ptr() for y in x))
    return ctypes.c_int(x)


BLOCKS = (128, 256, 512)


def peer(library, name, threads, *arguments):
    function, given = getattr(library, f"peer_{name}"), [passed(x) for x in (*arguments, threads)]
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

    def run():
        if (status := function(*given, stream)) != 0:
            raise RuntimeError(f"{name}: CUDA error {status}")

    return run


def mandelbrot(size):
    cx = torch.linspace(-2.0, 0.5, size, device=DEV)
    cy = torch.linspace(-1.25, 1.25, size, device=DEV)
    out = torch.zeros(size, size, device=DEV, dtype=torch.int32)

    def difference(out):
        # of every 16th row and column, the share of pixels with other numbers: points at the border change with any rounding
        x0, y0 = cx[::16].double()[None, :], cy[::16].double()[:, None]
        x, y = torch.zeros_like(x0 + y0), torch.zeros_like(x0 + y0)
        k = torch.zeros_like(x)
        for _ in range(256):
            inside = x * x + y * y <= 4
            k += inside
            x, y = torch.where(inside, x * x - y * y + x0, x), torch.where(inside, 2 * x * y + y0, y)
        return float((out[::16, ::16] != k).double().mean())

    return dict(name="mandelbrot", inputs=[cx, cy], outs=[out], peers=["mandelbrot"], sizes=[size, size], check=difference, most=0.05)


def libor(paths):
    z = torch.randn(40, paths, device=DEV)
    sigma = torch.full((80,), 0.2, device=DEV)
    out = torch.zeros(paths, device=DEV)

    def difference(out):
        few = min(paths, 4096)
        rates = [torch.full((few,), 0.05, device=DEV, dtype=torch.float64) for _ in range(80)]
        vol = [float(v) for v in sigma.double().cpu()]
        for n in range(40):
            noise, drift = 0.5 * z[n, :few].double(), 0.0
            for i in range(n + 1, 80):
                by = 0.25 * vol[i - 1 - n]
                drift = drift + by * rates[i] / (1 + 0.25 * rates[i])
                rates[i] = rates[i] * (by * drift + 4 * by * (noise - 0.5 * by)).exp()
        bond, annuity, value = 1.0, 0.0, 0.0
        for k in range(1, 41):
            bond = bond / (1 + 0.25 * rates[39 + k])
            annuity = annuity + 0.25 * bond
            if k in (4, 8, 20, 28, 40):
                for swap in (0.045, 0.05, 0.055):
                    value = value + 100 * (1 - bond - swap * annuity).clamp(min=0)
        for rate in rates[:40]:
            value = value / (1 + 0.25 * rate)
        return float((out[:few] - value).abs().max())

    return dict(name="libor", inputs=[z, sigma], outs=[out], peers=["libor", "libor_registers"], blocks=(64, 128, 256), sizes=[paths], check=difference, most=2e-2)


def d2q9(rows, cols):
    f = [torch.rand(rows, cols, device=DEV) + 0.5 for _ in range(9)]
    g = [torch.zeros(rows, cols, device=DEV) for _ in range(9)]

    def difference(*g):
        few = 64
        come = [torch.roll(x, v, (0, 1))[:few, :few].double() for x, v in zip(f, VELOCITIES)]
        density = sum(come)
        vy, vx = (sum(v[a] * x for x, v in zip(come, VELOCITIES)) / density for a in (0, 1))
        worst = 0.0
        for x, out, (y0, x0), w in zip(come, g, VELOCITIES, WEIGHTS):
            along = y0 * vy + x0 * vx
            rest = density * w * (1 + 3 * along + 4.5 * along**2 - 1.5 * (vy**2 + vx**2))
            worst = max(worst, float((x + 0.625 * (rest - x) - out[:few, :few]).abs().max()))
        return worst

    return dict(name="d2q9", inputs=f, outs=g, peers=["d2q9"], lists=True, sizes=[rows, cols], check=difference, most=1e-4)


def tridiagonal(systems):
    a, c, d = (torch.rand(8, systems, device=DEV) * 2 - 1 for _ in range(3))
    b = torch.rand(8, systems, device=DEV) + 3
    x = torch.zeros(8, systems, device=DEV)

    def difference(*x):
        x = (x[0] if len(x) == 1 else torch.stack(x)).double()
        sides = b * x
        sides[1:] += a[1:] * x[:-1]
        sides[:-1] += c[:-1] * x[1:]
        return float((sides - d).abs().max())

    return dict(name="tridiagonal", inputs=[a, b, c, d], outs=[x], parts=True, peers=["tridiagonal"], sizes=[systems], check=difference, most=1e-4)


def kmeans_assign(points):
    x = torch.rand(points, 16, device=DEV)
    centres = torch.rand(8, 16, device=DEV)
    out = torch.zeros(points, device=DEV, dtype=torch.int64)

    def difference(out):
        d = torch.cdist(x[: 1 << 16].double(), centres.double())
        return float((d.gather(1, out[: 1 << 16, None])[:, 0] - d.min(1).values).max())

    functions = ["kmeans_assign", "kmeans_assign_staged"]
    return dict(name="kmeans_assign", inputs=[x, centres], outs=[out], peers=["kmeans_assign"], functions=functions, sizes=[points], check=difference, most=1e-4)


def mss(n):
    x = torch.randint(-1000, 1000, (n,), device=DEV, dtype=torch.int32)
    out = torch.zeros(1, device=DEV, dtype=torch.int32)

    def difference(out):
        sums = torch.cat([torch.zeros(1, device=DEV, dtype=torch.int64), x.long().cumsum(0)])
        return abs(int((sums - sums.cummin(0).values).max()) - int(out))

    return dict(name="mss", inputs=[x], outs=[out], peers=["mss"], functions=["mss_device"], sizes=[n], check=difference, most=0)


CASES = [
    lambda: mandelbrot(4096),
    lambda: libor(1 << 18),
    lambda: d2q9(4096, 4096),
    lambda: d2q9(8192, 4096),
    lambda: tridiagonal(1 << 21),
    lambda: kmeans_assign(1 << 22),
    lambda: mss(1 << 28),
]


def copy_rate():
    """Bytes a millisecond that a copy of 512 MiB reads and writes."""
    x = torch.zeros(1 << 27, device=DEV)
    y = torch.zeros_like(x)
    return 2 * x.nbytes / timed(lambda i: y.copy_(x))


def main():
    torch.cuda.set_stream(torch.cuda.Stream())
    libraries = [ctypes.CDLL(f"{'' if '/' in file else './'}{file}") for file in sys.argv[1:3]]
    ours = Ours(*sys.argv[3:5]) if len(sys.argv) > 4 else None
    print(json.dumps(dict(device=torch.cuda.get_device_name(0), torch=torch.__version__)), flush=True)
    rate = copy_rate()
    for make in CASES:
        case = make()
        inputs, outs = case["inputs"], case["outs"]
        row = dict(name=f"{case['name']} {'x'.join(map(str, case['sizes']))}")
        for name in case["peers"]:
            for library, kind in zip(libraries, ("peer", "exact")):
                arrays = [inputs, outs] if case.get("lists") else inputs + outs
                key = kind if name == case["name"] else f"{kind}_{name.removeprefix(case['name'] + '_')}"
                times = {}
                for threads in case.get("blocks", BLOCKS):
                    run = peer(library, name, threads, *arrays, *case["sizes"])
                    [x.zero_() for x in outs]
                    run()
                    torch.cuda.synchronize()
                    difference = case["check"](*outs)
                    if difference > case["most"]:
                        raise RuntimeError(f"{key} of {name}, {threads} threads: wrong by {difference}")
                    times[threads] = round(timed(lambda i: run()), 4)
                row[f"{key}_ms"], row[f"{key}_threads"] = min((ms, threads) for threads, ms in times.items())
        if ours:
            exact, results = [x.clone() for x in outs], list(outs[0]) if case.get("parts") else outs
            for name in case.get("functions", [case["name"]]):
                run = ours.function(f"rows_{name}")
                [x.zero_() for x in outs]
                run(*inputs, *results)
                torch.cuda.synchronize()
                own = dict(difference=case["check"](*outs))
                own["bits_of_exact"] = all(bool((a == b).all()) for a, b in zip(outs, exact))
                own["ms"] = round(timed(lambda i: run(*inputs, *results)), 4)
                for kind in ("peer", "exact"):
                    least = min(row[key] for key in row if key.startswith(kind) and key.endswith("_ms"))
                    own[f"of_{kind}"] = round(least / own["ms"], 3)
                own["of_copy"] = round(sum(x.nbytes for x in inputs + outs) / own["ms"] / rate, 3)
                row["ours" + name.removeprefix(case["name"])] = own
            torch.cuda.synchronize()
            ours.forget()
        print(json.dumps(row), flush=True)
        del case, inputs, outs
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
