//! The floating-point environment: the rounding mode, the treatment of subnormals, and which
//! exceptions trap. The caller's environment is arbitrary: a library linked with `-ffast-math`, for
//! example, flushes subnormals in the whole process. Both the compiler's constants and the kernels'
//! results depend on the environment. So each function of the C ABI and each job of a worker runs
//! in the default environment, and the caller's is restored afterwards.

/// The environment that a thread had, which is restored when this value is dropped. Until then the
/// thread has the default environment: round to nearest, subnormals kept, no traps.
pub(crate) struct FloatEnvironment(Word);

#[cfg(target_arch = "x86_64")]
type Word = u32;
#[cfg(not(target_arch = "x86_64"))]
type Word = u64;

/// The default value of MXCSR or FPCR.
#[cfg(target_arch = "x86_64")]
const DEFAULT: Word = 0x1f80;
#[cfg(not(target_arch = "x86_64"))]
const DEFAULT: Word = 0;

/// The bits of exceptions that have occurred, which do not affect results.
#[cfg(target_arch = "x86_64")]
const SEEN: Word = 0x3f;
#[cfg(not(target_arch = "x86_64"))]
const SEEN: Word = 0;

impl FloatEnvironment {
    /// Sets the default environment. Nothing is written if it is already set, which is nearly
    /// always the case.
    #[inline]
    pub fn enter() -> FloatEnvironment {
        FloatEnvironment::change(DEFAULT)
    }

    #[inline]
    fn change(to: Word) -> FloatEnvironment {
        let before = get();
        if (before ^ to) & !SEEN != 0 {
            set(to);
        }
        FloatEnvironment(before)
    }

    /// Runs a function of the caller in the environment of the caller.
    pub fn outside<T>(&self, f: impl FnOnce() -> T) -> T {
        let _back = FloatEnvironment::change(self.0);
        f()
    }
}

impl Drop for FloatEnvironment {
    #[inline]
    fn drop(&mut self) {
        if get() != self.0 {
            set(self.0);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn get() -> Word {
    let mut word: Word = 0;
    // SAFETY: this reads MXCSR.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags)) };
    word
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn set(word: Word) {
    // SAFETY: this sets MXCSR either to the default, which Rust expects, or to the value that the
    // caller of this library had before the call and gets back after it.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack, preserves_flags)) };
}

#[cfg(target_arch = "aarch64")]
#[inline]
fn get() -> Word {
    let word: Word;
    // SAFETY: this reads FPCR.
    unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) word, options(nomem, nostack)) };
    word
}

#[cfg(target_arch = "aarch64")]
#[inline]
fn set(word: Word) {
    // SAFETY: this sets FPCR, as above.
    unsafe { std::arch::asm!("msr fpcr, {}", in(reg) word, options(nomem, nostack)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn get() -> Word {
    DEFAULT
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn set(_: Word) {}
