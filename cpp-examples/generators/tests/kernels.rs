//! The text that generators print with `--emit kernel` parses back to the same kernels: every variant, on both targets.

use arraygpu_compiler::kernel::parse;
use std::process::Command;

const GENERATORS: [&str; 6] = [
    env!("CARGO_BIN_EXE_examples-gen"),
    env!("CARGO_BIN_EXE_demo-gen"),
    env!("CARGO_BIN_EXE_rof-gen"),
    env!("CARGO_BIN_EXE_checks-gen"),
    env!("CARGO_BIN_EXE_bench-gen"),
    env!("CARGO_BIN_EXE_functions-gen"),
];

#[test]
fn kernels_read_back() {
    for generator in GENERATORS {
        let out = Command::new(generator).args(["--emit", "kernel", "--quiet"]).output();
        let out = out.expect("the generator runs");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let text = String::from_utf8(out.stdout).expect("a text");
        // what is read is verified, too
        let kernels = parse::parse(&text).unwrap_or_else(|e| panic!("{generator}: {e}"));
        let (of_gpus, of_cpus): (Vec<_>, Vec<_>) = kernels.iter().partition(|k| k.threads > 0);
        assert!(of_gpus.len() > of_cpus.len() && !of_cpus.is_empty(), "{generator}");
        let printed: String = kernels.iter().map(|k| k.to_string()).collect();
        let lines = text.lines().filter(|l| !l.starts_with(';') && !l.is_empty());
        assert!(printed.lines().eq(lines), "{generator}");
    }
}
