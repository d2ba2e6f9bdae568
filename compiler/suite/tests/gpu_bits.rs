//! The same bits on a simulated GPU: reductions at every edge, operators at their corners and the file tests, every
//! version of every kernel, in several layouts, sizes and orders of threads, against the interpreter (`fuzz/` has
//! random programs). The simulation reports races, divergence, wild and misaligned accesses, and reads of what
//! nothing wrote.

use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::core::{Function, NodeId, Op, Var, parse};
use arraygpu_compiler::counts::copies;
use arraygpu_compiler::driver::{self, Compiled, Targets};
use arraygpu_compiler::kernel::interp::{FaultKind, Order};
use arraygpu_compiler::scalar::Lit;
use arraygpu_suite::all_pairs;
use arraygpu_suite::gpu;
use arraygpu_suite::gpu::{Called, Failure, How, Layout, Missing, call};
use arraygpu_suite::mutants;
use arraygpu_suite::tests_folder;
use arraygpu_suite::today;
use arraygpu_suite::{operators, rng::Rng, values};

/// Variants that a kernel may have.
const VERSIONS: usize = 5;

fn compile(functions: Vec<Function>) -> Compiled {
    driver::compile_for("t", functions, Targets { cpu: false, cuda: true }).unwrap()
}

/// What the tests must have seen.
#[derive(Default, Debug)]
struct Seen {
    calls: usize,
    values: usize,
    records: usize,
    errors: usize,
    entries: std::collections::BTreeMap<String, usize>,
}

/// One program and its arguments; what the first call left as a record all others must leave, too.
struct Case<'a> {
    compiled: &'a Compiled,
    name: String,
    args: Vec<Value>,
    expected: arraygpu_compiler::Result<interp::Outcome>,
    /// The elements of a reduction or fold may be needed by no result: then the compiled function need not leave
    /// their records.
    unneeded: bool,
    /// The element and the place of the record of the first call.
    record: Option<Option<(u64, String)>>,
}

