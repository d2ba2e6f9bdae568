//! Measures the time from nodes to code in this process: building, compiler passes, scheduling, and
//! PTX text of the variant that is launched. It prints the median of 20 runs in microseconds, after
//! one run that does not count.

use arraygpu_compiler::core::{Function, parse};
use arraygpu_compiler::driver::{self, Scope};
use arraygpu_compiler::{backend, core::encode};
use std::time::Duration;

const RUNS: usize = 3000;

const SAXPY: &str = "func @f(%a: f32, %x: [f32], %y: [f32]) -> (r: [f32]) {
  %0 = len %x
  %1 = len %y
  require same %0, %1 \"operator +: x, y\"
  %2 = map (%p: f32, %q: f32) over %x, %y {
    %3 = mul %a, %p
    %4 = add %3, %q
    yield %4
  }
  return %2
}
";

/// Prices of call and put options, computed by a polynomial.
const BLACK_SCHOLES: &str = include_str!("black_scholes.core");

fn median(mut of: impl FnMut() -> Duration) -> f64 {
    of();
    let mut times: Vec<Duration> = (0..RUNS).map(|_| of()).collect();
    times.sort();
    times[RUNS / 2].as_secs_f64() * 1e6
}

/// Returns this thread's processor time, in which other processes do not count.
fn now() -> Duration {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a local.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

fn timed<T>(f: impl FnOnce() -> T) -> (T, Duration) {
    let begin = now();
    let value = f();
    (value, now() - begin)
}

fn main() {
    println!(
        "{:<14} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "microseconds", "passes", "key", "schedule", "PTX", "all"
    );
    for (name, text) in [("saxpy", SAXPY), ("black_scholes", BLACK_SCHOLES)] {
        let source: Function = parse::parse(text).expect("a function").remove(0);
        let (mut passes, mut key, mut schedule, mut ptx) = (vec![], vec![], vec![], vec![]);
        let (mut bytes, mut versions) = (0, 0);
        let all = median(|| {
            let (fused, a) = timed(|| driver::fuse(&source).expect("passes"));
            let (_, b) = timed(|| encode::encode(&fused));
            let (made, c) = timed(|| driver::schedule(&fused, Scope::ShortGpu).expect("a schedule"));
            let mut pass = { made }.kernels.remove(0).gpu.expect("variants for GPUs");
            versions = pass.drafts.len();
            let (text, d) =
                timed(|| backend::ptx::emit(&pass.drafts.swap_remove(0).finish().expect("a kernel")));
            bytes = text.len();
            for (list, time) in [(&mut passes, a), (&mut key, b), (&mut schedule, c), (&mut ptx, d)] {
                list.push(time);
            }
            a + b + c + d
        });
        let mid = |list: &mut Vec<Duration>| {
            list.sort();
            list[list.len() / 2].as_secs_f64() * 1e6
        };
        println!(
            "{name:<14} {:8.0} {:8.0} {:8.0} {:8.0} {all:8.0}   {versions} versions, {bytes} bytes",
            mid(&mut passes),
            mid(&mut key),
            mid(&mut schedule),
            mid(&mut ptx)
        );
    }
}
