//! Equal lengths get one name, so that results over equal domains share a pass. What is equal, the shape rules say.
//!
//! ```text
//! %0 = len %x                      %0 = len %x
//! %1 = len %y                      %1 = len %y
//! require same %0, %1 ".."   ->    require same %0, %1 ".."
//! %2 = generate %1 (%i) ..         %2 = generate %0 (%i) ..
//! ```
//!
//! The rules are linear equations over lengths; each is solved for the length of its last parameter (elimination without division). The rules themselves stay as they are:
//! they are checked before anything that relies on them.

use crate::core::linear::{Linear, is_i64};
use crate::core::{Function, Graph, NodeId, Op, Rule, rewrite::rewrite};
use crate::error::Result;
use std::collections::BTreeMap;

/// `len` of a parameter (as its operation: parameters are the first nodes of every graph) and what it is equal to.
type Solved = BTreeMap<NodeId, Linear>;

/// Runs the pass.
pub fn run(f: &Function) -> Result<Function> {
    let g = &f.graph;
    let mut solved = Solved::new();
    for r in f.requires.iter().filter(|r| r.rule == Rule::Same) {
        let zero = resolve(&Linear::of(g, r.a).minus(&Linear::of(g, r.b)), &solved);
        let last = zero.terms.iter().filter(|(t, k)| k.abs() == 1 && parameter(g, **t).is_some());
        let Some((&length, &k)) = last.max_by_key(|(t, _)| parameter(g, **t)) else { continue };
        if !zero.terms.keys().all(|t| parameter(g, *t).is_some()) {
            continue;
        }
        // k * length + rest = 0, so length = -k * rest
        let mut rest = zero.clone();
        rest.terms.remove(&length);
        let value = scaled(&rest, -k);
        let one: Solved = [(length, value.clone())].into();
        solved.values_mut().for_each(|v| *v = resolve(v, &one));
        solved.insert(length, value);
    }
    let by_param: BTreeMap<NodeId, Linear> = solved
        .into_iter()
        .filter_map(|(length, value)| g.op(length).operands().next().map(|param| (param, value)))
        .collect();
    Ok(rewrite(f, false, &mut |new, op| match op {
        Op::Len(p) if by_param.contains_key(&p) => {
            let value = &by_param[&p];
            let terms = value.terms.iter().map(|(t, k)| (new.add(g.op(*t).clone()), *k));
            let value = Linear { constant: value.constant, terms: terms.collect() };
            value.node(new)
        }
        op => {
            let n = new.add(op);
            // sums over replaced lengths meet in their normal form
            if is_i64(new, n) && matches!(new.op(n), Op::Binary(..)) {
                Linear::of(new, n).node(new)
            } else {
                n
            }
        }
    }))
}

/// The parameter whose length a node is.
fn parameter(g: &Graph, n: NodeId) -> Option<NodeId> {
    match g.op(n) {
        Op::Len(p) if matches!(g.op(*p), Op::Param(_)) => Some(*p),
        _ => None,
    }
}

fn scaled(l: &Linear, k: i64) -> Linear {
    let terms = l.terms.iter().map(|(t, c)| (*t, c.wrapping_mul(k))).collect();
    Linear { constant: l.constant.wrapping_mul(k), terms }
}

/// The form with solved lengths replaced.
fn resolve(l: &Linear, solved: &Solved) -> Linear {
    let mut out = Linear { constant: l.constant, terms: BTreeMap::new() };
    for (t, k) in &l.terms {
        let one = Linear { constant: 0, terms: [(*t, 1)].into() };
        let value = scaled(solved.get(t).unwrap_or(&one), k.wrapping_neg());
        out = out.minus(&value);
    }
    out
}
