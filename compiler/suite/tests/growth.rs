//! Compile time grows with the program and no faster. This is measured by counts that are the same on
//! every machine: the nodes that walks visit, the nodes that are made, and the bytes that are
//! allocated, stage by stage, for a program and for one four times as large. The times are in
//! `cargo bench --bench growth`.

use arraygpu_compiler::budget::{self, Budget};
use arraygpu_compiler::core::graph::marks;
use arraygpu_compiler::core::{Function, Op, parse, print, verify};
use arraygpu_compiler::counts::copies;
use arraygpu_compiler::driver::{self, Targets, compile_within, on_big_stack};
use arraygpu_compiler::explain::{Format, Options};
use arraygpu_compiler::passes::pipeline::PASSES;
use arraygpu_compiler::schedule::{self, Scope, groups};
use arraygpu_compiler::{backend, passes, plan};
use arraygpu_suite::growth::Growth;
use arraygpu_suite::growth_nested;
use arraygpu_suite::growth_nested::Nesting;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

/// Counts the bytes that each thread allocates.
struct Counting;

thread_local! {
    static ALLOCATED: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is handed to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATED.try_with(|all| all.set(all.get() + layout.size() as u64));
        // SAFETY: the caller promises a layout that is not empty.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller promises that `at` was allocated with this layout.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Visited and made nodes, allocated bytes.
type Counts = [u64; 3];

fn counts() -> Counts {
    [marks::visited(), budget::made(), ALLOCATED.get()]
}

#[derive(Default)]
struct Stages(BTreeMap<String, Counts>);

impl Stages {
    fn stage<T>(&mut self, name: &str, run: impl FnOnce() -> T) -> T {
        let before = counts();
        let out = run();
        let of = self.0.entry(name.into()).or_default();
        of.iter_mut().zip(counts()).zip(before).for_each(|((all, after), before)| *all += after - before);
        out
    }
}

fn measured(kind: Growth, n: usize) -> Stages {
    stages(&format!("{kind:?} {n}"), || kind.program(n))
}

/// What each stage takes for a program.
fn stages(name: &str, program: impl FnOnce() -> Function + Send) -> Stages {
    let mut m = Stages::default();
    let done = on_big_stack(|| {
        let f = m.stage("build", program);
        m.stage("verify", || verify::verify(&f))?;
        let text = m.stage("print", || print::print(&f, true));
        m.stage("parse", || parse::parse(&text).map(drop))?;
        let both = Targets { cpu: true, cuda: true };
        let compiled = compile_within(Budget::default(), "grown", vec![f.clone()], both)?;
        m.stage("explain", || compiled.explain(&Options::default(), Format::Text).map(drop))?;
        let mut f: Function = f;
        m.stage("mark", || passes::guard::mark(&mut f));
        for pass in PASSES {
            f = m.stage(&format!("pass {}", pass.name), || (pass.run)(f))?;
        }
        m.stage("verify fused", || verify::verify(&f))?;
        assert!(m.stage("is fused", || verify::is_fused(&f)));
        m.stage("groups", || groups::fused_groups(&f).map(drop))?;
        let all = m.stage("schedule", || schedule::schedule(&f, 0, Scope::All))?;
        let text = m.stage("print plan", || all.plan.to_string());
        m.stage("parse plan", || plan::parse::parse(&text).map(drop))?;
        for variants in all.kernels {
            for draft in variants.gpu.into_iter().flat_map(|gpu| gpu.drafts) {
                let kernel = m.stage("kernel passes", || draft.finish())?;
                m.stage("ptx", || backend::ptx::emit(&kernel));
            }
            m.stage("c", || backend::c::emit("grown", variants.cpu.iter()));
        }
        Ok(())
    });
    done.unwrap_or_else(|e| panic!("{name}: {e}"));
    m
}

/// How much more a program of four times the size may take; n log n is 4.8 times as much here. Tables
/// double, so that a count of bytes jumps.
const MOST: [f64; 3] = [5.2, 5.2, 8.0];
/// Counts below these do not matter: what is taken once.
const SMALL: Counts = [5_000, 5_000, 1_000_000];

fn linear(kinds: &[Growth]) {
    let mut bad = Vec::new();
    for kind in kinds {
        // sines and the variants of products are long
        let is_long = matches!(
            kind,
            Growth::Sines
                | Growth::Functions
                | Growth::Nests
                | Growth::StoredNests
                | Growth::UnprovenLadder
                | Growth::UnprovenGathers
                | Growth::UnprovenResults
        );
        let n = if is_long { 30 } else { 125 };
        let (small, large) = (measured(*kind, n), measured(*kind, 4 * n));
        for (stage, of) in &large.0 {
            let before = small.0.get(stage).copied().unwrap_or_default();
            for (i, what) in ["visits", "makes", "allocates"].into_iter().enumerate() {
                let (before, now, least) = (before[i], of[i], SMALL[i]);
                if now > least && now as f64 > MOST[i] * before.max(least / 8) as f64 {
                    bad.push(format!("{kind:?}: {stage} {what} {before} for {n}, {now} for {}", 4 * n));
                }
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// Closures inside of closures cost no more than the program's text times their depth: a pass opens each of them
/// once, and what is in it with it.
#[test]
fn closures_in_closures_cost_their_text_at_each_level() {
    // four times as much for twice the depth
    const MOST: [f64; 3] = [4.4, 4.4, 5.0];
    const SMALL: Counts = [1_000, 1_000, 200_000];
    let mut bad = Vec::new();
    for kind in growth_nested::ALL {
        let at = |depth: usize| stages(&format!("{kind:?} {depth}"), || kind.program(depth));
        let depths = [4, 8, 16].map(|depth| (depth, at(depth)));
        for ([(_, before), (depth, now)], i) in
            depths.array_windows().flat_map(|pair| [(pair, 0), (pair, 1), (pair, 2)])
        {
            for (stage, of) in &now.0 {
                let before = before.0.get(stage).map_or(0, |of| of[i]);
                if of[i] > SMALL[i] && of[i] as f64 > MOST[i] * before as f64 {
                    bad.push(format!(
                        "{kind:?}: {stage} {i}: {before} for half of {depth}, {} for it",
                        of[i]
                    ));
                }
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// Each condition proves its reads, however many closures with conditions of their own stand around it.
#[test]
fn reads_in_closures_in_closures_are_proven() {
    for kind in [Nesting::Reductions, Nesting::Conditions] {
        let f = on_big_stack(|| driver::fuse(&kind.program(8))).unwrap_or_else(|e| panic!("{kind:?}: {e}"));
        let all = f.graph.reachable(f.results.iter().map(|r| r.value));
        let reads = all.into_iter().filter(|n| matches!(f.graph.op(*n), Op::At(..))).count();
        assert_eq!(reads, 0, "{kind:?}");
    }
}

#[test]
fn maps_are_linear() {
    linear(&[Growth::Maps, Growth::Element, Growth::Selects, Growth::Zips, Growth::Expressions]);
}

#[test]
fn functions_are_linear() {
    linear(&[Growth::Sines, Growth::Functions]);
}

#[test]
fn stored_arrays_are_linear() {
    linear(&[Growth::Stored, Growth::StoredGathers, Growth::StoredStencils, Growth::StoredPadded]);
}

#[test]
fn nests_are_linear() {
    linear(&[Growth::StoredNests, Growth::Nests]);
}

#[test]
fn what_is_not_stored_is_linear() {
    linear(&[Growth::Stencils, Growth::Padded, Growth::Gathers]);
}

#[test]
fn results_are_linear() {
    linear(&[Growth::Results, Growth::Sums]);
}

#[test]
fn parameters_and_scalars_are_linear() {
    linear(&[Growth::Parameters, Growth::Scalars]);
}

#[test]
fn results_that_may_leave_records_are_linear() {
    linear(&[Growth::UnprovenResults]);
}

#[test]
fn what_may_leave_records_is_linear() {
    linear(&[Growth::UnprovenLadder, Growth::UnprovenGathers, Growth::Divisions]);
}

/// What a program costs for each instruction of the kernels that come out.
#[test]
fn code_is_not_longer_than_allowed() {
    for kind in [Growth::Maps, Growth::Stored, Growth::Functions, Growth::Selects, Growth::StoredStencils] {
        let n = 200;
        let both = Targets { cpu: true, cuda: true };
        let out = compile_within(Budget::default(), "grown", vec![kind.program(n)], both).unwrap();
        let gpu: usize = out.gpu_variants().map(|code| copies::of_kernel(&code.kernel)).sum();
        let cpu = out.kernels.iter().filter_map(|k| k.cpu.as_ref());
        let cpu: usize = cpu.flat_map(|v| v.all()).flatten().map(|v| copies::of_kernel(&v.kernel)).sum();
        let text: usize = out.gpu_variants().map(|code| code.ptx.len()).sum::<usize>() + out.c_source.len();
        // what every variant has, such as its parameters, counts as 100 operations
        let variants = out.gpu_variants().count() + 3 * out.kernels.len();
        let operations = gpu + cpu + 100 * variants;
        assert!(
            text < 60 * operations,
            "{kind:?}: {text} bytes of text for {gpu} + {cpu} operations, {variants} variants"
        );
    }
}

/// A long kernel has at most 4 times the operations of the program, elementary functions expanded: code
/// of the interior and of the edges, of the fast and the slow path. Short bodies are unrolled instead, and
/// a total read is more operations than one.
#[test]
fn long_kernels_have_few_copies() {
    let long = [
        (Growth::Maps, 1000),
        (Growth::Element, 1000),
        (Growth::Selects, 400),
        (Growth::Sines, 15),
        (Growth::Functions, 60),
        (Growth::Scalars, 1000),
    ];
    for (kind, n) in long {
        let both = Targets { cpu: true, cuda: true };
        let out = compile_within(Budget::default(), "grown", vec![kind.program(n)], both).unwrap();
        let program = &out.functions[0].fused;
        let nodes = copies::of_program(program);
        assert!(nodes > 1000, "{kind:?} is no long program: {nodes} nodes");
        let cpu = out.kernels.iter().filter_map(|k| k.cpu.as_ref()).flat_map(|v| v.all()).flatten();
        let kernels = out.gpu_variants().map(|code| &code.kernel).chain(cpu.map(|v| &v.kernel));
        for k in kernels {
            let count = copies::of_kernel(k);
            assert!(count <= 4 * nodes, "{kind:?}: {} has {count} operations for {nodes} nodes", k.name);
        }
    }
}

/// The law of copies finds a kernel that has one copy of its body too many.
#[test]
fn a_kernel_with_many_copies_is_found() {
    let both = Targets { cpu: true, cuda: true };
    let out = compile_within(Budget::default(), "grown", vec![Growth::Maps.program(10)], both);
    let out = out.unwrap();
    let program = copies::of_program(&out.functions[0].fused);
    let code = out.gpu_variants().next().unwrap();
    assert_eq!(copies::excess(program, code.strategy, &code.kernel), None);
    let most = copies::MOST * program + copies::unrolled(code.strategy).0;
    let mut kernel = code.kernel.clone();
    let body = kernel.main.take().unwrap();
    let copy = copies::of_kernel(&code.kernel);
    kernel.main = Some(std::iter::repeat_n(body, 1 + most / copy).flatten().collect());
    let found = copies::excess(program, code.strategy, &kernel).unwrap();
    assert!(found.starts_with(&format!("{}: the kernel has ", code.kernel.name)), "{found}");
}

fn refused(kind: Growth, n: usize, budget: Budget) -> String {
    let both = Targets { cpu: true, cuda: true };
    let out = compile_within(budget, "grown", vec![kind.program(n)], both);
    out.err().map(|e| e.to_string()).unwrap_or_default()
}

#[test]
fn a_budget_ends_in_an_error_with_the_line() {
    let all = Budget::default();
    let nodes = refused(Growth::Padded, 100, Budget { nodes: 20_000, ..all });
    assert!(nodes.contains("E0903") && nodes.contains("more than 20000 nodes"), "{nodes}");
    assert!(nodes.contains("--> growth.rs:"), "{nodes}");
    let bytes = refused(Growth::Stored, 100, Budget { bytes: 10_000, ..all });
    assert!(bytes.contains("E0903") && bytes.contains("more than 10000 bytes"), "{bytes}");
    assert!(bytes.contains("--> growth.rs:"), "{bytes}");
    let time = refused(Growth::Maps, 100, Budget { time: Duration::ZERO, ..all });
    assert!(time.contains("E0903") && time.contains("longer than 0 s"), "{time}");
    assert!(time.contains("--> growth.rs:"), "{time}");
    assert_eq!(refused(Growth::Stored, 100, all), "", "the next compilation has a budget of its own");
}

/// A pass looks at the clock while it runs: without time it does a part of its work.
#[test]
fn passes_end_when_their_time_is_over() {
    let long = [
        ("split", Growth::Zips, 8000),
        ("fuse", Growth::Padded, 200),
        ("fuse", Growth::Gathers, 200),
        ("hoist", Growth::StoredNests, 60),
    ];
    for (last, kind, n) in long {
        let work = |time: Duration| {
            let mut f = kind.program(n);
            for pass in PASSES.iter().take_while(|pass| pass.name != last) {
                f = (pass.run)(f).expect("the program is right");
            }
            let pass = PASSES.iter().find(|pass| pass.name == last).expect("there is such a pass");
            let before = counts();
            let done = budget::within(Budget { time, ..Budget::default() }, || {
                let _ = (pass.run)(f);
                budget::check()
            });
            let [visited, made, _] = std::array::from_fn(|i| counts()[i] - before[i]);
            Ok((visited + made, done.err()))
        };
        let (all, none) = on_big_stack(|| work(Duration::MAX)).unwrap();
        assert_eq!(none, None);
        let (part, late) = on_big_stack(|| work(Duration::ZERO)).unwrap();
        let late = late.unwrap_or_else(|| panic!("{last}: {kind:?}: the time is not looked at")).to_string();
        assert!(
            late.contains("longer than 0 s") && late.contains("--> growth.rs:"),
            "{last}: {kind:?}: {late}"
        );
        assert!(3 * part < 2 * all, "{last}: {kind:?}: {part} of {all} steps");
    }
}
