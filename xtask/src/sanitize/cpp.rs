//! C and C++ programs that are watched: by the compiler's sanitizers.

use crate::cmake::{self, Watched};
use crate::install::{self, Profile};
use crate::sh::{self, Result};

/// The headers' code is what is instrumented, and what it reads of the library's memory; the library, which Rust's
/// sanitizer knows, is not.
const ADDRESS: Watched = Watched {
    name: "address",
    flags: "-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all -fno-omit-frame-pointer",
};

/// Takes all memory of its process, with the sanitizer's own.
const NOT_UNDER_SANITIZERS: &str = "^out_of_memory$";

/// All C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer.
pub fn address() -> Result {
    install::for_projects(Profile::Dev)?;
    let build = cmake::build_watched("tests/cpp", &[], &ADDRESS)?;
    let mut ctest = cmake::ctest(&build);
    // tests that compile for themselves have their own flags
    ctest.args(["--label-exclude", "scripts", "--exclude-regex", NOT_UNDER_SANITIZERS]);
    ctest.env("ASAN_OPTIONS", "detect_leaks=1 allocator_may_return_null=1 detect_stack_use_after_return=1");
    ctest.env("UBSAN_OPTIONS", "print_stacktrace=1");
    sh::run(&mut ctest)
}
