//! The text that `--emit kernel` prints parses back to the same kernel, for every kernel of the file tests on both
//! targets.

use arraygpu_opt::{Arguments, run};
use std::path::Path;

#[test]
fn kernels_of_the_file_tests() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../compiler/tests");
    let (emit, none) = (["--emit", "kernel"], []);
    let (mut programs, mut kernels) = (0, 0);
    for folder in ["files", "compiled", "strategies"] {
        for entry in std::fs::read_dir(tests.join(folder)).expect("the file tests") {
            let path = entry.expect("a file").path();
            let text = std::fs::read_to_string(&path).expect("a text");
            // some file tests are about errors
            let Ok(printed) = run(&text, &Arguments::of_options(emit).expect("options")) else { continue };
            let lines = printed.lines().filter(|l| !l.starts_with(';') && !l.is_empty());
            let again = run(&printed, &Arguments::of_options(none).expect("options"));
            let again = again.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            assert!(again.lines().filter(|l| !l.is_empty()).eq(lines), "{}", path.display());
            programs += 1;
            kernels += printed.lines().filter(|l| l.starts_with("kernel ")).count();
        }
    }
    assert!(programs > 60 && kernels > 400, "{kernels} kernels of {programs} programs");
}

/// Errors of texts and of options.
#[test]
fn what_is_wrong_is_said_with_its_place() {
    let kernel = |body: &str| {
        format!("kernel @k {{\n  threads 128\n  write a_r: f32\n  main {{\n    {body}\n  }}\n}}\n")
    };
    for (text, options, says) in [
        (kernel("a_r[0i64] = %x"), &["--run", "dce"][..], "line 5, column 17: %x is not defined"),
        (kernel("a_r[0i64] = sun(1f32)"), &[], "line 5, column 17: `sun` is no operator"),
        (kernel("b_r[0i64] = 1f32"), &[], "line 5, column 5: `b_r` is no array"),
        (kernel("a_r[0i64] = $"), &[], "line 5, column 17: unexpected character"),
        (kernel("a_r[0i64] = 1f64"), &[], "kernel @k: "),
        (
            kernel("barrier"),
            &["--run", "dce,fuse"],
            "kernel IR has no pass `fuse`; there are unswitch, if_conversion, ",
        ),
        (kernel("barrier"), &["--emit", "ptx"], "this text is kernel IR"),
        ("kernel @k { }".into(), &["--run", "dce"], "@k is a kernel for CPUs"),
        ("func @f() -> (r: f32) { return 1f32 }".into(), &["--run", "dce"], "this text is core IR"),
        ("func @f() -> (r: f32) { return 1f32 }".into(), &["--emit", "sass"], "invalid value 'sass'"),
        (
            "func @f() -> (r: f32) { return 1f32 }".into(),
            &["--emit", "kernel", "--kernel", "g"],
            "there is no kernel `g`; there are f_0",
        ),
    ] {
        let arguments = Arguments::of_options(options.iter().copied());
        let error = arguments.and_then(|a| run(&text, &a)).expect_err(says).to_string();
        assert!(error.contains(says), "{error}\n{text}");
    }
}
