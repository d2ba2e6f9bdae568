//! Removes components of reductions and folds of tuples that are not needed, and separates components that do not
//! depend on one another into reductions of their own.
//!
//! ```text
//! %m = reduce 0 (%a, %i, %b, %j) from (inf, -1) over %t { %v = min %a, %b  .. yield (%v, %k) }
//!   ->  %m = reduce (%a, %b) from inf over %x { %v = min %a, %b  yield %v }      if nobody needs component 1
//! ```
//!
//! Components that depend on one another stay together, and one loop computes them. Components that become reductions
//! of their own may have an identity, which tuples have not, and can still share a launch.

use crate::core::rewrite::rewrite_from;
use crate::core::{Function, Graph, Lambda, NodeId, Op, tuples};
use crate::error::Result;
use crate::scalar::{Lit, Ty};
use rustc_hash::FxHashMap as HashMap;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    if !f.needs(|n| is_tuple(&f.graph, n)) {
        return Ok(f);
    }
    let kept = kept(&f);
    Ok(rewrite_from(&f, false, &mut |g, op, n| match kept.get(&n) {
        Some(components) => only(g, op, components),
        None => g.add(op),
    }))
}

/// Whether a node is a component of a reduction or fold of tuples.
fn is_tuple(g: &Graph, n: NodeId) -> bool {
    let (Op::Reduce { init, .. } | Op::ReduceOrdered { init, .. } | Op::Fold { init, .. }) = g.op(n) else {
        return false;
    };
    matches!(g.op(*init), Op::Tuple(_))
}

/// Returns for each reduction and fold of tuples that has too many components those that it keeps.
fn kept(f: &Function) -> HashMap<NodeId, Vec<usize>> {
    let g = &f.graph;
    let mut families: Vec<Vec<NodeId>> = Vec::new();
    let mut known: HashMap<Op, usize> = HashMap::default();
    for n in g.reachable(f.results.iter().map(|r| r.value)).into_iter().filter(|n| is_tuple(g, *n)) {
        let at = *known.entry(tuples::component(g.op(n), 0)).or_insert(families.len());
        match families.get_mut(at) {
            Some(family) => family.push(n),
            None => families.push(vec![n]),
        }
    }
    let mut out = HashMap::default();
    for family in families {
        let Some(lambda) = g.op(family[0]).lambda() else { continue };
        let all = tuples::components(g, lambda.body);
        // for each needed component, those on which it depends; groups that share some are merged
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for n in &family {
            let mut own = needed(g, lambda, &all, tuples::which(g, *n));
            let (others, apart) = groups.into_iter().partition(|of| of.iter().any(|c| own.contains(c)));
            let others: Vec<Vec<usize>> = others;
            own.extend(others.concat());
            own.sort_unstable();
            own.dedup();
            groups = apart;
            groups.push(own);
        }
        for n in &family {
            let which = tuples::which(g, *n);
            let own = groups.iter().find(|of| of.contains(&which)).filter(|of| of.len() < all.len());
            out.extend(own.map(|own| (*n, own.clone())));
        }
    }
    out
}

/// Returns the components on which one of them depends, itself included.
fn needed(g: &Graph, lambda: &Lambda, all: &[NodeId], which: usize) -> Vec<usize> {
    let (mut found, mut stack) = (Vec::new(), vec![which]);
    while let Some(c) = stack.pop() {
        if found.contains(&c) {
            continue;
        }
        found.push(c);
        // an operator of a reduction has the components of both operands; a fold's step has those of the accumulator
        // first
        let is_reduction = lambda.params.len() == 2 * all.len();
        for (at, (var, _)) in lambda.params.iter().enumerate() {
            let of = if is_reduction { at % all.len() } else { at };
            if of < all.len() && g.node(all[c]).free.contains(var) {
                stack.push(of);
            }
        }
    }
    found
}

/// Returns the reduction or fold with these components only.
fn only(g: &mut Graph, op: Op, components: &[usize]) -> NodeId {
    let is_fold = matches!(op, Op::Fold { .. });
    let is_ordered = matches!(op, Op::ReduceOrdered { .. });
    let (lambda, init, src, which) = match op {
        Op::Reduce { join, init, src, which } | Op::ReduceOrdered { join, init, src, which } => {
            (join, init, src, which)
        }
        Op::Fold { step, init, src, which } => (step, init, src, which),
        op => return g.add(op),
    };
    let all = tuples::components(g, init).len();
    let elements = lambda.params.len() - all;
    let used: Vec<usize> = match is_fold {
        false => components.to_vec(),
        true => {
            let bodies = tuples::components(g, lambda.body);
            let needs = |e: &usize| {
                components.iter().any(|c| g.node(bodies[*c]).free.contains(&lambda.params[all + e].0))
            };
            let used: Vec<usize> = (0..elements).filter(needs).collect();
            // the sequence must keep one component, so that it has an element for each step
            if used.is_empty() { vec![0] } else { used }
        }
    };
    let places: Vec<usize> = components.iter().copied().chain(used.iter().map(|e| all + e)).collect();
    let types: Vec<Ty> = places.iter().map(|at| lambda.params[*at].1).collect();
    let short = g.lambda(&types, |g, v| {
        let mut args: Vec<NodeId> = lambda.params.iter().map(|(_, ty)| g.lit(Lit::zero(*ty))).collect();
        places.iter().zip(v).for_each(|(at, v)| args[*at] = *v);
        let body = g.open(&lambda, &args);
        chosen(g, body, components)
    });
    let init = chosen(g, init, components);
    let src = match g.op(src).clone() {
        Op::Map(l, srcs) => {
            let l = with_elements(g, &l, &used);
            g.add(Op::Map(l, srcs))
        }
        Op::Generate(extents, l) => {
            let l = with_elements(g, &l, &used);
            g.add(Op::Generate(extents, l))
        }
        // the elements are scalars
        _ => src,
    };
    let which = components.iter().position(|c| *c == which as usize).map_or(0, |at| at as u32);
    g.add(match (is_fold, is_ordered) {
        (true, _) => Op::Fold { step: short, init, src, which },
        (_, true) => Op::ReduceOrdered { join: short, init, src, which },
        _ => Op::Reduce { join: short, init, src, which },
    })
}

fn with_elements(g: &mut Graph, l: &Lambda, used: &[usize]) -> Lambda {
    let types: Vec<Ty> = l.params.iter().map(|p| p.1).collect();
    g.lambda(&types, |g, v| {
        let body = g.open(l, v);
        chosen(g, body, used)
    })
}

/// Returns the tuple of some components, or the only one.
fn chosen(g: &mut Graph, n: NodeId, components: &[usize]) -> NodeId {
    let all = tuples::components(g, n);
    let some = components.iter().map(|c| all[*c]).collect();
    tuples::of(g, some)
}
