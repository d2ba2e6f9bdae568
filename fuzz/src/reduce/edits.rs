//! What is tried to make a case smaller. Each edit has places, numbered from 0: beyond the last
//! there is none; at a place there may be nothing to do.

use crate::case::Case;
use crate::generate::Call;
use crate::values;
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::core::rewrite::rewrite_from;
use arraygpu_compiler::core::{Function, NodeId, Op, tuples};
use arraygpu_compiler::scalar::Lit;
use std::sync::Arc;

/// The case with one change at a place: None beyond the last place, Some(None) where nothing can be
/// done.
type Edit = fn(&Case, usize) -> Option<Option<Case>>;

/// All edits, coarse ones first.
pub const ALL: &[Edit] = &[
    call,
    result,
    results,
    step_nodes::<0>,
    nodes::<0>,
    nodes::<1>,
    nodes::<2>,
    nodes::<3>,
    step_nodes::<1>,
    step_nodes::<2>,
    step_nodes::<3>,
    rule,
    step_rule,
    parameter,
    refusal,
    flags,
    lengths,
    elements,
    constants,
];

/// Removes a call.
fn call(case: &Case, at: usize) -> Option<Option<Case>> {
    case.calls.get(at)?;
    let mut out = case.clone();
    out.calls.remove(at);
    Some((!out.calls.is_empty()).then_some(out))
}

/// Keeps one result alone.
fn result(case: &Case, at: usize) -> Option<Option<Case>> {
    let kept = case.function.results.get(at)?.clone();
    let mut out = case.clone();
    out.function.results = vec![kept];
    Some((case.function.results.len() > 1).then_some(out))
}

/// Removes a result.
fn results(case: &Case, at: usize) -> Option<Option<Case>> {
    case.function.results.get(at)?;
    let mut out = case.clone();
    out.function.results.remove(at);
    Some((!out.function.results.is_empty()).then_some(out))
}

fn is_ready(case: &Case) -> bool {
    arraygpu_compiler::core::verify::verify(&case.function).is_ok()
}

/// Replaces a node by its K-th operand of the same type; for K = 0, by a constant or a parameter.
fn nodes<const K: usize>(case: &Case, at: usize) -> Option<Option<Case>> {
    let (f, done) = replaced::<K>(&case.function, at)?;
    let out = Case { function: f, ..case.clone() };
    Some((done && is_ready(&out)).then_some(out))
}

/// Replaces the node of that number among those of all steps.
fn step_nodes<const K: usize>(case: &Case, at: usize) -> Option<Option<Case>> {
    let mut at = at;
    for (i, step) in case.function.steps.iter().enumerate() {
        let many = step.graph.reachable(step.results.iter().map(|r| r.value)).len();
        if at < many {
            let (f, done) = replaced::<K>(step, at)?;
            let mut out = case.clone();
            out.function.steps[i] = Arc::new(f);
            return Some((done && is_ready(&out)).then_some(out));
        }
        at -= many;
    }
    None
}

/// Replaces the node at a place, counted from the last.
fn replaced<const K: usize>(f: &Function, at: usize) -> Option<(Function, bool)> {
    let order = f.graph.reachable(f.results.iter().map(|r| r.value));
    let target = *order.iter().rev().nth(at)?;
    let g = &f.graph;
    let ty = g.ty(target);
    let mut done = false;
    let out = rewrite_from(f, true, &mut |new, op, old| {
        if old != target {
            return new.add(op);
        }
        // a tuple stays one
        let has_tuples = |n: NodeId| matches!(new.op(n), Op::Tuple(_)) || tuples::has_tuples(new, n);
        if matches!(op, Op::Tuple(_)) || tuples::has_tuples(g, target) || op.operands().any(has_tuples) {
            return new.add(op);
        }
        let other = if K == 0 {
            match ty.is_scalar() {
                true if g.as_lit(target).is_none() => Some(new.add(Op::Const(values::small(ty.elem, 1)))),
                true => None,
                false => {
                    let params = new.params().to_vec();
                    let fits = params.iter().position(|p| *p == ty);
                    fits.map(|p| NodeId(p as u32)).filter(|p| !matches!(op, Op::Param(i) if i <= p.0))
                }
            }
        } else {
            op.operands().filter(|o| new.ty(*o) == ty).nth(K - 1)
        };
        done |= other.is_some();
        other.unwrap_or_else(|| new.add(op))
    });
    Some((out, done))
}

/// Removes a shape rule that is not needed: the bounds checks of the interpreter show whether it
/// was.
fn rule(case: &Case, at: usize) -> Option<Option<Case>> {
    case.function.requires.get(at)?;
    let mut out = case.clone();
    out.function.requires.remove(at);
    Some(Some(out))
}

fn step_rule(case: &Case, at: usize) -> Option<Option<Case>> {
    let mut at = at;
    for (i, step) in case.function.steps.iter().enumerate() {
        if at < step.requires.len() {
            let mut out = case.clone();
            let mut step = Function::clone(step);
            step.requires.remove(at);
            out.function.steps[i] = Arc::new(step);
            return Some(Some(out));
        }
        at -= step.requires.len();
    }
    None
}

