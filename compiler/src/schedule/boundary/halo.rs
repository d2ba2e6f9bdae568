//! The halo: the values beyond the edges of arrays that elements read around their own indices.
//!
//! ```text
//! x[min(max(i - 1, 0), n - 1)] + x[min(max(i + 1, 0), n - 1)]
//!     ->    x[i - 1] + x[i + 1]    where x[e] is x[min(max(e, 0), n - 1)]
//! ```
//!
//! If all reads of an array agree on the values beyond its edges, a strategy fills the halo of its tile with these
//! values and then runs the interior's code for every element. Each value of the halo is computed once, however many
//! elements read it. An array that is only read in bounds gets a plain halo: no element uses its values, so nothing
//! is loaded for them.

use super::interior::{self, Interior};
use super::rebuilt::rebuilt;
use crate::core::linear;
use crate::core::simplify::simplify;
use crate::core::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::element::opened;
use crate::schedule::facts::stencil;
use crate::schedule::groups::FusedGroup;
use indexmap::IndexMap;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The value of an array at any index, in bounds or beyond an edge: `value` is an expression of the
/// variables `at`, which are that index.
struct HaloElement {
    at: Vec<NodeId>,
    value: NodeId,
    /// Whether the array is read in bounds only.
    is_plain: bool,
}

/// The halo of each array that a fused group reads.
pub struct Halo(IndexMap<NodeId, HaloElement>);

/// A read that is at a constant distance in the interior.
struct Read {
    /// The read in the program's element, with its clamps: `x[max(i - 1, 0)]`.
    node: NodeId,
    /// The array that it reads.
    array: NodeId,
    /// The distance from the element's own index in the interior: -1 for the read above.
    tap: Vec<i64>,
}

impl Halo {
    /// Finds the halo of each array that the group reads. Returns `None` if elements at the edges differ from
    /// interior ones by more than the indices of their reads, if two reads of an array disagree on a value beyond its
    /// edges, or if elements may leave an error record.
    pub fn of(l: &mut LaunchContext, fused: &FusedGroup, inner: &Interior) -> Option<Halo> {
        let g = &mut l.g;
        let index: Vec<NodeId> = g.sample_index(fused.domain.len()).iter().map(|v| v.1).collect();
        let roots: Vec<NodeId> = fused.items.iter().map(|it| opened(g, it.node, &index)).collect();
        let wanted: Vec<NodeId> = inner.arrays.iter().map(|a| opened(g, *a, &index)).collect();
        let decided = (wanted != roots).then(|| l.decided(fused, &index, &roots));
        let (g, none) = (&mut l.g, HashMap::default());
        let memo = decided.as_ref().map_or(&none, |of| &of.memo);
        let reads = reads(g, &index, &roots, memo)?;
        // apart from the reads, the interior's element must equal the program's
        let seeds = reads.iter().map(|r| (r.node, memo.get(&r.node).copied().unwrap_or(r.node))).collect();
        let made = rebuilt(g, &roots, seeds, &mut |_, _| None);
        let same = roots.iter().zip(&wanted).all(|(n, w)| made.get(n).unwrap_or(n) == w);
        if !same {
            return None;
        }
        let mut found: IndexMap<NodeId, HaloElement> = IndexMap::new();
        for read in reads {
            let at: Vec<NodeId> = match found.get(&read.array) {
                Some(border) => border.at.clone(),
                None => index.iter().map(|_| l.g.fresh_var(Ty::I64).1).collect(),
            };
            let value = moved(&mut l.g, &read, &index, &at);
            let plain = l.g.add(Op::Elem(read.array, at.clone()));
            let border = found.entry(read.array).or_insert(HaloElement { at, value, is_plain: false });
            if border.value == plain {
                border.value = value;
            }
            if value != plain && value != border.value {
                return None;
            }
        }
        let all = found.iter_mut().all(|(array, border)| border.settle(l, *array));
        all.then_some(Halo(found))
    }

    /// Whether elements read beyond the edges of an array, so that it has values there.
    pub fn has_values(&self, array: NodeId) -> bool {
        self.0.get(&array).is_some_and(|b| !b.is_plain)
    }

    /// Returns the value of the halo at these indices. Returns `None` if the array has a plain
    /// halo: in bounds the value is the array's element, and beyond the edges nothing has to be
    /// loaded.
    pub fn value(&self, l: &mut LaunchContext, array: NodeId, index: &[NodeId]) -> Option<NodeId> {
        let border = self.0.get(&array).filter(|b| !b.is_plain)?;
        Some(border.at.iter().zip(index).fold(border.value, |n, (from, to)| l.replace(n, *from, *to)))
    }
}

