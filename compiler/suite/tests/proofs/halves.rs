//! What f16 and bf16 are computed by: casts to f32, the operation, casts back, and casts from wider types by rounding
//! to odd (`passes/half.rs`).

use super::claim::Claim;
use super::graphs::scalar;
use super::smt::Script;
use arraygpu_compiler::core::{Function, Op, Output, Param, Type};
use arraygpu_compiler::passes::half;
use arraygpu_compiler::scalar::{BinaryOp, Ty, UnaryOp};
use std::collections::HashMap;

/// Of every cast from and to a half, and of every operator.
pub fn claims() -> Vec<Claim> {
    let mut out = Vec::new();
    for half in [Ty::F16, Ty::Bf16] {
        for other in Ty::ALL.into_iter().filter(|t| *t != half) {
            for (from, to) in [(other, half), (half, other)] {
                if !from.is_half() || !to.is_half() || from == half {
                    out.push(claim("cast", &format!("{from} to {to}"), &[from], |x| Op::Cast(to, x[0])));
                }
            }
        }
        for &op in UnaryOp::ALL.iter().filter(|o| o.accepts(half) && **o < UnaryOp::ToBits) {
            out.push(claim(op.name(), half.name(), &[half], |x| Op::Unary(op, x[0])));
        }
        for &op in BinaryOp::ALL.iter().filter(|o| o.accepts(half) && **o < BinaryOp::RemSlow) {
            out.push(claim(op.name(), half.name(), &[half; 2], |x| Op::Binary(op, x[0], x[1])));
        }
        out.push(claim("mul_add", half.name(), &[half; 3], |x| Op::MulAdd(x[0], x[1], x[2])));
    }
    out
}

fn claim(
    name: &str,
    case: &str,
    types: &[Ty],
    op: impl Fn(&[arraygpu_compiler::core::NodeId]) -> Op,
) -> Claim {
    let params = types.iter().map(|ty| Param { name: "p".into(), ty: Type::scalar(*ty) });
    let mut f = Function::new("f", params.collect());
    let nodes: Vec<_> = (0..types.len() as u32).map(arraygpu_compiler::core::NodeId).collect();
    let value = f.graph.add(op(&nodes));
    f.results.push(Output { name: "r".into(), value });
    let after = half::run(f.clone()).expect("the pass");
    let mut s = Script::default();
    let inputs = types.iter().zip(["x", "y", "z"]).map(|(ty, name)| s.any(*ty, name));
    let known: HashMap<_, _> = nodes.into_iter().zip(inputs.collect::<Vec<_>>()).collect();
    let [meant, found] =
        [&f, &after].map(|f| scalar(&mut s, &f.graph, f.results[0].value, &mut known.clone()));
    let script = s.prove(&format!("(= {} {})", meant.term, found.term));
    Claim::solved(&format!("half {name}"), case, &after.to_string().replace('\n', " "), script)
        .at("compiler/src/passes/half.rs")
}
