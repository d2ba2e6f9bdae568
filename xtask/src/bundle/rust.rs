//! Rust test programs in the bundle: those of the runtime, which need neither cargo nor a C
//! compiler (what needs one is left out there).

use super::Bundle;
use crate::sh::{self, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Tests that compile sources of the repository with the C compiler.
const STAY: [&str; 2] = ["fake", "load"];

/// Adds the runtime's test programs as `tests/rust/capi-<name>`.
pub fn add(bundle: &mut Bundle) -> Result {
    let mut build = sh::cargo(&["test", "--release", "--no-run", "--tests", "--package", "arraygpu-capi"]);
    build.arg("--message-format=json");
    println!("$ cargo test --release --no-run --package arraygpu-capi");
    let messages = sh::output(&mut build).ok_or("the runtime's tests do not compile")?;
    for (name, program) in executables(&messages) {
        let copy = super::work().join("build").join(format!("capi-{name}"));
        fs::copy(&program, &copy).map_err(|e| format!("cannot copy {}: {e}", program.display()))?;
        bundle.test(&copy, "tests/rust", "")?;
    }
    Ok(())
}

/// The test programs in cargo's messages; unit tests, and those that need the repository, stay
/// here.
fn executables(messages: &str) -> Vec<(String, PathBuf)> {
    let one = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let program = Path::new(message["executable"].as_str()?);
        let name = message["target"]["name"].as_str()?;
        let test = message["target"]["kind"][0] == "test" && !STAY.contains(&name);
        test.then(|| (name.to_string(), program.into()))
    };
    messages.lines().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_tests() {
        let messages = r#"{"reason":"compiler-artifact","target":{"kind":["test"],"name":"calls"},"executable":"/t/calls-1"}
{"reason":"compiler-artifact","target":{"kind":["test"],"name":"fake"},"executable":"/t/fake-1"}
{"reason":"compiler-artifact","target":{"kind":["cdylib","rlib"],"name":"capi"},"executable":"/t/capi-1"}
{"reason":"compiler-artifact","target":{"kind":["test"],"name":"x"},"executable":null}
{"reason":"build-finished","success":true}"#;
        assert_eq!(super::executables(messages), [("calls".to_string(), "/t/calls-1".into())]);
    }
}
