//! Iterations that a condition ends: the ends of their range, states of every kind, and what happens behind the end.

mod common;

use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_dsl::prelude::*;
use common::gpu::{self, How, Layout};
use common::{everywhere, lower, recorded, scalar, vector};

#[derive(Record)]
#[record(crate = arraygpu_dsl)]
struct Body {
    x: f32,
    v: f32,
}

#[test]
fn ends_of_the_range() {
    for every in [1u32, 2, 5] {
        let f = lower(["x", "limit"], ["r", "steps"], move |x: VExp<i64>, limit: SExp<i64>| {
            iterate_while(limit, x, |x| x.max().lt(8), |x| x * 2).check_every(every)
        });
        // the condition does not hold at the beginning, whatever the limit is
        for limit in [0i64, 1, 4, 100] {
            assert_eq!(
                everywhere(&f, &[vector(&[9i64, 1]), scalar(limit)]),
                [vector(&[9i64, 1]), scalar(0i64)]
            );
        }
        // it holds after the last step that is allowed, which may be none; fewer steps than `every` are checked at
        // the end
        for limit in [0i64, 1, 2] {
            let record = recorded(&f, &[vector(&[1i64, 0]), scalar(limit)]);
            assert!(record.contains("iterate_while.rs"), "{record}");
        }
        assert_eq!(everywhere(&f, &[vector(&[1i64, 0]), scalar(3i64)]), [vector(&[8i64, 0]), scalar(3i64)]);
    }
}

#[test]
fn a_condition_that_always_holds() {
    let f = lower(["x"], ["r", "steps"], |x: VExp<i64>| {
        iterate_while(7, x, |x| x.len().ge(0), |x| x + 1).check_every(3)
    });
    let record = recorded(&f, &[vector(&[1i64, 2])]);
    assert!(record.contains("still holds at its limit of steps"), "{record}");
    assert_eq!(interp::run(&f, &[vector(&[1i64, 2])]).unwrap().results, [vector(&[0i64, 0]), scalar(0i64)]);
}

/// Reads beyond the end of x are made by steps that the program does not make.
#[test]
fn steps_behind_the_end_leave_no_record() {
    for every in [1u32, 3] {
        let f = lower(["x"], ["sum", "steps"], move |x: VExp<f32>| {
            let step = |(i, sum): (SExp<i64>, SExp<f32>)| (i + 1, sum + x.at(i) + x.map(|x| x * 0.0).sum());
            let ((_, sum), steps) =
                iterate_while(100, (lit(0i64), lit(0f32)), |(i, _)| i.lt(x.len()), step).check_every(every);
            (sum, steps)
        });
        let found = everywhere(&f, &[vector(&[1f32, 2.0, 4.0, 8.0, 16.0, 32.0])]);
        assert_eq!(found, [scalar(63f32), scalar(6i64)]);
        let found = everywhere(&f, &[Value::Vector(vec![])]);
        assert_eq!(found, [scalar(0f32), scalar(0i64)]);
    }
}

#[test]
fn records_and_nested_tuples() {
    let f = lower(["b", "far"], ["moved", "m", "n", "steps"], |b: VExp<Body>, far: SExp<f32>| {
        let go_on = |(b, (_, n)): &(VExp<Body>, (MExp<f32>, SExp<i64>))| b.x.max().lt(far) & n.lt(40);
        let step = |(b, (m, n)): (VExp<Body>, (MExp<f32>, SExp<i64>))| {
            let b = b.map(|b| BodyFields { x: b.x + 0.5f32 * b.v, v: b.v * 1.25f32 }.pack());
            (b, (m + b.x.sum(), n + 3))
        };
        let m = b.x.outer(b.v, |x, v| x - v);
        let ((b, (m, n)), steps) = iterate_while(50, (b, (m, lit(0i64))), go_on, step).check_every(2);
        (b, m, n, steps)
    });
    let bodies = [vector(&[1f32, 2.0, -3.0]), vector(&[0.5f32, 1.0, 2.0])];
    for far in [0f32, 5.0, 1e6] {
        let found = everywhere(&f, &[bodies[0].clone(), bodies[1].clone(), scalar(far)]);
        let Some(Value::Scalar(steps)) = found.last() else { panic!("a number") };
        let expected = if far < 2.0 { 0..1 } else { 2..15 };
        assert!(expected.contains(&steps.as_i64()), "{far}: {steps}");
    }
}

#[test]
fn collected_beside_it_and_in_a_step() {
    let f = lower(["x", "k"], ["rows", "r", "steps"], |x: VExp<i64>, k: SExp<i64>| {
        let rows = iterate_collect(k, x, |x| x + 1);
        // each step collects states of its own
        let step = |x: VExp<i64>| iterate_collect(2, x, |x| x * 2).row(1) + rows.sum_cols();
        let (r, steps) = iterate_while(9, x, |x| x.max().lt(1000), step).check_every(2);
        (rows, r, steps)
    });
    for k in [0i64, 1, 3] {
        everywhere(&f, &[vector(&[1i64, 2, 3]), scalar(k)]);
    }
    let steps = lower(["x"], ["counts"], |x: VExp<i64>| {
        iterate_collect(3, (x, lit(0i64)), |(x, _)| {
            let (x, n) = iterate_while(20, x, |x| x.max().lt(100), |x| x * 3).check_every(1);
            (x - 95, n)
        })
        .1
    });
    assert_eq!(everywhere(&steps, &[vector(&[1i64, 2])]), [vector(&[4i64, 1, 0])]);
}

