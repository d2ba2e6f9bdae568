"""The functions of `rows-gen` on the CPU and on a GPU, with special numbers: the same bits.

    python3 torch_bits.py LIBRARY PACKAGE [CALLS]

LIBRARY is libarraygpu, PACKAGE the library of `rows-gen`, CALLS the number of calls of each function (60). It prints the calls that differ, and how
many do.
"""

import ctypes
import random
import sys

import torch
from torch_ours import Call, Options, Ours

ROWS = [1, 2, 3, 17, 33, 64, 65, 100, 128, 129, 256, 257, 500, 513, 1000, 1024, 1025, 2048, 2049, 3000, 4097, 8192, 9000, 16384, 20000, 32768, 40000]
COLUMNS = [1, 2, 3, 4, 5, 8, 12, 16, 17, 20, 31, 32, 36, 64, 100, 128, 129, 260]
SPECIAL = (float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e-42, 1e-310)
# with the shape of the result
FUNCTIONS = {name: lambda n, m: (n, m) for name in ("softmax", "softmax_f64", "layer_norm", "shares", "softmax_cols", "normalise_cols", "standardise_cols")}
FUNCTIONS |= {name: lambda n, m: (n, m) for name in ("separable17_clamped", "unsharp17", "u8_box3", "u8_box3_wrapped")}
FUNCTIONS |= {"std_rows": lambda n, m: (n,), "std_cols": lambda n, m: (m,), "separable17": lambda n, m: (n - 16, m - 16)}


class OnCpu(Ours):
    """The functions of the same package on the CPU."""

    def __init__(self, gpu):
        self.lib, self.package, self.views = gpu.lib, gpu.package, {}
        self.context = ctypes.c_void_p()
        options = Options(size=ctypes.sizeof(Options), device=1)
        self.check(self.lib.agpu_context_create(ctypes.byref(options), ctypes.byref(self.context)))

    def call(self, name, x, out):
        call = Call(size=ctypes.sizeof(Call), context=self.context)
        self.check(getattr(self.package, name)(ctypes.byref(call), self.view(x), self.view(out)))


def argument(name):
    n, m = random.choice(ROWS), random.choice(COLUMNS)
    if "17" in name:
        n, m = random.randrange(17, 300), random.choice([17, 32, 64, 100, 128, 130, 256, 300, 512])
    elif "cols" not in name and random.random() < 0.5:
        n, m = m, n
    if "u8" in name:
        return torch.randint(0, 256, (n, m), dtype=torch.uint8)
    x = torch.randn(n, m, dtype=torch.float64 if "f64" in name else torch.float32)
    if random.random() < 0.3:
        for value in SPECIAL:
            x.view(-1)[random.randrange(x.numel())] = value
    return x


def main():
    gpu = Ours(*sys.argv[1:3])
    cpu = OnCpu(gpu)
    calls = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    torch.cuda.set_stream(torch.cuda.Stream())
    random.seed(5)
    differ = 0
    for name, shape in FUNCTIONS.items():
        for _ in range(calls):
            x = argument(name)
            ours, theirs = (torch.empty(*shape(*x.shape), dtype=x.dtype, device=device) for device in ("cpu", "cuda"))
            cpu.call(f"rows_{name}", x, ours)
            gpu.function(f"rows_{name}")(x.cuda(), theirs)
            torch.cuda.synchronize()
            if not torch.equal(ours.view(torch.uint8), theirs.cpu().view(torch.uint8)):
                differ += 1
                print(name, *x.shape, "differ")
            gpu.forget()
            cpu.forget()
    print(calls * len(FUNCTIONS), "calls,", differ, "differ")
    sys.exit(differ != 0)


if __name__ == "__main__":
    main()
