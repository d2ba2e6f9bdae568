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

impl FloatEnvironment {
    /// The default one from now on.
    #[inline]
    pub fn enter() -> FloatEnvironment {
        FloatEnvironment(replace(DEFAULT))
    }

    /// Runs a function of the caller in the environment that he had.
    pub fn outside<T>(&self, f: impl FnOnce() -> T) -> T {
        let _back = FloatEnvironment(replace(self.0));
        f()
    }
}

impl Drop for FloatEnvironment {
    #[inline]
    fn drop(&mut self) {
        replace(self.0);
    }
}

/// Sets the control word; what it was.
#[cfg(target_arch = "x86_64")]
#[inline]
fn replace(word: Word) -> Word {
    let mut before: Word = 0;
    // SAFETY: reads and sets MXCSR, either to the default, which Rust expects, or to what the caller of this library had before it called, and will have again.
    unsafe {
        std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut before, options(nostack, preserves_flags));
        std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack, preserves_flags));
    }
    before
}

#[cfg(target_arch = "aarch64")]
#[inline]
fn replace(word: Word) -> Word {
    let before: Word;
    // SAFETY: reads and sets FPCR, as above.
    unsafe {
        std::arch::asm!("mrs {}, fpcr", out(reg) before, options(nomem, nostack));
        std::arch::asm!("msr fpcr, {}", in(reg) word, options(nomem, nostack));
    }
    before
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn replace(word: Word) -> Word {
    word
}
