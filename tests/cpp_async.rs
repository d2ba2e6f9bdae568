//! Streams, events and futures in C++ on the CPU, built here without the installed tree. GPUs run the same program.

mod cpp_program;

use cpp_program::{package, run};

/// What `tests/cpp/async.cpp` calls, as the generators of `cpp-examples` have it.
const EXAMPLES: &str = r#"
func @saxpy(%a: f32, %x: [f32], %y: [f32]) -> (result: [f32]) {
  %0 = len %x
  %1 = len %y
  require same %0, %1 "zip_with: x, y"
  %2 = map (%b: f32, %c: f32) over %x, %y { %d = mul %a, %b %e = add %d, %c yield %e }
  return %2
}
func @rmse(%x: [f32], %y: [f32]) -> (result: f32) {
  %0 = len %x
  %1 = len %y
  require same %0, %1 "zip_with: x, y"
  %2 = map (%a: f32, %b: f32) over %x, %y { %c = sub %a, %b %d = mul %c, %c yield %d }
  %3 = reduce (%a: f32, %b: f32) from 0f32 over %2 { %c = add %a, %b yield %c }
  %4 = cast f32 %0
  %5 = div %3, %4
  %6 = sqrt %5
  return %6
}
"#;
const CHECKS: &str = r#"
func @reversed(%x: [f32]) -> (result: [f32]) {
  %0 = reverse %x
  return %0
}
func @pick(%x: [f32], %indices: [i64]) -> (result: [f32]) {
  %0 = map (%i: i64) over %indices { %1 = at %x, %i !checks.rs:42:5 yield %1 }
  return %0
}
"#;

#[test]
#[ignore = "the project tests/cpp has this program, too"]
fn streams_events_and_futures() {
    let folder = tempfile::tempdir().unwrap();
    let archives = [("examples", EXAMPLES), ("checks", CHECKS)];
    let archives = archives.map(|(name, text)| package(name, text, folder.path()));
    for compiler in ["g++", "clang++"] {
        run(compiler, "async.cpp", folder.path(), &archives);
    }
}
