//! Packages: their files, their determinism, and what happens when they cannot be written.
//!
//! The compiled program is made by hand, so that these tests say something about packages only.

#[cfg(target_os = "linux")]
mod failing;
mod gpu;
mod objects;
mod tiny;

use arraygpu_compiler::package::{Options, level::Level, write};
use std::fs;
use std::path::Path;
use std::process::Command;
use tiny::{KERNELS, files, golden, names, output, program, strict, symbols, temp, with_kernels};

#[test]
fn every_file_is_there_and_nothing_else() {
    let dir = temp();
    let out = dir.path().join("deep/tiny");
    write(&program(), &strict(&out)).expect("a package");
    assert_eq!(
        names(&out),
        [
            "include/tiny.h",
            "include/tiny.hpp",
            "lib/cmake/tiny/tiny-config-version.cmake",
            "lib/cmake/tiny/tiny-config.cmake",
            "lib/libtiny.a",
            "lib/libtiny.so",
            "lib/pkgconfig/tiny.pc",
            "share/tiny/manifest.json",
            "share/tiny/tiny_cpu.c",
        ]
    );
    let beside: Vec<_> = fs::read_dir(dir.path().join("deep")).expect("a folder").collect();
    assert_eq!(beside.len(), 1, "nothing is left beside the package: {beside:?}");
}

#[test]
fn the_same_program_gives_the_same_bytes_anywhere() {
    let dir = temp();
    let (a, b) = (dir.path().join("a"), dir.path().join("somewhere/else/b"));
    write(&program(), &strict(&a)).expect("a package");
    write(&program(), &strict(&b)).expect("a package");
    let (a, b) = (files(&a), files(&b));
    assert_eq!(a.len(), b.len());
    for (name, bytes) in &a {
        assert!(b[name] == *bytes, "{} differs", name.display());
        let path = dir.path().display().to_string();
        assert!(!bytes.windows(path.len()).any(|w| w == path.as_bytes()), "{} holds a path", name.display());
    }
}

#[test]
fn the_text_of_functions_that_stage_is_in_the_library() {
    let dir = temp();
    write(&program(), &strict(dir.path())).expect("a package");
    let library = fs::read(dir.path().join("lib/libtiny.so")).expect("a library");
    let has = |text: &str| library.windows(text.len()).any(|w| w == text.as_bytes());
    assert!(has("func @saxpy(%a: f32, %x: [f32], %y: [f32]) -> (result: [f32]) {\n"));
    assert!(has(" = stage %0\n") && !has("func @both"), "only of those");
}

#[test]
fn headers() {
    let dir = temp();
    write(&program(), &strict(dir.path())).expect("a package");
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).expect("a text");
    let (c, cpp) = (read("include/tiny.h"), read("include/tiny.hpp"));
    golden("tiny.h", &c);
    golden("tiny.hpp", &cpp);
    // its flags and levels are the machine's
    if cfg!(target_arch = "x86_64") {
        golden("manifest.json", &read("share/tiny/manifest.json"));
    }
}

#[test]
fn a_package_for_one_level_has_code_for_no_other() {
    let dir = temp();
    let lowest = &Level::all()[..1];
    let options = Options { levels: lowest.to_vec(), ..strict(dir.path()) };
    write(&program(), &options).expect("a package");
    let read = |name: &str| fs::read(dir.path().join(name)).expect("a file");
    let manifest: serde_json::Value =
        serde_json::from_slice(&read("share/tiny/manifest.json")).expect("JSON");
    let listed: Vec<&str> = manifest["cpu"]["levels"]
        .as_array()
        .expect("levels")
        .iter()
        .filter_map(|l| l["name"].as_str())
        .collect();
    assert_eq!(listed, ["v2"]);
    let archive = read("lib/libtiny.a");
    let has = |text: &str| archive.windows(text.len()).any(|w| w == text.as_bytes());
    assert!(has("tiny_cpu_v2") && !has("tiny_cpu_v3") && !has("tiny_cpu_v4"));
}

#[test]
fn libraries_export_the_functions_only_and_need_the_runtime() {
    let dir = temp();
    write(&program(), &strict(dir.path())).expect("a package");
    let lib = dir.path().join("lib/libtiny.so");
    assert_eq!(
        symbols(&lib),
        ["tiny_both", "tiny_both_device", "tiny_both_new", "tiny_module", "tiny_saxpy", "tiny_saxpy_new"]
    );
    let dynamic = output(Command::new("readelf").arg("-d").arg(&lib));
    for wanted in ["Shared library: [libarraygpu.so.5]", "Library soname: [libtiny.so]"] {
        assert!(dynamic.contains(wanted), "{wanted} is missing in\n{dynamic}");
    }
}

