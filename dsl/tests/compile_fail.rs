//! Ill-typed programs do not compile, and rustc says what to write instead: the messages are in `compile_fail/*.stderr`.
//!
//! rustc words its part of the messages anew in some versions, so they are compared under the version they were recorded with; under others
//! this test does nothing. Record again: `TRYBUILD=overwrite cargo test -p arraygpu-dsl --test compile_fail`.

const RECORDED_WITH: &str = "rustc 1.95.";

#[test]
fn type_errors_say_what_to_write() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = std::process::Command::new(rustc).arg("--version").output().expect("rustc runs");
    let version = String::from_utf8_lossy(&version.stdout);
    if !version.starts_with(RECORDED_WITH) {
        eprintln!("skipped: the messages are those of {RECORDED_WITH}x, this is {version}");
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
