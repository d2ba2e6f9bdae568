//! Every rewrite of scalars and indices is proven right for all operands: by an SMT solver in bit-vectors and IEEE
//! floats, or by trying all of them. What neither decides is listed with the evidence that it has.
//!
//! The claims are made of what the compiler runs: its rules (`passes/rules`), the graphs and kernels that its passes
//! make, the PTX that it prints, its C prelude. `smt` says in SMT-LIB what the operators mean. `cargo xtask prove`
//! asks the solvers and writes `log.txt`; the tests here compare the log with the claims, so a rule that is new or
//! another than it was has no proof until it was proven.

mod applied;
mod c;
mod cases;
mod claim;
mod corners;
mod cparse;
mod divisions;
mod evidence;
mod graphs;
mod halves;
mod indices;
mod kernels;
mod log;
mod ptx;
mod rules;
mod smt;
mod solver;
mod straight;

use claim::{Claim, How};
use std::collections::BTreeSet;

/// All that is claimed.
fn claims() -> Vec<Claim> {
    let all = [
        rules::claims(),
        kernels::claims(),
        straight::claims(),
        indices::claims(),
        divisions::claims(),
        halves::claims(),
        ptx::claims(),
        c::claims(),
        corners::claims(),
        evidence::claims(),
    ];
    all.into_iter().flatten().collect()
}

/// With `PROVE`, a Python that has the solvers, it proves what the log does not have yet.
#[test]
fn every_rewrite_is_proven() {
    let claims = claims();
    let keys: BTreeSet<String> = claims.iter().map(Claim::key).collect();
    assert_eq!(keys.len(), claims.len(), "two claims have one name");
    let python = std::env::var_os("PROVE");
    let lines = match &python {
        Some(python) => {
            let known =
                if std::env::var_os("PROVE_ALL").is_some() { Default::default() } else { log::read() };
            let lines = solver::prove(python, &claims, known, &|lines| log::write(&claims, lines));
            log::write(&claims, &lines);
            lines
        }
        None => log::read(),
    };
    let unproven = claims.iter().filter(|c| !lines.get(&c.key()).is_some_and(|l| l.proves(c)));
    let list: Vec<String> = unproven.map(|c| format!("{}: {}", c.key(), c.says)).collect();
    assert!(list.is_empty(), "without a proof (`cargo xtask prove` looks for one):\n{}", list.join("\n"));
    let stale: Vec<&String> = lines.keys().filter(|k| !keys.contains(*k)).collect();
    assert!(python.is_some() || stale.is_empty(), "proofs of nothing that is claimed: {stale:?}");
}

/// What is wrong is found to be wrong: the solver gives operands for each. Only with `PROVE`.
#[test]
fn what_is_wrong_is_not_proven() {
    let Some(python) = std::env::var_os("PROVE") else { return };
    let wrong = rules::wrong().into_iter().map(|(name, script)| Claim::solved(name, "wrong", name, script));
    let wrong: Vec<Claim> = wrong.collect();
    let lines = solver::prove(&python, &wrong, Default::default(), &|_| ());
    for claim in &wrong {
        assert_eq!(lines[&claim.key()].result, "WRONG", "{}", claim.name);
        assert!(matches!(claim.how, How::Solver(_)));
    }
}
