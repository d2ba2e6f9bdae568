"""What ptxas makes of kernels with one optimisation left out (`--without NAME`), without a GPU.

    python3 switches.py PROGRAMS CUDA OUTPUT

PROGRAMS is the folder of built programs (`target/debug`), CUDA that of a toolkit. OUTPUT gets one row of JSON for each kernel that a function launches at
the sizes of `nvcc_package.py` (of `rows-gen`, which has the long ones, one kernel of three): registers, spilled bytes and instructions with all
optimisations, and with each one left out where that changes the text.
"""

import json
import pathlib
import re
import sys
import tempfile

import nvcc_package as package
import nvcc_static as static

GENERATORS = {"functions-gen": 1, "examples-gen": 1, "rows-gen": 3}


def names(program):
    said = package.run(program, "--help")[0]
    return re.search(r"--without.*?\[possible values: (.*?)\]", said, re.S)[1].split(", ")


def code(text):
    """Without comments, so that a kernel which did not change is the same."""
    return re.sub(r"//.*", "", text)


def used(entry, text, folder, cuda):
    made = static.compiled(entry, text, folder, cuda, "ptx")
    return {k: made[k] for k in ("registers", "spills", "instructions")}


def main():
    programs, cuda = (pathlib.Path(a).absolute() for a in sys.argv[1:3])
    with open(sys.argv[3], "w") as output, tempfile.TemporaryDirectory() as folder:
        for generator, every in GENERATORS.items():
            program = programs / generator
            functions, texts = static.of_generator(program)
            ptx = texts["ptx"]
            of = lambda *without: package.kernels_of(package.run(program, "--quiet", "--target", "cuda", "--emit", "ptx", *without)[0], "ptx")
            wanted = [e for _, _, entries in functions for e in entries if e in ptx][::every]
            others = {name: of("--without", name) for name in names(program)}
            for entry in dict.fromkeys(wanted):
                row = {"switches": entry, "of": generator, "all": used(entry, ptx[entry], pathlib.Path(folder), cuda), "without": {}}
                for name, other in others.items():
                    if entry in other and code(other[entry]) != code(ptx[entry]):
                        row["without"][name] = used(entry, other[entry], pathlib.Path(folder), cuda)
                print(json.dumps(row), file=output, flush=True)


if __name__ == "__main__":
    main()
