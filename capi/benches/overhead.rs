//! Measures the cost of a call beyond its work, and the size from which a second thread is
//! worthwhile: `cargo bench -p arraygpu-capi`.
#![allow(missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;

use arraygpu_capi::*;
use common::*;
use std::process::Command;
use std::ptr::null_mut;
use std::time::Instant;

/// Returns nanoseconds per call: the minimum of several runs.
fn time(calls: u32, mut f: impl FnMut()) -> f64 {
    let run = |_| {
        let start = Instant::now();
        (0..calls).for_each(|_| f());
        start.elapsed().as_nanos() as f64 / f64::from(calls)
    };
    (0..15).map(run).fold(f64::MAX, f64::min)
}

/// Measures the host time of calls on a GPU with the fake driver, whose launches do nothing, in a
/// separate process.
fn gpu_calls() {
    let (context, x) = (gpu::gpu(), values(1000));
    let (v, w) = (Vector::in_context(context, &x), Vector::in_context(context, &x));
    let mut dot = 0f32;
    let one = [input(v.view()), output(w.view())];
    println!("{:>10.0} ns  GPU: one launch, a vector result", time(50_000, || ok(gpu::call(REVERSED, &one))));
    let current = fake::Fake::get().primary(0);
    fake::Fake::get().set_current(current);
    println!(
        "{:>10.0} ns  GPU: the same, the context is current",
        time(50_000, || ok(gpu::call(REVERSED, &one)))
    );
    let stream = fake::Fake::get().stream();
    let call = || ok(gpu::call_on(context, stream, REVERSED, &one));
    println!("{:>10.0} ns  GPU: the same, on a stream of the caller", time(50_000, call));
    let args = [input(v.view()), input(v.view()), output(w.slice(0, 1, 1))];
    println!("{:>10.0} ns  GPU: a reduction that stays there", time(50_000, || ok(gpu::call(DOT, &args))));
    let args = [input(v.view()), input(v.view()), out_scalar(&mut dot)];
    println!("{:>10.0} ns  GPU: a reduction for the host", time(50_000, || ok(gpu::call(DOT, &args))));
    let args = [input(v.view()), scalar(&0i64), output(w.view())];
    println!("{:>10.0} ns  GPU: a function with records", time(50_000, || ok(gpu::call(GATHER, &args))));
}

fn main() {
    if fake::part().is_some() {
        return gpu_calls();
    }
    let (x, y) = (Vector::new(&[1.5]), Vector::new(&[2.5]));
    let (mut dot, mut version, mut count) = (0f32, 0, 0);
    let args = [input(x.view()), input(y.view()), out_scalar(&mut dot)];
    println!("{:>10.0} ns  dot, n = 1", time(20_000, || ok(invoke(DOT, &args))));
    let args = [scalar(&2f32), input(x.view()), output(y.view()), out_scalar(&mut version)];
    println!("{:>10.0} ns  scale, n = 1", time(20_000, || ok(invoke(SCALE, &args))));
    let args = [scalar(&2f32), input(x.view()), output(x.view()), out_scalar(&mut version)];
    println!("{:>10.0} ns  scale in place, n = 1", time(20_000, || ok(invoke(SCALE, &args))));
    let new = time(20_000, || {
        let mut made = null_mut();
        ok(invoke(SCALE, &[scalar(&2f32), input(x.view()), out_new(&mut made), out_scalar(&mut version)]));
        drop(Vector(made));
    });
    println!("{new:>10.0} ns  scale into a new buffer, n = 1, and its end");
    let lookup = time(100_000, || {
        // SAFETY: the arguments are a handle and a pointer to a local.
        ok(unsafe { agpu_buffer_count(x.0, &mut count) });
    });
    println!("{lookup:>10.1} ns  agpu_buffer_count");
    let wrong = [input(x.view()), input(x.view())];
    let error = time(10_000, || assert!(invoke(DOT, &wrong) != AgpuOk));
    println!("{error:>10.0} ns  an error with its message");

    if let Some(driver) = fake::build(None) {
        let mut again = Command::new(std::env::current_exe().expect("this program"));
        again.env("ARRAYGPU_TEST_PART", "bench").env("LD_LIBRARY_PATH", driver).env("FAKE_CUDA", "quiet=1");
        again.status().expect("the same program runs again");
    }
    println!("\n  elements    1 thread   2 threads (ns, scale)");
    let (one, two) = (context(1), context(2));
    for log in (11..=24).step_by(1) {
        let n = 1usize << log;
        let times = [one, two].map(|c| {
            let (x, y) = (Vector::in_context(c, &vec![1.5; n]), Vector::in_context(c, &vec![2.5; n]));
            let args = [scalar(&2f32), input(x.view()), output(y.view()), out_scalar(&mut version)];
            time((1 << 24 >> log).clamp(3, 1000), || ok(invoke(SCALE, &args)))
        });
        println!("{n:>10}  {:>10.0}  {:>10.0}", times[0], times[1]);
    }
}
