//! Threads call, compile and load for a long time. Afterwards the process has as much memory as it
//! had when all caches were full. The test runs for a few seconds, or for `ARRAYGPU_SOAK=MINUTES`,
//! and prints its counts.
#![allow(clippy::undocumented_unsafe_blocks)] // Pointers are to locals; handles are valid.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::*;
use std::ffi::CString;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::sync::Barrier;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const THREADS: usize = 8;
/// The number of programs of different structure that fill the caches, each of which keeps 1024.
const WARM: u64 = 1500;
/// The number of calls in one turn of a thread.
const CALLS: u64 = 100;
const STRUCTURES: u64 = 10;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

/// Returns the resident memory of the process in KiB.
fn resident() -> i64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|l| l.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// Makes a function of x and y that the number determines: a chain of eight operations. Also
/// returns its value for one element.
fn structure(number: u64, x: f32, y: f32) -> (*mut AgpuProgram, f32) {
    let (mut builder, mut program, mut value, mut digits) = (null_mut(), null_mut(), x, number);
    let mut node = [0; 3];
    unsafe {
        ok(agpu_builder_create(c"f".as_ptr(), &mut builder));
        for (name, node) in [c"x", c"y"].iter().zip(&mut node) {
            ok(agpu_builder_param(builder, name.as_ptr(), MaybeUninit::new(AgpuType::AgpuF32), 1, node));
        }
        node[2] = node[0];
        for _ in 0..8 {
            let other = digits / 5 % 2;
            let operand = [x, y][other as usize];
            let (name, next) = match digits % 5 {
                0 => (c"add", value + operand),
                1 => (c"sub", value - operand),
                2 => (c"mul", value * operand),
                3 => (c"min", value.min(operand)),
                _ => (c"max", value.max(operand)),
            };
            let operands = [node[2], node[other as usize]];
            ok(agpu_builder_apply(builder, name.as_ptr(), operands.as_ptr(), 2, &mut node[2]));
            (value, digits) = (next, digits / 10);
        }
        ok(agpu_builder_result(builder, null(), node[2]));
        ok(agpu_builder_compile(builder, &mut program));
        ok(agpu_builder_free(builder));
    }
    (program, value)
}

/// A vector that all threads read.
struct Shared(Vector);

// SAFETY: it is a handle.
unsafe impl Sync for Shared {}

/// Counts of what all threads have done.
#[derive(Default)]
struct Done {
    calls: AtomicU64,
    structures: AtomicU64,
    loads: AtomicU64,
}

/// One turn of a thread, which uses its own vectors and a shared one.
fn turn(done: &Done, own: &[Vector; 2], shared: &Shared, package: Option<&CString>) {
    let (mut dot, mut version) = (0f32, 0);
    for i in 0..CALLS {
        let x = if i % 2 == 0 { own[0].view() } else { shared.0.view() };
        match i % 3 {
            0 => ok(invoke(DOT, &[input(x), input(own[0].view()), out_scalar(&mut dot)])),
            1 => {
                ok(invoke(SCALE, &[scalar(&2f32), input(x), output(own[1].view()), out_scalar(&mut version)]))
            }
            _ => {
                let mut made = null_mut();
                ok(invoke(REVERSED, &[input(x), out_new(&mut made)]));
                drop(Vector(made));
            }
        }
    }
    done.calls.fetch_add(CALLS, Relaxed);
    for _ in 0..STRUCTURES {
        // The numbers are far apart, so that each thread asks for a new structure.
        let number = done.structures.fetch_add(1, Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let (x, y) = (1.25, -0.5);
        let (program, expected) = structure(number, x, y);
        let (vx, vy) = (Vector::in_context(cpu(), &[x; 3]), Vector::in_context(cpu(), &[y; 3]));
        let args = [input(vx.view()), input(vy.view()), output(vx.view())];
        ok(unsafe { agpu_program_run(program, null(), args.as_ptr(), 3) });
        assert_eq!(vx.get(), [expected; 3], "structure {number}");
        ok(unsafe { agpu_program_free(program) });
    }
    if let Some(path) = package {
        let mut module = null_mut();
        unsafe {
            ok(agpu_module_load(path.as_ptr(), &mut module));
            ok(agpu_loaded_module_free(module));
        }
        done.loads.fetch_add(1, Relaxed);
    }
}

#[test]
fn memory_stays_flat() {
    // By default glibc has an arena for each thread. Because one thread makes a program and another
    // one frees it, more and more free memory stays in the arenas. With a single arena the resident
    // memory is in use.
    const M_ARENA_MAX: i32 = -8;
    assert_eq!(unsafe { libc::mallopt(M_ARENA_MAX, 1) }, 1);
    let minutes = std::env::var("ARRAYGPU_SOAK").ok().and_then(|m| m.parse::<f64>().ok());
    let folder = tempfile::tempdir().unwrap();
    let package = tiny::build(folder.path()).map(|path| CString::new(path.to_str().unwrap()).unwrap());
    let (done, shared) = (Done::default(), Shared(Vector::in_context(cpu(), &values(500))));
    let (meet, begin) = (Barrier::new(THREADS), Instant::now());
    let limit = Duration::from_secs_f64(minutes.unwrap_or(0.05) * 60.0);
    // These are the bytes allocated and the KiB resident when the caches are full and at the end.
    let seen: [[AtomicI64; 2]; 2] = Default::default();
    std::thread::scope(|s| {
        for thread in 0..THREADS {
            let (done, shared, meet, seen, package) = (&done, &shared, &meet, &seen, package.as_ref());
            s.spawn(move || {
                let own = [0, 1].map(|_| Vector::in_context(cpu(), &values(500)));
                let look = |at: usize| {
                    meet.wait();
                    if thread == 0 {
                        seen[at][0].store(counting::BYTES.load(Relaxed), Relaxed);
                        seen[at][1].store(resident(), Relaxed);
                    }
                    meet.wait();
                };
                while done.structures.load(Relaxed) < WARM {
                    turn(done, &own, shared, package);
                }
                look(0);
                while begin.elapsed() < limit || done.structures.load(Relaxed) < 2 * WARM {
                    turn(done, &own, shared, package);
                }
                look(1);
            });
        }
    });
    let [full, end] = seen.map(|pair| pair.map(AtomicI64::into_inner));
    println!(
        "{:.1} s, {THREADS} threads: {} calls, {} structures, {} loads; allocated {} -> {} bytes, resident {} -> {} KiB",
        begin.elapsed().as_secs_f64(),
        done.calls.into_inner(),
        done.structures.into_inner(),
        done.loads.into_inner(),
        full[0],
        end[0],
        full[1],
        end[1]
    );
    // The programs in the caches differ a little in size.
    assert!(end[0] < full[0] + full[0] / 10, "allocated {} bytes, then {}", full[0], end[0]);
    assert!(end[1] < full[1] + full[1] / 4, "resident {} KiB, then {}", full[1], end[1]);
}
