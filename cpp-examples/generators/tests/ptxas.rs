//! The PTX of every generator assembles, without a warning, a spill or a stack; `ptxas.txt` records what it needs of a GPU.

#[path = "../../../compiler/tests/common/ptxas.rs"]
mod ptxas;

use ptxas::{Module, architectures, assemble, find, refuse_spills};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const GENERATORS: [(&str, &str); 4] = [
    ("examples", env!("CARGO_BIN_EXE_examples-gen")),
    ("series", env!("CARGO_BIN_EXE_demo-gen")),
    ("checks", env!("CARGO_BIN_EXE_checks-gen")),
    ("kernels", env!("CARGO_BIN_EXE_bench-gen")),
];

/// Functions some of whose kernels spill more than others may, on some GPU: what their schedules are still to mend. One that does not any more is to be taken
/// off the list.
const SPILL: [&str; 5] = ["col_sums", "integer_sums", "matvec", "means", "plane_means"];

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
        Module { name: format!("{package} {entry}"), ptx }
    };
    texts.map(module).collect()
}

#[test]
fn every_generator() {
    let all: Vec<Module> =
        GENERATORS.iter().flat_map(|(package, program)| modules(package, program)).collect();
    assert!(all.len() > 100, "{} kernels", all.len());
    let ptxas = find();
    let archs = architectures(&ptxas);
    let jobs: Vec<_> = all.iter().flat_map(|m| archs.map(|a| (m, a))).collect();
    let usage = assemble(&ptxas, &jobs);

    let mut text = format!(
        "; registers of a thread and bytes of shared memory of a block, by ptxas {}\n",
        ptxas.version
    );
    let _ = writeln!(text, "{:<40}{}", "", archs.map(|a| format!("{a:>12}", a = a.to_string())).concat());
    for (module, usage) in all.iter().zip(usage.chunks(archs.len())) {
        let cells = usage.iter().map(|u| format!("{:>6}{:>6}", u.registers, u.shared));
        let _ = writeln!(text, "{:<40}{}", module.name, cells.collect::<String>());
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptxas.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).expect("written");
    }
    let want = std::fs::read_to_string(&path).unwrap_or_default();
    let known = |m: &Module| SPILL.iter().any(|f| is_of(&m.name, f));
    let (others, of_others): (Vec<_>, Vec<_>) =
        jobs.iter().copied().zip(usage.iter().copied()).filter(|((m, _), _)| !known(m)).unzip();
    refuse_spills(&others, &of_others);
    for function in SPILL {
        let mut all = jobs.iter().zip(&usage).filter(|((m, _), _)| is_of(&m.name, function));
        assert!(all.any(|(_, u)| u.stack.max(u.spills) > FEW), "{function} does not spill any more");
    }
    if want.lines().next() != text.lines().next() {
        println!("another ptxas than that of tests/ptxas.txt: registers are not compared");
        return;
    }
    let news: Vec<&str> = text.lines().filter(|l| !want.lines().any(|w| w == *l)).collect();
    assert!(want == text, "not as in tests/ptxas.txt; BLESS=1 accepts it:\n{}", news.join("\n"));
}
