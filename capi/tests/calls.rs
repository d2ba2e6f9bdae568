//! Calls: results, variants of kernels, overlaps, and outputs that stay unchanged on error.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::*;
use std::ptr::null_mut;

/// Runs `scale` and returns the variant of the kernel that ran.
fn scale(a: f32, x: AgpuView, out: AgpuView) -> i32 {
    let mut version = 0;
    ok(invoke(SCALE, &[scalar(&a), input(x), output(out), out_scalar(&mut version)]));
    version
}

#[test]
fn results_of_all_kinds() {
    for n in [0, 1, 5, 2047, 2048, 2049, 300_000] {
        let (x, y) = (values(n), values(n));
        let (vx, vy) = (Vector::new(&x), Vector::new(&y));
        let mut dot = -1f32;
        ok(invoke(DOT, &[input(vx.view()), input(vy.view()), out_scalar(&mut dot)]));
        let tile = |(a, b): (&[f32], &[f32])| -> f32 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        assert_eq!(dot, x.chunks(2048).zip(y.chunks(2048)).map(tile).sum::<f32>());

        let (mut made, mut version) = (null_mut(), 0);
        ok(invoke(SCALE, &[scalar(&2f32), input(vx.view()), out_new(&mut made), out_scalar(&mut version)]));
        assert_eq!(Vector(made).get(), x.iter().map(|x| x * 2.0).collect::<Vec<_>>());
        assert_eq!(version, i32::from(n > 0));
    }
}

#[test]
fn a_function_of_scalars_only() {
    let mut result = 0f32;
    ok(invoke(SCALARS, &[scalar(&2.5f32), scalar(&true), scalar(&-7i64), out_scalar(&mut result)]));
    assert_eq!(result, 2.5);
}

#[test]
fn several_launches_with_a_temporary() {
    for n in [0, 3, 100_000] {
        let x = values(n);
        let v = Vector::new(&x);
        let (mut doubled, mut reversed, mut version) = (null_mut(), null_mut(), 0);
        let results = [out_new(&mut doubled), out_new(&mut reversed), out_scalar(&mut version)];
        ok(invoke(TWICE_THEN_REVERSED, &[&[input(v.view())], &results[..]].concat()));
        assert_eq!(Vector(doubled).get(), x.iter().map(|x| x * 4.0).collect::<Vec<_>>());
        assert_eq!(Vector(reversed).get(), x.iter().rev().copied().collect::<Vec<_>>());
    }
}

#[test]
fn sequential_launches_are_one_call() {
    let v = Vector::new(&values(1_000_000));
    let (mut last, mut one_call) = (0f32, 0i64);
    ok(invoke(LAST, &[input(v.view()), out_scalar(&mut last), out_scalar(&mut one_call)]));
    assert_eq!((last, one_call), (values(1_000_000)[999_999], 1));
}

#[test]
fn versions_of_kernels() {
    let x = values(5000);
    let doubled: Vec<f32> = x.iter().map(|x| x * 2.0).collect();
    let (v, out) = (Vector::new(&x), Vector::new(&x));
    assert_eq!(scale(2.0, v.view(), out.view()), 1);
    assert_eq!(out.get(), doubled);
    assert_eq!(scale(2.0, v.view(), v.view()), 2);
    assert_eq!(v.get(), doubled);

    // The input, the output or both have strides, and one call is in place.
    let (v, out) = (Vector::new(&x), Vector::new(&[0.0; 5000]));
    assert_eq!(scale(2.0, v.slice(1, 5000, 2), out.slice(0, 2500, 1)), 3);
    assert_eq!(read(out.slice(0, 2500, 1)), doubled[1..].iter().step_by(2).copied().collect::<Vec<_>>());
    assert_eq!(scale(2.0, v.slice(0, 1667, 1), out.slice(0, 5000, 3)), 3);
    assert_eq!(read(out.slice(0, 5000, 3)), doubled[..1667]);
    assert_eq!(scale(2.0, v.slice(0, 5000, 5), v.slice(0, 5000, 5)), 3);
    assert_eq!(read(v.slice(0, 5000, 5)), doubled.iter().step_by(5).copied().collect::<Vec<_>>());
    assert_eq!(read(v.slice(1, 5000, 5)), x[1..].iter().step_by(5).copied().collect::<Vec<_>>());
    // The stride of a single element does not matter.
    assert_eq!(scale(2.0, v.slice(7, 5000, 4999), out.view_of_one(3)), 1);
}

