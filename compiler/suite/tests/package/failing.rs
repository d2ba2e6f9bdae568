//! Every file operation of the writer of packages fails, and of the tools that it runs: the old package is there as
//! it was or the new one, nothing is left beside it, and the error names a file.

use crate::tiny::{KERNELS, files, program, temp, with_kernels};
use arraygpu_compiler::package::{Options, cache::Cache, level::Level, write};
use arraygpu_suite::failing_files::{Error, Failing, Fault, Seen, Span, Who, below, cases, nothing};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder in which all happens, with the package in `tiny` and the temporary files in `tmp`.
const ROOT: &str = "PACKAGE_TEST_FAILING";

/// Of one level: less to compile. The cache lies beside the package.
fn options(out: &Path) -> Options {
    let cache = Cache::at(out.with_file_name("cache"));
    Options { levels: Level::all()[..1].to_vec(), sources: true, cache: Some(cache), ..Options::new(out) }
}

/// The old package.
fn old(root: &Path) {
    fs::create_dir(root.join("tmp")).expect("a folder");
    write(&program(), &options(&root.join("tiny"))).expect("a package");
}

/// Somebody's own folder.
fn own(root: &Path) {
    fs::create_dir(root.join("tmp")).expect("a folder");
    fs::create_dir_all(root.join("tiny/share/tiny")).expect("folders");
    fs::write(root.join("tiny/share/tiny/thesis.txt"), "years").expect("written");
}

/// Not a test by itself: what those below run in processes of their own. Writes the new package.
#[test]
fn failing_child() {
    let Some(root) = std::env::var_os(ROOT) else { return };
    let changed = with_kernels(KERNELS.replace("a * x", "a times x"));
    let opened = || fs::read_dir("/proc/self/fd").expect("open files").count();
    let before = opened();
    let done = write(&changed, &options(&Path::new(&root).join("tiny")));
    assert_eq!(opened(), before, "open files");
    let said = done.map_or_else(|e| format!("{} {}", e.code, e.message), |()| "done".into());
    println!("<<{said}>>");
}

/// A run with a fault, in a folder that is made ready. What it said, what happened, and what is wrong with what it
/// leaves.
fn run(failing: &Failing, make: fn(&Path), fault: Fault, n: Option<u64>) -> (String, Seen, Vec<String>) {
    let dir = temp();
    let root = dir.path().canonicalize().expect("a path");
    make(&root);
    let out = root.join("tiny");
    let before = files(&out);
    let (said, seen) = failing.run(&root, fault, n, &|command| {
        command.args(["--exact", "failing::failing_child", "--nocapture", "--test-threads", "1"]);
        command.env(ROOT, &root).env("TMPDIR", root.join("tmp"));
    });
    let after = if out.is_dir() { files(&out) } else { BTreeMap::default() };
    let is_replaceable = before.contains_key(Path::new("share/tiny/manifest.json"));
    let is_new = after.len() == 9
        && after
            .get(Path::new("share/tiny/tiny_cpu.c"))
            .is_some_and(|text| String::from_utf8_lossy(text).contains("a times x"));
    let mut wrong = Vec::new();
    let mut must = |holds: bool, what: &str| {
        if !holds {
            wrong.push(format!("{what}: {fault:?} at {n:?}: {seen:?}\n{said}"));
        }
    };
    // what another process removed is gone
    let is_removed = fault.error == Error::Removed && seen.struck > 0;
    if said == "done" {
        must(is_new || is_removed && after.is_empty(), "the new package is not whole");
        must(is_replaceable || is_removed, "somebody's files are gone");
    } else {
        // neither the new one could be put there nor the old one put back: that is where the error says
        let kept =
            said.split_once("the package that was there is now ").map(|(_, folder)| files(Path::new(folder)));
        let is_old = after == before || is_removed && after.is_empty();
        must(is_old || after.is_empty() && kept.is_some_and(|k| k == before), "the old package was touched");
        must(said.contains(root.to_str().expect("UTF-8")) || said.contains("tiny"), "no file is named");
    }
    // tools may leave their own files in tmp; and where nothing can be removed, nothing is
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        [&root, &root.join("tmp"), &root.join("cache")].iter().any(|folder| path.parent() == Some(folder))
            && (name.ends_with(".tmp") || name.starts_with(".tmp"))
    };
    let left: Vec<_> = below(&root).into_iter().filter(is_ours).collect();
    must(left.is_empty() || fault.span != Span::One || seen.is_removal(), &format!("{left:?} is left"));
    (said, seen, wrong)
}

fn sweep(make: fn(&Path), clean: &str, who: Who, some: usize) {
    let failing = Failing::compiled();
    let (said, seen, mut wrong) = run(&failing, make, nothing(who), None);
    assert!(said.starts_with(clean), "{said}");
    let (cases, all) = cases(who, &seen, some);
    let mut failed = 0;
    for (fault, n) in &cases {
        let (said, _, more) = run(&failing, make, *fault, Some(*n));
        failed += usize::from(said != "done");
        wrong.extend(more);
    }
    println!("{who:?}: {} of {all} points, {failed} errors", cases.len());
    assert!(wrong.is_empty(), "{}\n{} points are wrong", wrong.join("\n"), wrong.len());
    assert!(failed * 4 > cases.len(), "{failed} errors of {}", cases.len());
}

#[test]
fn files_fail_under_the_writer() {
    sweep(old, "done", Who::Program, 12);
}

#[test]
fn files_fail_under_its_tools() {
    sweep(old, "done", Who::Tools, 6);
}

#[test]
fn files_fail_where_a_folder_is_somebodys_own() {
    sweep(own, "E0503", Who::Program, 60);
}
