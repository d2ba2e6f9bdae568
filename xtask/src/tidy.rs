//! Style rules and the laws of the structure, as code.
//!
//! - A Rust file begins with what it is: `//!`.
//! - No source file is longer than 600 lines, and none holds code that is not there yet.
//! - `dsl -> compiler <- capi`: `dsl` and `capi` never meet; `compiler` stands on `math`, which
//!   stands on nothing; and `compiler` does no IO outside `package/`.
//! - The folders and files of `compiler` and `dsl` have an order, and imports follow it
//!   ([`layers`]); passes import no passes.
//! - No circle of files in `compiler/src`, `dsl/src` and `capi/src` ([`circles`]).
//! - `dsl/src` and `fuzz/src` have no unit tests: nothing would run them.
//! - Every public function of `dsl` has an example and says what it costs ([`examples`]).
//! - `unsafe` is counted: `xtask/unsafe.txt` says how often each file has it, so that none comes
//!   unseen (`BLESS=1` writes it).

mod circles;
mod examples;
mod imports;
mod layers;

use crate::sh::{self, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const MAX_LINES: usize = 600;
/// The longest file of `compiler/src`.
const MAX_LINES_OF_COMPILER: usize = 400;
/// Libraries that are not built for tests (`test = false`).
const WITHOUT_TESTS: [&str; 2] = ["dsl/src/", "fuzz/src/"];
/// Source files; the C header is generated.
const SOURCES: [&str; 6] = ["rs", "hpp", "cpp", "c", "cmake", "py"];

/// Checks the repository.
pub fn run() -> Result {
    let root = sh::root();
    let mut files = Vec::new();
    walk(&root, &mut files);
    let (mut complaints, mut counts, mut sources) = (Vec::new(), BTreeMap::new(), Vec::new());
    for path in &files {
        let name = path.strip_prefix(&root).unwrap_or(path).display().to_string();
        if let Ok(text) = fs::read_to_string(path) {
            complaints.extend(check(&name, &text).into_iter().map(|c| format!("{name}: {c}")));
            if name.ends_with(".rs") {
                counts.insert(name.clone(), unsafe_in(&text));
                sources.push((name, text));
            }
        }
    }
    complaints.extend(unsafe_table(&counts)?);
    for root in ["compiler/src/", "dsl/src/", "capi/src/"] {
        let of_crate = sources.iter().filter(|(name, _)| name.starts_with(root));
        let files = imports::Files::read(root, of_crate);
        complaints.extend(layers::check(root, &files));
        complaints.extend(circles::check(root, &files));
    }
    for c in &complaints {
        println!("{c}");
    }
    match complaints.len() {
        0 => Ok(()),
        n => Err(format!("{n} places break the style rules")),
    }
}

/// How often each file has `unsafe`.
const UNSAFE: &str = "xtask/unsafe.txt";

/// Blocks, functions, implementations and externs that are `unsafe`, outside of comments.
fn unsafe_in(text: &str) -> usize {
    let code = text.lines().map(|l| l.split("//").next().unwrap_or_default());
    let words = code.flat_map(|l| l.split(|c: char| !c.is_alphanumeric() && c != '_'));
    words.filter(|w| *w == "unsafe").count()
}

/// Where the committed table differs.
fn unsafe_table(counts: &BTreeMap<String, usize>) -> Result<Vec<String>> {
    let mut table = String::new();
    for (name, n) in counts.iter().filter(|(_, n)| **n > 0) {
        table += &format!("{n:4}  {name}\n");
    }
    table += &format!("{:4}  in all\n", counts.values().sum::<usize>());
    let path = sh::root().join(UNSAFE);
    if std::env::var_os("BLESS").is_some() {
        sh::put(&path, table.as_bytes())?;
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    let (known, found): (BTreeSet<&str>, BTreeSet<&str>) = (known.lines().collect(), table.lines().collect());
    let line = |what: &str, l: &&str| format!("{UNSAFE}: {what} `{}` (BLESS=1 cargo xtask tidy)", l.trim());
    let gone = known.difference(&found).map(|l| line("it says", l));
    Ok(gone.chain(found.difference(&known).map(|l| line("it should say", l))).collect())
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') || name.starts_with("target") || name == "out" || name == "dist" {
            continue;
        }
        if path.is_dir() { walk(&path, files) } else { files.push(path) }
    }
    files.sort();
}

