"""Matrix products, by tensor cores and in the fixed order, beside PyTorch in one process: milliseconds a call on one GPU, medians of 7 x 20 calls between events.

    python3 torch_products.py LIBRARY PACKAGE [f32] [f16_tensor] .. > products.jsonl

LIBRARY is libarraygpu, PACKAGE the library of `rows-gen`. `torch_ms` is PyTorch without compilation (cuBLAS), of f32 with TF32 allowed, which
`f32_ms` does without; `compile_ms` is `torch.compile`, where there is more than a product. `of_torch` is PyTorch's time over ours. `error` is the greatest difference from a
product in f64, in units of the greatest element, and `torch_error` that of PyTorch.
"""

import json
import sys

import torch
import torch.nn.functional as F
from torch_ours import Ours, timed

torch.manual_seed(1)
DEV = "cuda"
KINDS = {"f32": torch.float32, "f16_tensor": torch.float16, "bf16_tensor": torch.bfloat16, "tf32_tensor": torch.float32}
SIZES = [(n, n, n) for n in (512, 1024, 2048, 4096, 8192)] + [(8192, 8192, 1024), (1024, 1024, 8192), (4095, 4096, 4095), (4104, 4104, 4104)]


def product(a, b):
    return a @ b


def transposed(a, b):
    return a @ b.t()


def bias_gelu(a, b, bias):
    return F.gelu(a @ b + bias)


CASES = [("matmul_{}", product, False), ("matmul_bt_{}", transposed, False), ("bias_gelu_{}", bias_gelu, True)]
LONG = [(65536, 1024, 1), (65536, 1024, 4), (4, 1024, 65536), (64, 1 << 20, 64)]
BATCHES = [(16, 1024, 1024, 1024), (256, 128, 128, 128), (64, 512, 64, 512)]


def tensors(f, shape, has_bias, dtype):
    *planes, m, k, n = shape
    a = torch.randn(*planes, m, k, device=DEV).to(dtype)
    b = torch.randn(*planes, *((n, k) if f is transposed else (k, n)), device=DEV).to(dtype)
    bias = [torch.randn(n, device=DEV).to(dtype)] if has_bias else []
    return [a, b] + bias, torch.empty(*planes, m, n, device=DEV, dtype=dtype)


def measure(ours, name, f, has_bias, shape, dtype, tf32):
    args, out = tensors(f, shape, has_bias, dtype)
    row = dict(name=f"{name} {'x'.join(map(str, shape))}")
    torch.backends.cuda.matmul.allow_tf32 = tf32
    row["torch_ms"] = round(timed(lambda i: f(*args)), 4)
    if has_bias:
        torch._dynamo.reset()
        g = torch.compile(f)
        row["compile_ms"] = round(timed(lambda i: g(*args)), 4)
    theirs = f(*args)
    if tf32:
        torch.backends.cuda.matmul.allow_tf32 = False
        row["f32_ms"] = round(timed(lambda i: f(*args)), 4)
    if ours:
        run = ours.function("rows_" + name)
        row["ours_ms"] = round(timed(lambda i: run(*args, out)), 4)
        first = run(*args, out).clone()
        row["same_bits"] = bool((run(*args, out).view(torch.uint8) == first.view(torch.uint8)).all())
        expected = f(*(x.double() for x in args))
        greatest = expected.abs().max()
        row["error"], row["torch_error"] = (float((x.double() - expected).abs().max() / greatest) for x in (first, theirs))
        row.update({f"of_{k}": round(row[f"{k}_ms"] / row["ours_ms"], 3) for k in ("torch", "compile") if f"{k}_ms" in row})
        operations = 2e-9
        for extent in shape:
            operations *= extent
        row["tflops"] = round(operations / row["ours_ms"], 1)
        torch.cuda.synchronize()
        ours.forget()
    print(json.dumps(row), flush=True)


def main():
    torch.cuda.set_stream(torch.cuda.Stream())
    ours = Ours(*sys.argv[1:3]) if len(sys.argv) > 2 else None
    wanted = sys.argv[3:] or KINDS
    print(json.dumps(dict(device=torch.cuda.get_device_name(0), torch=torch.__version__)), flush=True)
    for kind in wanted:
        cases = [(name.format(kind), f, bias, shape) for name, f, bias in CASES for shape in SIZES]
        if kind == "f32":
            cases += [("matmul_f32", product, False, shape) for shape in LONG]
        cases += [(f"batches_{kind}", product, False, shape) for shape in BATCHES]
        for name, f, has_bias, shape in cases:
            measure(ours, name, f, has_bias, shape, KINDS[kind], kind == "tf32_tensor")


if __name__ == "__main__":
    main()
