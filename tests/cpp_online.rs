//! Expressions, views and staging in C++: programs that must not compile, what the headers cost a compiler, and,
//! where they are asked for (`-- --ignored`), programs that check themselves, by every compiler that is there.

mod cpp_program;

use std::path::{Path, PathBuf};
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
#[ignore = "the project tests/cpp has this program, too"]
fn assigned_views() {
    run("assigned_views.cpp");
}

#[test]
#[ignore = "the project tests/cpp has this program, too"]
fn elsewhere() {
    run("elsewhere.cpp");
}

#[test]
#[ignore = "the project tests/cpp has this program, too"]
fn halves() {
    run("halves.cpp");
}

#[test]
#[ignore = "the project tests/cpp has this program, too"]
fn expressions() {
    run("expressions.cpp");
}

#[test]
#[ignore = "the project tests/cpp has this program, too"]
fn expression_limits() {
    run("expression_limits.cpp");
}

#[test]
#[ignore = "the project tests/cpp has this program, too"]
fn moments() {
    run("moments.cpp");
}

#[test]
#[ignore = "the project tests/cpp has this program, too"]
fn tuples() {
    run("tuples.cpp");
}

#[test]
#[ignore = "the project tests/cpp has this program, too"]
fn loops() {
    run("loops.cpp");
}

#[test]
#[ignore = "the project tests/cpp has this program, too"]
fn composites() {
    run("composites.cpp");
}

#[test]
#[ignore = "the project tests/cpp has this program, too"]
fn volumes() {
    run("volumes.cpp");
}

#[test]
#[ignore = "the project tests/cpp has this program, too"]
fn words() {
    run("words.cpp");
}

#[test]
#[ignore = "the project tests/cpp has this program, too"]
fn kept() {
    run("kept.cpp");
}

#[test]
#[ignore = "the project tests/cpp has this program, too"]
fn views() {
    run("views.cpp");
}

#[test]
#[ignore = "the project tests/cpp has this program, too"]
fn several() {
    run("several.cpp");
}

#[test]
#[ignore = "the project tests/cpp has this program, too"]
fn nested() {
    run("nested.cpp");
}

#[test]
#[ignore = "the project tests/cpp has this program, too"]
fn struct_words() {
    run("struct_words.cpp");
}

#[test]
#[ignore = "the project tests/cpp has this program, too"]
fn staging() {
    run("staging.cpp");
}

/// The headers, parsed once for all programs of one compiler: each of them is parsed in a second or two, and the
/// programs that include them are short.
fn parsed(compiler: &str, folder: &Path) -> PathBuf {
    let header = folder.join(format!("{compiler}.hpp"));
    std::fs::write(&header, "#include <arraygpu/views.hpp>\n").unwrap();
    let mut parse = Command::new(compiler);
    parse.args(["-std=c++17", "-x", "c++-header", "-I"]).arg(root().join("include")).arg(&header);
    let output = parse.arg("-o").arg(folder.join(format!("{compiler}.hpp.gch"))).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    header
}

/// The first line of each file is what both compilers must say of it.
#[test]
fn refused() {
    let folder = tempfile::tempdir().unwrap();
    let compilers: Vec<(&str, PathBuf)> =
        COMPILERS.into_iter().filter(|c| exists(c)).map(|c| (c, parsed(c, folder.path()))).collect();
    let mut files = 0;
    for entry in std::fs::read_dir(root().join("tests/cpp/refused")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let words = text.lines().next().unwrap().strip_prefix("// says: ").expect("what it says");
        for (compiler, headers) in &compilers {
            let check = |more: &[&str]| {
                let mut check = Command::new(compiler);
                check.args(["-std=c++17", "-fsyntax-only"]).args(more).arg("-include").arg(headers);
                let output = check.arg("-I").arg(root().join("include")).arg(&path).output().unwrap();
                assert!(!output.status.success(), "{compiler} takes {}", path.display());
                String::from_utf8_lossy(&output.stderr).into_owned()
            };
            // after an error of the file itself, functions of the headers need not be instantiated, which takes longest
            if !check(&["-Wfatal-errors"]).contains(words) {
                let said = check(&[]);
                assert!(said.contains(words), "{compiler}, {}: no `{words}` in\n{said}", path.display());
            }
        }
        files += 1;
    }
    assert!(files > 10, "only {files} files");
}

/// Lines of code that the compiler reads for one include, with what the header includes.
fn lines(folder: &Path, header: &str) -> usize {
    let source = folder.join("one.cpp");
    std::fs::write(&source, format!("#include <{header}>\n")).unwrap();
    let mut preprocess = Command::new("g++");
    preprocess.args(["-std=c++17", "-E", "-P", "-I"]).arg(root().join("include")).arg(&source);
    let output = preprocess.output().unwrap();
    assert!(output.status.success());
    output.stdout.iter().filter(|byte| **byte == b'\n').count()
}

/// What expressions and views add to a file is little beside the standard library's headers (32,000 lines): with g++
/// -O0 a file with them takes at most half a second more. Lines are counted here, because the time depends on the
/// machine.
#[test]
fn headers_are_short() {
    if !exists("g++") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [plain, expressions, views] =
        ["arraygpu.hpp", "arraygpu/expr.hpp", "arraygpu/views.hpp"].map(|h| lines(folder.path(), h));
    println!("arraygpu.hpp {plain} lines, with expr.hpp {expressions}, with views.hpp {views}");
    assert!(expressions - plain < 5400 && views - plain < 6500, "{plain} {expressions} {views}");
}
