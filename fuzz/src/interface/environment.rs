//! The caller's floating-point environment: any rounding mode, flushed subnormals, traps. Every
//! call is made in one, and must leave it as it was.

use crate::rng::Rng;

/// How the caller rounds, what it flushes, and what traps.
pub(super) struct Environment(u32);

/// Rust's own: to nearest, no traps.
const DEFAULT: u32 = 0x1f80;
/// Flush results and operands that are subnormal.
const FLUSH: u32 = 0x8040;
/// The masks of the traps for invalid operations, divisions by zero and overflows; inexact results
/// are everybody's.
const TRAPS: u32 = 0x0080 | 0x0200 | 0x0400;
/// The flags of exceptions that have happened. The test's own arithmetic sets some, too.
const SEEN: u32 = 0x003f;

impl Environment {
    /// An environment; half of the calls get the default one.
    pub fn pick(rng: &mut Rng) -> Environment {
        if cfg!(not(target_arch = "x86_64")) || rng.one_in(2) {
            return Environment(DEFAULT);
        }
        let (mode, flush) = (rng.below(4) as u32, rng.pick(&[0, FLUSH]));
        Environment((DEFAULT & !rng.pick(&[0, TRAPS])) | mode << 13 | flush)
    }

    /// Makes a call in this environment.
    pub fn within(&self, call: impl FnOnce() -> Result<bool, String>) -> Result<bool, String> {
        set(self.0);
        let done = call();
        let after = get();
        set(DEFAULT);
        if (after ^ self.0) & !SEEN == 0 {
            return done;
        }
        Err(format!("the caller's floating-point environment was {:#x}, and is {after:#x}", self.0))
    }
}

#[cfg(target_arch = "x86_64")]
fn set(word: u32) {
    // SAFETY: sets MXCSR, for a call of the library, which has an environment of its own.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack, preserves_flags)) };
}

#[cfg(target_arch = "x86_64")]
fn get() -> u32 {
    let mut word = 0u32;
    // SAFETY: reads MXCSR.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags)) };
    word
}

#[cfg(not(target_arch = "x86_64"))]
fn set(_: u32) {}

#[cfg(not(target_arch = "x86_64"))]
fn get() -> u32 {
    DEFAULT
}
