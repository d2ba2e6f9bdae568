//! Rows, columns and vectors that several launches go over, on CPUs: the block interpreter and the runtime against
//! the interpreter of core IR, by the launch that goes over a row once and by those that it replaces. Columns run as
//! C code as well.

#[path = "common/mod.rs"]
mod runtime;

use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::driver::{Compiled, Targets};
use arraygpu_compiler::plan::Step;
use arraygpu_compiler::scalar::Ty;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::row_chains;
use arraygpu_suite::strips::Through;
use arraygpu_suite::today;
use arraygpu_suite::typed::{compiled_for, numbers};
use runtime::{Layout, Loaded, context, load_blocks, load_highest, shapes};

#[test]
fn random_chains() {
    let (mut chains, mut stored) = ([0; 2], 0);
    for seed in today::seeds(60) {
        let mut rng = Rng::new(seed);
        let vector = seed % 2 == 1;
        let of = if vector { row_chains::Of::Vector } else { row_chains::Of::Rows };
        let text = row_chains::program(&mut rng, of);
        let ty = rng.pick(&[Ty::F32, Ty::F64, Ty::I32, Ty::U8]);
        let c = compiled_for(&text, ty, Targets { cpu: false, cuda: false });
        let steps = &c.functions[0].plan.steps;
        chains[usize::from(vector)] += steps.iter().filter(|s| matches!(s, Step::Instead(_))).count();
        // a temporary that is allocated before the launch
        stored += steps.windows(2).filter(|s| matches!(s, [Step::Alloc(_), Step::Instead(_)])).count();
        let loaded = load_blocks(&c);
        for k in [0, 1, 5, 132, 2050] {
            let extents = if vector { vec![k] } else { vec![1 + rng.below(5), k] };
            let args = [numbers(ty, &extents, &mut rng), numbers(ty, &[k], &mut rng)];
            let wanted = interp::run(&c.functions[0].fused, &args).unwrap().results;
            for layout in [Layout::Contiguous, Layout::InPlace, Layout::Strided] {
                for threads in [1, 4] {
                    let called = loaded.call(0, context(threads), &args, &shapes(&wanted), layout);
                    let what =
                        format!("seed {seed}, {extents:?} of {ty}, {layout:?}, {threads} threads\n{text}");
                    assert!(matches!(called.status, AgpuStatus::AgpuOk), "{what}\n{}", called.message);
                    assert!(called.results == wanted, "{what}");
                }
            }
        }
    }
    assert!(chains.iter().all(|n| *n > 2) && stored > 2, "{chains:?} chains, {stored} store for others");
}

/// One part of a chain may leave records: the block interpreter reports them as the interpreter does, by both
/// alternatives.
#[test]
fn random_chains_that_gather() {
    let mut recorded = [0; 2];
    for seed in today::seeds(40) {
        let mut rng = Rng::new(100 + seed);
        let text = row_chains::gathering(&mut rng);
        let ty = rng.pick(&[Ty::F32, Ty::F64, Ty::I32, Ty::U8]);
        let c = compiled_for(&text, ty, Targets { cpu: false, cuda: false });
        let loaded = load_blocks(&c);
        for (n, k) in [(1, 0), (3, 1), (5, 5), (130, 3), (4, 132), (2, 2050)] {
            let args = [numbers(ty, &[n, k], &mut rng), numbers(ty, &[k], &mut rng)];
            let wanted = interp::run(&c.functions[0].fused, &args).unwrap();
            let mut message = None;
            for layout in [Layout::Contiguous, Layout::InPlace, Layout::Strided] {
                for threads in [1, 4] {
                    let extents = shapes(&wanted.results);
                    let called = loaded.call(0, context(threads), &args, &extents, layout);
                    let what =
                        format!("seed {seed}, {n} x {k} of {ty}, {layout:?}, {threads} threads\n{text}");
                    match called.status {
                        AgpuStatus::AgpuOk => assert!(called.results == wanted.results, "{what}"),
                        AgpuStatus::AgpuErrorRecord => {
                            assert_eq!(
                                message.get_or_insert(called.message.clone()),
                                &called.message,
                                "{what}"
                            );
                        }
                        _ => panic!("{what}\n{}", called.message),
                    }
                    let is_recorded = matches!(called.status, AgpuStatus::AgpuErrorRecord);
                    assert_eq!(is_recorded, wanted.recorded, "{what}\n{}", called.message);
                    recorded[usize::from(wanted.recorded)] += 1;
                }
            }
        }
    }
    assert!(recorded.iter().all(|n| *n > 10), "{recorded:?}");
}

/// Calls the only function in several layouts, with enough threads for one strip each and with one thread.
fn check(c: &Compiled, loaded: &Loaded, args: &[Value], what: &str) {
    let wanted = interp::run(&c.functions[0].fused, args).unwrap().results;
    for layout in [Layout::Contiguous, Layout::InPlace, Layout::Pitched, Layout::Strided] {
        for threads in [1, 4] {
            let called = loaded.call(0, context(threads), args, &shapes(&wanted), layout);
            let what = format!("{what}, {layout:?}, {threads} threads");
            assert!(matches!(called.status, AgpuStatus::AgpuOk), "{what}\n{}", called.message);
            assert!(called.results == wanted, "{what}");
        }
    }
}

/// Whether a launch that keeps columns has code for CPUs.
fn keeps_columns(c: &Compiled) -> bool {
    c.kernels.iter().any(|k| k.name.ends_with("_strips") && k.cpu.is_some())
}

#[test]
fn random_chains_of_columns() {
    let mut kept = 0;
    for seed in today::seeds(24) {
        let mut rng = Rng::new(200 + seed);
        let text = row_chains::program(&mut rng, row_chains::Of::Columns);
        let ty = rng.pick(&[Ty::F32, Ty::F64, Ty::I32, Ty::U8]);
        let c = compiled_for(&text, ty, Targets { cpu: false, cuda: false });
        kept += usize::from(keeps_columns(&c));
        let loaded = load_blocks(&c);
        for (n, k) in [(0, 40), (1, 33), (5, 100), (132, 130), (257, 34)] {
            let args = [numbers(ty, &[n, k], &mut rng), numbers(ty, &[n], &mut rng)];
            check(&c, &loaded, &args, &format!("seed {seed}, {n} x {k} of {ty}\n{text}"));
        }
    }
    assert!(kept > 2, "{kept}");
}

/// Columns of planes and through planes, by the block interpreter and as C code: strips end where a plane does.
#[test]
fn columns_of_three_dimensions() {
    let mut rng = Rng::new(3);
    for through in Through::ALL {
        for (text, ty) in [
            (through.softmax(), Ty::F32),
            (through.scaled(), Ty::F32),
            (through.scaled(), Ty::U8),
            (through.standardised(), Ty::F64),
        ] {
            for of_c in [false, true] {
                let c = compiled_for(&text, ty, Targets { cpu: of_c, cuda: false });
                assert!(keeps_columns(&c), "{text}");
                let loaded = if of_c { load_highest(&c) } else { load_blocks(&c) };
                for (a, n, k) in [(3, 0, 40), (2, 5, 71), (7, 130, 20), (1, 256, 130), (2, 257, 33)] {
                    let mut args = vec![numbers(ty, &through.extents(a, n, k), &mut rng)];
                    if text.contains("%w") {
                        args.extend([numbers(ty, &[n], &mut rng), numbers(ty, &[a], &mut rng)]);
                    }
                    let what = format!("{through:?}, {a} by {n} by {k} of {ty}, C: {of_c}");
                    check(&c, &loaded, &args, &what);
                }
            }
        }
    }
}
