//! C and C++ programs that are watched: by the compiler's sanitizers, and by valgrind.

use crate::cmake::{self, Watched};
use crate::install::{self, Profile};
use crate::sh::{self, Result};
use crate::system;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// The headers' code is what is instrumented, and what it reads of the library's memory; the
/// library, which Rust's sanitizer knows, is not.
const ADDRESS: Watched = Watched {
    name: "address",
    flags: "-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all -fno-omit-frame-pointer",
};
const VALGRIND: Watched = Watched { name: "valgrind", flags: "" };

/// A test that takes all memory of its process, that of the sanitizer among it.
const NOT_UNDER_SANITIZERS: &str = "^out_of_memory$";

/// All C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer.
pub fn address() -> Result {
    install::for_projects(Profile::Dev)?;
    let build = cmake::build_watched("tests/cpp", &[], &ADDRESS)?;
    let mut ctest = cmake::ctest(&build);
    // tests that run the compiler themselves have their own flags
    ctest.args(["--label-exclude", "scripts", "--exclude-regex", NOT_UNDER_SANITIZERS]);
    ctest.env("ASAN_OPTIONS", "detect_leaks=1 allocator_may_return_null=1 detect_stack_use_after_return=1");
    ctest.env("UBSAN_OPTIONS", "print_stacktrace=1");
    sh::run(&mut ctest)
}

/// Programs that valgrind runs, each in seconds.
const PROGRAMS: [(&str, &[&str]); 2] = [
    ("cpp-examples", &["plain_c", "plain_c_static"]),
    (
        "tests/cpp",
        &[
            "async",
            "elements",
            "expressions",
            "matrices",
            "no_exceptions",
            "own_memory",
            "staging",
            "vectors",
            "views",
        ],
    ),
];

/// Runs programs under valgrind: reads of memory that was never written or is freed, in the library
/// and its kernels, too, and leaks.
pub fn valgrind() -> Result {
    system::ensure(system::VALGRIND)?;
    install::for_projects(Profile::Dev)?;
    for (project, programs) in PROGRAMS {
        let build = cmake::build_watched(project, programs, &VALGRIND)?;
        for program in programs {
            let start = Instant::now();
            sh::run(&mut memcheck(&build.join(program)))?;
            println!("{program}: no errors ({:.1} s)", start.elapsed().as_secs_f64());
        }
    }
    println!("valgrind: no errors");
    Ok(())
}

fn memcheck(program: &Path) -> Command {
    let mut valgrind = sh::program("valgrind");
    valgrind.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--num-callers=30"]);
    valgrind.args(["--show-leak-kinds=definite", "--errors-for-leak-kinds=definite"]).arg(program);
    // without a GPU's driver, whose memory valgrind cannot judge
    valgrind.env("ARRAYGPU_DEVICE", "cpu");
    valgrind
}
