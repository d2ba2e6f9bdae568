//! What must come from the system: CMake, a C++ compiler, ... Installed when we may, asked for
//! otherwise.

use crate::sh::{self, Result};
use std::path::Path;
use std::process::Command;

/// Something that must be on the machine, and the Debian package that has it.
pub struct Need {
    /// Debian's name.
    pub package: &'static str,
    /// Whether it is there.
    pub found: fn() -> bool,
}

fn runs(program: &str, args: &[&str]) -> bool {
    sh::output(Command::new(program).args(args)).is_some()
}

/// What the C and C++ side needs.
pub const BUILD: &[Need] = &[
    Need { package: "gcc", found: || runs("gcc", &["--version"]) || runs("cc", &["--version"]) },
    Need { package: "g++", found: || runs("c++", &["--version"]) || runs("g++", &["--version"]) },
    Need { package: "make", found: || runs("make", &["--version"]) || runs("ninja", &["--version"]) },
    Need { package: "cmake", found: || runs("cmake", &["--version"]) },
    Need { package: "pkg-config", found: || runs("pkg-config", &["--version"]) },
];

/// What `sanitize valgrind` needs.
pub const VALGRIND: &[Need] = &[Need { package: "valgrind", found: || runs("valgrind", &["--version"]) }];

/// What the benchmarks compare with.
pub const BENCH: &[Need] = &[
    Need {
        package: "libeigen3-dev",
        found: || {
            ["/usr/include", "/usr/local/include"]
                .iter()
                .any(|d| Path::new(d).join("eigen3/Eigen/Core").exists())
        },
    },
    Need { package: "python3-numpy", found: || PYTHONS.iter().any(|p| runs(p, &["-c", "import numpy"])) },
    Need { package: "python3-numexpr", found: || PYTHONS.iter().any(|p| runs(p, &["-c", "import numexpr"])) },
];

/// The user's Python, and the system's, which has what apt-get installs.
pub const PYTHONS: [&str; 2] = ["python3", "/usr/bin/python3"];

/// Makes a program that calls `python3` find the system's where the user's own has no numexpr.
pub fn use_python_with_numexpr(command: &mut Command) {
    let has = |python: &str| runs(python, &["-c", "import numpy, numexpr"]);
    if !has(PYTHONS[0]) && has(PYTHONS[1]) {
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("/usr/bin:{path}"));
    }
}

/// Sees to it that all of them are there.
pub fn ensure(needs: &[Need]) -> Result {
    let missing: Vec<&str> = needs.iter().filter(|n| !(n.found)()).map(|n| n.package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join(", ");
    let ask =
        || format!("missing: {list}. Please install them, on Debian: apt-get install {}", missing.join(" "));
    let root = sh::output(Command::new("id").arg("-u")).is_some_and(|id| id.trim() == "0");
    if !root || !runs("apt-get", &["--version"]) {
        return Err(ask());
    }
    println!("installing {list} from the system's packages (apt-get) ...");
    let apt = |args: &[&str]| {
        let out = Command::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive").args(args).output();
        let out = out.map_err(|e| format!("cannot run apt-get: {e}"))?;
        let said = String::from_utf8_lossy(&out.stderr);
        if out.status.success() { Ok(()) } else { Err(format!("apt-get {} failed:\n{said}", args[0])) }
    };
    // the list of packages may be missing or old; if it cannot be updated, the present one may
    // suffice
    let updated = apt(&["update", "-qq"]);
    let install = [&["install", "-y", "-qq", "--no-install-recommends"][..], &missing].concat();
    apt(&install).map_err(|e| format!("{}{e}{}", updated.err().unwrap_or_default(), ask()))?;
    match needs.iter().find(|n| !(n.found)()) {
        None => Ok(()),
        Some(n) => Err(format!("{} was installed, but does not work", n.package)),
    }
}
