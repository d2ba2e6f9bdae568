"""What ptxas makes of our PTX and nvcc -O3 of the same kernels printed as CUDA C++, for all generators and the corpus, without a GPU.

    python3 nvcc_static.py PROGRAMS CUDA OUTPUT [SOURCE ..]

PROGRAMS is the folder of built programs (`target/debug`), CUDA that of a toolkit. OUTPUT gets one row of JSON for each kernel: registers, spilled
bytes, stack, instructions and processor seconds of both, and the processor seconds of arraygpu-opt from the function's core IR to the PTX of
all its kernels, divided by their number. A function gives the kernels that it launches at the sizes of `nvcc_package.py`, a program of the
corpus those at extents of 4096 (one program of four), so other variants are left out, and kernels whose text is that of one before as well. A kernel that nvcc refuses is a row that says so.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import nvcc_package as package

GENERATORS = ["examples-gen", "functions-gen", "rows-gen", "checks-gen", "bench-gen", "demo-gen", "rof-gen"]
CORPUS = "arraygpu-programs"
# of the corpus one program of so many, so that all takes a quarter of an hour on one core
EVERY = 4


def timed(*command, text=None):
    """Runs a program: what it printed, and its processor seconds with those of the programs that it ran."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
        given.write((text or "").encode())
        given.seek(0)
        child = subprocess.Popen([str(c) for c in command], stdin=given, stdout=said, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        printed = said.read().decode(errors="replace")
    if child.returncode != 0:
        raise RuntimeError(f"{pathlib.Path(command[0]).name}: {printed[-300:]}")
    return printed, used.ru_utime + used.ru_stime


def usual(explained):
    """The kernels that a call launches, and of alternatives the first one."""
    entries = [k["entry"] for kernel in explained["kernels"] for k in ((kernel["gpu"] or {}).get("launched") or {}).get("kernels", [])]
    for other in explained["alternatives"]:
        entries += [v["entry"] for v in (other["gpu"] or {}).get("versions", [])[:1]]
    return entries


def of_generator(program):
    """Functions with their core IR and usual kernels, and the texts of all kernels."""
    printed = lambda stage: package.run(program, "--quiet", "--emit", stage)[0]
    core = {re.match(r"func @(\w+)", f)[1]: f for f in re.split(r"^(?=func @)", printed("core"), flags=re.M)[1:]}
    options = []
    for name, given in package.SIGNATURE.findall("\n".join(core.values())):
        extents = package.shapes(name, package.parameters(given))
        options += [o for p, e in extents.items() if e for o in ("--extent", f"{name}.{p}={'x'.join(map(str, e))}")]
    explained = json.loads(package.run(program, "--quiet", "--explain=json", *options)[0])
    functions = [(f["name"], core[f["name"]], usual(f)) for f in explained["functions"]]
    return functions, {how: package.kernels_of(printed(stage), how) for how, stage in (("ptx", "ptx"), ("cu", "cuda"))}


def of_corpus(program):
    """The same of each program of the corpus, whose kernels have the names of their own program."""
    said = package.run(program)[0]
    for name in list(dict.fromkeys(re.findall(r"^(\w+) +\d+ +bytes", said, re.M)))[::EVERY]:
        printed = lambda stage: package.run(program, "--emit", name, stage)[0]
        explained = json.loads(package.run(program, "--explain", name, "json")[0])
        texts = {how: package.kernels_of(printed(stage), how) for how, stage in (("ptx", "ptx"), ("cu", "cuda"))}
        yield [(name, printed("core"), usual(f)) for f in explained["functions"]], texts


def compiled(entry, text, folder, cuda, how):
    source, cubin = folder / f"{entry}.{how}", folder / f"{entry}.{how}.cubin"
    source.write_text(text)
    command = [cuda / "bin/ptxas", "-O3", "-v"] if how == "ptx" else [cuda / "bin/nvcc", "-O3", "-std=c++17", "-cubin", "-Xptxas", "-v"]
    said, seconds = timed(*command, f"-arch={package.arch_of(text)}", source, "-o", cubin)
    stack = sum(int(n) for n in re.findall(r"(\d+) bytes stack frame", said))
    made = {**package.usage(said, cubin, seconds), "stack": stack}
    source.unlink(), cubin.unlink()
    return made


def row(source, function, entry, texts, seconds, folder, cuda):
    out = {"static": entry, "function": function, "of": source, "text_seconds": round(seconds, 6)}
    for how, name in (("ptx", "ours"), ("cu", "nvcc")):
        try:
            out[name] = compiled(entry, texts[how][entry], folder, cuda, how)
        except (RuntimeError, KeyError) as e:
            out["refused"] = f"{name}: {e}"
    return out


def main():
    programs, cuda = (pathlib.Path(a).absolute() for a in sys.argv[1:3])
    wanted, seen = sys.argv[4:] or [*GENERATORS, CORPUS], set()
    with open(sys.argv[3], "w") as output, tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for source in wanted:
            for functions, texts in of_corpus(programs / source) if source == CORPUS else [of_generator(programs / source)]:
                jobs = []
                for function, core, entries in functions:
                    fresh = []
                    for entry in entries:
                        text = texts["ptx"].get(entry, "").replace(entry, "")
                        digest = hashlib.sha256(text.encode()).digest()
                        if text and digest not in seen:
                            seen.add(digest)
                            fresh.append(entry)
                    if not fresh:
                        continue
                    printed, seconds = timed(programs / "arraygpu-opt", "-", "--target", "cuda", "--emit", "ptx", text=core)
                    seconds /= printed.count(".entry ")
                    jobs += [(source, function, e, texts, seconds, pathlib.Path(folder), cuda) for e in fresh]
                for made in pool.map(lambda job: row(*job), jobs):
                    print(json.dumps(made), file=output, flush=True)


if __name__ == "__main__":
    main()