impl Case<'_> {
    fn new<'a>(compiled: &'a Compiled, name: String, args: Vec<Value>) -> Case<'a> {
        let expected = interp::run(&compiled.functions[0].fused, &args);
        let f = &compiled.functions[0].fused;
        let unneeded = f.graph.reachable(f.results.iter().map(|r| r.value)).iter().any(|n| ignores(f, *n));
        Case { compiled, name, args, expected, unneeded, record: None }
    }

    /// Calls in one of three orders of threads, in turn: the interpreter's results, or a record where it leaves one.
    fn check(&mut self, layout: Layout, version: Option<usize>, span: u32, seen: &mut Seen) {
        seen.calls += 1;
        let order = [Order::Ascending, Order::Descending, Order::Random(span as u64 + 1)][seen.calls % 3];
        let how = How { layout, version, span, order };
        let text = || format!("{}, {how:?}\n{}", self.name, self.compiled.functions[0].fused);
        match (&self.expected, call(self.compiled, 0, &self.args, how)) {
            (Err(_), Err(Failure::Shape(_))) => seen.errors += 1,
            (Ok(wanted), Ok(called)) => {
                let recorded = called.record.is_some();
                let fine = recorded == wanted.recorded || (self.unneeded && !recorded);
                assert!(fine, "recorded: {:?}\n{}", called.record, text());
                // which launches run differs between variants
                let record = called.record.as_ref().map(|r| (r.element, r.site.clone()));
                let first = self.record.get_or_insert_with(|| record.clone());
                assert_eq!(*first, record, "{}", text());
                if first.is_none() {
                    let difference = difference(&wanted.results, &called.results);
                    assert!(difference.is_none(), "{}\n{}", difference.unwrap_or_default(), text());
                }
                seen.note(&called);
            }
            (_, Err(e)) => panic!("{e}\n{}", text()),
            (Err(e), Ok(called)) => panic!("expected {e}\nfound {called:?}\n{}", text()),
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

impl Seen {
    fn note(&mut self, called: &Called) {
        *(if called.record.is_some() { &mut self.records } else { &mut self.values }) += 1;
        for entry in &called.entries {
            // f12_0_any_wide
            let version = entry.splitn(3, '_').nth(2).unwrap_or_default();
            *self.entries.entry(version.into()).or_default() += 1;
        }
    }
}

/// The first place where results differ.
fn difference(wanted: &[Value], found: &[Value]) -> Option<String> {
    let list = |v: &Value| match v {
        Value::Scalar(l) => vec![*l],
        Value::Vector(v) | Value::Array(_, v) => v.clone(),
    };
    wanted.iter().zip(found).enumerate().find_map(|(r, (a, b))| {
        let (a, b) = (list(a), list(b));
        let i = (0..a.len().max(b.len())).find(|i| a.get(*i) != b.get(*i))?;
        let show = |v: &[Lit]| v.get(i).map_or("nothing".into(), |l| format!("{l} ({:x})", l.bits));
        Some(format!("result {r}, element {i}: expected {}, found {}", show(&a), show(&b)))
    })
}

/// Sums, dots, general operators and folds, stored vectors beside them, and a scalar that follows, at every edge of
/// the tree.
#[test]
fn reductions_at_every_edge() {
    let text = |ty: &str, greatest: &str| {
        format!(
            "func @r(%x: [{ty}], %y: [{ty}]) -> (sum: {ty}, dot: {ty}, odd: {ty}, least: {ty}, fold: {ty}, both: [{ty}], scaled: [{ty}]) {{
  %0 = len %x
  %1 = len %y
  require same %0, %1 \"dot: x, y\"
  %2 = reduce (%a: {ty}, %b: {ty}) from 0{ty} over %x {{ %c = add %a, %b yield %c }}
  %3 = dot from 0{ty} over %x, %y
  %4 = reduce (%a: {ty}, %b: {ty}) from 3{ty} over %x {{ %c = mul_add %a, 5{ty}, %b yield %c }}
  %5 = reduce (%a: {ty}, %b: {ty}) from {greatest}{ty} over %y {{ %c = min %a, %b yield %c }}
  %6 = fold (%a: {ty}, %b: {ty}) from 3{ty} over %y {{ %c = mul_add %a, 5{ty}, %b yield %c }}
  %7 = map (%a: {ty}, %b: {ty}) over %x, %y {{ %c = mul_add %a, %b, %a yield %c }}
  %8 = mul %3, %4
  %9 = map (%a: {ty}) over %y {{ %c = sub %a, %8 yield %c }}
  return %2, %8, %4, %5, %6, %7, %9
}}
"
        )
    };
    let sizes = [0, 1, 2, 3, 31, 33, 127, 128, 129, 2047, 2048, 2049, 4095, 4097, 3 * 2048 + 5, 9 * 2048 + 1];
    let mut seen = Seen::default();
    let types = ["f32", "u8", "i64", "f64", "i16", "i32", "u64", "i8", "u16"];
    for ty in today::share(types.to_vec(), 3) {
        let greatest = if ty.starts_with('f') { "inf" } else { "9" };
        let f = parse::parse(&text(ty, greatest)).unwrap().remove(0);
        let compiled = compile(vec![f]);
        let mut rng = Rng::new(5);
        for n in sizes {
            let args = values::arguments(&compiled.functions[0].fused, n, n, &mut rng);
            let mut case = Case::new(&compiled, format!("{ty}, n = {n}"), args);
            for v in 0..VERSIONS {
                case.check(Layout::Contiguous, Some(v), 1 + v as u32 % 2, &mut seen);
            }
            case.check(Layout::Offset, None, 2, &mut seen);
            case.check(Layout::InPlace, None, 1, &mut seen);
            case.check(Layout::Reversed, None, 1, &mut seen);
        }
    }
    println!("{seen:?}");
}

