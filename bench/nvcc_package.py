"""Two packages of one generator: machine code of our PTX, and of the same kernels printed as CUDA C++ and compiled by nvcc -O3.

    python3 nvcc_package.py GENERATOR FOLDER CUDA [FUNCTION ..]

CUDA is the folder of a toolkit (`bin/nvcc`, `bin/ptxas`). FOLDER gets the packages `ptx` and `nvcc`, what the compilers say about each kernel
(`kernels.json`), and the calls that `torch_nvcc.py` measures (`cases.json`). Only the kernels that these calls launch are compiled, found by
`--explain=json`; all others get a code that no driver loads, so that a call which launches one of them fails. Functions take arrays of the
sizes in `SIZES`, unless `SHAPES` has others. It needs no GPU.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ARCH = "sm_90"
SIZES = {1: (1 << 24,), 2: (4096, 4096), 3: (256, 256, 256)}
# beside a matrix a vector has one element for each row or column
BESIDE = 4096
SHAPES = {
    "mandelbrot": {"cx": (2048,), "cy": (2048,)},
    "kmeans_assign": {"x": (1 << 17, 16), "centres": (64, 16)},
    "kmeans_assign_staged": {"x": (1 << 17, 16), "centres": (64, 16)},
    "libor": {"z": (40, 1 << 18), "sigma": (80,)},
    "grey_interleaved": {"image": (3 << 23,)},
    "layer_norm": {"x": (16384, 2048)},
    "softmax": {"x": (8192, 2048)},
    "softmax_f64": {"x": (8192, 2048)},
    "batches_f32": {"a": (16, 1024, 1024), "b": (16, 1024, 1024)},
    "batches_f16_tensor": {"a": (16, 1024, 1024), "b": (16, 1024, 1024)},
    "batches_bf16_tensor": {"a": (16, 1024, 1024), "b": (16, 1024, 1024)},
    "batches_tf32_tensor": {"a": (16, 1024, 1024), "b": (16, 1024, 1024)},
}
SIGNATURE = re.compile(r"^func @(\w+)\((.*?)\) -> ", re.M)


def parameters(text):
    """Name, type and rank of each, of a signature of core IR."""
    found = re.findall(r"%?(\w+): (\[*)(\w+)\]*", text)
    return [(name, ty, len(brackets)) for name, brackets, ty in found]


def shapes(function, given):
    ranks = [rank for _, _, rank in given]
    size = lambda rank: (BESIDE,) if rank == 1 and max(ranks) > 1 else SIZES.get(rank, ())
    return {name: SHAPES.get(function, {}).get(name, size(rank)) for name, _, rank in given}


def serves(version, lengths):
    """Whether the conditions on the lengths of rows or columns may hold."""
    text = "; ".join(version["conditions"])
    most = [int(n) for n in re.findall(r"(?:segments|columns|rows) of up to (\d+)", text)]
    least = [int(n) for n in re.findall(r"sums of (\d+) elements or more", text)]
    multiples = [int(n) for n in re.findall(r"of a multiple of (\d+)", text)]
    return any(all(n <= m for m in most) and all(n >= m for m in least) and all(n % m == 0 for m in multiples) for n in lengths)


def launched(explained, shapes):
    """The kernels that a call may launch. Which version of an alternative runs is not explained: the first ones that may."""
    entries, lengths = set(), {n for extents in shapes.values() for n in extents}
    for kernel in explained["kernels"]:
        entries |= {k["entry"] for k in ((kernel["gpu"] or {}).get("launched") or {}).get("kernels", [])}
    for other in explained["alternatives"]:
        versions = (other["gpu"] or {}).get("versions", [])
        entries |= {v["entry"] for v in [v for v in versions if serves(v, lengths)][:2]}
    return sorted(entries)


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {done.stderr[-2000:]}")
    return done.stdout, done.stderr


def instructions(cubin):
    """The number of instructions of a cubin's only kernel without the padding behind it, by `text` sections of 16 bytes each."""
    data = cubin.read_bytes()
    at, count, strings = int.from_bytes(data[40:48], "little"), int.from_bytes(data[60:62], "little"), int.from_bytes(data[62:64], "little")
    head = lambda i: data[at + 64 * i : at + 64 * (i + 1)]
    part = lambda i: data[int.from_bytes(head(i)[24:32], "little") :][: int.from_bytes(head(i)[32:40], "little")]
    names, total = part(strings), 0
    for i in range(count):
        name = names[int.from_bytes(head(i)[:4], "little") :].split(b"\0")[0]
        if name.startswith(b".text."):
            code = part(i)
            opcodes = [int.from_bytes(code[j : j + 2], "little") & 0xFFF for j in range(0, len(code), 16)]
            total += sum(op != 0x918 for op in opcodes)  # NOP
    return total