impl HaloElement {
    /// Checks that the value is the array's own element in bounds, and that it reads no other array. If both hold,
    /// clamps the indices of its reads, so that no lane reads outside of the array, not even one that discards the
    /// value, and returns true.
    fn settle(&mut self, l: &mut LaunchContext, array: NodeId) -> bool {
        let other = |n: &NodeId| {
            let op = l.g.op(*n);
            let reads = matches!(op, Op::Elem(x, _) if *x != array);
            !l.g.is_closed(*n) && (reads || op.lambda().is_some() || op.may_record(&l.g))
        };
        if l.g.reachable([self.value]).iter().any(other) {
            return false;
        }
        let extents: Vec<NodeId> = (0..self.at.len() as u8).map(|axis| l.extent(array, axis)).collect();
        let (inner, widths) = interior::interior_of(&mut l.g, &self.at, &extents, &[self.value]);
        let plain = l.g.add(Op::Elem(array, self.at.clone()));
        self.is_plain = self.value == plain;
        if inner != [plain] || widths.iter().any(|m| *m != (0, 0)) {
            return false;
        }
        let made = rebuilt(&mut l.g, &[self.value], HashMap::default(), &mut |g, op| {
            let Op::Elem(x, index) = op else { return None };
            let index = index.iter().zip(&extents).map(|(i, n)| clamped(g, *i, *n)).collect();
            Some(g.add(Op::Elem(*x, index)))
        });
        self.value = made.get(&self.value).copied().unwrap_or(self.value);
        true
    }
}

/// Returns the index `i` clamped to 0 .. `n` - 1.
pub fn clamped(g: &mut Graph, i: NodeId, n: NodeId) -> NodeId {
    let [zero, one] = [0, 1].map(|k| g.lit(Lit::i64(k)));
    let last = linear::sub(g, n, one);
    let low = simplify(g, Op::Binary(BinaryOp::Max, i, zero));
    simplify(g, Op::Binary(BinaryOp::Min, low, last))
}

/// Returns the program's reads that become reads at constant distances in the interior. Returns
/// `None` if anything else is read, or if the element has loops or may leave an error record.
fn reads(
    g: &mut Graph,
    index: &[NodeId],
    roots: &[NodeId],
    memo: &HashMap<NodeId, NodeId>,
) -> Option<Vec<Read>> {
    let (mut seen, mut stack, mut out) = (HashSet::default(), roots.to_vec(), Vec::new());
    while let Some(n) = stack.pop() {
        if g.is_closed(n) || !seen.insert(n) {
            continue;
        }
        let image = memo.get(&n).copied().unwrap_or(n);
        if let Op::Elem(array, at) = g.op(image).clone() {
            let (shift, tap) = stencil::tap(g, &at, index)?;
            if shift.iter().any(|s| g.as_lit(*s).is_none()) {
                return None;
            }
            out.push(Read { node: n, array, tap });
            continue;
        }
        let op = g.op(n);
        if op.lambda().is_some() || op.may_record(g) || matches!(op, Op::Elem(..)) {
            return None;
        }
        stack.extend(op.operands());
    }
    Some(out)
}

/// Returns the read as an expression of `at`, the index at which it reads in the interior. The expression is in a
/// normal form, so that equal expressions are the same node.
///
/// ```text
/// x[max(i - 1, 0)]: at = i - 1, so i = at + 1    ->   x[max(at, 0)]
/// ```
fn moved(g: &mut Graph, read: &Read, index: &[NodeId], at: &[NodeId]) -> NodeId {
    let mut env = HashMap::default();
    for ((own, e), by) in index.iter().zip(at).zip(&read.tap) {
        let by = g.lit(Lit::i64(*by));
        let to = linear::sub(g, *e, by);
        if let Op::Var(var, _) = *g.op(*own) {
            env.insert(var, to);
        }
    }
    let n = g.substitute(read.node, &env);
    let made = rebuilt(g, &[n], HashMap::default(), &mut |g, op| {
        let op = match *op {
            Op::Binary(o, a, b) if o.is_commutative() && b < a => Op::Binary(o, b, a),
            _ => op.clone(),
        };
        Some(simplify(g, op))
    });
    made.get(&n).copied().unwrap_or(n)
}
