//! Random programs: every pass keeps the meaning to the bit (the interpreter is the oracle), and both IRs read back what they print.

mod common;

use arraygpu_compiler::core::interp::{Outcome, Value, run};
use arraygpu_compiler::core::{Function, NodeId, Op, parse, print};
use arraygpu_compiler::passes::pipeline;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_compiler::{Result, driver, kernel, plan, schedule, stage};
use common::{program, rng::Rng};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

const SIZES: [usize; 9] = [0, 1, 2, 3, 5, 127, 129, 300, 2049];
/// Of the axes of matrices.
const LENGTHS: [usize; 8] = [0, 1, 2, 3, 7, 16, 33, 130];
const PROGRAMS: u64 = 600;

/// Of vectors and of matrices.
fn programs() -> impl Iterator<Item = (u64, Function, Rng)> {
    (1..=PROGRAMS).map(|seed| {
        let mut rng = Rng::new(seed);
        let ty = rng.pick(&Ty::ALL);
        let f = match seed % 4 {
            0 | 2 => program::matrix_function(&format!("f{seed}"), ty, &mut rng),
            1 => program::window_function(&format!("f{seed}"), ty, &mut rng),
            _ => program::function(&format!("f{seed}"), ty, &mut rng),
        };
        (seed, f, rng)
    })
}

fn arguments(f: &Function, sizes: &[usize], rng: &mut Rng) -> Vec<Value> {
    if f.params[0].ty.rank == 1 {
        return program::arguments(f, rng.pick(sizes), rng.pick(&SIZES[..7]), rng);
    }
    let sizes = [&LENGTHS[..], &LENGTHS, &LENGTHS, &LENGTHS, &LENGTHS[..4]].map(|s| rng.pick(s));
    program::matrix_arguments(f, sizes, rng)
}

fn same(a: &Result<Outcome>, b: &Result<Outcome>) -> bool {
    match (a, b) {
        // a record may go with the value nobody needs any more; it is never added
        (Ok(a), Ok(b)) => a.results == b.results && (a.recorded || !b.recorded),
        (Err(a), Err(b)) => a.code == b.code,
        _ => false,
    }
}

#[test]
fn passes_keep_bits() {
    for (seed, mut f, mut rng) in programs() {
        // what a GPU may approximate, the passes keep precise
        f.fast = seed % 2 == 0;
        for sizes in [&SIZES[..], &SIZES[..6]] {
            let args = arguments(&f, sizes, &mut rng);
            let before = run(&f, &args);
            let check = |name: &str, g: &Function| {
                let after = run(g, &args);
                let fine = same(&before, &after);
                assert!(fine, "seed {seed}, after {name}:\n{f}\n->\n{g}\n{before:?}\n{after:?}");
            };
            driver::on_big_stack(|| pipeline::run(&f, &mut |name, g| check(name, g)).map(|_| ()))
                .unwrap_or_else(|e| {
                    // a random slice may never fit; anything else is a bug
                    assert_eq!(e.code, "E0310", "seed {seed}: {e}\n{f}");
                });
        }
    }
}

#[test]
fn specialised_functions_keep_bits() {
    let mut specialised = 0;
    for (seed, f, mut rng) in programs().filter(|(_, f, _)| stage::has_stages(f)) {
        for sizes in [&SIZES[..], &SIZES[..6]] {
            let args = arguments(&f, sizes, &mut rng);
            let values = staged(&f, &args);
            let g = stage::specialise(&f, &values);
            assert!(!stage::has_stages(&g), "seed {seed}: {g}");
            let before = run(&f, &args);
            let check = |name: &str, g: &Function| {
                let after = run(g, &args);
                assert!(
                    same(&before, &after),
                    "seed {seed}, after {name}:\n{f}\n->\n{g}\n{before:?}\n{after:?}"
                );
            };
            check("specialise", &g);
            // a rule that does not hold of these values: the general version says so
            let compiled = driver::on_big_stack(|| pipeline::run(&g, &mut |name, g| check(name, g)));
            let fails = compiled.is_err_and(|e| e.code == "E0310");
            assert!(!fails || before.is_err(), "seed {seed}\n{f}");
            specialised += u32::from(!fails);
        }
    }
    assert!(specialised > PROGRAMS as u32 / 6, "of {PROGRAMS} only {specialised} were");
}

