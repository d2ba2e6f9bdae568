//! The floating-point environment: how a thread rounds, whether subnormals count, and which exceptions trap. The caller's may be any (a library that was linked with
//! `-ffast-math` flushes subnormals in the whole process), and the compiler's constants as well as the kernels' results depend on it. So each function of the C ABI and each
//! job of a worker has the default one, and the caller gets its own back.

/// The environment that a thread had, given back at the end; until then it is the default: round to nearest, subnormals kept, no traps.
pub(crate) struct FloatEnvironment(Word);

#[cfg(target_arch = "x86_64")]
type Word = u32;
#[cfg(not(target_arch = "x86_64"))]
type Word = u64;

/// MXCSR or FPCR.
#[cfg(target_arch = "x86_64")]
const DEFAULT: Word = 0x1f80;
#[cfg(not(target_arch = "x86_64"))]
const DEFAULT: Word = 0;

/// Exceptions that have happened; they decide about nothing.
#[cfg(target_arch = "x86_64")]
const SEEN: Word = 0x3f;
#[cfg(not(target_arch = "x86_64"))]
const SEEN: Word = 0;

impl FloatEnvironment {
    /// The default one from now on. Where it is that already, which is nearly always, nothing is written.
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

    /// Runs a function of the caller in the environment that he had.
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
    // SAFETY: reads MXCSR.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags)) };
    word
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn set(word: Word) {
    // SAFETY: sets MXCSR, either to the default, which Rust expects, or to what the caller of this library had before
    // it called, and will have again.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack, preserves_flags)) };
}

#[cfg(target_arch = "aarch64")]
#[inline]
fn get() -> Word {
    let word: Word;
    // SAFETY: reads FPCR.
    unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) word, options(nomem, nostack)) };
    word
}

#[cfg(target_arch = "aarch64")]
#[inline]
fn set(word: Word) {
    // SAFETY: sets FPCR, as above.
    unsafe { std::arch::asm!("msr fpcr, {}", in(reg) word, options(nomem, nostack)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn get() -> Word {
    DEFAULT
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn set(_: Word) {}
