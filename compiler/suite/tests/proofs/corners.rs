//! The encoding of the operators is the compiler's arithmetic: at corner values the solver has to find the results
//! that `scalar::eval` gives.

use super::claim::Claim;
use super::smt::{Script, Value, literal};
use arraygpu_compiler::scalar::{
    BinaryOp, Lit, Ty, UnaryOp, eval_binary, eval_cast, eval_mul_add, eval_unary,
};
use arraygpu_suite::operators::corners;

/// Operands of one operator and type, at most.
const MOST: usize = 300;

/// Of every operator that rules and passes are about, on every type.
pub fn claims() -> Vec<Claim> {
    let mut out = Vec::new();
    for ty in Ty::ALL {
        let values = corners(ty);
        for &op in UnaryOp::ALL
            .iter()
            .filter(|o| o.accepts(ty) && **o < UnaryOp::ToBits || **o == UnaryOp::FromBits && o.accepts(ty))
        {
            let list = values.iter().map(|a| (vec![*a], eval_unary(op, *a)));
            out.push(claim(op.name(), ty.name(), list, &|s, v| s.unary(op, &v[0])));
        }
        for &op in BinaryOp::ALL.iter().filter(|o| o.accepts(ty) && **o < BinaryOp::RemSlow) {
            let pairs = values.iter().flat_map(|a| values.iter().map(|b| vec![*a, *b])).collect();
            let list = some(pairs).into_iter().map(|p| (p.clone(), eval_binary(op, p[0], p[1]).0));
            out.push(claim(op.name(), ty.name(), list, &|s, v| s.binary(op, &v[0], &v[1])));
        }
        if ty != Ty::Bool {
            let few: Vec<Lit> = values.iter().step_by(3).copied().collect();
            let triples = few.iter().flat_map(|a| few.iter().map(move |b| (*a, *b)));
            let triples = triples.flat_map(|(a, b)| few.iter().map(move |c| vec![a, b, *c])).collect();
            let list = some(triples).into_iter().map(|p| (p.clone(), eval_mul_add(p[0], p[1], p[2])));
            out.push(claim("mul_add", ty.name(), list, &|s, v| s.mul_add(&v[0], &v[1], &v[2])));
        }
        for to in Ty::ALL {
            let list = values.iter().map(|a| (vec![*a], eval_cast(to, *a)));
            out.push(claim("cast", &format!("{ty} to {to}"), list, &|s, v| s.cast(to, &v[0])));
        }
    }
    out
}

/// Some of many, from everywhere.
fn some(all: Vec<Vec<Lit>>) -> Vec<Vec<Lit>> {
    // a step that has no factor in common with the number of corners
    let step = (all.len() / MOST).max(1) | 1;
    all.into_iter().step_by(step).collect()
}

fn claim(
    op: &str,
    of: &str,
    list: impl Iterator<Item = (Vec<Lit>, Lit)>,
    meant: &dyn Fn(&mut Script, &[Value]) -> Value,
) -> Claim {
    let mut s = Script::default();
    let equal: Vec<String> = list
        .map(|(operands, result)| {
            let operands: Vec<Value> = operands.into_iter().map(literal).collect();
            let found = meant(&mut s, &operands);
            format!("(= {} {})", found.term, literal(result).term)
        })
        .collect();
    let says = format!("of {} corner values as `scalar::eval` has it", equal.len());
    Claim::solved(
        &format!("encoding of {op}"),
        of,
        &says,
        s.prove(&format!("(and true {})", equal.join(" "))),
    )
    .at("compiler/src/scalar/eval.rs")
}
