//! What the examples' programs become: how many kernels, what is stored, as the issue of each promises. Structure, not values: those are the C++ tests'.

use arraygpu::prelude::*;
use arraygpu_compiler::driver::{self, Compiled};
use arraygpu_compiler::plan::{Launch, Step};

fn rmse(x: VExp<f32>, y: VExp<f32>) -> SExp<f32> {
    let d2 = x.zip_with(y, |a, b| slet(a - b, |d| d * d));
    (d2.sum() / x.len().cast::<f32>()).sqrt()
}

fn average(w: &[f32]) -> impl Fn(VExp<f32>) -> VExp<f32> + '_ {
    move |xs| {
        let n = xs.len() - (w.len() as i64 - 1);
        w.iter().zip(0..).map(|(&w, i)| w * xs.slice(i, n + i)).sum()
    }
}

fn compiled(package: Package) -> Compiled {
    driver::compile("t", package.functions().unwrap()).unwrap()
}

fn launches(c: &Compiled) -> Vec<&Launch> {
    let steps = c.functions.iter().flat_map(|f| &f.plan.steps);
    steps.filter_map(|s| if let Step::Launch(l) = s { Some(l) } else { None }).collect()
}

#[test]
fn rmse_is_one_kernel_with_no_temporary() {
    let c = compiled(Package::new("t").function("rmse", ["x", "y"], "result", rmse));
    assert_eq!(launches(&c).len(), 1);
    assert!(c.functions[0].plan.temps.is_empty());
    assert_eq!(launches(&c)[0].arrays.len(), 2);
}

#[test]
fn the_average_is_one_kernel() {
    let w = [0.1f32; 15];
    let c = compiled(Package::new("t").function("average", ["xs"], "result", average(&w)));
    assert_eq!(launches(&c).len(), 1);
    assert!(c.functions[0].plan.temps.is_empty());
    // fifteen slices, one rule: 0 <= n - 14
    assert_eq!(c.functions[0].plan.rules.len(), 1);
}

#[test]
fn two_results_over_one_domain_are_one_kernel() {
    let both = |x: VExp<f32>, y: VExp<f32>| x.zip_with(y, |a, b| (a * b + a, a / b));
    let c = compiled(Package::new("t").function("both", ["x", "y"], ["p", "q"], both));
    let l = launches(&c);
    assert_eq!((l.len(), l[0].arrays.len()), (1, 4));
}

#[test]
fn a_reduction_and_a_map_share_a_pass_and_results_wait_only_for_what_they_need() {
    let f = |x: VExp<f32>| (x.sum(), x * 2.0, x / x.max());
    let c = compiled(Package::new("t").function("f", ["x"], ["a", "b", "c"], f));
    // sum, max and 2 x in one pass, x / max in another
    assert_eq!(launches(&c).len(), 2);
}

#[test]
fn slet_is_a_binding_in_the_generated_code() {
    let c = compiled(Package::new("t").function("rmse", ["x", "y"], "result", rmse));
    let bindings = c.c_source.lines().filter(|l| l.contains("const float let") && l.contains("examples.rs:"));
    assert!(bindings.count() >= 2, "{}", c.c_source);
}

#[test]
fn deep_programs_compile() {
    let deep = |x: VExp<f32>| (0..2000).fold(x, |v, i| v * 0.5 + i as f32);
    let c = compiled(Package::new("t").function("deep", ["x"], "result", deep));
    assert_eq!(launches(&c).len(), 1);
}
