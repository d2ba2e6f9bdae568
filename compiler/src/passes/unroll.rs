//! Unrolls short reductions and folds inside of elements to straight-line code, in exactly the order of the semantics
//! (section 5). It does so if the element becomes a stencil by that, or if the code stays short.
//!
//! ```text
//! generate n (%i) {                                                   generate n (%i) {
//!   %s = fold (+) from 0f32 over (generate 3i64 (%k) {                  %a = mul (at %x, %i), 0.5f32
//!     mul (at %x, (add %i, %k)), (exp2 (neg (cast f32 %k))) })    ->    %b = mul (at %x, (add %i, 1i64)), 0.25f32 ..
//!   yield %s                                                            yield (add (add (add 0f32, %a), %b), %c)
//! }                                                                   }
//! ```
//!
//! So a stencil whose number of taps is staged reads at constant distances, and neighbours can
//! share reads. Branches on the index are decided, and weights become constants. The new code is
//! simplified while it is made.
//!
//! Long reductions that read an array along an axis of its own stay, because sums of rows and
//! columns, and products, have their own strategies. So do closed reductions that read any array, and those that are
//! computed once for the call and may leave a record.

use crate::core::linear::{Linear, is_i64};
use crate::core::records::may_record;
use crate::core::rewrite::rewrite_from;
use crate::core::simplify::settle;
use crate::core::simplify::simplify;
use crate::core::unrolled::joined;
use crate::core::{COLUMNS, Function, Graph, Lambda, NodeId, Op, Var, tuples};
use crate::error::Result;
use crate::scalar::{Lit, Ty};
use rustc_hash::FxHashMap as HashMap;

/// A limit on the straight-line code that one reduction or fold becomes.
struct Room {
    /// The maximum number of elements, at most one row of columns of a tile.
    elements: i64,
    /// The maximum number of nodes that depend on the index.
    nodes: usize,
}

/// The limit for loops whose reads are shared by neighbours, and for loops over constants, where
/// unrolling gains most.
const SHARED: Room = Room { elements: COLUMNS, nodes: 1024 };
/// The limit for loops along an axis of an array: longer ones have strategies that share the loop
/// among lanes.
const ALONG: Room = Room { elements: 8, nodes: 256 };
/// The limit for other loops, where unrolling saves only the branch of the loop.
const OTHER: Room = Room { elements: 16, nodes: 256 };

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    let is_short = |n: NodeId| {
        f.graph.op(n).is_reduction() && f.graph.op(n).operands().any(|src| elements(&f.graph, src).is_some())
    };
    if !f.needs(is_short) {
        return Ok(f);
    }
    let mut unroll = Unroll { fast: f.fast, simple: HashMap::default() };
    Ok(rewrite_from(&f, false, &mut |g, op, old| {
        let straight = unroll.straight(g, &op, f.graph.node(old).once);
        // if an operand became a constant, or equal to another one, a variable may be gone
        straight.unwrap_or_else(|| settle(g, op))
    }))
}

struct Unroll {
    fast: bool,
    /// The simplified nodes of the straight-line code.
    simple: HashMap<NodeId, NodeId>,
}

impl Unroll {
    /// Returns the operation as straight-line code, if it is to be unrolled. It is not if it is computed `once` for
    /// the call and may leave a record: its launch leaves that, and code in an element would leave it only where the
    /// element is needed.
    fn straight(&mut self, g: &mut Graph, op: &Op, once: bool) -> Option<NodeId> {
        let (init, srcs) = match *op {
            Op::Reduce { init, src, .. } | Op::Fold { init, src, .. } => (init, [src, src]),
            // the products and sums of an inner product stay exact under `fast_math`, whereas
            // separate operations would be approximated
            Op::Dot { .. } | Op::PanelDot { .. } if self.fast => return None,
            Op::SquaredDeviations { .. } if self.fast => return None,
            Op::SquaredDeviations { init, src } => (init, [src, src]),
            Op::Dot { init, a, b } | Op::PanelDot { init, a, b } => (init, [a, b]),
            _ => return None,
        };
        let [(n, of_a), (_, of_b)] = [elements(g, srcs[0])?, elements(g, srcs[1])?];
        let (var, k) = g.fresh_var(Ty::I64);
        let values = [g.open(&of_a, &[k]), g.open(&of_b, &[k])];
        let whole = g.add(op.clone());
        let own = [init].into_iter().chain(op.lambda().map(|l| l.body));
        if once && own.chain(values).any(|n| may_record(g, n)) {
            return None;
        }
        let room = room(g, &values, var, g.is_closed(whole))?;
        let joins = match op {
            Op::SquaredDeviations { .. } => 7,
            _ => op.lambda().map_or(2, |l| size(g, &[l.body], l.params[0].0)),
        };
        let nodes = (size(g, &values, var) + joins) * n as usize;
        if n > room.elements || nodes > room.nodes {
            return None;
        }
        let before = g.set_loc(g.node(whole).loc.clone());
        let mut at = |of: &Lambda, i: i64| {
            let index = g.lit(Lit::i64(i));
            let value = g.open(of, &[index]);
            self.simplified(g, value)
        };
        let all: Vec<[NodeId; 2]> = (0..n).map(|i| [at(&of_a, i), at(&of_b, i)]).collect();
        let value = joined(g, op, init, &all, &mut |g, l, args| self.applied(g, l, args));
        g.set_loc(before);
        Some(value)
    }