/// Between two checks several steps are made in one launch.
#[test]
fn several_steps_at_once() {
    let f = lower(["a", "eps", "limit"], ["r", "steps"], |a: MExp<f32>, eps: SExp<f32>, limit: SExp<i64>| {
        let step = |a: MExp<f32>| {
            let w = a.windows2(3, 3);
            a.with_block(1, 1, 0.25f32 * ((w[1][0] + w[1][2]) + (w[0][1] + w[2][1])))
        };
        let changes = |a: &MExp<f32>| (step(*a) - *a).abs().max().gt(eps);
        iterate_while(limit, a, changes, step).check_every(11)
    });
    let value = |k: i64| Lit::float(Ty::F32, (k * 37 % 113) as f64 / 4.0);
    let a = Value::Array(vec![51, 120], (0..51 * 120).map(value).collect());
    let compiled = driver::compile_for("t", vec![f.clone()], Targets { cpu: false, cuda: true }).unwrap();
    // the versions of the step, and the first that makes one step only
    let mut kernels = compiled.kernels.iter().filter_map(|k| k.gpu.as_ref()).map(|k| &k.variants);
    let versions = kernels.find(|all| all.iter().any(|v| v.launch.steps_per_launch.is_some())).unwrap();
    let single = versions.iter().position(|v| v.launch.steps_per_launch.is_none()).unwrap();
    for (eps, limit) in [(2.0f32, 60i64), (1.2, 60), (100.0, 60), (0.0, 0), (1.0, 13)] {
        let args = [a.clone(), scalar(eps), scalar(limit)];
        let expected = interp::run(&f, &args).unwrap();
        for version in [None, Some(0), Some(1), Some(single)] {
            let how = How { layout: Layout::Padded, version, span: 1, order: Order::Ascending };
            let found = gpu::call(&compiled, 0, &args, how).unwrap_or_else(|e| panic!("{how:?}: {e}\n{f}"));
            let is_several = found.entries.iter().any(|e| e.contains("_steps"));
            assert_eq!(is_several, limit > 1 && version != Some(single), "{:?}", found.entries);
            assert_eq!(
                (found.record.is_some(), &found.results),
                (expected.recorded, &expected.results),
                "{how:?}"
            );
        }
    }
    // a check before every step leaves nothing to put together
    let one = lower(["a"], ["r"], |a: MExp<f32>| {
        let step = |a: MExp<f32>| a.with_block(1, 1, a.windows2(3, 3)[1][1] * 0.5f32);
        iterate_while(9, a, |a| a.max().gt(1), step).check_every(1).0
    });
    let compiled = driver::compile_for("t", vec![one], Targets { cpu: false, cuda: true }).unwrap();
    assert!(compiled.gpu_variants().all(|v| v.launch.steps_per_launch.is_none()));
}

/// An image and its dual field.
type Fields = (MExp<f32>, MExp<f32>, MExp<f32>);

/// Differences from the neighbours to the right and below.
fn gradient(u: MExp<f32>) -> (MExp<f32>, MExp<f32>) {
    let right = u.padded([0, 0], [0, 1], Boundary::Clamp).slice_cols(1, u.cols() + 1);
    let below = u.padded([0, 1], [0, 0], Boundary::Clamp).slice_rows(1, u.rows() + 1);
    (right - u, below - u)
}

fn divergence(p: MExp<f32>, q: MExp<f32>) -> MExp<f32> {
    let left = p.padded([0, 0], [1, 0], Boundary::Constant(0.0)).slice_cols(0, p.cols());
    let above = q.padded([1, 0], [0, 0], Boundary::Constant(0.0)).slice_rows(0, q.rows());
    (p - left) + (q - above)
}

/// Denoising by total variation (Chambolle and Pock 2011) that stops by its residual: three states, of which the step
/// is a chain of stencils.
#[test]
fn stops_by_a_residual() {
    let f = lower(["f", "eps"], ["u", "p", "q", "steps"], |f: MExp<f32>, eps: SExp<f32>| {
        let step = move |(u, p, q): Fields| {
            let next = (u + 0.25f32 * divergence(p, q) + 0.25f32 * f) * 0.8f32;
            let (dx, dy) = gradient(2 * next - u);
            let (p, q) = (p + 0.5f32 * dx, q + 0.5f32 * dy);
            let scale = 4.0f32 / (p * p + q * q).sqrt().map(|l| l.max(4.0f32));
            (next, p * scale, q * scale)
        };
        let is_far = move |(u, p, q): &Fields| {
            let (v, r, s) = step((*u, *p, *q));
            let primal = (*u - v) / 0.25f32 + divergence(*p - r, *q - s);
            let (dx, dy) = gradient(*u - v);
            let dual = ((*p - r) / 0.5f32 - dx).abs() + ((*q - s) / 0.5f32 - dy).abs();
            (primal.abs() + dual).sum().gt(eps * (u.rows() * u.cols()).cast::<f32>())
        };
        let ((u, p, q), steps) = iterate_while(60, (f, f * 0.0f32, f * 0.0f32), is_far, step).check_every(4);
        (u, p, q, steps)
    });
    let value = |k: i64| Lit::float(Ty::F32, (k * 37 % 113) as f64 / 4.0);
    let image = Value::Array(vec![6, 9], (0..54).map(value).collect());
    let found = everywhere(&f, &[image, scalar(3f32)]);
    let Some(Value::Scalar(steps)) = found.last() else { panic!("a number") };
    assert!(steps.as_i64() > 0 && steps.as_i64() % 4 == 0, "{steps}");
}