impl Vector {
    fn view_of_one(&self, at: i64) -> AgpuView {
        AgpuView { offset: at, extent: axes(1), stride: axes(12345), ..self.view() }
    }
}

#[test]
fn negative_and_zero_strides_of_inputs() {
    let x = values(100);
    let (v, out) = (Vector::new(&x), Vector::new(&[0.0; 100]));
    let backwards = AgpuView { offset: 99, stride: axes(-1), ..v.view() };
    assert_eq!(scale(1.0, backwards, out.view()), 3);
    assert_eq!(out.get(), x.iter().rev().copied().collect::<Vec<_>>());
    let constant = AgpuView { offset: 4, stride: axes(0), ..v.view() };
    assert_eq!(scale(1.0, constant, out.view()), 3);
    assert_eq!(out.get(), [x[4]; 100]);
    let mut version = 0;
    let args = [
        scalar(&1f32),
        input(v.view()),
        output(AgpuView { buffer: out.0, ..constant }),
        out_scalar(&mut version),
    ];
    fails(invoke(SCALE, &args), AgpuErrorOverlap, &["stats::scale: result", "stride 0"]);
}

#[test]
fn overlaps_go_through_a_temporary() {
    let x = values(10_000);
    for (from, to) in [(0, 1), (1, 0), (0, 2048), (2048, 0)] {
        let v = Vector::new(&x);
        let n = 10_000 - i64::max(from, to);
        // The views are not the same, so the kernel writes to a temporary, and its contiguous
        // variant runs.
        assert_eq!(scale(3.0, v.slice(from, from + n, 1), v.slice(to, to + n, 1)), 1);
        let mut expected = x.clone();
        (0..n as usize).for_each(|i| expected[i + to as usize] = x[i + from as usize] * 3.0);
        assert_eq!(v.get(), expected);
    }
    // A kernel that reads at other indices never runs in place.
    let v = Vector::new(&x);
    ok(invoke(REVERSED, &[input(v.view()), output(v.view())]));
    assert_eq!(v.get(), x.iter().rev().copied().collect::<Vec<_>>());
    // A strided view overlaps a contiguous one.
    let v = Vector::new(&x);
    assert_eq!(scale(2.0, v.slice(0, 5000, 1), v.slice(0, 10_000, 2)), 1);
    assert_eq!(read(v.slice(0, 10_000, 2)), x[..5000].iter().map(|x| x * 2.0).collect::<Vec<_>>());
    assert_eq!(read(v.slice(1, 10_000, 2)), x[1..].iter().step_by(2).copied().collect::<Vec<_>>());
    // Interleaved views have no element in common.
    assert_eq!(scale(2.0, v.slice(0, 10_000, 2), v.slice(1, 10_000, 2)), 3);
}

#[test]
fn a_later_launch_that_reads_the_input_forbids_in_place() {
    let x = values(5000);
    let (v, mut reversed, mut version) = (Vector::new(&x), null_mut(), 0);
    let args = [input(v.view()), output(v.view()), out_new(&mut reversed), out_scalar(&mut version)];
    ok(invoke(TWICE_THEN_REVERSED, &args));
    assert_eq!(v.get(), x.iter().map(|x| x * 4.0).collect::<Vec<_>>());
    assert_eq!(Vector(reversed).get(), x.iter().rev().copied().collect::<Vec<_>>());
}

