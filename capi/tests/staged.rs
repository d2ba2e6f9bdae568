//! Functions of packages that stage scalars, where the user allows a C compiler: which version of
//! them runs. The package's text differs from its code on purpose, so that the results show which
//! one ran.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::*;
use std::process::Command;
use std::ptr::{null, null_mut};
use std::sync::Once;

/// Describes the entry `reversed`, but every element is the staged length, which shows that the
/// specialised version ran. For a length of 3, a shape rule never holds.
const TEXT: &str = r#"
func @reversed(%x: [f32]) -> (result: [f32]) {
  %0 = len %x
  %1 = stage %0
  require order 3i64, %1 "a rule of three"
  require stop 4i64, %1 "none but three"
  %2 = cast f32 %1
  %3 = map (%a: f32) over %x {
    %4 = mul %a, 0f32
    %5 = add %4, %2
    yield %5
  }
  return %3
}
"#;

fn allow_a_compiler() {
    static ONCE: Once = Once::new();
    // SAFETY: nothing in the library has read the variable yet, and the other tests wait here.
    ONCE.call_once(|| unsafe { std::env::set_var("ARRAYGPU_CPU_CC", "1") });
}

/// Returns the package with that text.
fn staging(text: &'static str) -> AgpuModule {
    let state = Box::leak(Box::new(null_mut()));
    AgpuModule { state, staged: text.as_ptr().cast(), staged_length: text.len() as i64, ..MODULE }
}

fn reversed(module: &AgpuModule, x: &[f32]) -> Vec<f32> {
    let (from, to) = (Vector::in_context(cpu(), x), Vector::in_context(cpu(), x));
    let args = [input(from.view()), output(to.view())];
    // SAFETY: the module and its two arguments live.
    ok(unsafe { agpu_invoke(module, REVERSED, null(), args.as_ptr(), 2) });
    to.get()
}

#[test]
fn a_call_runs_what_was_compiled_for_its_values() {
    allow_a_compiler();
    let module = staging(TEXT);
    for n in [4, 5, 4, 100, 5] {
        assert_eq!(reversed(&module, &vec![1.0; n]), vec![n as f32; n]);
    }
    // The function cannot be specialised for these values.
    for _ in 0..2 {
        assert_eq!(reversed(&module, &[1.0, 2.0, 3.0]), [3.0, 2.0, 1.0]);
    }
    // The general version reports arguments that do not fit.
    let x = Vector::in_context(cpu(), &[1.0; 4]);
    let args = [input(x.view()), input(x.view())];
    // SAFETY: the module and its two arguments live.
    let status = unsafe { agpu_invoke(&module, REVERSED, null(), args.as_ptr(), 2) };
    fails(status, AgpuErrorInvalidArgument, &["stats::reversed: result", "kind"]);
}

#[test]
fn texts_that_do_not_fit() {
    allow_a_compiler();
    let wrong = |text: &'static str, words: &[&str]| {
        let module = staging(text);
        // SAFETY: the module is wrong only in ways that are checked.
        fails(unsafe { agpu_invoke(&module, REVERSED, null(), null(), 0) }, AgpuErrorModule, words);
    };
    wrong("func", &["stats: the functions that stage cannot be read", "expected an @name"]);
    wrong(
        "func @reversed(%x: [f32]) -> (r: [f32]) { return %x }",
        &["what it stages cannot be read", "its parameters and results are others"],
    );
    wrong("func @more(%x: [f32]) -> (r: [f32]) { return %x }", &["there is no entry more"]);
    wrong(
        "func @reversed(%x: [f32]) -> (result: [f32]) { %0 = at %x, 0i64 %1 = stage %0 %2 = cast i64 %1 %3 = fill %2, %1 return %3 }",
        &["cannot be read", "only the device knows"],
    );
}

/// Runs in the processes that the tests below start: reverses four elements, and says what ran.
#[test]
fn child() {
    if std::env::var_os("ARRAYGPU_TEST_CHILD").is_none() {
        return;
    }
    let module = staging(TEXT);
    // the second call knows what became of the first one
    for _ in 0..2 {
        match reversed(&module, &[1.0, 2.0, 3.0, 5.0])[..] {
            [5.0, 3.0, 2.0, 1.0] => println!("<<general>>"),
            [4.0, 4.0, 4.0, 4.0] => println!("<<specialised>>"),
            ref other => panic!("{other:?}"),
        }
    }
}

/// What runs where the C compiler is allowed, with these variables.
#[track_caller]
fn runs(variables: &[(&str, &str)], expected: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).env("ARRAYGPU_TEST_CHILD", "1");
    command.envs([("ARRAYGPU_CPU_CC", "1"), ("ARRAYGPU_DEVICE", "cpu"), ("ARRAYGPU_CACHE", "off")]);
    let output = command.env_remove("ARRAYGPU_BUDGET").envs(variables.iter().copied()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{variables:?}: {text}");
    assert_eq!(text.matches(&format!("<<{expected}>>")).count(), 2, "{variables:?}: {text}");
}

#[test]
fn what_cannot_be_compiled_runs_as_the_general_version() {
    runs(&[], "specialised");
    // the passes, the plan, and the C
    runs(&[("ARRAYGPU_BUDGET", "nodes=2")], "general");
    runs(&[("ARRAYGPU_BUDGET", "seconds=0")], "general");
    runs(&[("ARRAYGPU_BUDGET", "bytes=100")], "general");
}

/// The block interpreter would be slower than the general version, which is compiled.
#[test]
fn nothing_is_interpreted_in_place_of_compiled_code() {
    runs(&[("CC", "/bin/false")], "general");
}
