"""Decides the SMT-LIB scripts of a folder: FILE RESULT SOLVER SECONDS, a line each, as they are done."""

import multiprocessing
import os
import sys
import time
from importlib.metadata import version
from multiprocessing.pool import ThreadPool

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


FORK = multiprocessing.get_context("fork")
SOLVERS = [("bitwuzla", by_bitwuzla), ("z3-solver", by_z3), ("cvc5", by_cvc5)]


def bounded(solve, text, limit):
    """The answer of a process of its own, which ends when it must: not every solver looks at its clock."""
    here, there = FORK.Pipe(duplex=False)

    def work():
        try:
            there.send(solve(text, limit))
        except Exception as e:
            there.send("error: " + str(e).replace("\n", " ")[:100])

    process = FORK.Process(target=work)
    process.start()
    answer = here.recv() if here.poll(limit + 1) else "unknown"
    process.kill()
    process.join()
    return answer


def decide(job):
    path, limit = job
    with open(path, encoding="utf-8") as file:
        text = file.read()
    begin = time.time()
    for name, solve in SOLVERS:
        answer = bounded(solve, text, limit)
        if answer in ("sat", "unsat"):
            break
    else:
        answer = "unknown"
    return path, f"{os.path.basename(path)}\t{answer}\t{name} {version(name)}\t{time.time() - begin:.2f}", answer


def main():
    folder, limit = sys.argv[1], float(sys.argv[2])
    left = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    # what is easy comes first
    limits = [seconds for seconds in (2, 20) if seconds < limit] + [limit]
    with ThreadPool() as pool:
        for seconds in limits:
            hard = []
            for path, line, answer in pool.imap_unordered(decide, [(path, seconds) for path in left]):
                if answer == "unknown" and seconds < limit:
                    hard.append(path)
                else:
                    print(line, flush=True)
            left = hard


if __name__ == "__main__":
    main()
