//! The PTX of every generator assembles, without a warning, a spill or a stack; `ptxas.txt` records what it needs of
//! a GPU. See `compiler/suite/tests/ptxas.rs` for the architectures.

use arraygpu_suite::ptxas::{Module, Record, check_sample, find, refuse_spills};
use std::path::Path;
use std::process::Command;

const GENERATORS: [(&str, &str); 5] = [
    ("examples", env!("CARGO_BIN_EXE_examples-gen")),
    ("series", env!("CARGO_BIN_EXE_demo-gen")),
    ("rof", env!("CARGO_BIN_EXE_rof-gen")),
    ("checks", env!("CARGO_BIN_EXE_checks-gen")),
    ("kernels", env!("CARGO_BIN_EXE_bench-gen")),
];

/// Functions some of whose kernels spill more than others may, on some GPU: what their schedules are still to mend.
/// One that does not any more is to be taken off the list.
const SPILL: [&str; 0] = [];

/// What any kernel may spill, in bytes.
const FEW: u32 = 64;

/// The entry `PACKAGE FUNCTION_NUMBER_VERSION` of a function.
fn is_of(entry: &str, function: &str) -> bool {
    let after = entry.split_once(' ').and_then(|(_, kernel)| kernel.strip_prefix(function));
    after.and_then(|rest| rest.strip_prefix('_')).is_some_and(|rest| rest.starts_with(char::is_numeric))
}

/// The modules of a generator's package: each begins with its version and has one entry.
fn modules(package: &str, generator: &str) -> Vec<Module> {
    let out =
        Command::new(generator).args(["--emit", "ptx", "--quiet"]).output().expect("the generator runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).expect("a text");
    let texts = text.split("\n.version ").skip(1).map(|t| format!(".version {t}"));
    let module = |ptx: String| {
        let (_, entry) = ptx.split_once(".entry ").expect("an entry");
        let entry = entry.split('(').next().unwrap_or_default().trim();
        Module { name: format!("{package} {entry}"), ptx, is_dependent: true }
    };
    texts.map(module).collect()
}

#[test]
fn every_generator() {
    let mut all: Vec<Module> =
        GENERATORS.iter().flat_map(|(package, program)| modules(package, program)).collect();
    assert!(all.len() > 100, "{} kernels", all.len());
    let ptxas = find();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptxas.txt");
    let usage = Record::read(&path, &ptxas).usage(&ptxas, &all);
    let known = |m: &Module| SPILL.iter().any(|f| is_of(&m.name, f));
    refuse_spills(&ptxas, all.iter().zip(usage.iter().copied()).filter(|(m, _)| !known(m)));
    for function in SPILL {
        let mut spills = all.iter().zip(&usage).filter(|(m, _)| is_of(&m.name, function));
        let spills = spills.any(|(_, usage)| usage.iter().any(|u| u.stack.max(u.spills) > FEW));
        assert!(spills, "{function} does not spill any more");
    }
    all.retain(|m| !known(m));
    check_sample(&ptxas, &all);
}
