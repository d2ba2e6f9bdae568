//! The ptxas of the tests: `cargo xtask test` installs it.

use arraygpu_compiler::package::ptxas::Ptxas;
use std::path::PathBuf;

/// `ARRAYGPU_PTXAS`, or what xtask left in the target directory, or the system's.
pub fn find() -> Ptxas {
    let given = std::env::var_os("ARRAYGPU_PTXAS").map(PathBuf::from);
    // a test lies in <target>/<profile>/deps
    let exe = std::env::current_exe().expect("this program");
    let installed =
        exe.ancestors().nth(3).map(|target| target.join("tools/ptxas")).filter(|file| file.is_file());
    Ptxas::find(given.or(installed).as_deref())
        .unwrap_or_else(|e| panic!("{e}\n`cargo xtask test` installs one; ARRAYGPU_PTXAS=FILE names another"))
}
