//! Gives equal lengths one name, so that results over equal index spaces share a launch. Shape
//! rules say which lengths are equal.
//!
//! ```text
//! %0 = len %x                      %0 = len %x
//! %1 = len %y                      %1 = len %y
//! require same %0, %1 ".."   ->    require same %0, %1 ".."
//! %2 = generate %1 (%i) ..         %2 = generate %0 (%i) ..
//! ```
//!
//! The pass also simplifies everything with those names, because fusion leaves sums of offsets and selects of
//! constants.
//!
//! The rules are linear equations over lengths. Each is solved for the length of its last parameter
//! (`core/equations.rs`). The rules themselves keep their names: they are checked before the
//! launches that rely on them.

use crate::core::equations::Equations;
use crate::core::linear::Linear;
use crate::core::simplify::settle;
use crate::core::simplify::simplify;
use crate::core::{Function, Graph, NodeId, Op, rewrite::rewrite_parts};
use crate::error::Result;
use std::collections::BTreeMap;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    let g = &f.graph;
    let equations = Equations::of(&f);
    // parameters are the first nodes of each graph, so their numbers agree
    let by_param = equations.solved.into_iter();
    let by_param: BTreeMap<(NodeId, u8), Linear> = by_param
        .filter_map(|(length, value)| match g.op(length) {
            Op::Len(param, axis) => Some(((*param, *axis), value)),
            _ => None,
        })
        .collect();
    let mut named = |new: &mut Graph, op: Op, _: NodeId| match op {
        Op::Len(p, axis) if by_param.contains_key(&(p, axis)) => {
            let value = &by_param[&(p, axis)];
            let terms = value.terms.iter().map(|(t, k)| (new.add(g.op(*t).clone()), *k));
            let value = Linear { constant: value.constant, terms: terms.collect() };
            value.node(new)
        }
        op => settle(new, op),
    };
    Ok(rewrite_parts(&f, &mut |new, op, _| simplify(new, op), &mut named))
}
