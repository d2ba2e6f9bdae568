//! `fast_math` (semantics section 8): what a GPU may contract and approximate, and how near the approximations are.
//! The simulation knows the hardware's approximations as precise ones, so it shows what they are made of;
//! `tests/gpu/fast_math.cpp` measures the hardware.

use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::core::{Function, parse};
use arraygpu_compiler::driver::{self, Compiled, Targets};
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use arraygpu_suite::gpu::{How, Layout, call};

fn compile(f: Function) -> Compiled {
    driver::compile_for("t", vec![f], Targets { cpu: false, cuda: true }).unwrap()
}

/// `func @f(x, y) fast`: a map that computes `%r` of `%a` and `%b`.
fn map(ty: Ty, body: &str) -> Function {
    let text = format!(
        "func @f(%x: [{ty}], %y: [{ty}]) -> (result: [{ty}]) fast {{
  %0 = len %x %1 = len %y require same %0, %1 \"zip_with: x, y\"
  %2 = map (%a: {ty}, %b: {ty}) over %x, %y {{ {body} yield %r }}
  return %2
}}"
    );
    parse::parse(&text).unwrap().remove(0)
}

/// The f32 instructions of the first version of the only kernel that begin with one of these names.
fn instructions(compiled: &Compiled, names: &[&str]) -> Vec<String> {
    let lines = compiled.kernels[0].gpu_variants()[0].ptx.lines().map(str::trim);
    let wanted = |l: &&str| l.contains(".f32 ") && names.iter().any(|n| l.starts_with(&format!("{n}.")));
    lines.filter(wanted).map(|l| l.split(' ').next().unwrap_or(l).to_string()).collect()
}

const ARITHMETIC: [&str; 4] = ["add", "sub", "mul", "fma"];

/// An instruction without a rounding of its own is one that the assembler may contract.
#[test]
fn what_the_author_wrote_may_be_contracted() {
    let found =
        instructions(&compile(map(Ty::F32, "%p = mul %a, %b %q = add %p, %a %r = sub %q, %b")), &ARITHMETIC);
    assert!(
        ["mul.ftz.f32", "add.ftz.f32", "sub.ftz.f32"].iter().all(|i| found.iter().any(|f| f == i)),
        "{found:?}"
    );
    assert!(found.iter().all(|i| !i.contains(".rn")), "{found:?}");
    // nobody may take a mul_add apart, or take it for something else
    let found = instructions(&compile(map(Ty::F32, "%r = mul_add %a, %b, %a")), &ARITHMETIC);
    assert!(!found.is_empty() && found.iter().all(|i| i == "fma.rn.f32"), "{found:?}");
    let halves = instructions(&compile(map(Ty::Bf16, "%p = mul %a, %b %r = add %p, %a")), &ARITHMETIC);
    assert!(halves.iter().all(|i| !i.contains(".rn")) && !halves.is_empty(), "{halves:?}");
}

/// A multiply-add is one operation, whatever its operands are, and the sums of an inner product are not the author's.
#[test]
fn what_the_author_did_not_write_is_not_approximated() {
    for body in [
        "%r = mul_add %a, 1f32, %b",
        "%r = mul_add 1f32, %a, %b",
        "%r = mul_add %a, %b, -0f32",
        "%c = mul_add %a, 1f32, 0f32 %r = mul_add %b, 1f32, %c",
    ] {
        let found = instructions(&compile(map(Ty::F32, body)), &ARITHMETIC);
        assert!(!found.is_empty() && found.iter().all(|i| i.ends_with(".rn.f32")), "{body}: {found:?}");
    }
    let halves = map(Ty::F16, "%r = mul_add %a, 1f16, %b");
    let found = instructions(&compile(halves), &ARITHMETIC);
    assert!(!found.is_empty() && found.iter().all(|i| i.ends_with(".rn.f32")), "{found:?}");
    let of_vectors = |op: &str| {
        format!(
            "func @p(%x: [f32], %y: [f32], %s: f32) -> (result: f32) fast {{
  %0 = len %x %1 = len %y require same %0, %1 \"dot: x, y\"
  %2 = {op}
  return %2
}}"
        )
    };
    // short ones are unrolled
    let of_elements = |op: &str| {
        format!(
            "func @p(%x: [f32], %s: f32) -> (result: [f32]) fast {{
  %0 = len %x
  %1 = generate %0 (%i: i64) {{
    %e = elem %x, %i
    %g = generate 3i64 (%k: i64) {{ %j = add %i, %k %a = at %x, %j yield %a }}
    %r = {op}
    yield %r
  }}
  return %1
}}"
        )
    };
    for text in [
        of_vectors("panel_dot from %s over %x, %y"),
        of_vectors("dot from %s over %x, %y"),
        of_vectors("squared_deviations from %s over %x"),
        of_elements("panel_dot from %s over %g, %g"),
        of_elements("dot from %e over %g, %g"),
        of_elements("squared_deviations from %e over %g"),
    ] {
        let compiled = compile(parse::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}")).remove(0));
        for kernel in &compiled.kernels {
            let lines = kernel.gpu_variants().iter().flat_map(|v| v.ptx.lines());
            let loose = |l: &&str| [".ftz.", "add.f32", "sub.f32", "mul.f32"].iter().any(|i| l.contains(i));
            let loose: Vec<&str> = lines.filter(loose).collect();
            assert!(loose.is_empty(), "{loose:?}\n{text}");
        }
    }
}

