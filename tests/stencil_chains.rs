//! Chains of stencils on CPUs: the block interpreter, the C code and the runtime against the interpreter of core IR,
//! by the launch that computes all stages and by those that it replaces.

#[path = "common/mod.rs"]
mod runtime;

use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::interp;
use arraygpu_compiler::driver::{Compiled, Targets};
use arraygpu_compiler::plan::Step;
use arraygpu_compiler::scalar::Ty;
use arraygpu_compiler::schedule::strategy::Strategy;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::stencil_stages::{padded, random_stages, unstored, windows};
use arraygpu_suite::typed::{compiled_for, numbers};
use runtime::{Layout, Loaded, context, load_blocks, shapes};

/// Calls in three layouts, with one thread and four.
fn check(c: &Compiled, loaded: &Loaded, ty: Ty, (rows, columns): (usize, usize), rng: &mut Rng, text: &str) {
    let args = [numbers(ty, &[rows, columns], rng)];
    let Ok(wanted) = interp::run(&c.functions[0].fused, &args) else { return };
    let wanted = wanted.results;
    for layout in [Layout::Contiguous, Layout::Pitched, Layout::InPlace, Layout::Strided] {
        for threads in [1, 4] {
            let called = loaded.call(0, context(threads), &args, &shapes(&wanted), layout);
            let what = format!(
                "{rows} x {columns} of {ty}, {layout:?}, {threads} threads, {}\n{text}",
                loaded.level
            );
            assert!(matches!(called.status, AgpuStatus::AgpuOk), "{what}\n{}", called.message);
            assert!(called.results == wanted, "{what}");
        }
    }
}

fn chains(c: &Compiled) -> usize {
    c.functions[0].plan.steps.iter().filter(|s| matches!(s, Step::Instead(_))).count()
}

#[test]
fn random_chains() {
    let types = [Ty::F32, Ty::I32, Ty::F64, Ty::U8, Ty::F16, Ty::I16];
    let mut found = 0;
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let ty = types[seed as usize % types.len()];
        let (stages, results) = random_stages(&mut rng);
        let text = padded(ty, &stages, &results);
        let c = compiled_for(&text, ty, Targets { cpu: false, cuda: false });
        found += chains(&c);
        let loaded = load_blocks(&c);
        let sizes = [(4, 4), (9, 300), (70, 41), (5, 2300), (4 + rng.below(75), 4 + rng.below(140))];
        for size in sizes {
            check(&c, &loaded, ty, size, &mut rng, &text);
        }
    }
    assert!(found > 20, "{found} chains");
}

#[test]
fn windows_of_windows() {
    for (seed, ty, count) in [(1, Ty::F32, 5), (2, Ty::F64, 3), (3, Ty::U8, 17)] {
        let mut rng = Rng::new(seed);
        let text = windows(ty, count);
        let c = compiled_for(&text, ty, Targets { cpu: false, cuda: false });
        assert_eq!(chains(&c), 1);
        let loaded = load_blocks(&c);
        for size in [(count - 1, 9), (count, 3000), (60, 70), (700, 33)] {
            check(&c, &loaded, ty, size, &mut rng, &text);
        }
    }
}

/// The strategies of the launches' variants on CPUs.
fn strategies(c: &Compiled) -> Vec<Strategy> {
    c.kernels.iter().filter_map(|k| k.cpu.as_ref()).map(|cpu| cpu.contiguous.strategy).collect()
}

/// Where the author stores nothing, a launch serves all calls, and computes stages one after another where arrays are
/// contiguous.
#[test]
fn stages_that_fusion_finds() {
    let types = [Ty::F32, Ty::I32, Ty::F64, Ty::U8, Ty::F16, Ty::I16];
    let mut found = 0;
    for seed in 0..40 {
        let mut rng = Rng::new(200 + seed);
        let ty = types[seed as usize % types.len()];
        let (stages, results) = random_stages(&mut rng);
        let text = unstored(&padded(ty, &stages, &results));
        let c = compiled_for(&text, ty, Targets { cpu: false, cuda: false });
        found += strategies(&c).iter().filter(|s| **s == Strategy::StencilChain).count();
        let loaded = load_blocks(&c);
        for size in [(4, 4), (9, 300), (70, 41), (5, 2300), (4 + rng.below(75), 4 + rng.below(140))] {
            check(&c, &loaded, ty, size, &mut rng, &text);
        }
    }
    assert!(found > 10, "{found} chains");
}

/// The same in C.
#[test]
fn compiled_chains() {
    for seed in [3, 5, 8] {
        let mut rng = Rng::new(100 + seed);
        let (stages, results) = random_stages(&mut rng);
        let mut text = padded(Ty::F32, &stages, &results);
        if seed == 5 {
            text = unstored(&text);
        }
        let c = compiled_for(&text, Ty::F32, Targets { cpu: true, cuda: false });
        let loaded = runtime::load(&c);
        for size in [(4, 4), (9, 300), (70, 41), (5, 2300)] {
            for loaded in &loaded {
                check(&c, loaded, Ty::F32, size, &mut rng, &text);
            }
        }
    }
}
