//! Staged scalars: what the language makes of them, and that functions specialised for their values mean
//! the same (the interpreter, the passes, a simulated GPU).

mod common;

use arraygpu_compiler::core::Function;
use arraygpu_compiler::core::interp;
use arraygpu_compiler::driver::{self, Compiled, Targets};
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_compiler::stage;
use arraygpu_dsl::prelude::*;
use common::{call, everywhere, lower, scalar, vector};

/// The mean of the 2 r + 1 neighbours, weighted by their distance.
fn smooth(x: VExp<f32>, r: SExp<i64>) -> VExp<f32> {
    let r = stage(r);
    let weight = move |k: SExp<i64>| 1.0 / ((k - r).abs() + 1).cast::<f32>();
    let taps = 2 * r + 1;
    let whole = generate(taps, weight).sum();
    generate(x.len() - 2 * r, |i| generate(taps, |k| weight(k) * x.at(i + k)).sum() / whole)
}

fn specialised(f: &Function, params: &[Option<Lit>], extents: &[Vec<i64>]) -> Function {
    stage::specialise(f, &stage::values(f, params, extents))
}

#[test]
fn stencils_of_any_radius() {
    let f = lower(["x", "r"], ["s"], smooth);
    assert_eq!(stage::types(&f), [Ty::I64]);
    let x = vector(&(0..600).map(|i| (i * 37 % 101) as f32 / 8.0).collect::<Vec<f32>>());
    for r in [0i64, 1, 3, 7] {
        let args = [x.clone(), scalar(r)];
        let g = specialised(&f, &[None, Some(Lit::i64(r))], &[vec![600], vec![]]);
        assert_eq!(everywhere(&g, &args), call(&f, &args), "radius {r}");
        let [general, staged] = [f.clone(), g].map(kernels);
        // the weights' sum is a pass of its own unless it is a constant
        assert_eq!((general.kernels.len(), staged.kernels.len()), (2, 1), "radius {r}");
        if r > 0 {
            let stencils = &staged.kernels[0].gpu.as_ref().expect("code for GPUs").stencils;
            assert_eq!(stencils[0].taps as i64, 2 * r + 1, "radius {r}: {stencils:?}");
        }
    }
}

fn kernels(f: Function) -> Compiled {
    driver::compile_for("p", vec![f], Targets { cpu: false, cuda: true }).unwrap()
}

#[test]
fn a_function_of_staged_values() {
    let f = lower(["x", "k"], ["s"], |x: VExp<f32>, k: SExp<i64>| {
        let n = stage(x.len());
        let is_power = stage_with(|n| (n & (n - 1)).eq(0), n);
        let step = stage_with(|(n, k)| cond(is_power, k, k + n), (n, k));
        x.map(|a| cond(is_power, a, -a) * step.cast::<f32>())
    });
    assert_eq!(stage::types(&f).len(), 3);
    for (n, k) in [(8, 3), (9, 3), (1, 0)] {
        let args = [vector(&(0..n).map(|i| i as f32).collect::<Vec<f32>>()), scalar(k)];
        let g = specialised(&f, &[None, Some(Lit::i64(k))], &[vec![n], vec![]]);
        assert_eq!(everywhere(&g, &args), call(&f, &args));
        let text = arraygpu_compiler::passes::pipeline::run(&g, &mut |_, _| ()).unwrap().to_string();
        assert!(!text.contains("select") && !text.contains("cast"), "{text}");
    }
}

/// `n` steps of a diffusion whose factor is staged outside of the step, and its length inside.
#[test]
fn steps_of_iterations_stage() {
    let f = lower(["x", "c", "k"], ["s"], |x: VExp<f32>, c: SExp<f32>, k: SExp<i64>| {
        let outside = stage(c * 2);
        x.iterate(stage(k), |x| {
            let n = stage(x.len());
            generate(n, |i| outside * x.at(n - 1 - i) + c)
        })
    });
    let x = vector(&[1f32, 2., 3., 4., 5.]);
    for (c, k) in [(0.5f32, 0i64), (0.25, 3)] {
        let args = [x.clone(), scalar(c), scalar(k)];
        let g = specialised(&f, &[None, Some(Lit::f32(c)), Some(Lit::i64(k))], &[vec![5], vec![], vec![]]);
        assert!(!stage::has_stages(&g));
        assert_eq!(everywhere(&g, &args), call(&f, &args));
        let step = g.steps[0].to_string();
        assert!(step.contains("generate 5i64") && !step.contains("stage %"), "{step}");
    }
}

/// A length that the call does not have: the general version says so.
#[test]
fn rules_stay() {
    let f = lower(["x", "y", "k"], ["s"], |x: VExp<f32>, y: VExp<f32>, k: SExp<i64>| {
        x.slice(0, stage(k)).zip_with(y, |a, b| a + b)
    });
    let g = specialised(&f, &[None, None, Some(Lit::i64(4))], &[vec![3], vec![4], vec![]]);
    let args = [vector(&[1f32; 3]), vector(&[1f32; 4]), scalar(4i64)];
    let [general, staged] = [&f, &g].map(|f| interp::run(f, &args).unwrap_err().message);
    assert_eq!(general, staged);
    assert!(staged.contains("slice of x: k: the slice stops at 4, past the length 3"), "{staged}");
}