/// What is wrong with one file.
fn check(name: &str, text: &str) -> Vec<String> {
    let mut bad = Vec::new();
    let extension = name.rsplit('.').next().unwrap_or("");
    let most = if name.contains("compiler/src/") { MAX_LINES_OF_COMPILER } else { MAX_LINES };
    if SOURCES.contains(&extension) && text.lines().count() > most {
        bad.push(format!("longer than {most} lines"));
    }
    if extension == "rs" {
        if !text.starts_with("//!") {
            bad.push("does not begin with //!".into());
        }
        for word in ["todo", "unimplemented"] {
            if text.contains(&format!("{word}!(")) {
                bad.push(format!("holds {word}!"));
            }
        }
    }
    if WITHOUT_TESTS.iter().any(|folder| name.starts_with(folder)) && text.contains("#[test]") {
        bad.push("has a test that nothing runs: tests of this package are in tests/".into());
    }
    bad.extend(examples::check(name, text));
    let io_allowed = name.starts_with("compiler/src/package/");
    if extension == "rs" && name.starts_with("compiler/src/") && !io_allowed {
        for module in ["std::fs", "std::process"] {
            if text.contains(module) {
                bad.push(format!("the compiler does no IO outside package/, this uses {module}"));
            }
        }
    }
    let foreign = match name {
        "dsl/Cargo.toml" => "arraygpu-capi",
        "capi/Cargo.toml" => "arraygpu-dsl",
        "compiler/Cargo.toml" | "math/Cargo.toml" => "arraygpu-",
        _ => return bad,
    };
    // the compiler depends on the elementary functions alone
    let allowed = |line: &str| name == "compiler/Cargo.toml" && line.starts_with("arraygpu-math.");
    let depends = |line: &str| {
        !allowed(line) && (line.starts_with(foreign) || line.contains(&format!("/{}\"", &foreign[9..])))
    };
    if text.lines().any(|l| depends(l.trim())) {
        bad.push(format!("must not depend on {foreign}*"));
    }
    bad
}

#[cfg(test)]
mod tests {
    use super::{check, unsafe_in};

    #[test]
    fn unsafe_is_counted_in_code_only() {
        assert_eq!(unsafe_in("unsafe fn f() {} // unsafe\nlet unsafety = unsafe { f() };\n"), 2);
    }

    #[test]
    fn good_files() {
        assert!(check("dsl/src/lib.rs", "//! Handles.\nfn f() {}\n").is_empty());
        assert!(check("compiler/src/package/mod.rs", "//! Files.\nuse std::fs;\n").is_empty());
        assert!(check("dsl/Cargo.toml", "[dependencies]\narraygpu-compiler.workspace = true\n").is_empty());
    }

    #[test]
    fn bad_files() {
        assert_eq!(check("dsl/src/lib.rs", "fn f() {}\n").len(), 1);
        assert_eq!(check("dsl/src/lib.rs", &format!("//! x\nfn f() {{ {}!() }}", "todo")).len(), 1);
        assert_eq!(check("dsl/src/lib.rs", &"//! x\n".repeat(601)).len(), 1);
        assert_eq!(check("fuzz/src/lib.rs", "//! x\n#[test]\nfn f() {}\n").len(), 1);
        assert_eq!(check("compiler/src/passes/fuse.rs", "//! x\nuse std::fs;\n").len(), 1);
        assert_eq!(check("dsl/Cargo.toml", "arraygpu-capi.workspace = true\n").len(), 1);
        assert_eq!(check("capi/Cargo.toml", "arraygpu-dsl = { path = \"../dsl\" }\n").len(), 1);
        assert_eq!(check("compiler/Cargo.toml", "arraygpu-dsl.workspace = true\n").len(), 1);
    }
}
