//! The levels of the x86-64 instruction set that a package's kernels are compiled for.

use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// A level, with the compiler flags that select it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Level {
    /// The name: `v2`, `v3` or `v4`.
    pub name: &'static str,
    /// The flags of the C compiler.
    pub flags: &'static [&'static str],
}

#[cfg(target_arch = "x86_64")]
const ALL: [Level; 3] = [
    Level { name: "v2", flags: &["-march=x86-64-v2"] },
    Level { name: "v3", flags: &["-march=x86-64-v3"] },
    // GCC's generic tuning has no gathers: loops that read at computed places would not become vectors.
    Level { name: "v4", flags: &["-march=x86-64-v4", "-mtune=sapphirerapids", "-mprefer-vector-width=512"] },
];

/// Other processors have one level, the baseline.
#[cfg(not(target_arch = "x86_64"))]
const ALL: [Level; 1] = [Level { name: "v2", flags: &[] }];

impl Level {
    /// Returns all levels, the lowest first.
    pub fn all() -> &'static [Level] {
        &ALL
    }

    /// Returns the levels that this machine can run, for programs that compile and call.
    pub fn here() -> Vec<Level> {
        ALL.into_iter().filter(Level::runs).collect()
    }

    /// Returns the highest level that this machine can run.
    pub fn host() -> Level {
        Level::here().pop().unwrap_or(ALL[0])
    }

    #[cfg(target_arch = "x86_64")]
    fn runs(&self) -> bool {
        match self.name {
            "v4" => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
            }
            "v3" => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            _ => true,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn runs(&self) -> bool {
        true
    }
}

impl FromStr for Level {
    type Err = Error;

    /// Parses the name of a level, or `host`.
    fn from_str(text: &str) -> Result<Level> {
        if text == "host" {
            return Ok(Level::host());
        }
        ALL.into_iter().find(|level| level.name == text).ok_or_else(|| {
            let names: Vec<&str> = ALL.iter().map(|level| level.name).collect();
            Error::user("E0610", format!("`{text}` is no level of the processor: {}, host", names.join(", ")))
        })
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name)
    }
}
