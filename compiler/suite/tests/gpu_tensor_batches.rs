//! Batches of products by tensor cores (semantics section 8) on a simulated GPU: small integers, whose sums are exact
//! in any order, give the bits of the interpreter.

use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::core::parse;
use arraygpu_compiler::driver::{Compiled, Targets, compile_for};
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_compiler::scalar::{Lit, Ty, eval};
use arraygpu_suite::gpu::{How, Layout, call};
use arraygpu_suite::rng::Rng;

/// Small integers.
fn integers(ty: Ty, extents: &[usize], rng: &mut Rng) -> Value {
    let element = |_| eval::eval_cast(ty, Lit::i64(rng.below(7) as i64 - 3));
    let all: Vec<Lit> = (0..extents.iter().product()).map(element).collect();
    match extents {
        [_] => Value::Vector(all),
        _ => Value::Array(extents.iter().map(|n| *n as i64).collect(), all),
    }
}

/// A batch of products whose planes have factors of their own. The planes of the second operand are as they are, or
/// transposed, or one matrix for all.
fn batch(ty: Ty, second: &str) -> Compiled {
    let (operand, lengths, column) = match second {
        "planes" => (
            "[[[T]]]",
            "%n = len %b axis 2 %1 = len %b axis 1",
            "%d = pick %b at %q %y = pick %d axis 1 at %j",
        ),
        "transposed" => {
            ("[[[T]]]", "%n = len %b axis 1 %1 = len %b axis 2", "%d = pick %b at %q %y = pick %d at %j")
        }
        _ => ("[[T]]", "%n = len %b axis 1 %1 = len %b", "%y = pick %b axis 1 at %j"),
    };
    let rule = if operand == "[[T]]" { "" } else { "%3 = len %b require same %p, %3 \"batch\"" };
    let text = format!(
        "func @f(%a: [[[T]]], %b: {operand}, %u: [T]) -> (r: [[[T]]]) tensor_cores {{
  %p = len %a %m = len %a axis 1 %0 = len %a axis 2 %2 = len %u {lengths}
  require same %0, %1 \"product\" require same %p, %2 \"batch\" {rule}
  %r = generate %p, %m, %n (%q: i64, %i: i64, %j: i64) {{
    %c = pick %a at %q %x = pick %c at %i {column}
    %row = map (%v: T) over %x {{ %vv = cast f32 %v yield %vv }}
    %column = map (%v: T) over %y {{ %vv = cast f32 %v yield %vv }}
    %s = panel_dot from 0f32 over %row, %column
    %o = elem %u, %q %f = cast f32 %o %w = mul %s, %f %z = cast T %w
    yield %z
  }}
  return %r
}}"
    );
    let text = text.replace("[T]", &format!("[{ty}]")).replace(": T)", &format!(": {ty})"));
    let text = text.replace("cast T", &format!("cast {ty}"));
    let functions = parse::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    compile_for("t", functions, Targets { cpu: false, cuda: true }).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Planes of whole and of partial tiles, of rows anywhere, and none.
#[test]
fn batches() {
    let mut rng = Rng::new(7);
    for (ty, second) in [
        (Ty::F16, "planes"),
        (Ty::F16, "transposed"),
        (Ty::Bf16, "one"),
        (Ty::F32, "planes"),
        (Ty::F32, "transposed"),
    ] {
        let c = batch(ty, second);
        // behind those of warpgroups
        let mut versions = c.kernels[0].gpu_variants().iter();
        let first = versions.position(|v| v.launch.entry.ends_with("_tensor")).expect("a product");
        let args = |[p, m, k, n]: [usize; 4], rng: &mut Rng| {
            let b = match second {
                "planes" => vec![p, k, n],
                "transposed" => vec![p, n, k],
                _ => vec![k, n],
            };
            [vec![p, m, k], b, vec![p]].map(|extents| integers(ty, &extents, rng))
        };
        for (sizes, layout, version) in [
            ([2, 136, 40, 72], Layout::Contiguous, 0),
            ([3, 72, 72, 8], Layout::Contiguous, 1),
            ([3, 1, 33, 5], Layout::Padded, 2),
            ([2, 37, 0, 65], Layout::Padded, 2),
            ([3, 5, 41, 9], Layout::Reversed, 3),
            ([3, 5, 41, 9], Layout::Reversed, 5),
            ([2, 130, 0, 9], Layout::Contiguous, 3),
            ([1, 130, 7, 3], Layout::Offset, 3),
            ([1, 130, 7, 3], Layout::Offset, 5),
        ] {
            let all = args(sizes, &mut rng);
            let wanted = interp::run(&c.functions[0].fused, &all).expect("products").results;
            let how = How { layout, version: Some(first + version), span: 1, order: Order::Random(3) };
            let what = format!("{sizes:?} of {ty}, {second}, {how:?}");
            let found = call(&c, 0, &all, how).unwrap_or_else(|e| panic!("{what}: {e}"));
            let suffixes: &[&str] = match version {
                0 => &["_tensor"],
                1 => &["_tensor_small"],
                2 => &["_tensor_unaligned"],
                3 => &["_tensor_packs", "_tensor_packed"],
                _ => &["_tensor_any"],
            };
            let is_right = |e: &String| suffixes.iter().any(|s| e.ends_with(s));
            assert!(found.entries.iter().all(is_right), "{what}: {:?}", found.entries);
            assert!(found.results == wanted, "{what}");
        }
        let how = How { layout: Layout::Contiguous, version: Some(first), span: 1, order: Order::Ascending };
        for sizes in [[0, 3, 4, 5], [2, 0, 4, 5], [2, 3, 4, 0]] {
            let found = call(&c, 0, &args(sizes, &mut rng), how).expect("nothing to do");
            assert!(found.entries.is_empty(), "{sizes:?}: {:?}", found.entries);
        }
    }
}
