//! Elements each of which reduces its own row many times, such as points whose distances to all centres are computed:
//! finds the length of that row, and unrolls the inner reduction for a few lengths.
//!
//! ```text
//! generate m (%p) { reduce (argmin) over generate n (%k) {
//!     reduce (+) over generate 16 (%q) { .. elem %x, %p, %q .. elem %c, %k, %q } } }
//!     ->
//! generate m (%p) { reduce (argmin) over generate n (%k) {
//!     .. elem %x, %p, 0 .. elem %c, %k, 0 .. elem %x, %p, 15 .. } }
//! ```
//!
//! Reads of the element's row no longer depend on the outer loop's index, and are made once, before that loop.

use crate::core::graph::replace::{Found, replaced_by};
use crate::core::simplify::simplify;
use crate::core::{Graph, Lambda, NodeId, Op, Var, tuples, unrolled};
use crate::scalar::Lit;
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::element::opened;
use crate::schedule::groups::{FusedGroup, is_store};
use rustc_hash::FxHashMap as HashMap;

/// The lengths of rows that are unrolled: powers of two, and the dimensions of points in space.
pub const LENGTHS: [u32; 5] = [3, 4, 8, 16, 32];

/// The minimum number of reductions of one row that a thread computes from registers. If there are fewer, the lanes
/// of a warp compute them, because their joins cost less.
const FEWEST: usize = 4;

/// Returns the length of the rows that elements of a group reduce again and again, if they do that.
pub fn length(l: &mut LaunchContext, fused: &FusedGroup) -> Option<NodeId> {
    let is_map = !fused.sequential && fused.items.iter().all(|it| is_store(&l.g, it));
    if !is_map || !l.facts.nested || l.facts.may_record {
        return None;
    }
    let index: Vec<(Var, NodeId)> = l.g.sample_index(fused.domain.len());
    let vars: Vec<Var> = index.iter().map(|v| v.0).collect();
    let index: Vec<NodeId> = index.into_iter().map(|v| v.1).collect();
    let roots: Vec<NodeId> = fused.items.iter().map(|it| opened(&mut l.g, it.node, &index)).collect();
    let g = &l.g;
    let all = g.reachable_until(roots, |n| g.is_closed(n));
    let own = |n: NodeId| !g.is_closed(n) && g.op(n).is_loop();
    if let Some(s) = &l.facts.segments {
        // the loop around the row is unrolled
        let each: Vec<Option<NodeId>> =
            all.into_iter().filter(|n| own(*n)).map(|n| length_of_row(g, n, &vars)).collect();
        return (each.len() >= FEWEST && each.iter().all(|of| *of == Some(s.length))).then_some(s.length);
    }
    // the reductions inside of others that reduce a row of the element
    let inside = all.iter().filter(|n| own(**n)).flat_map(|n| {
        let bodies = g.op(*n).operands().chain(g.op(*n).lambda().map(|l| l.body));
        g.reachable_until(bodies, |m| g.is_closed(m)).into_iter().filter(|m| own(*m))
    });
    inside.into_iter().find_map(|n| length_of_row(g, n, &vars))
}

/// Returns the length of a reduction, if it has no loops inside and reads a row that depends on the element alone.
fn length_of_row(g: &Graph, n: NodeId, vars: &[Var]) -> Option<NodeId> {
    let reduced = Reduced::of(g, n)?;
    if g.as_lit(reduced.length).is_some() {
        return None;
    }
    let is_row = |of: &Lambda| {
        let k = of.params[0].0;
        let is_own = |m: NodeId| g.node(m).free.iter().all(|v| vars.contains(v));
        g.reachable_until([of.body], |m| g.is_closed(m)).into_iter().any(|m| match g.op(m) {
            Op::Elem(_, index) => {
                let Some((last, outer)) = index.split_last() else { return false };
                let along = matches!(g.op(*last), Op::Var(v, _) if *v == k);
                along && outer.iter().all(|o| is_own(*o)) && outer.iter().any(|o| !g.is_closed(*o))
            }
            _ => false,
        })
    };
    reduced.elements.iter().any(is_row).then_some(reduced.length)
}

