//! The x86-64 level whose code runs. It is chosen once, from the processor and the environment
//! variable `ARRAYGPU_CPU_LEVEL`.

use crate::environment;
use crate::error::{INVALID_ARGUMENT, Result, UNAVAILABLE, error};
use std::sync::OnceLock;

/// A level of the x86-64 instruction set. On other processors it is always [`Level::V2`], the
/// baseline.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Level {
    V2,
    V3,
    V4,
}

impl Level {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Level::V2 => "v2",
            Level::V3 => "v3",
            Level::V4 => "v4",
        }
    }
}

/// Returns the best level of this processor, or the lower level that the environment names.
pub(crate) fn level() -> Result<Level> {
    static LEVEL: OnceLock<std::result::Result<Level, (crate::abi::AgpuStatus, String)>> = OnceLock::new();
    let choose = || {
        let Some(best) = detect() else {
            return Err((UNAVAILABLE, "the processor has no x86-64-v2 (SSE 4.2)".to_string()));
        };
        let asked =
            environment::variable("ARRAYGPU_CPU_LEVEL").map(|text| text.to_string_lossy().into_owned());
        match asked.as_deref() {
            None | Some("v4") => Ok(best),
            Some("v2") => Ok(Level::V2),
            Some("v3") => Ok(best.min(Level::V3)),
            Some(text) => {
                Err((INVALID_ARGUMENT, format!("ARRAYGPU_CPU_LEVEL is `{text}`, expected v2, v3 or v4")))
            }
        }
    };
    LEVEL.get_or_init(choose).clone().map_err(|(status, message)| error(status, message))
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Option<Level> {
    macro_rules! has {
        ($($feature:tt)*) => { $(std::arch::is_x86_feature_detected!($feature))&&* };
    }
    if !(has!("sse3" "ssse3" "sse4.1" "sse4.2" "popcnt" "cmpxchg16b")) {
        return None;
    }
    if !(has!("avx" "avx2" "bmi1" "bmi2" "f16c" "fma" "lzcnt" "movbe")) {
        return Some(Level::V2);
    }
    if !(has!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl")) {
        return Some(Level::V3);
    }
    Some(Level::V4)
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Option<Level> {
    Some(Level::V2)
}
