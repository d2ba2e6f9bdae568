//! How long it takes from nodes to code in this process: building, passes, schedule, PTX text of the version that is launched. Prints the median
//! of 20 runs in microseconds, after a first one.

use arraygpu_compiler::core::{Function, parse};
use arraygpu_compiler::driver::{self, Scope};
use arraygpu_compiler::{backend, core::print};
use std::time::Duration;

const RUNS: usize = 20;

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

/// Call and put, as cpp-examples has it, by cumulative normal distributions.
const BLACK_SCHOLES: &str = "func @f(%s: [f32], %x: [f32], %t: [f32], %r: f32, %v: f32) -> (call: [f32], put: [f32]) {
  %0 = len %s
  %1 = len %x
  require same %0, %1 \"x\"
  %2 = len %t
  require same %0, %2 \"x\"
  %3 = map (%p: f32, %k: f32, %y: f32) over %s, %x, %t {
    %q = sqrt %y
    %vq = mul %v, %q
    %m = div %p, %k
    %l = log %m
    %vv = mul %v, %v
    %h = mul 0.5f32, %vv
    %d = add %r, %h
    %dt = mul %d, %y
    %n = add %l, %dt
    %d1 = div %n, %vq
    %d2 = sub %d1, %vq
    %n1 = normcdf %d1
    %n2 = normcdf %d2
    %rt = mul %r, %y
    %nr = neg %rt
    %e = exp %nr
    %ke = mul %k, %e
    %a = mul %p, %n1
    %b = mul %ke, %n2
    %c = sub %a, %b
    yield %c
  }
  %4 = map (%p: f32, %k: f32, %y: f32) over %s, %x, %t {
    %q = sqrt %y
    %vq = mul %v, %q
    %m = div %p, %k
    %l = log %m
    %vv = mul %v, %v
    %h = mul 0.5f32, %vv
    %d = add %r, %h
    %dt = mul %d, %y
    %n = add %l, %dt
    %d1 = div %n, %vq
    %d2 = sub %d1, %vq
    %nd1 = neg %d1
    %nd2 = neg %d2
    %n1 = normcdf %nd1
    %n2 = normcdf %nd2
    %rt = mul %r, %y
    %nr = neg %rt
    %e = exp %nr
    %ke = mul %k, %e
    %a = mul %p, %n1
    %b = mul %ke, %n2
    %c = sub %b, %a
    yield %c
  }
  return %3, %4
}
";

fn median(mut of: impl FnMut() -> Duration) -> f64 {
    of();
    let mut times: Vec<Duration> = (0..RUNS).map(|_| of()).collect();
    times.sort();
    times[RUNS / 2].as_secs_f64() * 1e6
}

/// This thread's processor time: other processes do not count.
fn now() -> Duration {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a pointer to a local.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

fn timed<T>(f: impl FnOnce() -> T) -> (T, Duration) {
    let begin = now();
    let value = f();
    (value, now() - begin)
}

fn main() {
    println!("{:<14} {:>8} {:>8} {:>8} {:>8} {:>8}", "microseconds", "passes", "key", "schedule", "PTX", "all");
    for (name, text) in [("saxpy", SAXPY), ("black_scholes", BLACK_SCHOLES)] {
        let source: Function = parse::parse(text).expect("a function").remove(0);
        let (mut passes, mut key, mut schedule, mut ptx) = (vec![], vec![], vec![], vec![]);
        let (mut bytes, mut versions) = (0, 0);
        let all = median(|| {
            let (fused, a) = timed(|| driver::fuse(&source).expect("passes"));
            let (_, b) = timed(|| print::print(&fused, false));
            let (made, c) = timed(|| driver::schedule(&fused, Scope::ContiguousGpu).expect("a schedule"));
            let (text, d) = timed(|| backend::ptx::emit(&made.gpu[0].kernels[0]));
            bytes = text.len();
            versions = made.gpu[0].kernels.len();
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