/// Long operators, whose joins are passes through loops: of values, of values that may leave error records, and of
/// tuples.
#[test]
fn long_operators_at_every_edge() {
    const LENGTH: usize = 90;
    let steps = |ty: &str, constant: &str, so_far: &str, with: &str| -> String {
        let step = |k: usize| match k {
            0 => format!("%{ty}0 = mul_add {so_far}, {constant}{ty}, {with}\n"),
            k => format!("%{ty}{k} = mul_add %{ty}{}, {constant}{ty}, {with}\n", k - 1),
        };
        (0..=LENGTH).map(step).collect()
    };
    let (reals, numbers) = (steps("f32", "0.5", "%a", "%b"), steps("i32", "5", "%a", "%b"));
    let of_pairs = steps("i32", "3", "%i", "%j");
    let joined = format!("{reals} {of_pairs} %c = tuple %f32{LENGTH}, %i32{LENGTH} yield %c");
    let values = format!(
        "func @r(%x: [f32], %y: [i32]) -> (values: f32, real: f32, number: i32) {{
  %n = len %x
  %m = len %y
  require same %n, %m \"shapes\"
  %values = reduce (%a: f32, %b: f32) from 0.25f32 over %x {{ {reals} yield %f32{LENGTH} }}
  %start = tuple 1.5f32, 2i32
  %both = map (%v: f32, %k: i32) over %x, %y {{ %p = tuple %v, %k yield %p }}
  %real = reduce 0 (%a: f32, %i: i32, %b: f32, %j: i32) from %start over %both {{ {joined} }}
  %number = reduce 1 (%a: f32, %i: i32, %b: f32, %j: i32) from %start over %both {{ {joined} }}
  return %values, %real, %number
}}
"
    );
    let divided = format!(
        "func @r(%y: [i32]) -> (divided: i32) {{
  %divided = reduce (%a: i32, %b: i32) from 7i32 over %y {{ {numbers} %c = sub %a, 3i32 %d = div %i32{LENGTH}, %c yield %d }}
  return %divided
}}
"
    );
    let mut rng = Rng::new(7);
    for (text, operators) in [(values, 3), (divided, 1)] {
        let compiled = compile(parse::parse(&text).unwrap());
        for code in compiled.gpu_variants() {
            let copies = copies::of_kernel(&code.kernel) / (operators * LENGTH);
            assert!(copies < 32, "{}: {copies} copies of the operators", code.kernel.name);
        }
        let mut seen = Seen::default();
        for n in [0, 1, 2, 31, 33, 127, 128, 129, 2047, 2048, 2049, 4097, 5 * 2048 + 129] {
            let args = values::arguments(&compiled.functions[0].fused, n, n, &mut rng);
            let mut case = Case::new(&compiled, format!("n = {n}"), args);
            for v in 0..VERSIONS {
                case.check(Layout::Contiguous, Some(v), 1 + v as u32 % 2, &mut seen);
            }
            case.check(Layout::Reversed, None, 1, &mut seen);
        }
        match operators {
            1 => assert!(seen.records > 30, "{seen:?}"),
            _ => assert!(seen.values == seen.calls && seen.values > 70, "{seen:?}"),
        }
    }
}

/// Every operator at its corners.
#[test]
fn operators() {
    let mut seen = Seen::default();
    for f in operators::functions() {
        let args = operators::arguments(&f);
        let compiled = compile(vec![f]);
        let name = compiled.functions[0].source.name.clone();
        Case::new(&compiled, name, args).check(Layout::Contiguous, None, 1, &mut seen);
    }
    assert!(seen.values > 40, "{seen:?}");
}

