//! Two libraries of one process that were compiled with different C++ headers: they share no code of these headers,
//! and errors of one are caught by the other.

mod cpp_program;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A library's own function, and what it does where that fails.
const LIBRARY: &str = r#"#include <arraygpu/views.hpp>
float sum_NAME(const std::vector<float> &host) {
    const arraygpu::gpu_vector<float> v(host);
    const arraygpu::gpu_vector<float> w = arraygpu::views::zip(v, v) | arraygpu::views::transform([](auto a, auto b) { return a * b + FACTOR; });
    return arraygpu::async([](const auto &x) { return arraygpu::sum(x); }, w).get();
}
void fail_NAME() { arraygpu::gpu_vector<float>(3).copy_from(std::vector<float>{1}); }
"#;

const PROGRAM: &str = r#"#include <arraygpu.hpp>
#include <cstdio>
float sum_a(const std::vector<float> &);
float sum_b(const std::vector<float> &);
void fail_a();
void fail_b();
int main() {
    int wrong = 0;
    for (int i = 0; i < 2; ++i) wrong += sum_a({1, 2, 3}) != 17 || sum_b({1, 2, 3}) != 20;
    for (void (*fail)() : {fail_a, fail_b}) {
        try {
            fail();
            ++wrong;
        } catch (const arraygpu::error &e) {
            wrong += e.code() != AGPU_ERROR_SHAPE;
        }
    }
    std::printf("%d wrong\n", wrong);
    return wrong;
}
"#;

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &name);
        } else {
            std::fs::copy(&path, &name).unwrap();
        }
    }
}

/// The headers of another version: other nodes, and another name.
fn other_headers(folder: &Path) -> PathBuf {
    let include = folder.join("include");
    copy(&root().join("include"), &include);
    let change = |file: &str, from: &str, to: &str| {
        let path = include.join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.matches(from).count(), 1, "{file}: {from}");
        std::fs::write(&path, text.replace(from, to)).unwrap();
    };
    change("arraygpu/expr/node.hpp", "    place written;", "    std::int64_t more[5];\n    place written;");
    change("arraygpu/expr/node.hpp", "int few = 4;", "int few = 5;");
    change("arraygpu/headers.hpp", "prefix##", "prefix##0");
    include
}

#[test]
fn two_headers_in_one_process() {
    let here = tempfile::tempdir().unwrap();
    let folder = here.path();
    let other = other_headers(folder);
    let mut libraries = Vec::new();
    for (name, include, factor) in [("a", root().join("include"), "1"), ("b", other, "2")] {
        let source = folder.join(format!("{name}.cpp"));
        std::fs::write(&source, LIBRARY.replace("NAME", name).replace("FACTOR", factor)).unwrap();
        let library = folder.join(format!("lib{name}.so"));
        let mut build = Command::new("g++");
        build.args(["-std=c++17", "-O0", "-shared", "-fPIC", "-I"]).arg(include).arg(&source);
        let Ok(output) = build.arg("-o").arg(&library).output() else {
            println!("no g++");
            return;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        libraries.push(library);
    }
    // what a linker may take for the same, but the error
    let symbols = |library: &PathBuf| -> BTreeSet<String> {
        let listed = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output().unwrap();
        let text = String::from_utf8(listed.stdout).unwrap();
        text.lines().filter_map(|l| l.split(' ').nth(2)).map(Into::into).collect()
    };
    let [a, b] = [0, 1].map(|i| symbols(&libraries[i]));
    let is_ours = |symbol: &&String| symbol.replace("8arraygpu5error", "").contains("8arraygpu");
    let both: Vec<&String> = a.intersection(&b).filter(is_ours).collect();
    assert!(both.is_empty(), "in both: {both:?}");
    assert!(a.iter().filter(is_ours).count() > 100, "{} symbols", a.len());
    assert!(a.intersection(&b).any(|symbol| symbol.contains("8arraygpu5error")));

    let program = folder.join("program.cpp");
    std::fs::write(&program, PROGRAM).unwrap();
    let said = cpp_program::output("g++", &program, folder, &libraries);
    assert_eq!(said.as_deref(), Some("0 wrong\n"));
}
