//! The caller's rounding mode, flushed subnormals and traps affect neither the compiler nor the
//! kernels, and they are restored.
#![cfg(target_arch = "x86_64")]
#![allow(clippy::undocumented_unsafe_blocks)] // Pointers are to locals; handles are valid.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::*;
use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

const DEFAULT: u32 = 0x1f80;

fn set(word: u32) {
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const word) };
}

fn get() -> u32 {
    let mut word = 0u32;
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut word) };
    word
}

/// Every rounding mode, with and without flushed subnormals, with and without traps for all
/// exceptions.
fn environments() -> Vec<u32> {
    let modes = (0..4).flat_map(|mode| [0, 0x8040].map(|flush| mode << 13 | flush));
    modes.flat_map(|word| [word | DEFAULT, word]).collect()
}

/// Calls the library in a floating-point environment, which the call must not change.
fn within(word: u32, f: impl FnOnce() -> AgpuStatus) {
    set(word);
    let status = f();
    let after = get();
    set(DEFAULT);
    ok(status);
    assert_eq!(after, word, "the environment of the caller");
}

/// A builder that makes all its calls in one environment.
struct Session {
    word: u32,
    builder: *mut AgpuBuilder,
}

impl Session {
    fn new(word: u32) -> Session {
        let mut builder = null_mut();
        within(word, || unsafe { agpu_builder_create(c"f".as_ptr(), &mut builder) });
        Session { word, builder }
    }

    fn constant(&self, value: f32) -> AgpuNode {
        let (mut node, value): (_, *const f32) = (0, &value);
        let ty = MaybeUninit::new(AgpuType::AgpuF32);
        within(self.word, || unsafe { agpu_builder_constant(self.builder, ty, value.cast(), &mut node) });
        node
    }

    fn param(&self, name: &CStr, rank: i32) -> AgpuNode {
        let (mut node, ty) = (0, MaybeUninit::new(AgpuType::AgpuF32));
        within(self.word, || unsafe { agpu_builder_param(self.builder, name.as_ptr(), ty, rank, &mut node) });
        node
    }

    fn apply(&self, op: &CStr, operands: &[AgpuNode]) -> AgpuNode {
        let (mut node, count) = (0, operands.len() as i32);
        within(self.word, || unsafe {
            agpu_builder_apply(self.builder, op.as_ptr(), operands.as_ptr(), count, &mut node)
        });
        node
    }

    /// Returns the bits of an array that is computed from constants, host scalars and elements.
    fn bits(&self) -> Vec<u32> {
        let (x, s) = (self.param(c"x", 1), self.param(c"s", 0));
        let [exp, third, tiny] = [0.7f32, 3.0, 1e-30].map(|c| self.constant(c));
        let exp = self.apply(c"exp", &[exp]);
        let third = self.apply(c"div", &[self.constant(1.0), third]);
        // These values are subnormal: one is computed from constants, the other from a scalar of
        // the call.
        let folded = self.apply(c"mul", &[tiny, self.constant(1e-10)]);
        let of_call = self.apply(c"mul", &[s, self.constant(1e-10)]);
        // A multiplication by a power of two and its inverse makes another program with the same
        // bits, so that no cached program is used.
        let power =
            2f32.powi(environments().iter().position(|w| *w == self.word).map_or(0, |i| i as i32 + 1));
        let scaled =
            self.apply(c"mul", &[self.apply(c"mul", &[x, self.constant(power)]), self.constant(1.0 / power)]);
        let mut all = self.apply(c"mul", &[scaled, third]);
        for part in [exp, folded, of_call] {
            let scaled = self.apply(c"mul", &[part, self.constant(1e20)]);
            all = self.apply(c"add", &[all, self.apply(c"mul", &[scaled, x])]);
        }
        // The square root of a negative number raises an exception.
        let wrong = self.apply(c"sqrt", &[self.constant(-1.0)]);
        let chosen = self.apply(c"select", &[self.apply(c"lt", &[x, self.constant(0.0)]), wrong, all]);
        within(self.word, || unsafe { agpu_builder_result(self.builder, null(), chosen) });
        let mut program = null_mut();
        within(self.word, || unsafe { agpu_builder_compile(self.builder, &mut program) });
        let values: Vec<f32> = (0..2000).map(|i| (i - 10) as f32 * 1e-39).chain([0.1, 0.7, 1e30]).collect();
        let (from, to) = (Vector::in_context(cpu(), &values), Vector::in_context(cpu(), &values));
        let args = [input(from.view()), scalar(&1e-30f32), output(to.view())];
        let count = args.len() as i32;
        within(self.word, || unsafe { agpu_program_run(program, null(), args.as_ptr(), count) });
        let mut host = vec![0f32; values.len()];
        let (place, n) = (host.as_mut_ptr().cast::<c_void>(), values.len() as i64);
        within(self.word, || unsafe { agpu_copy_to_host(place, to.view(), n) });
        within(self.word, || unsafe { agpu_program_free(program) });
        host.iter().map(|x| x.to_bits()).collect()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        within(self.word, || unsafe { agpu_builder_free(self.builder) });
    }
}

#[test]
fn what_is_compiled_and_what_runs() {
    let wanted = Session::new(DEFAULT).bits();
    for word in environments() {
        assert!(Session::new(word).bits() == wanted, "MXCSR {word:x}");
    }
}

/// A function of the caller runs in the caller's environment.
#[test]
fn callbacks() {
    unsafe extern "C" fn tell(data: *mut c_void) {
        unsafe { data.cast::<u32>().write(get()) };
    }
    for word in environments() {
        let mut seen = 0u32;
        let call = AgpuCall::on(cpu(), null_mut());
        within(word, || unsafe { agpu_stream_callback(&call, Some(tell), (&raw mut seen).cast()) });
        assert_eq!(seen, word);
    }
}