/// The values that a call stages.
fn staged(f: &Function, args: &[Value]) -> Vec<Lit> {
    let scalar = |a: &Value| if let Value::Scalar(l) = a { Some(*l) } else { None };
    let extents = |a: &Value| match a {
        Value::Scalar(_) => vec![],
        Value::Vector(v) => vec![v.len() as i64],
        Value::Array(extents, _) => extents.clone(),
    };
    let (params, extents): (Vec<_>, Vec<_>) = args.iter().map(|a| (scalar(a), extents(a))).unzip();
    stage::values(f, &params, &extents)
}

#[test]
fn texts_read_back() {
    for (seed, f, _) in programs() {
        for locs in [false, true] {
            let text = print::print(&f, locs);
            let again = parse::parse(&text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
            assert_eq!(print::print(&again[0], locs), text, "seed {seed}");
        }
        let Ok(compiled) = driver::compile("p", vec![f]) else { continue };
        for v in &compiled.versions {
            for k in [Some(&v.contiguous), v.in_place.as_ref(), v.strided.as_ref()].into_iter().flatten() {
                let text = k.to_string();
                let again =
                    kernel::parse::parse(&text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
                assert_eq!(again[0].to_string(), text, "seed {seed}");
            }
        }
        for p in &compiled.plans {
            let again =
                plan::parse::parse(&p.to_string()).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{p}"));
            assert_eq!(&again[0], p, "seed {seed}");
        }
    }
}

/// How many nodes a function needs, and what its rules and results are, whatever numbers the nodes have: the operands of commutative operators are sorted by them.
fn meaning(f: &Function) -> (usize, Vec<u64>, Vec<String>) {
    let (g, mut of) = (&f.graph, HashMap::new());
    let order = g.reachable(f.roots());
    for &n in &order {
        let mut op = g.op(n).clone();
        let mut operands: Vec<u64> = op.operands().map(|o| of[&o]).collect();
        match &op {
            Op::MulAdd(..) => operands[..2].sort_unstable(),
            Op::Binary(o, ..) if o.is_commutative() => operands.sort_unstable(),
            _ => {}
        }
        let body = op.lambda().map(|l| of[&l.body]);
        op.each_operand(|o| *o = NodeId(0));
        op.lambda_mut().into_iter().for_each(|l| l.body = NodeId(0));
        let mut hash = DefaultHasher::new();
        (op, operands, body).hash(&mut hash);
        of.insert(n, hash.finish());
    }
    let rules = f.requires.iter().map(|r| format!("{:?} {}", r.rule, r.subject));
    let steps = f.steps.iter().map(|s| format!("{:?}", meaning(s)));
    let head = f.params.iter().map(|p| format!("{p:?}")).chain(f.results.iter().map(|r| r.name.clone()));
    (order.len(), f.roots().map(|n| of[&n]).collect(), head.chain(rules).chain(steps).collect())
}

#[test]
fn passes_are_idempotent() {
    for (seed, f, _) in programs() {
        let Ok(once) = driver::on_big_stack(|| pipeline::run(&f, &mut |_, _| ())) else { continue };
        let twice = driver::on_big_stack(|| pipeline::run(&once, &mut |_, _| ())).unwrap();
        assert_eq!(meaning(&once), meaning(&twice), "seed {seed}\n{f}\n{once}\n{twice}");
        assert!(
            schedule::schedule(&once, 0, schedule::Scope::All).is_ok()
                || schedule::items::passes(&once).is_err()
        );
    }
}