def usage(said, cubin, seconds):
    number = lambda what: sum(int(n) for n in re.findall(r"(\d+) " + what, said))
    spills = number("bytes spill stores") + number("bytes spill loads")
    return {"registers": number("registers"), "spills": spills, "instructions": instructions(cubin), "seconds": round(seconds, 3)}


def arch_of(text):
    """The architecture of a kernel: products of warpgroups are of this one alone, which its name must say."""
    return ARCH + "a" if "wgmma." in text else ARCH


def compiled(entry, text, folder, cuda, how):
    """Compiles one kernel, and returns what it uses."""
    arch = arch_of(text)
    source, cubin = folder / f"{entry}.{how}", folder / f"{entry}.{how}.cubin"
    source.write_text(text)
    begin = time.time()
    if how == "ptx":
        said = run(f"{cuda}/bin/ptxas", f"-arch={arch}", "-v", source, "-o", cubin)
    else:
        said = run(f"{cuda}/bin/nvcc", "-O3", "-std=c++17", f"-arch={arch}", "-cubin", "-Xptxas", "-v", "-o", cubin, source)
    return usage("".join(said), cubin, time.time() - begin)


def kernels_of(text, stage):
    """The text of each kernel: a PTX module, or a kernel of CUDA C++ behind the helpers of all."""
    if stage == "ptx":
        modules = re.split(r"(?=^// \S+, made by arraygpu)", text, flags=re.M)[1:]
        return {re.search(r"\.entry (\w+)", m)[1]: m for m in modules}
    begin = r"(?=^(?:extern __shared__[^\n]*\n\n)?extern \"C\" __global__)"
    helpers, *kernels = re.split(begin, text, flags=re.M)
    # the second match begins behind the declaration of shared memory
    joined = []
    for k in kernels:
        if joined and "{" not in joined[-1]:
            joined[-1] += k
        else:
            joined.append(k)
    return {re.search(r"^void (\w+)\(", k, re.M)[1]: helpers + k for k in joined}


# stands for ptxas, and has the code already
ASSEMBLER = """#!/bin/sh
case "$*" in *" -o "*) ;; *) exec {ptxas} "$@" ;; esac
made={folder}/${{3%%.*}}.{how}.cubin
if [ -e "$made" ]; then cp "$made" "$5"; else echo "not compiled" > "$5"; fi
"""


def main():
    generator, folder, cuda = (pathlib.Path(a).absolute() for a in sys.argv[1:4])
    wanted = sys.argv[4:]
    (folder / "code").mkdir(parents=True, exist_ok=True)
    printed = lambda stage: run(generator, "--quiet", "--emit", stage)[0]
    texts = {"ptx": kernels_of(printed("ptx"), "ptx"), "cu": kernels_of(printed("cuda"), "cuda")}
    functions = [(name, parameters(given)) for name, given in SIGNATURE.findall(printed("core"))]
    functions = [f for f in functions if not wanted or f[0] in wanted]
    cases, entries, options = [], set(), []
    for name, given in functions:
        extents = shapes(name, given)
        options += [o for p, e in extents.items() if e for o in ("--extent", f"{name}.{p}={'x'.join(map(str, e))}")]
    names = ",".join(name for name, _ in functions)
    explained, _ = run(generator, "--quiet", "--explain=json", "--bandwidth", "4000", "--function", names, *options)
    of = {name: shapes(name, given) for name, given in functions}
    used = {f["name"]: launched(f, of[f["name"]]) for f in json.loads(explained)["functions"]}
    for name, given in functions:
        arguments = [{"name": p, "type": ty, "extents": e} for (p, ty, _), e in zip(given, shapes(name, given).values())]
        cases.append({"function": name, "arguments": arguments, "kernels": used[name]})
        entries |= set(used[name])
    jobs = [(entry, how) for entry in sorted(entries) if entry in texts["ptx"] for how in texts]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        made = pool.map(lambda job: compiled(job[0], texts[job[1]][job[0]], folder / "code", cuda, job[1]), jobs)
        kernels = {}
        for (entry, how), what in zip(jobs, made):
            kernels.setdefault(entry, {})[how] = what
    (folder / "kernels.json").write_text(json.dumps(kernels, indent=1))
    (folder / "cases.json").write_text(json.dumps(cases, indent=1))
    for how, package in (("ptx", "ptx"), ("cu", "nvcc")):
        assembler = folder / f"assembler.{how}"
        assembler.write_text(ASSEMBLER.format(ptxas=str(cuda / "bin/ptxas"), folder=str(folder / "code"), how=how))
        assembler.chmod(0o755)
        run(generator, "--quiet", "--target", "cuda", "--cache", "off", "--cubin", ARCH, "--ptxas", assembler, "--out", folder / package)


if __name__ == "__main__":
    main()
