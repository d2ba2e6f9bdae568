//! What `--explain` says of every generator's functions: `explain/*.txt`, and as JSON of one package, with sizes and
//! a bandwidth. `BLESS=1` writes them anew; read the difference before you commit it.

use std::path::Path;
use std::process::Command;

/// File, generator, options.
const REPORTS: [(&str, &str, &[&str]); 7] = [
    ("examples.txt", env!("CARGO_BIN_EXE_examples-gen"), &["--explain"]),
    ("series.txt", env!("CARGO_BIN_EXE_demo-gen"), &["--explain"]),
    ("rof.txt", env!("CARGO_BIN_EXE_rof-gen"), &["--explain"]),
    ("checks.txt", env!("CARGO_BIN_EXE_checks-gen"), &["--explain"]),
    ("kernels.txt", env!("CARGO_BIN_EXE_bench-gen"), &["--explain"]),
    ("functions.txt", env!("CARGO_BIN_EXE_functions-gen"), &["--explain"]),
    (
        "series.json",
        env!("CARGO_BIN_EXE_demo-gen"),
        &["--explain=json", "--bandwidth=4180", "--extent=xs=67108864"],
    ),
];

fn explained(generator: &str, options: &[&str]) -> String {
    let out = Command::new(generator).args(options).arg("--quiet").output().expect("the generator runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("a text")
}

#[test]
fn every_generator() {
    let bless = std::env::var_os("BLESS").is_some();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explain");
    let mut wrong = Vec::new();
    for (file, generator, options) in REPORTS {
        let (path, text) = (folder.join(file), explained(generator, options));
        if bless {
            std::fs::write(&path, &text).expect("written");
        }
        let want = std::fs::read_to_string(&path).unwrap_or_default();
        if want != text {
            let differ = want.lines().zip(text.lines()).position(|(a, b)| a != b);
            let line = differ.unwrap_or(want.lines().count().min(text.lines().count()));
            let found = text.lines().nth(line).unwrap_or("nothing");
            wrong.push(format!("{file}:{}: {found}", line + 1));
        }
    }
    let others = std::fs::read_dir(folder).expect("the folder").map(|e| e.expect("a file").file_name());
    let others: Vec<_> = others.filter(|n| REPORTS.iter().all(|r| n != r.0)).collect();
    assert!(others.is_empty(), "of no generator: {others:?}");
    assert!(wrong.is_empty(), "not as written; BLESS=1 accepts it:\n{}", wrong.join("\n"));
}

/// Places are the author's lines, by files of the repository, whatever functions he passed to combinators.
#[test]
fn places() {
    for (_, generator, _) in &REPORTS[..6] {
        let text = explained(generator, &["--explain=json"]);
        let files = text.lines().filter_map(|l| l.trim().strip_prefix("\"file\": \""));
        let foreign: Vec<&str> = files.filter(|f| !f.starts_with("cpp-examples/generators/src/")).collect();
        assert!(foreign.is_empty(), "{generator}: {foreign:?}");
    }
}