    fn applied(&mut self, g: &mut Graph, l: &Lambda, args: [NodeId; 2]) -> NodeId {
        let args = args.map(|a| tuples::components(g, a)).concat();
        let value = g.open(l, &args);
        self.simplified(g, value)
    }

    /// Returns the simplified node, in which further operations are unrolled if possible.
    fn simplified(&mut self, g: &mut Graph, n: NodeId) -> NodeId {
        if matches!(g.op(n), Op::Const(_) | Op::Param(_) | Op::Var(..) | Op::Turn | Op::Checked) {
            return n;
        }
        if let Some(known) = self.simple.get(&n) {
            return *known;
        }
        let op = g.op(n).clone();
        let operands: Vec<NodeId> = op.operands().map(|o| self.simplified(g, o)).collect();
        let lambda = op.lambda().map(|l| {
            let types: Vec<Ty> = l.params.iter().map(|p| p.1).collect();
            g.lambda(&types, |g, v| {
                let body = g.open(l, v);
                g.note_values(&v[op.first_value()..]);
                self.simplified(g, body)
            })
        });
        let before = g.set_loc(g.node(n).loc.clone());
        let op = op.with(&operands, lambda);
        let (bound, once) = (g.node(n).bound, g.node(n).once);
        let made = self.straight(g, &op, once).unwrap_or_else(|| simplify(g, op));
        g.set_loc(before);
        g.keep_marks(bound, once, made);
        self.simple.insert(n, made);
        made
    }
}

/// Returns the length of a sequence, if it is a constant of at most 128, and its lambda.
fn elements(g: &Graph, src: NodeId) -> Option<(i64, Lambda)> {
    let Op::Generate(extents, lambda) = g.op(src) else { return None };
    let n = g.as_lit(extents[0])?.as_i64();
    (0..=COLUMNS).contains(&n).then(|| (n, lambda.clone()))
}

/// Returns the number of nodes that depend on a variable.
fn size(g: &Graph, roots: &[NodeId], var: Var) -> usize {
    g.reachable_until(roots.iter().copied(), |n| !g.node(n).free.contains(&var)).len()
}

/// Returns the limit for an operation with these elements, whose index is `var`; `None` if it is
/// not unrolled.
fn room(g: &Graph, values: &[NodeId], var: Var, closed: bool) -> Option<Room> {
    let (mut shared, mut along) = (false, false);
    for n in g.reachable(values.iter().copied()) {
        let (Op::Elem(_, index) | Op::At(_, index)) = g.op(n) else { continue };
        if closed {
            return None;
        }
        match index.iter().map(|i| reads(g, *i, index, var)).max() {
            Some(Reads::Around) => shared = true,
            Some(Reads::Along) => along = true,
            _ => {}
        }
    }
    match (shared, along) {
        (true, _) => Some(SHARED),
        (false, true) => Some(ALONG),
        // a closed loop over constants folds to a constant
        _ if closed && values.iter().all(|v| is_constant(g, *v)) => Some(SHARED),
        _ => Some(OTHER),
    }
}

/// How a read in the loop depends on the element's own index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reads {
    /// It does not depend on the element's own index, or not on the index of the loop.
    Elsewhere,
    /// It runs along an axis of the array, from another place for each element.
    Along,
    /// It stays around the element's own index, so neighbours share reads.
    Around,
}

/// Classifies an index of a read.
fn reads(g: &Graph, i: NodeId, all: &[NodeId], var: Var) -> Reads {
    let has = |n: NodeId| g.node(n).free.contains(&var);
    let others = |n: NodeId| g.node(n).free.iter().any(|v| *v != var);
    if !has(i) {
        return Reads::Elsewhere;
    }
    let around = |n: &NodeId| {
        let form = if is_i64(g, *n) { Linear::of(g, *n) } else { Linear::default() };
        let by_one =
            |(t, k): (&NodeId, &i64)| matches!(k, 1 | -1) && !has(*t) && matches!(g.op(*t), Op::Var(..));
        form.terms.keys().any(|t| has(*t)) && form.terms.iter().any(by_one)
    };
    if g.reachable_until([i], |n| !has(n)).iter().any(around) {
        Reads::Around
    } else if all.iter().any(|n| others(*n)) {
        Reads::Along
    } else {
        Reads::Elsewhere
    }
}

/// Returns whether a value depends on nothing but its index.
fn is_constant(g: &Graph, n: NodeId) -> bool {
    let leaf = |n: NodeId| matches!(g.op(n), Op::Param(_) | Op::Len(..));
    !g.reachable([n]).into_iter().any(leaf)
}
