//! `cargo xtask sanitize`: the runtime's tests and the random calls of its interface under
//! ThreadSanitizer and AddressSanitizer, with a standard library that is instrumented, too; Miri
//! over what needs no foreign code; loom over what threads do with each other; and C++ programs
//! under sanitizers and valgrind. Not a part of `test`: each takes minutes.

mod cpp;

use crate::ptxas;
use crate::sh::{self, Result};
use std::process::Command;

/// What watches the tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Tool {
    /// Data races.
    Thread,
    /// Memory that is not there any more, or was never; leaks.
    Address,
    /// Undefined behaviour of Rust code: handles, the reserve, memory limits.
    Miri,
    /// The orders that steps of threads may have: handles, unloading, caches (`capi/models`). More
    /// of them than the tests look at.
    Loom,
    /// The C++ tests, under the C++ compiler's sanitizers of addresses and undefined behaviour.
    Cpp,
    /// C and C++ programs with the library and its kernels under valgrind: memory that was never
    /// written, leaks.
    Valgrind,
}

/// Tests of the runtime that fork the program, which a sanitizer does not survive, ask how fast it
/// is, or take the place of the C library's functions, as a sanitizer does.
const NOT_UNDER_SANITIZERS: [&str; 10] = [
    "--skip",
    "fork",
    "--skip",
    "a_long_run_is_cancelled",
    "--skip",
    "files_fail",
    // a privileged program ignores ASAN_OPTIONS, too; the soak sets options of an allocator that
    // the sanitizer replaces
    "--skip",
    "privileged_programs",
    "--skip",
    "memory_stays_flat",
];
/// Modules of the runtime that call nothing foreign.
const FOR_MIRI: [&str; 3] = ["handle::", "reserve::", "usage::"];

/// Runs the tests under one of them, or all.
pub fn run(tool: Option<Tool>) -> Result {
    let all = [Tool::Thread, Tool::Address, Tool::Miri, Tool::Loom, Tool::Cpp, Tool::Valgrind];
    all.into_iter().filter(|t| tool.is_none_or(|asked| asked == *t)).try_for_each(under)
}

fn under(tool: Tool) -> Result {
    let (name, options) = match tool {
        Tool::Thread => ("thread", "-Zsanitizer=thread"),
        Tool::Address => ("address", "-Zsanitizer=address"),
        Tool::Miri => return miri(),
        Tool::Loom => return loom(),
        Tool::Cpp => return cpp::address(),
        Tool::Valgrind => return cpp::valgrind(),
    };
    let ptxas = ptxas::ensure()?;
    for tests in [
        &["--package", "arraygpu-capi", "--tests"][..],
        &["--package", "arraygpu-fuzz", "--test", "interface"],
    ] {
        let mut test = nightly("test");
        test.args(["-Zbuild-std", "--target", &host()?]).args(tests).arg("--no-fail-fast");
        test.args(["--", "--test-threads", "2"]).args(NOT_UNDER_SANITIZERS);
        test.env("CARGO_TARGET_DIR", sh::target().join("sanitize").join(name));
        test.env("RUSTFLAGS", format!("{options} -Cunsafe-allow-abi-mismatch=sanitizer"));
        // the C compiler's kernels and the fake driver are not instrumented
        test.env("TSAN_OPTIONS", "ignore_noninstrumented_modules=1 allocator_may_return_null=1")
            // the fake driver and some tests never free their objects; `load` and `soak` check that
            // memory stays flat
            .env("ASAN_OPTIONS", "detect_leaks=0 allocator_may_return_null=1");
        sh::run(test.env("ARRAYGPU_PTXAS", &ptxas))?;
    }
    Ok(())
}

fn miri() -> Result {
    let mut test = nightly("miri");
    test.args(["test", "--package", "arraygpu-capi", "--lib", "--"]).args(FOR_MIRI);
    test.env("CARGO_TARGET_DIR", sh::target().join("sanitize/miri"));
    // handles are numbers, which are cast back to pointers
    let flags = "-Zmiri-permissive-provenance -Zmiri-disable-isolation";
    // each seed gives the threads another order, and other values of racing reads
    test.env("MIRIFLAGS", format!("{flags} -Zmiri-many-seeds=0..8"));
    sh::run(&mut test)
}

fn loom() -> Result {
    let mut test = sh::cargo(&["test", "--package", "arraygpu-models"]);
    // 3 in the tests; each more takes about four times as long
    sh::run(test.env("LOOM_MAX_PREEMPTIONS", "5"))
}

/// Cargo of the nightly toolchain, which has these tools.
fn nightly(task: &str) -> Command {
    let mut cargo = sh::program("cargo");
    // the cargo and the compiler that run this program do not count here
    cargo.env_remove("RUSTC").env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
    cargo.current_dir(sh::root()).args(["+nightly", task]);
    cargo
}

/// The triple of this machine.
fn host() -> Result<String> {
    let told = sh::output(Command::new("rustc").arg("-vV")).ok_or("rustc does not run")?;
    let line = told.lines().find_map(|l| l.strip_prefix("host: "));
    line.map(String::from).ok_or_else(|| "rustc does not name its host".into())
}
