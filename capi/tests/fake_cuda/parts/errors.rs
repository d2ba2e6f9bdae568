//! Errors of the driver, including those after which nothing runs any more.

use super::*;

pub fn failed_launch() {
    let (fake, context) = (Fake::get(), gpu());
    let v = Vector::in_context(context, &values(100));
    let mut dot = -1f32;
    let mut call = || call(DOT, &[input(v.view()), input(v.view()), out_scalar(&mut dot)]);
    fake.options("fail_launch=1,launch_code=1");
    fails(call(), AgpuErrorDevice, &["stats::dot: launching dot: 1 block of 256 threads: CUDA error 1"]);
    fake.options("fail_launch=2,launch_code=700");
    ok(call());
    fails(
        call(),
        AgpuErrorDevice,
        &["launching dot", "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access"],
    );
    fails(
        call(),
        AgpuErrorDevice,
        &["Fake GPU 0", "cannot be used any more in this process: launching dot", "(700)"],
    );
    // SAFETY: the arguments are handles.
    unsafe {
        fails(agpu_context_synchronize(context), AgpuErrorDevice, &["cannot be used any more", "(700)"]);
        let mut host = [0f32; 100];
        fails(agpu_copy_to_host(host.as_mut_ptr().cast(), v.view(), 100), AgpuErrorDevice, &["(700)"]);
    }
    drop(v);
    free(context);
    done();
}

pub fn failed_wait() {
    let (fake, context) = (Fake::get(), gpu());
    let v = Vector::in_context(context, &values(100));
    let mut dot = -1f32;
    fake.options("fail_wait=1");
    let mut call = || call(DOT, &[input(v.view()), input(v.view()), out_scalar(&mut dot)]);
    // The first wait is for fresh scratch.
    fails(call(), AgpuErrorDevice, &["stats::dot", "(700)"]);
    fails(call(), AgpuErrorDevice, &["stats::dot", "cannot be used any more"]);
    drop(v);
    free(context);
    assert_eq!(dot, -1.0);
    done();
}

/// A call fails half-way. What it queued has ended before another call uses its words.
pub fn failed_second_launch() {
    let (fake, context) = (Fake::get(), gpu());
    let v = Vector::in_context(context, &values(100));
    let call = || {
        let (mut made, mut version) = (null_mut(), -1);
        let args = [input(v.view()), output(v.view()), out_new(&mut made), out_scalar(&mut version)];
        let status = call(TWICE_THEN_REVERSED, &args);
        if status == AgpuOk {
            drop(Vector(made));
        }
        (status, version)
    };
    assert_eq!(call().0, AgpuOk);
    wait(context);
    let waits = fake.counts().waits;
    fake.options("fail_launch=2,launch_code=1");
    let (status, version) = call();
    fails(status, AgpuErrorDevice, &["stats::twice_then_reversed", "CUDA error 1"]);
    assert_eq!((fake.counts().waits, version), (waits + 1, -1));
    fake.options("");
    assert_eq!(call().0, AgpuOk);
    drop(v);
    free(context);
    done();
}

/// Each call's error record is reported once, to the thread that waits first.
pub fn records_of_two_threads() {
    use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
    let (_, context) = (Fake::get(), gpu());
    let new = || Vector::in_context(context, &values(100));
    let (x, out) = (new(), new());
    let (stop, told, address) = (AtomicBool::new(false), AtomicI64::new(0), context.addr());
    // SAFETY: the argument is a handle.
    let status = || unsafe { agpu_context_synchronize(std::ptr::without_provenance_mut(address)) };
    let sync = || status() == AgpuErrorRecord;
    let gather = |from: i64| ok(call(GATHER, &[input(x.view()), scalar(&from), output(out.view())]));
    // One thread makes a call that leaves an error record and one that does not.
    for _ in 0..4 {
        gather(3);
        assert!(sync());
        assert_eq!(status(), AgpuOk);
    }
    for (from, expected) in [(3, AgpuErrorRecord), (0, AgpuOk), (3, AgpuErrorRecord), (0, AgpuOk)] {
        gather(from);
        let mut dot = 0f32;
        assert_eq!(call(DOT, &[input(x.view()), input(x.view()), out_scalar(&mut dot)]), expected);
    }
    let mut mine = 0;
    std::thread::scope(|s| {
        s.spawn(|| {
            while !stop.load(SeqCst) {
                told.fetch_add(i64::from(sync()), SeqCst);
            }
        });
        for _ in 0..5000 {
            gather(3);
            mine += i64::from(sync());
        }
        stop.store(true, SeqCst);
    });
    assert_eq!(mine + told.load(SeqCst), 5000, "{mine} of them to the caller");
    drop((x, out));
    free(context);
    done();
}
