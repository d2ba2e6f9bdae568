//! Evaluates a plan's host scalars and shape rules at a call, by the arithmetic of `scalar::eval`, which also folds
//! constants in the compiler: so both give the same bits.

use super::{HostId, HostOp, Plan};
use crate::scalar::{Lit, Ty, eval_binary, eval_cast, eval_mul_add, eval_unary};

/// Evaluates again the host scalars that depend on the number of the present step of an iteration, which is now
/// `turn`.
pub fn advance(plan: &Plan, counter: HostId, turn: i64, values: &mut [Lit]) {
    let first = counter.0 as usize;
    values[first] = Lit::i64(turn);
    for (i, (_, op)) in plan.host.iter().enumerate().skip(first + 1) {
        if let Some(value) = computed(op, values) {
            values[i] = value;
        }
    }
}

/// Returns the value of a host scalar that is computed from others.
fn computed(op: &HostOp, values: &[Lit]) -> Option<Lit> {
    let at = |h: HostId| values[h.0 as usize];
    Some(match *op {
        HostOp::Const(_) | HostOp::Len(..) | HostOp::Arg(_) | HostOp::Turn(_) | HostOp::Checked => {
            return None;
        }
        HostOp::Unary(op, a) => eval_unary(op, at(a)),
        HostOp::Binary(op, a, b) => eval_binary(op, at(a), at(b)).0,
        HostOp::MulAdd(a, b, c) => eval_mul_add(at(a), at(b), at(c)),
        HostOp::Select(c, a, b) => at(if at(c).as_bool() { a } else { b }),
        HostOp::Cast(ty, a) => eval_cast(ty, at(a)),
    })
}

/// Evaluates all host scalars into `out`. `len(i, axis)` returns the length of array parameter i along an axis,
/// `arg(i)` the value of scalar parameter i; `checked` says whether the author's promises are checked. Nothing is
/// allocated once `out` has its capacity.
pub fn evaluate(
    plan: &Plan,
    checked: bool,
    len: impl Fn(u32, u8) -> i64,
    arg: impl Fn(u32) -> Lit,
    out: &mut Vec<Lit>,
) {
    out.clear();
    for (_, op) in &plan.host {
        let value = match *op {
            HostOp::Const(l) => l,
            HostOp::Len(p, axis) => Lit::i64(len(p, axis)),
            HostOp::Arg(p) => arg(p),
            HostOp::Checked => Lit::i64(checked.into()),
            _ => computed(op, out).unwrap_or(Lit::i64(0)),
        };
        out.push(value);
    }
}

/// Returns the first rule that does not hold: its index, and a sentence that names the construct,
/// the parameters, the sizes, the lengths that the plan depends on, and the author's source line.
pub fn violation(plan: &Plan, values: &[Lit]) -> Option<(usize, String)> {
    plan.rules.iter().enumerate().find_map(|(i, r)| {
        let (a, b) = (values[r.a.0 as usize].as_i64(), values[r.b.0 as usize].as_i64());
        if r.rule.holds(a, b) {
            return None;
        }
        let place = if r.loc.is_empty() { String::new() } else { format!(" ({})", r.loc) };
        let lengths = lengths(plan, values);
        Some((i, format!("{}: {}{lengths}{place}", r.subject, r.rule.violation(&r.subject, a, b))))
    })
}

/// Returns the lengths of the call as text: `; len(x) = 3, len(y) = 4`.
fn lengths(plan: &Plan, values: &[Lit]) -> String {
    let known = plan.host.iter().zip(values).filter_map(|((_, op), v)| match op {
        HostOp::Len(p, axis) => Some(format!("{} = {}", plan.length(*p, *axis), v.as_i64())),
        _ => None,
    });
    listed(known)
}

/// Returns the lengths and the scalar parameters of the call that are i64, as text: `; len(x) = 3, n = 4`.
pub fn sizes(plan: &Plan, values: &[Lit]) -> String {
    let known = plan.host.iter().zip(values).filter_map(|((_, op), v)| match op {
        HostOp::Len(p, axis) => Some(format!("{} = {}", plan.length(*p, *axis), v.as_i64())),
        HostOp::Arg(p) if v.ty == Ty::I64 => {
            Some(format!("{} = {}", plan.params.get(*p as usize)?.name, v.as_i64()))
        }
        _ => None,
    });
    listed(known)
}

fn listed(known: impl Iterator<Item = String>) -> String {
    let list = known.collect::<Vec<_>>().join(", ");
    if list.is_empty() { list } else { format!("; {list}") }
}
