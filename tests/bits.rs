//! The same bits through the C compiler and the runtime, against the interpreter: operators at their corners,
//! reductions at the edges of their tree, what semantics.md says (`fuzz/` has random programs).

mod common;

use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::core::{Function, parse};
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::{operators, rng::Rng, semantics::statements, today, values};
use common::{Layout, compile, context, load, load_highest, shapes};

/// Every operator and cast at its corners, in code for vectors and for strides: a third of them a day, because the C
/// compiler takes minutes for all (`ARRAYGPU_LONG=1`).
#[test]
fn operators_at_their_corners() {
    let functions: Vec<Function> = today::share(operators::functions(), 3);
    let compiled = compile(functions.clone());
    let loaded = load_highest(&compiled);
    for (i, f) in functions.iter().enumerate() {
        let args = operators::arguments(f);
        let expected = interp::run(f, &args).unwrap().results;
        let extents = shapes(&expected);
        for layout in [Layout::Contiguous, Layout::Strided] {
            let found = loaded.call(i, context(1), &args, &extents, layout).results;
            assert!(found == expected, "{}: {}", f.name, difference(&args, &expected, &found));
        }
    }
}

/// `fast_math` is about GPUs: on a CPU every operator and function of what it may approximate there has its precise
/// bits. A third of them a day, as above.
#[test]
fn fast_functions_are_precise_on_a_cpu() {
    let approximated =
        |f: &Function| ["f32", "f16", "bf16"].iter().any(|ty| f.name.starts_with(&format!("ops_{ty}_")));
    let functions = operators::functions().into_iter().filter(approximated).collect();
    let functions: Vec<Function> = today::share(functions, 3);
    let fast = functions.iter().map(|f| Function { fast: true, tensor_cores: true, ..f.clone() });
    let loaded = load_highest(&compile(fast.collect()));
    for (i, f) in functions.iter().enumerate() {
        let args = operators::arguments(f);
        let expected = interp::run(f, &args).unwrap().results;
        let found = loaded.call(i, context(1), &args, &shapes(&expected), Layout::Contiguous).results;
        assert!(found == expected, "{}: {}", f.name, difference(&args, &expected, &found));
    }
}

/// The first place where results differ, with the arguments there.
fn difference(args: &[Value], expected: &[Value], found: &[Value]) -> String {
    let at = |v: &Value, i: usize| if let Value::Vector(v) = v { v.get(i).copied() } else { None };
    for (r, (a, b)) in expected.iter().zip(found).enumerate() {
        let (Value::Vector(v), Value::Vector(_)) = (a, b) else { continue };
        if let Some(i) = (0..v.len()).find(|i| at(a, *i) != at(b, *i)) {
            let args: Vec<_> = args.iter().map(|x| at(x, i)).collect();
            return format!("r{r}[{i}] of {args:?}: expected {:?}, found {:?}", at(a, i), at(b, i));
        }
    }
    "lengths".into()
}