/// A reduction or fold without loops inside, whose length is the same for all elements.
struct Reduced {
    length: NodeId,
    init: NodeId,
    /// The functions that compute its elements; if it has one sequence, both are the same.
    elements: [Lambda; 2],
}

impl Reduced {
    fn of(g: &Graph, n: NodeId) -> Option<Reduced> {
        let (init, sequences) = match *g.op(n) {
            Op::Reduce { init, src, .. }
            | Op::Fold { init, src, .. }
            | Op::SquaredDeviations { init, src } => (init, [src, src]),
            Op::Dot { init, a, b } | Op::PanelDot { init, a, b } => (init, [a, b]),
            _ => return None,
        };
        let of = |src: NodeId| match g.op(src) {
            Op::Generate(extents, lambda) => Some((*extents.first()?, lambda.clone())),
            _ => None,
        };
        let [(length, a), (_, b)] = [of(sequences[0])?, of(sequences[1])?];
        let inside = [a.body, b.body].into_iter().chain(g.op(n).lambda().map(|l| l.body));
        let has_loops = |m: NodeId| !g.is_closed(m) && g.op(m).is_loop();
        let is_plain = !g.reachable_until(inside, |m| g.is_closed(m)).into_iter().any(has_loops);
        (g.is_closed(length) && is_plain).then_some(Reduced { length, init, elements: [a, b] })
    }

    /// Returns the number of nodes of one step.
    fn size(&self, g: &Graph, n: NodeId) -> usize {
        let all = self.elements.iter().map(|e| e.body).chain(g.op(n).lambda().map(|l| l.body));
        g.reachable_until(all, |m| g.is_closed(m)).len()
    }
}

/// Returns the values `roots` with all reductions of `length` elements unrolled for `n` elements. Returns `None` if
/// that has more than `most` nodes.
pub fn unrolled(g: &mut Graph, roots: &[NodeId], length: NodeId, n: i64, most: usize) -> Option<Vec<NodeId>> {
    let (mut size, mut known) = (0, HashMap::default());
    let mut find = |g: &mut Graph, m: NodeId| {
        if let Some(known) = known.get(&m) {
            return Found::By(*known);
        }
        let reduced = Reduced::of(g, m).filter(|r| r.length == length && !g.is_closed(m));
        let Some(reduced) = reduced else { return Found::of(g, m, None) };
        size += reduced.size(g, m) * n as usize;
        if size > most {
            return Found::Nothing;
        }
        let made = straight(g, m, &reduced, n);
        known.insert(m, made);
        Found::By(made)
    };
    let (mut memo, mut out) = (HashMap::default(), Vec::new());
    for root in roots {
        out.push(replaced_by(g, *root, &mut find, &mut |g, op| g.add(op), &mut memo));
    }
    (size > 0 && size <= most).then_some(out)
}

/// Returns the unrolled reduction of `n` elements.
fn straight(g: &mut Graph, node: NodeId, reduced: &Reduced, n: i64) -> NodeId {
    let op = g.op(node).clone();
    let at = |g: &mut Graph, of: &Lambda, i: i64| {
        let index = g.lit(Lit::i64(i));
        let (var, k) = g.fresh_var(of.params[0].1);
        let body = g.open(of, &[k]);
        let find = &mut |g: &mut Graph, m: NodeId| {
            let depends = g.node(m).free.contains(&var);
            match (m == k, depends) {
                (true, _) => Found::By(index),
                (_, true) => Found::Inside,
                _ => Found::Nothing,
            }
        };
        replaced_by(g, body, find, &mut simplify, &mut HashMap::default())
    };
    let [a, b] = &reduced.elements;
    let all: Vec<[NodeId; 2]> = (0..n).map(|i| [at(g, a, i), at(g, b, i)]).collect();
    let apply = &mut |g: &mut Graph, l: &Lambda, args: [NodeId; 2]| {
        let args = args.map(|a| tuples::components(g, a)).concat();
        g.open(l, &args)
    };
    unrolled::joined(g, &op, reduced.init, &all, apply)
}