#[test]
fn two_outputs_over_two_inputs() {
    let (x, y) = (Vector::new(&[1., 2., 3.]), Vector::new(&[5., 5., 5.]));
    ok(invoke(SUM_AND_DIFFERENCE, &[input(x.view()), input(y.view()), output(y.view()), output(x.view())]));
    assert_eq!((y.get(), x.get()), (vec![6., 7., 8.], vec![-4., -3., -2.]));
    // Two parameters may be the same array.
    let mut made = [null_mut(); 2];
    let [a, b] = &mut made;
    ok(invoke(SUM_AND_DIFFERENCE, &[input(x.view()), input(x.view()), out_new(a), out_new(b)]));
    assert_eq!((Vector(made[0]).get(), Vector(made[1]).get()), (vec![-8., -6., -4.], vec![0., 0., 0.]));
    // Outputs must not overlap; then they stay unchanged.
    let out = Vector::new(&[-1.; 6]);
    let args = [input(x.view()), input(x.view()), output(out.slice(0, 3, 1)), output(out.slice(2, 5, 1))];
    fails(
        invoke(SUM_AND_DIFFERENCE, &args),
        AgpuErrorOverlap,
        &["stats::sum_and_difference", "sum, difference"],
    );
    assert_eq!(out.get(), [-1.; 6]);
    ok(invoke(
        SUM_AND_DIFFERENCE,
        &[input(x.view()), input(x.view()), output(out.slice(0, 6, 2)), output(out.slice(1, 6, 2))],
    ));
}

#[test]
fn wrapped_memory_of_two_buffers_is_compared_by_address() {
    let mut memory: Vec<f32> = values(3000);
    let before = memory.clone();
    let wrap = |offset: usize, memory: &mut [f32]| {
        let (mut buffer, part) = (null_mut(), &mut memory[offset..offset + 2000]);
        let ty = std::mem::MaybeUninit::new(AgpuType::AgpuF32);
        // SAFETY: the memory lives longer than the buffer.
        ok(unsafe { agpu_buffer_wrap(cpu(), ty, part.as_mut_ptr().cast(), 2000, &mut buffer) });
        Vector(buffer)
    };
    let (low, high) = (wrap(0, &mut memory), wrap(1000, &mut memory));
    ok(invoke(REVERSED, &[input(low.view()), output(high.view())]));
    drop((low, high));
    assert_eq!(memory[1000..], before[..2000].iter().rev().copied().collect::<Vec<_>>());
}

#[test]
fn records() {
    let x = Vector::new(&values(10_000));
    let out = Vector::new(&values(10_000));
    let gather = |k: i64| invoke(GATHER, &[input(x.view()), scalar(&k), output(out.view())]);
    ok(gather(0));
    fails(
        gather(3),
        AgpuErrorRecord,
        &["stats::gather: x.at(i) is out of range (stats.rs:30:9)", "element 9997"],
    );
    fails(gather(-5000), AgpuErrorRecord, &["too low", "element 0"]);
    fails(gather(i64::MAX - 20_000), AgpuErrorRecord, &["stats.rs:30:9", "element 0"]);
    // No new result is made.
    let mut made = null_mut();
    fails(invoke(GATHER, &[input(x.view()), scalar(&1i64), out_new(&mut made)]), AgpuErrorRecord, &[]);
    assert!(made.is_null());
    let empty = Vector::new(&[]);
    ok(invoke(GATHER, &[input(empty.view()), scalar(&9i64), output(empty.view())]));
}

