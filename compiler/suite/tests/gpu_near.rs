//! Divisions and square roots without branches on a simulated GPU, of numbers on both sides of every bound: all bits
//! are the interpreter's. The simulator makes NaN of what lies outside.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::kernel::{Expr, Kernel, Stmt};
use arraygpu_compiler::scalar::{BinaryOp, Lit, UnaryOp};
use arraygpu_suite::versions;

/// With exponentials, so that there is a path for rare numbers, and so many that a thread has four elements.
const TEXT: &str =
    "func @f(%x: [f32], %y: [f32], %s: f32) -> (q: [f32], i: [f32], r: [f32], t: [f32], e: [f32]) {
  %0 = len %x
  %1 = len %y
  require same %0, %1 \"x, y\"
  %q = map (%a: f32, %b: f32) over %x, %y { %c = div %a, %b yield %c }
  %i = map (%b: f32) over %y { %c = div 1f32, %b yield %c }
  %r = map (%a: f32) over %x { %c = sqrt %a %d = div %c, 3f32 yield %d }
  %t = map (%a: f32) over %x { %c = div %a, %s yield %c }
  %e = map (%a: f32, %b: f32) over %x, %y { %c = exp %a %d = exp %b %f = exp %d %g = add %c, %f %h = exp %g %j = exp %h %k = exp %j %l = exp %k %m = exp %l yield %m }
  return %q, %i, %r, %t, %e
}
";

/// Numbers around every bound, of both signs.
fn corners() -> Vec<f32> {
    let powers = [-149, -127, -126, -97, -96, -61, -60, -1, 0, 59, 60, 61, 126, 127];
    let sizes = powers.into_iter().flat_map(|p| {
        let bits = 2f64.powi(p) as f32;
        [bits.next_down(), bits, bits.next_up(), 1.7 * bits]
    });
    let sizes = sizes.chain([0.0, f32::INFINITY, f32::NAN, 1.0, 3.0, f32::MAX]);
    sizes.flat_map(|x| [x, -x]).collect()
}

fn array(values: impl Iterator<Item = f32>) -> Value {
    let values: Vec<Lit> = values.map(Lit::f32).collect();
    Value::Array(vec![values.len() as i64], values)
}

#[test]
fn quotients_and_roots_have_the_right_bits() {
    let c = versions::compiled(TEXT, None);
    let corners = corners();
    let n = corners.len();
    // a thousand usual ones, so that whole blocks take the usual path, then every pair
    let usual = |k: usize| (0..1024).map(move |i| 1.0 + ((i * k) % 977) as f32 / 7.0);
    let x = usual(31).chain((0..n * n).map(|i| corners[i / n]));
    let y = usual(57).chain((0..n * n).map(|i| corners[i % n]));
    let arrays = [array(x), array(y)];
    for s in [3.0, 0.0, 1e-30] {
        let [x, y] = arrays.clone();
        let entries = versions::check(&c, &[x, y, Value::Scalar(Lit::f32(s))], &format!("s = {s}"));
        assert!(entries.len() > 2, "{entries:?}");
    }
}

/// The usual path has no other divisions, nor has the rare one.
#[test]
fn both_paths_do_without_branches() {
    let c = versions::compiled(TEXT, None);
    let count = |k: &Kernel, op: &dyn Fn(&Expr) -> bool| {
        let mut found = 0;
        blocks(k.main.as_deref().unwrap_or_default(), &mut |e| found += usize::from(op(e)));
        found
    };
    let kernel = |name: &str| {
        &c.kernels[0].gpu_variants().iter().find(|code| code.kernel.name == name).expect(name).kernel
    };
    // four elements in a thread, and one at a time; of few elements one at a time only
    for (k, near) in [(kernel("f_0"), 16), (kernel("f_0_short"), 0)] {
        let binary = |wanted: BinaryOp| count(k, &|e| matches!(e, Expr::Binary(op, ..) if *op == wanted));
        let divisions = [BinaryOp::DivNear, BinaryOp::DivWide, BinaryOp::Div].map(binary);
        assert_eq!(divisions, [near, 4, 0], "{k}");
        assert_eq!(count(k, &|e| matches!(e, Expr::Unary(UnaryOp::Sqrt, _))), 0, "{k}");
    }
}

fn blocks(body: &[Stmt], f: &mut dyn FnMut(&Expr)) {
    for s in body {
        s.expressions(&mut |e| visit(e, f));
        s.blocks().into_iter().for_each(|b| blocks(b, f));
    }
}

fn visit(e: &Expr, f: &mut dyn FnMut(&Expr)) {
    f(e);
    e.children(|child| visit(child, f));
}