/// Sums, dots, general operators and folds at every edge of the tree, in f32 and f64, at 1 and 2 threads.
#[test]
fn reductions_at_every_edge() {
    let text = |ty: &str| {
        format!(
            "func @r(%x: [{ty}], %y: [{ty}]) -> (sum: {ty}, dot: {ty}, odd: {ty}, fold: {ty}, least: {ty}, deviations: {ty}, mean: {ty}, place: i64) {{
  %0 = len %x
  %1 = len %y
  require same %0, %1 \"dot: x, y\"
  %2 = reduce (%a: {ty}, %b: {ty}) from 0{ty} over %x {{ %c = add %a, %b yield %c }}
  %3 = dot from 0{ty} over %x, %y
  %4 = reduce (%a: {ty}, %b: {ty}) from 3{ty} over %x {{ %c = mul_add %a, 0.5{ty}, %b yield %c }}
  %5 = fold (%a: {ty}, %b: {ty}) from 3{ty} over %y {{ %c = mul_add %a, 0.5{ty}, %b yield %c }}
  %6 = reduce (%a: {ty}, %b: {ty}) from inf{ty} over %y {{ %c = min %a, %b yield %c }}
  %7 = squared_deviations from 0{ty} over %x
  %8 = iota %0
  %9 = map (%u: {ty}, %v: {ty}, %i: i64) over %x, %y, %8 {{
    %0 = abs %v
    %1 = tuple %u, %0, %i
    yield %1
  }}
  %10 = tuple 1{ty}, 2{ty}, -1i64
  %11 = reduce 0 (%p: {ty}, %m: {ty}, %i: i64, %q: {ty}, %o: {ty}, %j: i64) from %10 over %9 {{
    %0 = mul_add %p, 0.5{ty}, %q
    %1 = sub %o, %m
    %2 = lt %q, %p
    %3 = select %2, %j, %i
    %4 = tuple %0, %1, %3
    yield %4
  }}
  %12 = reduce 2 (%p: {ty}, %m: {ty}, %i: i64, %q: {ty}, %o: {ty}, %j: i64) from %10 over %9 {{
    %0 = mul_add %p, 0.5{ty}, %q
    %1 = sub %o, %m
    %2 = lt %q, %p
    %3 = select %2, %j, %i
    %4 = tuple %0, %1, %3
    yield %4
  }}
  return %2, %3, %4, %5, %6, %7, %11, %12
}}
"
        )
    };
    let sizes = [0, 1, 3, 127, 128, 129, 2047, 2048, 2049, 4095, 4097, 262143, 262144, 262145];
    let contexts = [context(1), context(2)];
    for ty in ["f32", "f64"] {
        let f = parse::parse(&text(ty)).unwrap().remove(0);
        let loaded = load(&compile(vec![f.clone()]));
        let mut rng = Rng::new(5);
        for n in sizes {
            let mut args = values::arguments(&f, n, n, &mut rng);
            for a in &mut args {
                let Value::Vector(v) = a else { continue };
                v.iter_mut()
                    .filter(|l| !l.as_f32().is_finite() || l.is_nan())
                    .for_each(|l| *l = Lit::one(l.ty));
            }
            let expected = interp::run(&f, &args).unwrap().results;
            for l in &loaded {
                for c in contexts {
                    let called = l.call(0, c, &args, &shapes(&expected), Layout::Contiguous);
                    assert_eq!(called.results, expected, "{ty}, n = {n}, {}", l.level);
                }
            }
        }
    }
}

/// Deviations of rows of every kind of length, in f32 and f64: columns that all have as many elements, and others.
#[test]
fn deviations_of_rows() {
    let text = "func @d(%x: [[f32]], %y: [[f64]]) -> (d: [f32], e: [f64]) {
  %m = len %x
  %0 = len %y
  require same %m, %0 \"rows: x, y\"
  %n = len %x axis 1
  %1 = len %y axis 1
  require same %n, %1 \"columns: x, y\"
  %2 = generate %m (%i: i64) { %row = pick %x at %i %s = squared_deviations from 0f32 over %row yield %s }
  %3 = generate %m (%i: i64) { %row = pick %y at %i %s = squared_deviations from 1f64 over %row yield %s }
  return %2, %3
}
";
    let f = parse::parse(text).unwrap().remove(0);
    let loaded = load(&compile(vec![f.clone()]));
    let numbers = |ty: Ty, n: i64, k: i64| {
        let of = |at: i64| Lit::float(ty, (at * 37 % 113 - at % 7) as f64 / 3.0);
        Value::Array(vec![n, k], (0..n * k).map(of).collect())
    };
    for k in [0, 1, 2, 3, 4, 16, 31, 32, 60, 64, 96, 127, 128, 129, 256, 300, 384, 2048, 2049] {
        for n in [1, 37, 1100 / (k + 1) + 2] {
            let args = [numbers(Ty::F32, n, k), numbers(Ty::F64, n, k)];
            let expected = interp::run(&f, &args).unwrap().results;
            for l in &loaded {
                let called = l.call(0, context(1), &args, &shapes(&expected), Layout::Contiguous);
                assert_eq!(called.results, expected, "{n} rows of {k}, {}", l.level);
            }
        }
    }
}