#[test]
fn shapes_are_checked_before_anything_is_written() {
    let (x, y, out) = (Vector::new(&[1., 2., 3.]), Vector::new(&[1., 2., 3., 4.]), Vector::new(&[-1.; 3]));
    let mut dot = -1f32;
    fails(
        invoke(DOT, &[input(x.view()), input(y.view()), out_scalar(&mut dot)]),
        AgpuErrorShape,
        &["stats::dot: zip_with: x, y: the lengths 3 and 4 differ; len(x) = 3, len(y) = 4 (stats.rs:12:5)"],
    );
    assert_eq!(dot, -1.0);
    let (mut made, mut version) = (null_mut(), -1);
    let args = [input(x.view()), scalar(&2i64), scalar(&9i64), out_new(&mut made), out_scalar(&mut version)];
    fails(invoke(WINDOW, &args), AgpuErrorShape, &["stats::window: slice: x", "9", "3", "stats.rs:40:7"]);
    for (start, stop) in [(-1, 2), (2, 1), (i64::MIN, i64::MAX), (i64::MAX, i64::MIN), (0, i64::MAX)] {
        let args =
            [input(x.view()), scalar(&start), scalar(&stop), out_new(&mut made), out_scalar(&mut version)];
        fails(invoke(WINDOW, &args), AgpuErrorShape, &["stats::window: slice: x"]);
    }
    assert!(made.is_null() && version == -1);
    let args = [scalar(&2f32), input(y.view()), output(out.view()), out_scalar(&mut version)];
    fails(
        invoke(SCALE, &args),
        AgpuErrorShape,
        &["stats::scale: result: the output has the length 3, expected 4"],
    );
    assert_eq!((out.get(), version), (vec![-1.; 3], -1));
}

#[test]
fn subnormals_and_rounding_do_not_depend_on_the_caller() {
    #[cfg(target_arch = "x86_64")]
    {
        let set = |value: u32| {
            // SAFETY: this sets the control word, which is restored below.
            unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const value) };
        };
        let get = || {
            let mut value = 0u32;
            // SAFETY: this reads the control word.
            unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut value) };
            value
        };
        let tiny = Vector::new(&[f32::MIN_POSITIVE; 300_000]);
        let out = Vector::new(&[0.0; 300_000]);
        let before = get();
        // The mode flushes results to zero, reads denormals as zero, and rounds up.
        set(0x1f80 | 0x8000 | 0x40 | 0x4000);
        let mut version = 0;
        let status = invoke(
            SCALE,
            &[scalar(&0.5f32), input(tiny.view()), output(out.view()), out_scalar(&mut version)],
        );
        let after = get();
        set(before);
        ok(status);
        assert_eq!(after, 0x1f80 | 0x8000 | 0x40 | 0x4000);
        assert!(out.get().iter().all(|x| *x == f32::MIN_POSITIVE / 2.0));
    }
}

/// Every six steps a check may end the iteration; the states are copied where an odd number of steps was made, or
/// none.
#[test]
fn iterations_that_a_check_ends() {
    let y = Vector::new(&values(5000));
    let mut steps = null_mut();
    for first in [0.5f32, 16.0, 900.0, 1000.0] {
        for limit in [0i64, 1, 5, 6, 7, 12, 13, 100] {
            let mut all = values(5000);
            all[0] = first;
            let x = Vector::new(&all);
            let args = [input(x.view()), scalar(&limit), output(y.view()), out_new(&mut steps)];
            ok(invoke(DOUBLED_UNTIL, &args));
            let is_checked = |t: &i64| *t == limit || t % 6 == 0;
            let ended = (0..=limit).filter(is_checked).find(|t| first * 2f32.powi(*t as i32) >= REACHED);
            let factor = 2f32.powi(ended.unwrap_or(limit) as i32);
            let expected: Vec<f32> = all.iter().map(|x| x * factor).collect();
            let (steps, mut number) = (Vector(steps), 0i64);
            // SAFETY: the vector has one number.
            ok(unsafe { agpu_copy_to_host((&raw mut number).cast(), steps.view(), 1) });
            assert_eq!((y.get(), number), (expected, ended.unwrap_or(-1)), "{first}, {limit}");
        }
    }
}
