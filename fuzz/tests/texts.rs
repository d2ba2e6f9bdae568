//! What the compiler makes of programs: running all passes again changes nothing, kernels and plans read back, PTX
//! assembles.

use arraygpu_compiler::core::{Function, NodeId, Op, parse, print};
use arraygpu_compiler::driver::{self, Compiled, Targets};
use arraygpu_compiler::passes::pipeline;
use arraygpu_compiler::{kernel, plan};
use arraygpu_fuzz::check::precise;
use arraygpu_fuzz::generate::program;
use arraygpu_fuzz::seeds;
use arraygpu_suite::ptxas::{Module, architectures, assemble, find};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

const SEEDS: u64 = 300;

/// How many nodes a function needs, and what its rules and results are, whatever numbers the nodes have: the operands
/// of commutative operators are sorted by them.
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

/// How many nodes a function and its steps need, and how many roots they have.
fn size(f: &Function) -> (usize, usize) {
    let own = (f.graph.reachable(f.roots()).len(), f.roots().count());
    f.steps.iter().map(|s| size(s)).fold(own, |a, b| (a.0 + b.0, a.1 + b.1))
}

/// Another run of all passes changes nothing; for one program in thirty it may find less to do, as where guards of
/// quotients of host scalars were written in two ways. For one in twenty it may store more, because elementary
/// functions that were written out count as their operations, or say a shape rule of a step again, in other words.
#[test]
fn passes_are_idempotent() {
    let (mut compared, mut smaller, mut larger) = (0, 0, 0);
    for seed in 0..SEEDS {
        let mut f = program(seed).function;
        // approximations are for operators of the author, not for those that elementary functions become
        precise(&mut f);
        let Ok(once) = driver::on_big_stack(|| pipeline::run(&f, &mut |_, _| ())) else { continue };
        let twice = driver::on_big_stack(|| pipeline::run(&once, &mut |_, _| ())).expect("it ran before");
        let (before, after) = (size(&once), size(&twice));
        if after.0 < before.0 {
            smaller += 1;
        } else if after.0 > before.0 || after.1 > before.1 {
            larger += 1;
        } else {
            let (before, after) = (meaning(&once), meaning(&twice));
            assert_eq!(before, after, "seed {seed}\n{f}\n{once}\n{twice}");
        }
        compared += 1;
    }
    let most = SEEDS / 30;
    assert!(
        compared > SEEDS / 2 && smaller < most && larger < SEEDS / 20,
        "{compared} programs, {smaller} were not done, {larger} store more"
    );
}

fn compiled(seed: u64, targets: Targets) -> Option<Compiled> {
    driver::compile_for("p", vec![program(seed).function], targets).ok()
}

#[test]
fn kernels_and_plans_read_back() {
    let (mut kernels, mut plans) = (0, 0);
    for seed in 0..SEEDS {
        let Some(compiled) = compiled(seed, Targets { cpu: true, cuda: true }) else { continue };
        let of_cpu = compiled.kernels.iter().filter_map(|k| k.cpu.as_ref());
        let of_cpu = of_cpu.flat_map(|v| v.all()).flatten().map(|v| &v.kernel);
        let of_gpu = compiled.gpu_variants().map(|c| &c.kernel);
        for k in of_cpu.chain(of_gpu) {
            let text = k.to_string();
            let again = kernel::parse::parse(&text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
            assert_eq!(again[0].to_string(), text, "seed {seed}");
            kernels += 1;
        }
        for p in compiled.functions.iter().map(|f| &f.plan) {
            let again = plan::parse::parse(&p.to_string());
            let again = again.unwrap_or_else(|e| panic!("seed {seed}: {e}\n{p}"));
            assert_eq!(&again[0], p, "seed {seed}");
            plans += 1;
        }
    }
    assert!(kernels > 1000 && plans > SEEDS / 2, "{kernels} kernels, {plans} plans");
}

/// Other programs each day.
#[test]
fn ptx_assembles() {
    let first = seeds::of_today().start;
    let module = |seed: u64| {
        let compiled = compiled(seed, Targets { cpu: false, cuda: true });
        let kernels = compiled.map(|c| c.kernels).unwrap_or_default();
        let code = kernels.into_iter().filter_map(|k| Some(k.gpu?.variants));
        let named = move |ptx| Module { name: format!("seed {seed}"), ptx, is_dependent: true };
        code.flatten().filter(|c| !c.is_merged).map(move |c| named(c.ptx))
    };
    let all: Vec<Module> = (first..).flat_map(module).take(150).collect();
    let ptxas = find();
    let arch = architectures(&ptxas)[1];
    let jobs: Vec<_> = all.iter().map(|m| (m, arch)).collect();
    assert_eq!(assemble(&ptxas, &jobs).len(), all.len());
}

/// A function with `depth` reductions, each inside the elements of the one before.
fn nested(depth: usize) -> String {
    let mut text = String::from("func @f(%a: [f32]) -> (r: f32) {\n  %v0 = at %a, 0i64\n");
    for k in 1..=depth {
        text += &format!("  %m{k} = map (%y{k}: f32) over %a {{\n");
    }
    text += &format!("  %s{depth} = add %v0, %y{depth}\n");
    for k in (1..=depth).rev() {
        text += &format!("  yield %s{k}\n  }}\n  %s{} = ", k - 1);
        text += &format!("reduce (%p{k}: f32, %q{k}: f32) from 0f32 over %m{k} {{\n");
        text += &format!("  %t{k} = add %p{k}, %q{k}\n  yield %t{k}\n  }}\n");
    }
    text + "  return %s0\n}\n"
}

/// Texts may be 200 regions deep, whatever stack reads them; deeper ones are refused at once.
#[test]
fn texts_of_any_depth() {
    for depth in [1, 100] {
        let functions = parse::parse(&nested(depth)).unwrap_or_else(|e| panic!("{depth}: {e}"));
        let text = print::print(&functions[0], false);
        let again = parse::parse(&text).unwrap_or_else(|e| panic!("{depth}, printed: {e}"));
        assert!(print::print(&again[0], false) == text, "{depth}");
    }
    for depth in [201, 3_000, 40_000] {
        assert_eq!(parse::parse(&nested(depth)).expect_err("too deep").code, "E0102", "{depth}");
    }
}
