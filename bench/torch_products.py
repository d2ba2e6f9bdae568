"""Matrix products by tensor cores, beside PyTorch in one process: milliseconds a call on one GPU, medians of 7 x 20 calls between events.

    python3 torch_products.py LIBRARY PACKAGE > products.jsonl

LIBRARY is libarraygpu, PACKAGE the library of `rows-gen`. `torch_ms` is PyTorch without compilation (cuBLAS), of f32 with TF32 allowed, which
`f32_ms` does without; `compile_ms` is `torch.compile`. `of_torch` is PyTorch's time over ours. `error` is the greatest difference from a
product in f64, in units of the greatest element, and `torch_error` that of PyTorch.
"""

import json
import sys

import torch
import torch.nn.functional as F
from torch_ours import Ours, timed

torch.manual_seed(1)
DEV = "cuda"
KINDS = {"f16": torch.float16, "bf16": torch.bfloat16, "tf32": torch.float32}
SIZES = [(n, n, n) for n in (256, 512, 1024, 2048, 4096, 8192)] + [(8192, 8192, 1024), (1024, 1024, 8192), (4095, 4096, 4095), (4104, 4104, 4104)]


def product(a, b):
    return a @ b


def transposed(a, b):
    return a @ b.t()


def bias_gelu(a, b, bias):
    return F.gelu(a @ b + bias)


CASES = [("matmul_{}_tensor", product, False), ("matmul_bt_{}_tensor", transposed, False), ("bias_gelu_{}_tensor", bias_gelu, True)]


def main():
    torch.cuda.set_stream(torch.cuda.Stream())
    ours = Ours(*sys.argv[1:3]) if len(sys.argv) > 2 else None
    print(json.dumps(dict(device=torch.cuda.get_device_name(0), torch=torch.__version__)), flush=True)
    for kind, dtype in KINDS.items():
        for name, f, has_bias in CASES:
            for m, k, n in SIZES:
                a = torch.randn(m, k, device=DEV).to(dtype)
                b = torch.randn(*((n, k) if f is transposed else (k, n)), device=DEV).to(dtype)
                args = [a, b] + ([torch.randn(n, device=DEV).to(dtype)] if has_bias else [])
                out = torch.empty(m, n, device=DEV, dtype=dtype)
                row = dict(name=f"{name.format(kind)} {m}x{k}x{n}")
                torch.backends.cuda.matmul.allow_tf32 = True
                row["torch_ms"] = round(timed(lambda i: f(*args)), 4)
                torch._dynamo.reset()
                g = torch.compile(f)
                row["compile_ms"] = round(timed(lambda i: g(*args)), 4)
                theirs = f(*args)
                if kind == "tf32":
                    torch.backends.cuda.matmul.allow_tf32 = False
                    row["f32_ms"] = round(timed(lambda i: f(*args)), 4)
                if ours:
                    run = ours.function("rows_" + name.format(kind))
                    row["ours_ms"] = round(timed(lambda i: run(*args, out)), 4)
                    first = run(*args, out).clone()
                    row["same_bits"] = bool((run(*args, out).view(torch.uint8) == first.view(torch.uint8)).all())
                    expected = f(*(x.double() for x in args))
                    greatest = expected.abs().max()
                    row["error"], row["torch_error"] = (float((x.double() - expected).abs().max() / greatest) for x in (first, theirs))
                    row["of_torch"], row["of_compile"] = (round(row[k] / row["ours_ms"], 3) for k in ("torch_ms", "compile_ms"))
                    row["tflops"] = round(2e-9 * m * n * k / row["ours_ms"], 1)
                    torch.cuda.synchronize()
                    ours.forget()
                    del expected
                print(json.dumps(row), flush=True)
                del a, b, args, out, theirs


if __name__ == "__main__":
    main()