/// The statements of docs/semantics.md, as `compiler/suite/tests/semantics.rs` has them for the interpreter.
#[test]
fn semantics() {
    let (functions, calls): (Vec<Function>, Vec<_>) = statements().into_iter().unzip();
    for l in load(&compile(functions.clone())) {
        for (i, calls) in calls.iter().enumerate() {
            for (c, layout) in
                calls.iter().flat_map(|c| [Layout::Contiguous, Layout::Strided].map(|l| (c, l)))
            {
                let extents = match &c.results {
                    Some(results) => shapes(results),
                    // a function that leaves a record is a map over its last argument
                    None => vec![shapes(&c.args).pop().unwrap_or_default(); functions[i].results.len()],
                };
                let called = l.call(i, context(1), &c.args, &extents, layout);
                let case = || format!("@{} of {:?}, {layout:?}, {}", functions[i].name, c.args, l.level);
                match &c.results {
                    Some(results) => assert_eq!(called.results, *results, "{}", case()),
                    None => assert!(matches!(called.status, AgpuStatus::AgpuErrorRecord), "{}", case()),
                }
            }
        }
    }
}

/// A sum through three levels of the tree.
#[test]
fn three_levels() {
    let text = "func @s(%x: [i32]) -> (sum: i32) {
  %0 = reduce (%a: i32, %b: i32) from 0i32 over %x { %c = mul_add %a, 3i32, %b yield %c }
  return %0
}";
    let f = parse::parse(text).unwrap().remove(0);
    let loaded = load(&compile(vec![f.clone()]));
    let n = 2048 * 2048 + 2049;
    let args = [Value::Vector((0..n).map(Lit::i32).collect())];
    let expected = interp::run(&f, &args).unwrap().results;
    for threads in [1, 2] {
        let called = loaded.last().unwrap().call(0, context(threads), &args, &[vec![]], Layout::Contiguous);
        assert_eq!(called.results, expected);
    }
}

/// More elements than 32 bits count: nothing is stored, but every index and every tile number is used.
#[test]
fn more_than_2_to_the_31_elements() {
    let text = "func @s(%n: i64) -> (sum: i64, last: i64) {
  require extent 0i64, %n \"generate\"
  %0 = iota %n
  %1 = reduce (%a: i64, %b: i64) from 0i64 over %0 { %c = add %a, %b yield %c }
  %2 = reduce (%a: i64, %b: i64) from 0i64 over %0 { %c = max %a, %b yield %c }
  return %1, %2
}";
    let f = parse::parse(text).unwrap().remove(0);
    let loaded = load(&compile(vec![f]));
    let n = (1i64 << 31) + 5;
    let called = loaded.last().unwrap().call(
        0,
        context(0),
        &[Value::Scalar(Lit::i64(n))],
        &[vec![], vec![]],
        Layout::Contiguous,
    );
    assert_eq!(called.results, [n * (n - 1) / 2, n - 1].map(|v| Value::Scalar(Lit::i64(v))));
}

/// Names of parameters that look like names of ours.
#[test]
fn names_do_not_collide_in_the_generated_code() {
    let text = "func @f(%x_stride: [f64], %x: [f64], %n_x: i64, %t0: [f64]) -> (x: [f64], n: i64) {
  %0 = len %x_stride
  %1 = len %x
  %2 = len %t0
  require same %0, %1 \"zip_with: x_stride, x\"
  require same %0, %2 \"zip_with: x_stride, t0\"
  %3 = map (%a: f64, %b: f64, %c: f64) over %x_stride, %x, %t0 { %d = mul_add %a, %b, %c yield %d }
  %4 = add %n_x, %1
  return %3, %4
}";
    let f = parse::parse(text).unwrap().remove(0);
    let mut rng = Rng::new(9);
    let args = values::arguments(&f, 300, 300, &mut rng);
    let expected = interp::run(&f, &args).unwrap().results;
    for l in load(&compile(vec![f])) {
        let called = l.call(0, context(1), &args, &shapes(&expected), Layout::Strided);
        assert_eq!(called.results, expected, "{}", l.level);
    }
}
