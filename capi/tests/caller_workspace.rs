//! Calls whose temporaries lie in the caller's memory.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::*;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// Memory of the given size, aligned to 256 bytes and filled with 0x55, so that writes behind its
/// end are seen.
struct Bytes(Vec<[u64; 32]>, usize);

impl Bytes {
    fn new(bytes: usize) -> Bytes {
        // One more block is allocated, so that it contains an aligned address.
        Bytes(vec![[0x5555_5555_5555_5555; 32]; bytes.div_ceil(256) + 2], bytes)
    }

    fn at(&mut self) -> *mut u8 {
        let first = self.0.as_mut_ptr().cast::<u8>();
        first.wrapping_add(first.align_offset(256))
    }

    /// Whether bytes after the memory were written.
    fn is_written_behind(&mut self) -> bool {
        let (end, bytes) = (self.at().wrapping_add(self.1), 256);
        // SAFETY: there are 256 bytes more than were requested.
        (0..bytes).any(|i| unsafe { end.add(i).read() } != 0x55)
    }
}

fn run(entry: i32, call: &AgpuCall, args: &[AgpuArg]) -> AgpuStatus {
    // SAFETY: it is the package of these tests, with arguments that point at locals of the caller.
    unsafe { agpu_invoke(&MODULE, entry, call, args.as_ptr(), args.len() as i32) }
}

/// Returns the bytes of workspace that a call needs.
fn needed(entry: i32, context: *mut AgpuContext, args: &[AgpuArg]) -> i64 {
    let mut bytes = MaybeUninit::new(-1);
    let call = AgpuCall { workspace_needed: bytes.as_mut_ptr(), ..AgpuCall::on(context, null_mut()) };
    ok(run(entry, &call, args));
    // SAFETY: it was initialised above.
    unsafe { bytes.assume_init() }
}

fn lent(context: *mut AgpuContext, memory: *mut u8, bytes: i64) -> AgpuCall {
    AgpuCall { workspace: memory.cast(), workspace_bytes: bytes, ..AgpuCall::on(context, null_mut()) }
}

/// Returns the bytes in use and their maximum so far.
fn memory(context: *mut AgpuContext) -> (i64, i64) {
    let (mut now, mut most) = (0, 0);
    // SAFETY: the pointers are to locals.
    ok(unsafe { agpu_context_memory(context, &mut now, &mut most) });
    (now, most)
}

/// Covers temporaries, scratch of a reduction, and an output that overlaps an input and is computed
/// in a temporary.
#[test]
fn all_temporaries_lie_in_it() {
    let n = 1_000_000;
    let x = values(n as usize);
    let turned: Vec<f32> = x.iter().rev().copied().collect();
    let context = context(2);
    let (v, w) = (Vector::in_context(context, &x), Vector::in_context(context, &x));
    let (mut dot, mut version, mut expected) = (0f32, 0, 0f32);
    let mut made = null_mut();
    ok(invoke_in(context, DOT, &[input(v.view()), input(v.view()), out_scalar(&mut expected)]));
    let calls: [(i32, Vec<AgpuArg>, i64); 3] = [
        (REVERSED, vec![input(v.view()), output(v.view())], 4 * n),
        (
            TWICE_THEN_REVERSED,
            vec![input(w.view()), output(w.view()), out_new(&mut made), out_scalar(&mut version)],
            4 * n,
        ),
        (DOT, vec![input(w.view()), input(w.view()), out_scalar(&mut dot)], 4 * (n / 2048)),
    ];
    for (entry, args, least) in calls {
        let before = memory(context);
        let bytes = needed(entry, context, &args);
        assert_eq!(memory(context), before, "nothing was allocated");
        assert!((least..least + 4 * n + 4096).contains(&bytes), "entry {entry} takes {bytes}");
        let mut given = Bytes::new(bytes as usize);
        let too_few = lent(context, given.at(), bytes - 1);
        fails(run(entry, &too_few, &args), AgpuErrorOutOfMemory, &["workspace of", "too small"]);
        ok(run(entry, &lent(context, given.at(), bytes), &args));
        assert!(!given.is_written_behind());
        // New results are not temporaries.
        assert!(memory(context).1 <= before.1.max(before.0 + 8 * n), "entry {entry}");
    }
    assert_eq!(v.get(), turned);
    assert_eq!(version, 1);
    assert!(dot > expected, "of twice the numbers");
    drop(Vector(made));
}

#[test]
fn a_workspace_that_will_not_do() {
    let x = values(5000);
    let v = Vector::new(&x);
    let args = [input(v.view()), output(v.view())];
    let bytes = needed(REVERSED, cpu(), &args);
    assert_eq!(bytes, 20_224, "5000 elements of 4 bytes, rounded up to a multiple of 256");
    let mut given = Bytes::new(bytes as usize + 256);
    let odd = given.at().wrapping_add(64);
    fails(run(REVERSED, &lent(cpu(), odd, bytes), &args), AgpuErrorInvalidArgument, &["a multiple of 256"]);
    fails(run(REVERSED, &lent(cpu(), given.at(), -1), &args), AgpuErrorInvalidArgument, &["_bytes is -1"]);
    fails(run(REVERSED, &lent(cpu(), given.at(), 0), &args), AgpuErrorOutOfMemory, &["of 0 bytes"]);
    let call =
        AgpuCall { workspace_needed: given.at().wrapping_add(1).cast(), ..AgpuCall::on(cpu(), null_mut()) };
    fails(run(REVERSED, &call, &args), AgpuErrorInvalidArgument, &["workspace_needed", "not aligned"]);
    assert_eq!(v.get(), x, "outputs are untouched");
    // A call that only asks for the size checks its arguments, too.
    let mut bytes = -1;
    let call = AgpuCall { workspace_needed: &mut bytes, ..AgpuCall::on(cpu(), null_mut()) };
    let short = Vector::new(&[0.0]);
    fails(run(REVERSED, &call, &[input(v.view()), output(short.view())]), AgpuErrorShape, &["result"]);
    assert_eq!(bytes, -1);
}