/// What an elementary function is made of must round as it was made to.
#[test]
fn what_precise_functions_are_made_of_is_not_contracted() {
    for body in ["%r = pow %a, %b", "%r = atan2 %a, %b", "%r = erfc %a", "%r = hypot %a, %b", "%r = cbrt %a"]
    {
        let found = instructions(&compile(map(Ty::F32, body)), &ARITHMETIC);
        assert!(found.len() > 3 && found.iter().all(|i| i.contains(".rn.f32")), "{body}: {found:?}");
    }
    // beside what may be
    let found =
        instructions(&compile(map(Ty::F32, "%p = pow %a, %b %q = mul %p, %a %r = add %q, %b")), &ARITHMETIC);
    let free: Vec<&String> = found.iter().filter(|i| !i.contains(".rn")).collect();
    let each: Vec<&&String> = free.iter().take(2).collect();
    assert_eq!(each, [&"mul.ftz.f32", &"add.ftz.f32"], "{found:?}");
    assert!(free.len() * 4 < found.len(), "{found:?}");
}

/// Numbers of one sign and of ordinary sizes, from least to most.
fn numbers(ty: Ty, least: f64, most: f64) -> Vec<Lit> {
    (0..=500).map(|i| Lit::float(ty, least + (most - least) * f64::from(i) / 500.0)).collect()
}

fn run(f: &Function, args: &[Value]) -> (Vec<Lit>, Vec<Lit>) {
    let how = How { layout: Layout::Contiguous, version: None, span: 1, order: Order::Ascending };
    let compiled = compile(f.clone());
    let found = call(&compiled, 0, args, how).unwrap_or_else(|e| panic!("{e}\n{f}")).results.remove(0);
    let expected = interp::run(f, args).unwrap().results.remove(0);
    match (expected, found) {
        (Value::Vector(expected), Value::Vector(found)) => (expected, found),
        other => panic!("{other:?}"),
    }
}

/// The intervals where a function is looked at: (name, least, most).
const APPROXIMATED: [(UnaryOp, f64, f64); 10] = [
    (UnaryOp::Sqrt, 0.0, 6e4),
    (UnaryOp::Rsqrt, 1e-3, 6e4),
    (UnaryOp::Exp2, -14.0, 15.0),
    (UnaryOp::Exp, -10.0, 11.0),
    (UnaryOp::Log2, 1e-2, 60000.0),
    (UnaryOp::Log, 1e-2, 60000.0),
    (UnaryOp::Log10, 1e-2, 60000.0),
    (UnaryOp::Sin, -3.1, 3.1),
    (UnaryOp::Cos, -3.1, 3.1),
    (UnaryOp::Tan, -1.5, 1.5),
];

#[test]
fn approximations_are_near() {
    let listed = |op: &UnaryOp| APPROXIMATED.iter().any(|a| a.0 == *op);
    assert!(UnaryOp::ALL.iter().all(|op| listed(op) == op.approximate().is_some()));
    for ty in [Ty::F32, Ty::F16, Ty::Bf16] {
        // a half's neighbours are 2^-10 or 2^-7 apart
        let ulp = [1e-6, 1.0 / 1024.0, 1.0 / 128.0]
            [[Ty::F32, Ty::F16, Ty::Bf16].iter().position(|t| *t == ty).unwrap()];
        for (op, least, most) in APPROXIMATED {
            let x = numbers(ty, least, most);
            let args = [Value::Vector(x.clone()), Value::Vector(x.clone())];
            let (expected, found) = run(&map(ty, &format!("%r = {op} %a")), &args);
            for ((x, e), f) in x.iter().zip(&expected).zip(&found) {
                let [x, e, f] = [x, e, f].map(|l| l.as_float().unwrap());
                // of exp the argument's rounding grows with it; a logarithm is near 0 at 1
                let error = ulp * (e.abs() * (1.0 + if op == UnaryOp::Exp { x.abs() } else { 0.0 })).max(0.1);
                assert!((e - f).abs() <= error, "{op} of {x} in {ty}: {e}, approximated {f}");
            }
        }
        let (x, y) = (numbers(ty, 1.0, 60.0), numbers(ty, 3.0, 7.0));
        let (expected, found) = run(&map(ty, "%r = div %a, %b"), &[Value::Vector(x), Value::Vector(y)]);
        let near = |(e, f): (&Lit, &Lit)| {
            let [e, f] = [e, f].map(|l| l.as_float().unwrap());
            (e - f).abs() <= ulp * e.abs()
        };
        assert!(expected.iter().zip(&found).all(near), "div in {ty}");
    }
}

/// Every function that has no approximation, and all of f64, keeps its bits, subnormals and special values included.
#[test]
fn what_is_not_approximated_keeps_its_bits() {
    let mut tried = 0;
    for ty in [Ty::F32, Ty::F64] {
        let mut x = numbers(ty, -4.0, 5.0);
        x.extend(
            [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-40, -1e-310, 1e30]
                .map(|v| Lit::float(ty, v)),
        );
        let y: Vec<Lit> = x.iter().rev().copied().collect();
        let args = [Value::Vector(x), Value::Vector(y)];
        let exact = |approximate: bool| ty == Ty::F64 || !approximate;
        let unary = UnaryOp::ALL.iter().filter(|op| op.is_exact() && op.accepts(ty) && op.result(ty) == ty);
        let unary = unary.filter(|op| exact(op.approximate().is_some())).map(|op| format!("%r = {op} %a"));
        let binary = BinaryOp::ALL.iter().filter(|op| op.is_exact() && op.accepts(ty) && op.result(ty) == ty);
        let binary =
            binary.filter(|op| exact(op.approximate().is_some())).map(|op| format!("%r = {op} %a, %b"));
        for body in unary.chain(binary) {
            let (expected, found) = run(&map(ty, &body), &args);
            assert_eq!(expected, found, "{body} in {ty}");
            tried += 1;
        }
    }
    assert!(tried > 60, "{tried} functions");
}
