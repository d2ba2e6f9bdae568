"""NumPy's and numexpr's rows of the benchmark: python_rows.py CASE N THREADS prints `impl median best ok` a line, in milliseconds.

Nothing is printed for what is not installed. NumPy runs elementwise on one thread; its rows appear with one thread only.
"""

import statistics
import sys
import time

ROUNDS = 9
SPENCER = [w / 320 for w in (-3, -6, -5, 3, 21, 46, 67, 74, 67, 46, 21, 3, -5, -6, -3)]


def numpy_cases(np, x, y, z, out, tmp):
    """What a user who cares about temporaries would write."""

    def saxpy():
        np.multiply(x, np.float32(2.5), out=out)
        return np.add(out, y, out=out)

    def expr3():
        f = np.float32
        a, b, c = x, y, z
        return (b - (a + f(3.75) * c) + c - f(0.24) * b) / f(27.51) + a - f(0.25) * b

    def rmse():
        np.subtract(x, y, out=tmp)
        return np.sqrt(np.dot(tmp, tmp) / np.float32(len(x)))

    def average():
        return np.convolve(x, np.array(SPENCER, dtype=np.float32), "valid")  # the weights are symmetric

    return {"saxpy": saxpy, "expr3": expr3, "sum": lambda: x.sum(), "dot": lambda: np.dot(x, y), "rmse": rmse, "average": average}


def numexpr_cases(ne, np, x, y, z, out):
    """numexpr has no stencil over slices of its own: the 15 slices are 15 inputs."""
    f = np.float32
    names = {"x": x, "y": y, "z": z}
    names.update(k0=f(2.5), k1=f(3.75), k2=f(0.24), k3=f(27.51), k4=f(0.25))
    slices = {f"s{i}": x[i : len(x) - 14 + i] for i in range(15)}
    slices.update({f"w{i}": f(w) for i, w in enumerate(SPENCER)})
    average = " + ".join(f"w{i} * s{i}" for i in range(15))

    def evaluate(text, values, into=None):
        return lambda: ne.evaluate(text, values, {}, out=into)

    return {
        "saxpy": evaluate("k0 * x + y", names, out),
        "expr3": evaluate("(y - (x + k1 * z) + z - k2 * y) / k3 + x - k4 * y", names, out),
        "sum": evaluate("sum(x)", names),
        "dot": evaluate("sum(x * y)", names),
        "rmse": lambda: np.sqrt(ne.evaluate("sum((x - y) * (x - y))", names, {}) / f(len(x))),
        "average": evaluate(average, slices, out[: len(x) - 14]),
    }


def expected(np, case, x, y, z):
    a, b, c = (v.astype(np.float64) for v in (x, y, z))
    if case == "saxpy":
        return 2.5 * a + b
    if case == "expr3":
        return (b - (a + 3.75 * c) + c - 0.24 * b) / 27.51 + a - 0.25 * b
    if case == "sum":
        return a.sum()
    if case == "dot":
        return a @ b
    if case == "rmse":
        return np.sqrt(((a - b) ** 2).mean())
    return np.convolve(a, SPENCER, "valid")


def milliseconds(f):
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        f()
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times), min(times)


def main(case, n, threads):
    try:
        import numpy as np
    except ImportError:
        return
    rng = np.random.default_rng(1)
    x, y, z = (rng.random(n, dtype=np.float32) for _ in range(3))
    out, tmp = np.empty_like(x), np.empty_like(x)
    want = expected(np, case, x, y, z)
    found = []
    if threads == 1:
        found.append(("numpy", numpy_cases(np, x, y, z, out, tmp)))
    try:
        import numexpr as ne

        ne.set_num_threads(threads)
        found.append(("numexpr", numexpr_cases(ne, np, x, y, z, out)))
    except ImportError:
        pass
    for impl, functions in found:
        # sums in a single accumulator (numexpr's, and NumPy's dot without a BLAS) are 2 % off at this length; still the right function
        ok = np.allclose(functions[case](), want, rtol=0.05 if np.ndim(want) == 0 else 1e-5, atol=2e-6)
        print(impl, *milliseconds(functions[case]), int(ok), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