#[test]
fn a_package_is_replaced_and_what_did_not_change_keeps_its_time() {
    let dir = temp();
    let out = dir.path().join("tiny");
    write(&program(), &strict(&out)).expect("a package");
    let time = |name: &str| fs::metadata(out.join(name)).and_then(|m| m.modified()).expect("a time");
    let (header, cpp) = (time("include/tiny.h"), time("include/tiny.hpp"));
    fs::write(out.join("lib/stale"), "").expect("written");
    let changed = with_kernels(KERNELS.replace("a * x", "a times x"));
    write(&changed, &strict(&out)).expect("a package");
    assert!(fs::read_to_string(out.join("share/tiny/tiny_cpu.c")).expect("a text").contains("a times x"));
    assert!(!out.join("lib/stale").exists());
    assert_eq!((header, cpp), (time("include/tiny.h"), time("include/tiny.hpp")));
}

#[test]
fn a_folder_of_somebody_else_is_left_alone() {
    let dir = temp();
    fs::create_dir_all(dir.path().join("mine/include")).expect("a folder");
    let out = dir.path().join("mine");
    // folders without a file are nothing to lose: CMake makes them before the package is there
    write(&program(), &strict(&out)).expect("a package");
    let other = dir.path().join("other");
    fs::create_dir_all(&other).expect("a folder");
    fs::write(other.join("thesis.txt"), "years").expect("written");
    let e = write(&program(), &strict(&other)).expect_err("refused");
    assert_eq!(e.code, "E0503");
    assert!(e.message.contains("other holds files"), "{e}");
    assert_eq!(files(&other).len(), 1);
    let e = write(&program(), &strict(&other.join("thesis.txt"))).expect_err("refused");
    assert!(e.message.contains("is a file"), "{e}");
}

#[test]
fn after_an_error_nothing_is_left_and_the_old_package_stays() {
    let dir = temp();
    let out = dir.path().join("tiny");
    let broken = with_kernels("int f( { }\n");
    let e = write(&broken, &strict(&out)).expect_err("wrong C");
    assert_eq!(e.code, "E0602");
    assert!(e.message.contains("tiny_cpu.c:1"), "the compiler's message is in the error: {e}");
    assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 0);

    write(&program(), &strict(&out)).expect("a package");
    let before = files(&out);
    write(&broken, &strict(&out)).expect_err("wrong C");
    assert!(before == files(&out));

    let warns = with_kernels(KERNELS.to_string() + "static int unused;\n");
    assert_eq!(write(&warns, &strict(&out)).expect_err("a warning").code, "E0603");
    write(&warns, &Options { strict: false, ..Options::new(&out) })
        .expect("warnings are no errors for others");
}

#[test]
fn wrong_names_come_with_the_authors_line() {
    let dir = temp();
    let mut wrong = program();
    wrong.functions[1].fused.name = "namespace".into();
    wrong.functions[1].fused.loc =
        Some(arraygpu_compiler::loc::Loc { file: "src/main.rs".into(), line: 12, column: 9 });
    let e = write(&wrong, &strict(&dir.path().join("p"))).expect_err("a keyword");
    assert_eq!(e.code, "E0501");
    assert!(e.to_string().contains("src/main.rs:12:9"), "{e}");
    assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 0);
}

#[test]
fn headers_compile_by_themselves_in_c_and_cpp() {
    let dir = temp();
    write(&program(), &strict(dir.path())).expect("a package");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
    for (language, header) in [("c", "tiny.h"), ("c++", "tiny.h"), ("c++", "tiny.hpp")] {
        let file = dir.path().join("main");
        fs::write(&file, format!("#include <{header}>\n#include <{header}>\n")).expect("written");
        let mut cc = Command::new("cc");
        cc.args(["-x", language, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"]);
        cc.arg(dir.path().join("include")).arg("-I").arg(&include).arg(&file);
        output(if language == "c++" { cc.arg("-std=c++17") } else { cc.arg("-std=c11") });
    }
}

/// Not a test by itself: what the next one runs in a process of its own.
#[test]
fn child() {
    if let Some(out) = std::env::var_os("PACKAGE_TEST_OUT") {
        write(&program(), &strict(Path::new(&out))).expect("a package");
    }
}

#[test]
fn flags_of_the_environment_are_not_applied_and_it_says_so() {
    let dir = temp();
    let run = |name: &str, flags: &str| {
        let mut child = Command::new(std::env::current_exe().expect("this program"));
        child.args(["--exact", "child", "--nocapture"]).env("PACKAGE_TEST_OUT", dir.path().join(name));
        let out = child.env("CFLAGS", flags).env("LDFLAGS", flags).output().expect("runs");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        (files(&dir.path().join(name)), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    let (plain, silent) = run("a", "");
    let (flags, says) = run("b", "-O0 -ffast-math -nonsense");
    assert!(plain == flags);
    assert!(!silent.contains("CFLAGS"), "{silent}");
    assert!(says.contains("CFLAGS is set, but not applied"), "{says}");
}
