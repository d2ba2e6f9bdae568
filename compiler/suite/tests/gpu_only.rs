//! A function that is compiled for GPUs only is scheduled without any code for processors. It must come to the same
//! variants and to the same plan, up to the order in which kernels get their arrays and scalars, and its error
//! records must name the same elements.

use arraygpu_compiler::core::parse;
use arraygpu_compiler::driver::{self, Scope};
use arraygpu_compiler::kernel::{Expr, Stmt};
use arraygpu_compiler::plan::{Launch, Step};
use arraygpu_compiler::schedule::Draft;
use arraygpu_compiler::schedule::Scheduled;
use arraygpu_suite::tests_folder;
use std::collections::BTreeSet;
use std::fs;

/// What must be equal of a launch, but for those that only CPUs have, in place of others.
fn facts(s: &Scheduled) -> Vec<(String, u32, bool, BTreeSet<String>)> {
    let runs = |l: &&Launch| {
        let gpu = s.kernels[l.kernel as usize].gpu.as_ref();
        gpu.is_some_and(|g| !g.kernel.variants.is_empty() || g.kernel.absent.is_some())
    };
    let launches = s.plan.steps.iter().filter_map(|s| if let Step::Launch(l) = s { Some(l) } else { None });
    let launches = launches.filter(runs);
    let arrays = |l: &Launch| l.arrays.iter().map(|a| format!("{a:?}")).collect();
    launches.map(|l| (l.name.clone(), l.cost, l.finish, arrays(l))).collect()
}

/// What must be equal of the variants.
fn variants(s: &Scheduled) -> Vec<String> {
    let all = s.kernels.iter().filter_map(|k| k.gpu.as_ref()).flat_map(|g| {
        let of = |v: &arraygpu_compiler::plan::gpu::GpuVariant| {
            let counts = (v.flat.len(), v.aligned.len(), v.row_aligned.len());
            format!(
                "{} {} {:?} {:?} {} {} {counts:?}",
                v.entry, v.threads, v.grid, v.profit, v.guards.narrow, v.guards.noalias
            )
        };
        g.kernel.variants.iter().map(of).chain(g.kernel.absent.clone())
    });
    all.collect()
}

/// How many error records of each variant name an element, and how many name none.
fn records(s: &Scheduled) -> Vec<(String, [usize; 2])> {
    fn count(block: &[Stmt], found: &mut [usize; 2]) {
        for s in block {
            if let Stmt::Record(_, _, at) = s {
                found[usize::from(matches!(at, Expr::Lit(_)))] += 1;
            }
            s.blocks().iter().for_each(|inner| count(inner, found));
        }
    }
    let drafts = s.kernels.iter().filter_map(|k| k.gpu.as_ref()).flat_map(|g| &g.drafts);
    let of = |draft: &Draft| {
        let k = draft.clone().finish().expect("it passes");
        let mut found = [0, 0];
        k.main.iter().chain(&k.finish).for_each(|block| count(block, &mut found));
        (k.name, found)
    };
    drafts.map(of).collect()
}

#[test]
fn variants_and_plans_do_not_need_code_for_processors() {
    let tests = tests_folder();
    let folders = ["files", "nested", ""].map(|f| fs::read_dir(tests.join(f)).expect("the folder"));
    let (mut compared, mut recorded) = (0, 0);
    for path in folders.into_iter().flatten().map(|entry| entry.expect("an entry").path()) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let Ok(functions) = parse::parse(&text) else { continue };
        for f in functions {
            let Ok(fused) = driver::fuse(&f) else { continue };
            let (Ok(all), Ok(gpu)) =
                (driver::schedule(&fused, Scope::All), driver::schedule(&fused, Scope::Gpu))
            else {
                continue;
            };
            let at = format!("{}: {}", path.display(), f.name);
            assert_eq!(facts(&all), facts(&gpu), "{at}");
            assert_eq!(variants(&all), variants(&gpu), "{at}");
            if fused.graph.has_records() {
                assert_eq!(records(&all), records(&gpu), "{at}");
                recorded += 1;
            }
            compared += 1;
        }
    }
    assert!(compared > 90 && recorded > 20, "{compared} functions, {recorded} with records");
}
