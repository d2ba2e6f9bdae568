"""Decides the SMT-LIB scripts of a folder: FILE RESULT SOLVER SECONDS, a line each, as they are done."""

import multiprocessing
import os
import sys
import time
from importlib.metadata import version

import bitwuzla
import cvc5
import z3


def by_bitwuzla(text, limit):
    options = bitwuzla.Options()
    options.set(bitwuzla.Option.TIME_LIMIT_PER, int(limit * 1000))
    parser = bitwuzla.Parser(bitwuzla.TermManager(), options)
    parser.parse("(set-logic ALL)\n" + text, True, False)
    return str(parser.bitwuzla().check_sat())


def by_z3(text, limit):
    solver = z3.SolverFor("ALL")
    solver.set("timeout", int(limit * 1000))
    solver.from_string(text)
    return str(solver.check())


def by_cvc5(text, limit):
    solver = cvc5.Solver()
    solver.setOption("tlimit-per", str(int(limit * 1000)))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, "(set-logic ALL)\n" + text + "(check-sat)\n", "claim")
    answer = ""
    while not (command := parser.nextCommand()).isNull():
        answer = command.invoke(solver, parser.getSymbolManager()) or answer
    return answer.strip()


SOLVERS = [("bitwuzla", by_bitwuzla), ("z3-solver", by_z3), ("cvc5", by_cvc5)]


def decide(job):
    path, limit = job
    with open(path, encoding="utf-8") as file:
        text = file.read()
    begin = time.time()
    for name, solve in SOLVERS:
        try:
            answer = solve(text, limit)
        except Exception as e:
            answer = "error: " + str(e).replace("\n", " ")
        if answer in ("sat", "unsat"):
            break
    return f"{os.path.basename(path)}\t{answer}\t{name} {version(name)}\t{time.time() - begin:.2f}"


def main():
    folder, limit = sys.argv[1], float(sys.argv[2])
    jobs = [(os.path.join(folder, name), limit) for name in sorted(os.listdir(folder))]
    with multiprocessing.Pool() as pool:
        for line in pool.imap_unordered(decide, jobs):
            print(line, flush=True)


if __name__ == "__main__":
    main()
