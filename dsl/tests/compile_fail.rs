//! Ill-typed programs do not compile, and rustc says what to write instead: the messages are in
//! `compile_fail/*.stderr`.
//!
//! rustc words its part of the messages anew in some versions, so they are compared under the version they
//! were recorded with; under others this test does nothing. Record again:
//! `BLESS=1 cargo test -p arraygpu-dsl --test compile_fail`.
//!
//! rustc runs with the library that this test is linked with. The crate `trybuild` would compile all dependencies
//! once more.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const RECORDED_WITH: &str = "rustc 1.95.";

#[test]
fn type_errors_say_what_to_write() {
    let version = rustc().arg("--version").output().expect("rustc runs");
    let version = String::from_utf8_lossy(&version.stdout);
    if !version.starts_with(RECORDED_WITH) {
        eprintln!("skipped: the messages are those of {RECORDED_WITH}x, this is {version}");
        return;
    }
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = library();
    let (mut wrong, mut programs) = (Vec::new(), 0);
    for entry in fs::read_dir(package.join("tests/compile_fail")).expect("the programs") {
        let program = entry.expect("an entry").path();
        if program.extension().is_none_or(|e| e != "rs") {
            continue;
        }
        programs += 1;
        let said = messages(package, &library, &program);
        let recorded = program.with_extension("stderr");
        if env::var_os("BLESS").is_some() {
            fs::write(&recorded, &said).expect("the messages are written");
        } else if fs::read_to_string(&recorded).unwrap_or_default() != said {
            wrong.push(format!("{}:\n{said}", program.display()));
        }
    }
    assert!(programs >= 18, "{programs} programs");
    assert!(wrong.is_empty(), "other messages\n{}", wrong.join("\n"));
}

fn rustc() -> Command {
    Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// What rustc says of a program, which must not compile.
fn messages(package: &Path, (folder, library): &(PathBuf, PathBuf), program: &Path) -> String {
    let scratch = tempfile::tempdir().expect("a folder");
    // the workspace's root, to which the places in the library are relative
    let root = package.parent().expect("a workspace");
    let name = program.strip_prefix(root).expect("a program of this package");
    let out = rustc()
        .args(["--edition=2024", "--emit=metadata", "--color=never", "--diagnostic-width=140"])
        .arg("--out-dir")
        .arg(scratch.path())
        .arg("-L")
        .arg(format!("dependency={}", folder.display()))
        .arg("--extern")
        .arg(format!("arraygpu_dsl={}", library.display()))
        .arg(name)
        .current_dir(root)
        .output()
        .expect("rustc runs");
    assert!(!out.status.success(), "{} compiles", name.display());
    plain(&String::from_utf8_lossy(&out.stderr))
}

/// The messages without what changes when a line is added to the library: numbers and texts of its lines, and how far
/// all lines are indented for them; and without the files to which long names of types are written.
fn plain(text: &str) -> String {
    let counts = ["error: aborting due to", "For more information about", "Some errors have detailed"];
    let (mut out, mut in_program) = (String::new(), true);
    for line in text.lines().filter(|line| !counts.iter().any(|c| line.starts_with(c))) {
        let rest = line.trim_start();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = rest.split_at(digits);
        let rest = rest.trim_start();
        if let Some(place) = rest.strip_prefix("--> ").or(rest.strip_prefix("::: ")) {
            in_program = place.starts_with("dsl/tests/");
            let file = place.split(':').next().unwrap_or_default();
            out += &format!("   --> {}\n", if in_program { place } else { file });
        } else if rest.starts_with('|') {
            if in_program {
                out += &format!("{number:>3} {rest}\n");
            }
        } else if rest.starts_with("= note: the full name for the type")
            || rest.starts_with("= note: consider using `--verbose`")
        {
            // a file of this run
        } else if rest.starts_with("= ") {
            out += &format!("    {rest}\n");
        } else if !rest.starts_with("...") {
            out += &format!("{line}\n");
        }
    }
    format!("{}\n", out.trim_end())
}

/// The folder of compiled libraries, and this package's: the one that was compiled last.
fn library() -> (PathBuf, PathBuf) {
    let test = env::current_exe().expect("this program has a path");
    let folder = test.parent().expect("a folder").to_path_buf();
    let files = fs::read_dir(&folder).expect("libraries").map(|e| e.expect("an entry").path());
    let ours = files.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("libarraygpu_dsl-") && name.ends_with(".rlib")
    });
    let when = |path: &PathBuf| fs::metadata(path).and_then(|m| m.modified()).ok();
    let library = ours.max_by_key(when).expect("the library that this test is linked with");
    (folder, library)
}
