//! File tests: core IR or kernel IR in, the expectation inside the file.
//!
//! A file in `files`, `compiled` and `strategies` of `compiler/tests` is core IR, one in `kernels` is kernel IR, with
//! directives in comments:
//!
//! ```text
//! ; run: --emit fused            options of arraygpu-opt; its output (or error) must be the `;>` lines at the end of the file
//! ; kernels: 1                   how many launches all plans have together
//! ; temporaries: 0               how many temporaries (vectors and scalars)
//! ; gpu: load4 2 shared 0        in the first variant of the only GPU kernel, in the code of full blocks: vector loads by their width, shared
//!                                arrays, barriers; the names are those of `tally`
//! ; cpu: plain 2 tested 1        in the contiguous variant of the last kernel: innermost loops that only compute and access arrays, that have
//!                                minima, maxima or choices of integers (`clamped`), and that have total reads or records (`tested`)
//! ```
//!
//! `BLESS=1 cargo test -p arraygpu-opt --test files` writes the `;>` lines anew; read the difference before you
//! commit it.

use arraygpu_compiler::kernel::{Expr, Stmt};
use arraygpu_compiler::plan::Step;
use arraygpu_compiler::scalar::BinaryOp;
use arraygpu_compiler::{core::parse, driver};
use arraygpu_opt::{Arguments, run};
use arraygpu_suite::tally;
use std::path::Path;

#[test]
fn files() {
    let bless = std::env::var_os("BLESS").is_some_and(|v| v == "1");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../compiler/tests");
    let mut failures = Vec::new();
    // other tests run what is in `files`; what is in `compiled` has too many elements for that
    let folders =
        ["files", "compiled", "kernels", "strategies"].map(|f| std::fs::read_dir(tests.join(f)).unwrap());
    let mut files: Vec<_> = folders.into_iter().flatten().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 10, "the file tests are not there");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        if let Err(e) = check(&text, bless.then_some(&file)) {
            failures.push(format!("{}:\n{e}", file.file_name().unwrap().to_string_lossy()));
        }
    }
    assert!(failures.is_empty(), "{}\n(BLESS=1 accepts)", failures.join("\n"));
}

fn check(text: &str, bless: Option<&std::path::PathBuf>) -> Result<(), String> {
    let directive =
        |name: &str| text.lines().find_map(|l| l.strip_prefix(&format!("; {name}:"))).map(str::trim);
    for (name, count) in [("kernels", kernels as fn(&str) -> usize), ("temporaries", temporaries)] {
        if let Some(expected) = directive(name) {
            let found = count(text).to_string();
            if found != expected {
                return Err(format!("expected {expected} {name}, found {found}"));
            }
        }
    }
    if let Some(expected) = directive("gpu") {
        let found = tally::tally(text);
        let mut words = expected.split_whitespace();
        while let (Some(name), Some(count)) = (words.next(), words.next()) {
            let n = found.get(name).copied().unwrap_or(0).to_string();
            if n != count {
                return Err(format!("expected {count} of {name}, found {found:?}"));
            }
        }
    }
    if let Some(expected) = directive("cpu") {
        let found = loops(text);
        let found = format!("plain {} clamped {} tested {}", found[0], found[1], found[2]);
        if found != expected {
            return Err(format!("expected {expected}, found {found}"));
        }
    }
    let Some(options) = directive("run") else { return Ok(()) };
    if text.lines().filter(|l| l.starts_with("; run:")).count() > 1 {
        return Err("a file has one line `; run:`".into());
    }
    let output = Arguments::of_options(options.split_whitespace());
    let output = output.and_then(|a| run(text, &a)).unwrap_or_else(|e| e.to_string());
    let expected: Vec<&str> =
        text.lines().filter_map(|l| l.strip_prefix(";>")).map(|l| l.strip_prefix(' ').unwrap_or(l)).collect();
    if output.lines().eq(expected.iter().copied()) {
        return Ok(());
    }
    if let Some(file) = bless {
        let mut new: Vec<String> = text.lines().filter(|l| !l.starts_with(";>")).map(String::from).collect();
        new.extend(output.lines().map(|l| format!(";> {l}").trim_end().to_string()));
        std::fs::write(file, new.join("\n") + "\n").unwrap();
        return Ok(());
    }
    Err(format!("expected\n{}\nfound\n{output}", expected.join("\n")))
}

fn kernels(text: &str) -> usize {
    let compiled = driver::compile("m", parse::parse(text).unwrap()).unwrap();
    compiled.functions.iter().flat_map(|f| &f.plan.steps).filter(|s| matches!(s, Step::Launch(_))).count()
}

/// The innermost loops of the last kernel: plain ones, those with clamps, those with tests.
fn loops(text: &str) -> [usize; 3] {
    let compiled = driver::compile("m", parse::parse(text).unwrap()).unwrap();
    let kernel = &compiled.kernels.last().unwrap().cpu.as_ref().unwrap().contiguous.kernel;
    let (mut counts, mut lists) = ([0; 3], vec![kernel.main.as_deref().unwrap()]);
    while let Some(list) = lists.pop() {
        for s in list {
            lists.extend(s.blocks());
            if let Stmt::For(_, _, _, body) | Stmt::Seq(_, _, _, body) = s
                && !body.iter().any(Stmt::has_loop)
            {
                counts[body.iter().map(kind).max().unwrap_or(0)] += 1;
            }
        }
    }
    counts
}

/// 2 if a statement tests whether a read is in bounds, 1 if it clamps or chooses, else 0.
fn kind(s: &Stmt) -> usize {
    fn of(e: &Expr) -> usize {
        let mut most = match e {
            Expr::LoadIf(..) => 2,
            Expr::Binary(BinaryOp::Min | BinaryOp::Max, ..) => 1,
            // a NaN becomes the canonical one
            Expr::Select(c, ..) if !matches!(**c, Expr::Binary(BinaryOp::Ne, ..)) => 1,
            _ => 0,
        };
        e.children(&mut |child| most = most.max(of(child)));
        most
    }
    match s {
        Stmt::Record(..) => 2,
        Stmt::Let(_, e, _) | Stmt::Var(_, e) | Stmt::Assign(_, e) => of(e),
        Stmt::Store(_, at, e) => of(at).max(of(e)),
        _ => 0,
    }
}

fn temporaries(text: &str) -> usize {
    driver::compile("m", parse::parse(text).unwrap())
        .unwrap()
        .functions
        .iter()
        .map(|f| f.plan.temps.len())
        .sum()
}
