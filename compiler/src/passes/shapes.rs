//! Shape rules: those that can never hold are errors of the author's program, at the author's line; those that give a length in terms of
//! others give equal lengths one name, so that results over equal domains can share a pass.
//!
//! ```text
//! %0 = len %x                      %0 = len %x
//! %1 = len %y                      %1 = len %y
//! require same %0, %1 ".."   ->    require same %0, %1 ".."
//! %2 = iota %1                     %2 = iota %0
//! ```
//!
//! The rules themselves stay as they are: they are checked before anything that relies on them.

use crate::core::linear::Linear;
use crate::core::{Function, Graph, NodeId, Op, Require, Rule, rewrite::rewrite};
use crate::error::{Error, Result};
use std::collections::HashMap;

/// Runs the pass.
pub fn run(f: &Function) -> Result<Function> {
    for r in &f.requires {
        never_holds(&f.graph, r).map_or(Ok(()), |why| {
            Err(Error::user("E0310", format!("{}: {}: {why}", f.name, r.subject)).at(r.loc.first()))
        })?;
    }
    // parameter -> the length that stands for its own
    let mut known: HashMap<u32, (NodeId, Linear)> = HashMap::new();
    let g = &f.graph;
    for r in f.requires.iter().filter(|r| r.rule == Rule::Same) {
        for (from, to) in [(r.b, r.a), (r.a, r.b)] {
            let Op::Len(p) = g.op(from) else { continue };
            let Op::Param(i) = g.op(*p) else { continue };
            let lengths: Vec<u32> = lengths_in(g, to);
            // later parameters are named by earlier ones only, and each once: no cycles
            if !known.contains_key(i) && lengths.iter().all(|l| l < i && !known.contains_key(l)) {
                known.insert(*i, (to, Linear::of(g, to)));
                break;
            }
        }
    }
    if known.is_empty() {
        return Ok(rewrite(f, false, &mut |g, op| g.add(op)));
    }
    // the terms of the replacements are lengths of parameters, which have the same node ids in every graph only as operations
    let forms: HashMap<u32, (i64, Vec<(Op, i64)>)> = known
        .into_iter()
        .filter_map(|(i, (_, l))| {
            let terms: Option<Vec<_>> = l.terms.iter().map(|(t, k)| as_length(g, *t).map(|op| (op, *k))).collect();
            terms.map(|t| (i, (l.constant, t)))
        })
        .collect();
    Ok(rewrite(f, false, &mut |g, op| {
        if let Op::Len(p) = op
            && let Op::Param(i) = g.op(p)
            && let Some((constant, terms)) = forms.get(i)
        {
            let terms: Vec<_> = terms.iter().map(|(op, k)| (g.add(op.clone()), *k)).collect();
            return Linear { constant: *constant, terms: terms.into_iter().collect() }.node(g);
        }
        if let Op::Binary(..) = op
            && g.ty(op.operands().next().unwrap_or(NodeId(0))) == crate::core::Type::scalar(crate::scalar::Ty::I64)
        {
            let n = g.add(op);
            return if g.ty(n).elem == crate::scalar::Ty::I64 { Linear::of(g, n).node(g) } else { n };
        }
        g.add(op)
    }))
}

/// `len` of a parameter, as an operation that is the same in every graph of the function (parameters are nodes 0, 1, ..).
fn as_length(g: &Graph, n: NodeId) -> Option<Op> {
    match g.op(n) {
        Op::Len(p) if matches!(g.op(*p), Op::Param(_)) => Some(Op::Len(*p)),
        _ => None,
    }
}

fn lengths_in(g: &Graph, n: NodeId) -> Vec<u32> {
    let all = g.reachable([n]);
    let params = all.iter().filter_map(|n| match g.op(*n) {
        Op::Len(p) => match g.op(*p) {
            Op::Param(i) => Some(*i),
            _ => None,
        },
        _ => None,
    });
    params.collect()
}

/// Why a rule can never hold, whatever the lengths are.
fn never_holds(g: &Graph, r: &Require) -> Option<String> {
    let (a, b) = (Linear::of(g, r.a), Linear::of(g, r.b));
    let d = b.minus(&a);
    let never = if r.rule == Rule::Same {
        d.at_least(g, 1) || d.at_most(g, -1)
    } else {
        d.at_most(g, -1)
    };
    if !never {
        return None;
    }
    Some(match (a.as_constant(), b.as_constant()) {
        (Some(a), Some(b)) => r.rule.violation(a, b),
        _ => match r.rule {
            Rule::Same => format!("the lengths always differ (by {} or more)", d.constant.abs()),
            Rule::Stop => format!("the slice always stops {} or more past the end", -d.constant),
            Rule::Order => "the slice always stops before its start".into(),
            Rule::Start => "the slice always starts below 0".into(),
            Rule::Stride => "the stride is always below 1".into(),
            Rule::Extent => "the length is always negative".into(),
        },
    })
}
