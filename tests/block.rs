//! The same bits without a C compiler: the block interpreter and the runtime against the interpreter of core IR
//! (`fuzz/` has random programs).
//!
//! As `tests/bits.rs`, which does the same with compiled code.

mod common;

use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::interp::{self, Outcome, Value};
use arraygpu_compiler::core::{Function, NodeId, Op, Var, parse};
use arraygpu_compiler::driver::{self, Compiled, Targets};
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::all_pairs;
use arraygpu_suite::{operators, rng::Rng, semantics::statements, values};
use common::{Layout, Loaded, context, load_blocks, shapes};
use std::collections::BTreeMap;

/// No C is written.
fn compile(functions: Vec<Function>) -> arraygpu_compiler::Result<Compiled> {
    driver::compile_for("t", functions, Targets { cpu: false, cuda: false })
}

/// What the tests have seen.
#[derive(Default, Debug)]
struct Seen {
    values: usize,
    records: usize,
    errors: usize,
}

impl Seen {
    /// Calls the program's function in each layout, by so many threads: the interpreter's results, or its record,
    /// or a shape rule that is broken.
    fn check(
        &mut self,
        (loaded, compiled): (&Loaded, &Compiled),
        args: &[Value],
        layouts: &[(Layout, i32)],
        name: &str,
    ) {
        let expected = interp::run(&compiled.functions[0].fused, args);
        for (layout, threads) in layouts {
            self.compare((loaded, compiled), args, &expected, (*layout, *threads), name);
        }
    }

    fn compare(
        &mut self,
        (loaded, compiled): (&Loaded, &Compiled),
        args: &[Value],
        expected: &arraygpu_compiler::Result<Outcome>,
        (layout, threads): (Layout, i32),
        name: &str,
    ) {
        let f = &compiled.functions[0].fused;
        let extents = match expected {
            Ok(o) => shapes(&o.results),
            Err(_) => f.results.iter().map(|r| vec![0; f.graph.ty(r.value).rank.into()]).collect(),
        };
        let called = loaded.call(0, context(threads), args, &extents, layout);
        let case = || {
            format!(
                "{name}, {layout:?}:\n{f}\n{}\n{}",
                called.message,
                compiled.emit("kernel").unwrap_or_default()
            )
        };
        match (expected, called.status) {
            (Ok(o), AgpuStatus::AgpuOk) if !o.recorded => {
                if o.results != called.results {
                    panic!("{}\n{}", case(), difference(&o.results, &called.results));
                }
                self.values += 1;
            }
            (Ok(_), AgpuStatus::AgpuOk) => {
                // the elements of a reduction or fold may be needed by no result; the interpreter checks promises
                let needed = f.graph.reachable(f.results.iter().map(|r| r.value));
                let may_be_lost = |n: &NodeId| ignores(f, *n) || matches!(f.graph.op(*n), Op::Checked);
                assert!(needed.iter().any(may_be_lost), "a record was lost: {}", case());
            }
            (Ok(o), AgpuStatus::AgpuErrorRecord) => {
                assert!(o.recorded, "a record was added: {}", case());
                self.records += 1;
            }
            (Err(_), AgpuStatus::AgpuErrorShape) => self.errors += 1,
            (expected, _) => panic!("{}\nexpected {expected:?}", case()),
        }
    }
}

/// A reduction or fold whose function does not use both of its operands.
fn ignores(f: &Function, n: NodeId) -> bool {
    let (Op::Reduce { join: lambda, .. } | Op::Fold { step: lambda, .. }) = f.graph.op(n) else {
        return false;
    };
    let used = f.graph.reachable([lambda.body]);
    let uses = |v: Var| used.iter().any(|n| matches!(f.graph.op(*n), Op::Var(w, ..) if *w == v));
    !lambda.params.iter().all(|p| uses(p.0))
}

/// The first place where results differ.
fn difference(expected: &[Value], found: &[Value]) -> String {
    let list = |v: &Value| match v {
        Value::Scalar(l) => vec![*l],
        Value::Vector(v) | Value::Array(_, v) => v.clone(),
    };
    let pairs = expected.iter().zip(found).enumerate();
    let all = pairs.filter_map(|(r, (a, b))| {
        let (a, b) = (list(a), list(b));
        let i = (0..a.len().max(b.len())).find(|i| a.get(*i) != b.get(*i))?;
        Some(format!("result {r}[{i}] of {}: expected {:?}, found {:?}", a.len(), a.get(i), b.get(i)))
    });
    all.collect::<Vec<_>>().join("\n")
}

