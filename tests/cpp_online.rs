//! Expressions, views and staging in C++: programs that check themselves, programs that must not compile, and what the headers cost a compiler.

mod cpp_program;

use std::path::Path;
use std::process::Command;

const COMPILERS: [&str; 2] = ["g++", "clang++"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn exists(compiler: &str) -> bool {
    let found = Command::new(compiler).arg("--version").output().is_ok();
    if !found {
        println!("no {compiler}");
    }
    found
}

fn run(source: &str) {
    let folder = tempfile::tempdir().unwrap();
    for compiler in COMPILERS {
        cpp_program::run(compiler, source, folder.path(), &[]);
    }
}

#[test]
fn expressions() {
    run("expressions.cpp");
}

#[test]
fn expression_limits() {
    run("expression_limits.cpp");
}

#[test]
fn views() {
    run("views.cpp");
}

#[test]
fn staging() {
    run("staging.cpp");
}

/// The first line of each file is what both compilers must say of it.
#[test]
fn refused() {
    let mut files = 0;
    for entry in std::fs::read_dir(root().join("tests/cpp/refused")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let words = text.lines().next().unwrap().strip_prefix("// says: ").expect("what it says");
        for compiler in COMPILERS.into_iter().filter(|c| exists(c)) {
            let mut check = Command::new(compiler);
            check.args(["-std=c++17", "-fsyntax-only", "-I"]).arg(root().join("include")).arg(&path);
            let output = check.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success(), "{compiler} takes {}", path.display());
            assert!(said.contains(words), "{compiler}, {}: no `{words}` in\n{said}", path.display());
        }
        files += 1;
    }
    assert!(files > 10, "only {files} files");
}

/// Seconds of processor time that g++ -O0 takes for a file with one include, the least of five.
fn seconds(folder: &Path, header: &str) -> f64 {
    let source = folder.join("one.cpp");
    std::fs::write(&source, format!("#include <{header}>\n")).unwrap();
    let script = "TIMEFORMAT='%U %S'; time g++ -std=c++17 -O0 -c -I \"$1\" -o \"$2.o\" \"$2\"";
    let time = || {
        let mut bash = Command::new("bash");
        bash.args(["-c", script, "bash"]).arg(root().join("include")).arg(&source);
        let said = bash.output().unwrap().stderr;
        let said = String::from_utf8(said).unwrap();
        said.split_whitespace().map(|s| s.parse::<f64>().unwrap_or_else(|_| panic!("{said}"))).sum()
    };
    (0..5).map(|_| time()).fold(f64::INFINITY, f64::min)
}

#[test]
fn headers_are_compiled_fast() {
    if !exists("g++") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [plain, expressions, views] =
        ["arraygpu.hpp", "arraygpu/expr.hpp", "arraygpu/views.hpp"].map(|h| seconds(folder.path(), h));
    println!(
        "g++ -O0: arraygpu.hpp {plain:.2} s, with expr.hpp {expressions:.2} s, with views.hpp {views:.2} s"
    );
    assert!(expressions - plain < 0.5 && views - plain < 0.6, "{plain:.2} {expressions:.2} {views:.2}");
}
