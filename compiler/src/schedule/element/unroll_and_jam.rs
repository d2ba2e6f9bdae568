//! Unroll and jam (Carr, Kennedy 1994): the reductions of two elements over one extent share a loop, so that what
//! both read of an inner index is read once.
//!
//! ```text
//! reduce f over generate n (k -> g(i, k)), reduce f over generate n (k -> g(j, k))
//!     ->  reduce (f, f) over generate n (k -> (g(i, k), g(j, k)))
//! ```
//!
//! Each component keeps its own order, so no bit changes. This pays for reductions whose order is free: for others,
//! the tree has many registers for each component.

use crate::core::graph::replace::{Found, replaced_by};
use crate::core::{Graph, Lambda, NodeId, Op, Var, tuples};
use crate::schedule::facts::order_free::is_order_free;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Returns the values `roots` of the element with the index `first`, and then those of the element `second`.
pub fn jammed(g: &mut Graph, roots: &[NodeId], first: (Var, NodeId), second: NodeId) -> Vec<NodeId> {
    let by = [(first.0, second)].into_iter().collect();
    let others: Vec<NodeId> = roots.iter().map(|n| g.substitute(*n, &by)).collect();
    let both: Vec<NodeId> = roots.iter().copied().chain(others).collect();
    let mut pairs: HashMap<NodeId, NodeId> = HashMap::default();
    for n in outermost(g, roots, first.0) {
        let other = g.substitute(n, &by);
        if let Some([a, b]) = pair(g, n, other) {
            pairs.extend([(n, a), (other, b)]);
        }
    }
    let mut find = |g: &mut Graph, n: NodeId| Found::of(g, n, pairs.get(&n).copied());
    let mut memo = HashMap::default();
    both.into_iter().map(|n| replaced_by(g, n, &mut find, &mut |g, op| g.add(op), &mut memo)).collect()
}

/// Whether two elements with these values share all their loops. If there were none, all code of the first element
/// would come before that of the second, and what both read would stay in registers for all that time.
pub fn pays(g: &mut Graph, roots: &[NodeId], var: Var) -> bool {
    let loops = outermost(g, roots, var);
    !loops.is_empty()
        && loops.iter().all(|n| {
            let inside: Vec<NodeId> = g.op(*n).operands().collect();
            let waits = g.reachable_until(inside, |m| g.is_closed(m)).iter().any(|m| loops.contains(m));
            !waits && is_order_free(g, *n) && pair(g, *n, *n).is_some()
        })
}

/// Returns the outermost loops that depend on a variable.
pub fn outermost(g: &Graph, roots: &[NodeId], var: Var) -> Vec<NodeId> {
    let (mut found, mut stack) = (Vec::new(), roots.to_vec());
    let mut seen = HashSet::default();
    while let Some(n) = stack.pop() {
        if !g.node(n).free.contains(&var) || !seen.insert(n) {
            continue;
        }
        match g.op(n) {
            op if op.is_loop() => found.push(n),
            op => stack.extend(op.operands()),
        }
    }
    found
}

/// Returns two reductions as components of one; `None` if they have no common extent.
fn pair(g: &mut Graph, a: NodeId, b: NodeId) -> Option<[NodeId; 2]> {
    let parts = |g: &Graph, n: NodeId| match g.op(n).clone() {
        Op::Reduce { join, init, src, which } => match g.op(src).clone() {
            Op::Generate(extents, of) if g.is_closed(extents[0]) => Some((join, init, extents, of, which)),
            _ => None,
        },
        _ => None,
    };
    let (f, init, extents, of, which) = parts(g, a)?;
    let (h, other_init, other_extents, other_of, _) = parts(g, b)?;
    if extents != other_extents {
        return None;
    }
    let width = tuples::components(g, init).len();
    let tuple = |g: &mut Graph, [a, b]: [NodeId; 2]| {
        let all = [a, b].map(|n| tuples::components(g, n)).concat();
        g.add(Op::Tuple(all))
    };
    let init = tuple(g, [init, other_init]);
    let index: Vec<_> = of.params.iter().map(|p| p.1).collect();
    let elements = g.lambda(&index, |g, k| {
        let both = [g.open(&of, k), g.open(&other_of, k)];
        tuple(g, both)
    });
    let src = g.add(Op::Generate(extents, elements));
    let of_side = |l: &Lambda| l.params[..width].iter().map(|p| p.1).collect::<Vec<_>>();
    let types = [of_side(&f), of_side(&h), of_side(&f), of_side(&h)].concat();
    let join = g.lambda(&types, |g, v| {
        let side = |at: usize| [&v[at..at + width], &v[at + 2 * width..at + 3 * width]].concat();
        let both = [g.open(&f, &side(0)), g.open(&h, &side(width))];
        tuple(g, both)
    });
    // warnings name the author's line
    let before = g.set_loc(g.node(a).loc.clone());
    let mut component = |which: u32| g.add(Op::Reduce { join: join.clone(), init, src, which });
    let both = [component(which), component(which + width as u32)];
    g.set_loc(before);
    Some(both)
}