/// Removes a parameter that is not used.
fn parameter(case: &Case, at: usize) -> Option<Option<Case>> {
    let f = &case.function;
    f.params.get(at)?;
    let used = f.graph.reachable(f.roots());
    if f.params.len() == 1 || used.iter().any(|n| matches!(f.graph.op(*n), Op::Param(p) if *p as usize == at))
    {
        return Some(None);
    }
    // the edit is made in the text, which names parameters
    let text = arraygpu_compiler::core::print::print(f, false);
    let head = f.params.iter().map(|p| format!("%{}: {}", p.name, p.ty)).collect::<Vec<_>>();
    let fewer: Vec<_> = head.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, h)| h.clone()).collect();
    let text = text.replacen(&head.join(", "), &fewer.join(", "), 1);
    let Ok(mut all) = arraygpu_compiler::core::parse::parse(&text) else { return Some(None) };
    let mut calls = case.calls.clone();
    calls.iter_mut().for_each(|c| drop(c.args.remove(at)));
    Some(Some(Case { function: all.remove(0), calls, refused: case.refused.clone() }))
}

fn refusal(case: &Case, at: usize) -> Option<Option<Case>> {
    (at == 0 && case.refused.is_some()).then(|| Some(Case { refused: None, ..case.clone() }))
}

/// Removes `fast`, `tensor_cores`, a strategy, or steps that are not called.
fn flags(case: &Case, at: usize) -> Option<Option<Case>> {
    let mut out = case.clone();
    match at {
        0 => out.function.fast = false,
        1 => out.function.stencil = None,
        2 => out.function.tensor_cores = false,
        3 => {
            let f = &out.function;
            let used = f.needs(|n| matches!(f.graph.op(n), Op::Iterate { .. }));
            if !used {
                out.function.steps.clear();
            }
        }
        _ => return None,
    }
    Some(Some(out))
}

/// Extents of one length are another one, in all arguments.
fn lengths(case: &Case, at: usize) -> Option<Option<Case>> {
    const SHORTER: [fn(i64) -> i64; 5] = [|_| 0, |_| 1, |_| 2, |n| n / 2, |n| n - 1];
    let mut all: Vec<i64> = case.calls.iter().flat_map(|c| &c.args).flat_map(extents).collect();
    all.sort_unstable();
    all.dedup();
    let from = *all.get(at / SHORTER.len())?;
    let to = SHORTER[at % SHORTER.len()](from);
    if to >= from || to < 0 {
        return Some(None);
    }
    let mut out = case.clone();
    out.calls.iter_mut().flat_map(|c| &mut c.args).for_each(|v| *v = resized(v, from, to));
    Some(Some(out))
}

fn extents(v: &Value) -> Vec<i64> {
    match v {
        Value::Scalar(_) => vec![],
        Value::Vector(v) => vec![v.len() as i64],
        Value::Array(extents, _) => extents.clone(),
    }
}

/// Keeps the first elements of arrays.
fn resized(v: &Value, from: i64, to: i64) -> Value {
    let old = extents(v);
    let new: Vec<i64> = old.iter().map(|n| if *n == from { to } else { *n }).collect();
    let elements = match v {
        Value::Scalar(_) => return v.clone(),
        Value::Vector(v) | Value::Array(_, v) => v,
    };
    let count = new.iter().product::<i64>();
    let kept = (0..count).map(|k| {
        let (mut rest, mut at, mut weight) = (k, 0, 1);
        for (n, m) in new.iter().zip(&old).rev() {
            (at, rest, weight) = (at + rest % n * weight, rest / n, weight * m);
        }
        elements[at as usize]
    });
    let kept = kept.collect();
    if let Value::Vector(_) = v { Value::Vector(kept) } else { Value::Array(new, kept) }
}

/// An argument with plain elements: 0, 1, or alike.
fn elements(case: &Case, at: usize) -> Option<Option<Case>> {
    let many = case.function.params.len();
    let (call, rest) = (at / (3 * many), at % (3 * many));
    let mut out = case.clone();
    let Call { args, .. } = out.calls.get_mut(call)?;
    let plain = |l: &Lit, k: usize| match rest % 3 {
        0 => values::small(l.ty, 0),
        1 => values::small(l.ty, 1),
        _ => values::small(l.ty, k as i64 % 10),
    };
    match &mut args[rest / 3] {
        Value::Scalar(l) => *l = plain(l, 2),
        Value::Vector(v) | Value::Array(_, v) => {
            v.iter_mut().enumerate().for_each(|(k, l)| *l = plain(l, k));
        }
    }
    Some(Some(out))
}

/// A constant that is shorter.
fn constants(case: &Case, at: usize) -> Option<Option<Case>> {
    let f = &case.function;
    let all: Vec<NodeId> =
        f.graph.reachable(f.roots()).into_iter().filter(|n| f.graph.as_lit(*n).is_some()).collect();
    let target = *all.get(at / 2)?;
    let Some(old) = f.graph.as_lit(target) else { return Some(None) };
    let small = values::small(old.ty, (at % 2) as i64);
    let function = rewrite_from(f, true, &mut |new, op, old| {
        if old == target { new.lit(small) } else { new.add(op) }
    });
    let out = Case { function, ..case.clone() };
    Some(is_ready(&out).then_some(out))
}