/// The programs of the file tests.
#[test]
fn files() {
    let folder = tests_folder().join("files");
    let mut seen = Seen::default();
    let mut all: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    all.sort();
    for file in today::share(all, 3) {
        let Ok(functions) = parse::parse(&std::fs::read_to_string(&file).unwrap()) else { continue };
        // those of `fast_math` have other bits: tests/fast_math.rs
        for f in functions.into_iter().filter(|f| !f.fast) {
            let targets = Targets { cpu: false, cuda: true };
            let Ok(compiled) = driver::compile_for("t", vec![f], targets) else { continue };
            if compiled.kernels.iter().any(|k| k.gpu_variants().is_empty()) {
                continue;
            }
            let mut rng = Rng::new(3);
            // all pairs of many take the simulation minutes
            let pairs = all_pairs::has_pairs(&compiled.functions[0].source);
            for n in if pairs { [0, 17, 300, 2100] } else { [0, 17, 2100, 4500] } {
                let args = values::arguments(&compiled.functions[0].fused, n, n, &mut rng);
                let mut case = Case::new(&compiled, format!("{}, n = {n}", file.display()), args);
                // of the large ones, which take long, another layout each time
                let layouts = Layout::ALL.iter().cycle().skip(seen.calls);
                let several = if pairs { 1 } else { 2 };
                for layout in layouts.take(if n < 100 { Layout::ALL.len() } else { several }) {
                    case.check(*layout, None, 1, &mut seen);
                }
            }
        }
    }
    assert!(seen.values > 100, "{seen:?}");
}

/// A reduction through three levels of the tree: more than 2048 tiles. Without any of its synchronisations it is
/// wrong, and reported.
#[test]
fn three_levels() {
    let text = "func @s(%n: i64) -> (odd: i32) {
  require extent 0i64, %n \"generate\"
  %0 = generate %n (%i: i64) { %c = cast i32 %i yield %c }
  %1 = reduce (%a: i32, %b: i32) from 0i32 over %0 { %c = mul_add %a, 3i32, %b yield %c }
  return %1
}";
    let mut compiled = compile(vec![parse::parse(text).unwrap().remove(0)]);
    let args = [Value::Scalar(Lit::i64(2048 * 2048 + 1))];
    let expected = interp::run(&compiled.functions[0].fused, &args).unwrap().results;
    let how = How { layout: Layout::Contiguous, version: None, span: 2, order: Order::Random(1) };
    let called = call(&compiled, 0, &args, how).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(called.results, expected);
    // the groups' results and counters lie behind the tiles'
    for (scratch, counters) in [(1, 0), (0, 1)] {
        match gpu::call_without(&compiled, 0, &args, how, Missing { scratch, counters }) {
            Err(Failure::Fault(f)) if f.kind == FaultKind::OutOfBounds => {}
            other => panic!("without {scratch} of scratch and {counters} of the counters: {other:?}"),
        }
    }
    let first = compiled.gpu_variants().position(|v| v.launch.entry == called.entries[0]).unwrap();
    let mutants = mutants::of(&compiled.kernels[0].gpu_variants()[first].kernel);
    assert_eq!(mutants.len(), 9, "two arrivals, and the barriers around them and the warps' values");
    let mut unnoticed = Vec::new();
    for (what, kernel) in mutants {
        compiled.kernels[0].gpu.as_mut().expect("code for GPUs").variants[first].kernel = kernel;
        match call(&compiled, 0, &args, how) {
            Err(Failure::Fault(_)) => {}
            Err(e) => panic!("{what}: {e}"),
            Ok(_) => unnoticed.push(what),
        }
    }
    // the barrier between one tile of the groups' results and the next: there is a next one from 2^33 elements on
    assert!(unnoticed.len() <= 1, "{unnoticed:?}");
}

/// A fold without one of its barriers is a race.
#[test]
fn folds_need_their_barriers() {
    let text = "func @s(%x: [f32]) -> (sum: f32) {
  %0 = fold (%a: f32, %b: f32) from 0f32 over %x { %c = add %a, %b yield %c }
  return %0
}";
    let mut compiled = compile(vec![parse::parse(text).unwrap().remove(0)]);
    let args = values::arguments(&compiled.functions[0].fused, 2049, 0, &mut Rng::new(1));
    let mutants = mutants::of(&compiled.kernels[0].gpu_variants()[0].kernel);
    assert_eq!(mutants.len(), 1, "one barrier between the threads that compute and the one that folds");
    for (what, kernel) in mutants {
        compiled.kernels[0].gpu.as_mut().expect("code for GPUs").variants[0].kernel = kernel;
        assert_eq!(mutants::races(&compiled, &args, 0, &what), [true; 3], "{what}");
    }
}