/// Every operator and cast at its corners, in code for neighbours and for strides.
#[test]
fn operators_at_their_corners() {
    let mut seen = Seen::default();
    for f in operators::functions() {
        let args = operators::arguments(&f);
        let name = f.name.clone();
        let compiled = compile(vec![f]).unwrap();
        let loaded = load_blocks(&compiled);
        let layouts = [Layout::Contiguous, Layout::Strided].map(|layout| (layout, 1));
        seen.check((&loaded, &compiled), &args, &layouts, &name);
    }
    assert!(seen.values > 80, "{seen:?}");
}

/// The programs of the file tests.
#[test]
fn files() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("compiler/tests/files");
    let mut seen = Seen::default();
    for file in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
        let Ok(functions) = parse::parse(&std::fs::read_to_string(&file).unwrap()) else { continue };
        for f in functions {
            let Ok(compiled) = compile(vec![f]) else { continue };
            let loaded = load_blocks(&compiled);
            let mut rng = Rng::new(3);
            // all pairs are many; some of the programs, written without their rules, read wildly for one element
            let pairs = ["nest", "iterate"].iter().any(|name| file.to_string_lossy().contains(name))
                || all_pairs::has_pairs(&compiled.functions[0].source);
            let sizes: &[usize] = if pairs { &[0, 17, 131, 260] } else { &[0, 17, 2047, 2048, 2049, 5000] };
            for &n in sizes {
                let mut args = values::arguments(&compiled.functions[0].fused, n, n, &mut rng);
                // a count of iterations may be among them
                for a in &mut args {
                    if let Value::Scalar(l) = a
                        && l.ty == Ty::I64
                    {
                        *l = Lit::i64(l.as_i64() % 8);
                    }
                }
                let layouts =
                    [Layout::Contiguous, Layout::InPlace, Layout::Strided].map(|layout| (layout, 1));
                seen.check((&loaded, &compiled), &args, &layouts, &format!("{}, n = {n}", file.display()));
            }
        }
    }
    println!("{seen:?}");
    assert!(seen.values > 300, "{seen:?}");
}

/// The statements of docs/semantics.md.
#[test]
fn semantics() {
    let mut seen = BTreeMap::new();
    for (f, calls) in statements() {
        let compiled = compile(vec![f.clone()]).unwrap();
        let loaded = load_blocks(&compiled);
        for (c, layout) in calls.iter().flat_map(|c| [Layout::Contiguous, Layout::Strided].map(|l| (c, l))) {
            let extents = match &c.results {
                Some(results) => shapes(results),
                // a function that leaves a record is a map over its last argument
                None => vec![shapes(&c.args).pop().unwrap_or_default(); f.results.len()],
            };
            let called = loaded.call(0, context(1), &c.args, &extents, layout);
            match &c.results {
                Some(results) => {
                    assert_eq!(called.results, *results, "@{} of {:?}, {layout:?}", f.name, c.args)
                }
                None => assert!(matches!(called.status, AgpuStatus::AgpuErrorRecord), "@{}", f.name),
            }
            *seen.entry(f.name.clone()).or_insert(0) += 1;
        }
    }
    assert!(seen.len() > 10, "{seen:?}");
}

/// Several threads run tiles of one kernel, and the tree has three levels.
#[test]
fn three_levels_on_two_threads() {
    let text = "func @s(%x: [i32]) -> (sum: i32) {
  %0 = reduce (%a: i32, %b: i32) from 0i32 over %x { %c = mul_add %a, 3i32, %b yield %c }
  return %0
}";
    let compiled = compile(vec![parse::parse(text).unwrap().remove(0)]).unwrap();
    let loaded = load_blocks(&compiled);
    let args = [Value::Vector((0..2048 * 2048 + 2049).map(Lit::i32).collect())];
    let mut seen = Seen::default();
    let layouts = [1, 2].map(|threads| (Layout::Contiguous, threads));
    seen.check((&loaded, &compiled), &args, &layouts, "three levels");
    assert_eq!(seen.values, 2);
}
