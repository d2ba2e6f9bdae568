//! Removes the states of an element's loop that are not needed: neither by a value of the loop that is used, nor by
//! its condition, nor by another state that is needed. If the condition itself bounds the number of steps, the pass
//! also removes the limit of steps and the test whether the limit was reached.
//!
//! ```text
//! %r = loop 1 (%i: i64, %x: f32, %y: f32) by %n from 1f32, 0f32 {
//!     %a = mul %x, %x  %b = add %y, %v  %t = tuple true, %a, %b  yield %t }
//!   ->  %r = loop 0 (%i: i64, %y: f32) by %n from 0f32 { %b = add %y, %v  %t = tuple true, %b  yield %t }
//! ```

use crate::core::rewrite::{rewrite, rewrite_from};
use crate::core::simplify::settle;
use crate::core::{Function, Graph, NodeId, Op, element_loops};
use crate::error::Result;
use crate::scalar::{Lit, Ty};
use rustc_hash::FxHashMap as HashMap;

/// Runs the pass.
pub fn run(mut f: Function) -> Result<Function> {
    if !f.needs(|n| matches!(f.graph.op(n), Op::Loop { .. })) {
        return Ok(f);
    }
    f = rewrite(&f, false, &mut unlimited);
    // repeated: a state that an outer loop loses may have been the only use of a state of an inner loop
    loop {
        let kept = kept(&f);
        if kept.is_empty() {
            return Ok(f);
        }
        f = rewrite_from(&f, false, &mut |g, op, n| match kept.get(&n) {
            Some(states) => only(g, op, states),
            None => g.add(op),
        });
    }
}

/// Removes the limit of a loop that its condition ends before the limit, and the test whether the limit was reached.
fn unlimited(g: &mut Graph, op: Op) -> NodeId {
    let most = |g: &Graph, op: &Op, count: NodeId| {
        let Op::Loop { step, init, .. } = op else { return None };
        let limit = g.as_lit(count)?.as_i64();
        element_loops::most_steps(g, step, init).filter(|most| *most < limit)
    };
    match op {
        Op::Loop { ref step, which, count, ref init } if most(g, &op, count).is_some() => {
            let (step, init) = (step.clone(), init.clone());
            let count = g.lit(Lit::i64(i64::MAX));
            g.add(Op::Loop { step, which, count, init })
        }
        Op::Within(steps, n, _)
            if matches!(g.op(steps), Op::Loop { which, init, .. } if *which as usize == init.len())
                && most(g, g.op(steps), n).is_some() =>
        {
            g.lit(Lit::bool(true))
        }
        op => settle(g, op),
    }
}

/// Returns, for each value of a loop that has too many states, the states that the loop keeps.
fn kept(f: &Function) -> HashMap<NodeId, Vec<usize>> {
    let g = &f.graph;
    let mut loops: Vec<Vec<NodeId>> = Vec::new();
    let mut known: HashMap<Op, usize> = HashMap::default();
    for n in g.reachable(f.results.iter().map(|r| r.value)) {
        if let Op::Loop { .. } = g.op(n) {
            let at = *known.entry(element_loops::value(g.op(n), 0)).or_insert(loops.len());
            match loops.get_mut(at) {
                Some(values) => values.push(n),
                None => loops.push(vec![n]),
            }
        }
    }
    let mut out = HashMap::default();
    for values in loops {
        let needed = needed(g, &values);
        let Op::Loop { init, .. } = g.op(values[0]) else { continue };
        if needed.len() < init.len() {
            out.extend(values.iter().map(|n| (*n, needed.clone())));
        }
    }
    out
}

/// Returns the states of a loop on which its condition or one of these values depends.
fn needed(g: &Graph, values: &[NodeId]) -> Vec<usize> {
    let Op::Loop { step, .. } = g.op(values[0]) else { return Vec::new() };
    let (condition, next) = element_loops::parts(g, step.body);
    let mut is_needed = vec![false; next.len()];
    let mut stack = vec![condition];
    let mut need = |state: usize, stack: &mut Vec<NodeId>| {
        if state < next.len() && !std::mem::replace(&mut is_needed[state], true) {
            stack.push(next[state]);
        }
    };
    for n in values {
        let Op::Loop { which, .. } = g.op(*n) else { continue };
        need(*which as usize, &mut stack);
    }
    while let Some(n) = stack.pop() {
        for (state, (var, _)) in step.params[1..].iter().enumerate() {
            if g.node(n).free.contains(var) {
                need(state, &mut stack);
            }
        }
    }
    (0..next.len()).filter(|state| is_needed[*state]).collect()
}

/// Returns the value of the loop with these states only.
fn only(g: &mut Graph, op: Op, states: &[usize]) -> NodeId {
    let Op::Loop { step, which, count, init } = op else { return g.add(op) };
    let types: Vec<Ty> =
        [0].into_iter().chain(states.iter().map(|s| s + 1)).map(|p| step.params[p].1).collect();
    let short = g.lambda(&types, |g, v| {
        let mut args: Vec<NodeId> = step.params.iter().map(|(_, ty)| g.lit(Lit::zero(*ty))).collect();
        args[0] = v[0];
        states.iter().zip(&v[1..]).for_each(|(state, v)| args[state + 1] = *v);
        let body = g.open(&step, &args);
        let (condition, next) = element_loops::parts(g, body);
        let parts = [condition].into_iter().chain(states.iter().map(|s| next[*s])).collect();
        g.add(Op::Tuple(parts))
    });
    let at = states.iter().position(|s| *s == which as usize).unwrap_or(states.len());
    let init = states.iter().map(|s| init[*s]).collect();
    g.add(Op::Loop { step: short, which: at as u32, count, init })
}
