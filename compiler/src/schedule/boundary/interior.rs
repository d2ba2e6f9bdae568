//! The interior: the code of an element whose indices keep a distance from the edges, so that each
//! clamped, reflected or wrapped index is the plain index.
//!
//! ```text
//! x[min(max(i - 1, 0), n - 1)]                    ->   x[i - 1]           width 1 before, 0 after
//! select(0 < i && i < n - 1, x[i - 1] + .., y)    ->   x[i - 1] + ..      width 1 before, 1 after
//! x[(i + 2) % n]                                  ->   x[i + 2]           width 0 before, 2 after
//! ```
//!
//! Comparisons, `min`, `max`, remainders and `within` of indices are replaced by simpler values where constant
//! boundary widths prove these. The widths are the least ones that suffice. In the interior, the new code gives the
//! same bits as the program's element and leaves no error record that the program does not leave; at the edges the
//! program's element is computed. If an index is shifted by a value that is known only at run time, operations on it
//! are never replaced, because the sum might overflow.

pub use super::decided::BoundaryWidth;
use super::decided::Decided;
use super::decisions::{Answer, DECISIONS};
use super::rebuilt::rebuilt;
use crate::core::index_space::without_bound;
use crate::core::linear::{self, Linear, is_i64};
use crate::core::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::opened;
use crate::schedule::groups::{FusedGroup, is_store};
use rustc_hash::FxHashMap as HashMap;
use std::rc::Rc;

/// The greatest boundary width. An operation that would need a wider boundary is not a test for an edge.
const MOST: i64 = 64;

/// The interior of a fused group.
#[derive(Clone)]
pub struct Interior {
    /// The arrays that the group's items store, in the order of the items. Their elements are the simpler ones, which
    /// are right only in the interior.
    pub arrays: Vec<NodeId>,
    /// The boundary widths, one pair per axis.
    pub widths: Vec<BoundaryWidth>,
    /// The replacements in the elements; `None` if no element has an operation that could be replaced.
    pub decided: Option<Rc<Decided>>,
}

impl Interior {
    /// Returns an interior that has every element: nothing is replaced, so no axis has a boundary.
    pub fn whole(fused: &FusedGroup) -> Interior {
        let arrays = fused.items.iter().map(|it| it.node).collect();
        Interior { arrays, widths: vec![(0, 0); fused.domain.len()], decided: None }
    }

    /// Whether the elements are the program's own, because no operation was replaced.
    pub fn is_whole(&self, fused: &FusedGroup) -> bool {
        self.arrays.iter().eq(fused.items.iter().map(|it| &it.node))
    }

    /// Whether some axis has a boundary.
    pub fn has_boundary(&self) -> bool {
        self.widths.iter().any(|m| *m != (0, 0))
    }

    /// Finds the interior of a fused group. Only a group that does nothing but store arrays can
    /// have a boundary.
    pub fn of(g: &mut Graph, fused: &FusedGroup) -> Interior {
        if fused.sequential || !fused.items.iter().all(|it| is_store(g, it)) {
            return Interior::whole(fused);
        }
        let elements = fused.items.iter().map(|it| it.node);
        if !g.reachable(elements).into_iter().any(|n| question(g, g.op(n)).is_some()) {
            return Interior::whole(fused);
        }
        let vars = g.sample_index(fused.domain.len());
        let index: Vec<NodeId> = vars.iter().map(|v| v.1).collect();
        let roots: Vec<NodeId> = fused.items.iter().map(|it| opened(g, it.node, &index)).collect();
        let decided = Rc::new(decide(g, &index, &fused.domain, &roots));
        let (inner, widths) = (decided.inner(), decided.widths.clone());
        if inner == roots {
            return Interior { decided: Some(decided), ..Interior::whole(fused) };
        }
        let binders: Vec<_> = vars.iter().map(|v| (v.0, Ty::I64)).collect();
        let mut array = |body: NodeId| {
            let lambda = g.close(&binders, body);
            g.add(Op::Generate(fused.domain.clone(), lambda))
        };
        let arrays = inner.into_iter().map(&mut array).collect();
        Interior { arrays, widths, decided: Some(decided) }
    }
}

/// Returns the values of an interior element at `index`, and the boundary widths within which they
/// equal `roots`.
pub fn interior_of(
    g: &mut Graph,
    index: &[NodeId],
    extents: &[NodeId],
    roots: &[NodeId],
) -> (Vec<NodeId>, Vec<BoundaryWidth>) {
    let (memo, widths) = decided(g, index, extents, roots);
    (roots.iter().map(|n| memo.get(n).copied().unwrap_or(*n)).collect(), widths)
}

/// Finds the interior of elements of these values at `index`.
pub fn decide(g: &mut Graph, index: &[NodeId], extents: &[NodeId], roots: &[NodeId]) -> Decided {
    let (memo, widths) = decided(g, index, extents, roots);
    Decided { index: index.to_vec(), roots: roots.to_vec(), memo, widths }
}

/// Returns a map from every node that becomes another one in the interior, and the boundary widths.
fn decided(
    g: &mut Graph,
    index: &[NodeId],
    extents: &[NodeId],
    roots: &[NodeId],
) -> (HashMap<NodeId, NodeId>, Vec<BoundaryWidth>) {
    let mut facts = Facts::new(g, index, extents, vec![(0, 0); index.len()]);
    let memo = rebuilt(g, roots, HashMap::default(), &mut |g, op| facts.decide(g, op));
    (memo, facts.widths)
}

/// Returns the operands of an operation that has a simpler value where its index is far enough from the edges:
/// a comparison, minimum, maximum, remainder or `within` of integers.
pub fn question(g: &Graph, op: &Op) -> Option<(NodeId, NodeId)> {
    use BinaryOp::{Eq, Ge, Gt, Le, Lt, Max, Min, Ne, Rem};
    match *op {
        Op::Binary(Max | Min | Ge | Gt | Le | Lt | Eq | Ne | Rem, a, b) | Op::Within(a, b, _)
            if is_i64(g, a) =>
        {
            Some((a, b))
        }
        _ => None,
    }
}

/// Returns the divisor of a remainder in its simplest form. `max(n, 1)` becomes n if n is an extent of the index
/// space: code of an element only runs if there are elements, and then no extent is 0.
pub fn divisor(g: &Graph, n: NodeId, is_extent: impl Fn(NodeId) -> bool) -> NodeId {
    let extent = without_bound(g, n);
    if is_extent(extent) { extent } else { n }
}

/// Returns for how many indices next to an edge a form is negative, if it is -`missing` at the edge and grows by |k|
/// with each step away from it: ceil(missing / |k|).
fn width(missing: i64, k: i64) -> i64 {
    let step = k.saturating_abs();
    missing / step + i64::from(missing % step != 0)
}

/// What may be assumed about the indices: along each axis, `widths.0 <= index < extent - widths.1`. The widths grow
/// as operations are replaced.
pub struct Facts<'a> {
    index: &'a [NodeId],
    extents: Vec<Linear>,
    widths: Vec<BoundaryWidth>,
}

impl<'a> Facts<'a> {
    /// Returns the assumption that the indices of an element keep these widths from the ends of
    /// their axes.
    pub fn new(g: &Graph, index: &'a [NodeId], extents: &[NodeId], widths: Vec<BoundaryWidth>) -> Facts<'a> {
        Facts { index, extents: extents.iter().map(|n| Linear::of(g, *n)).collect(), widths }
    }

    /// Whether the boundary widths show that a form is not negative. The caller knows that the form cannot overflow.
    pub fn proves(&self, g: &Graph, form: &Linear) -> bool {
        self.widened(g, self.widths.clone(), form).is_some_and(|needed| needed == self.widths)
    }

    /// Returns the value of an operation on indices, and widens the boundary as far as this value
    /// needs.
    fn decide(&mut self, g: &mut Graph, op: &Op) -> Option<NodeId> {
        let (a, b) = question(g, op)?;
        let is_extent = |n: NodeId| self.extents.contains(&Linear::of(g, n));
        let b = if matches!(op, Op::Binary(BinaryOp::Rem, ..)) { divisor(g, b, is_extent) } else { b };
        let (first, second) = (Linear::of(g, a), Linear::of(g, b));
        if !self.is_small(g, &first) || !self.is_small(g, &second) {
            return None;
        }
        let asked = match op {
            Op::Binary(op, ..) => Some(*op),
            _ => None,
        };
        let mut choices = Vec::new();
        for decision in DECISIONS.iter().filter(|d| d.op == asked) {
            let is = match decision.is {
                Answer::First => a,
                Answer::Second => b,
                Answer::Difference => linear::sub(g, a, b),
                Answer::Truth(b) => g.lit(Lit::bool(b)),
            };
            choices.push((decision.when.iter().map(|form| form.of(&first, &second)).collect(), is));
        }
        self.choose(g, choices)
    }

    /// Takes the choice that needs the narrowest boundary to make its forms not negative, widens the boundary to
    /// that, and returns the node of the choice.
    fn choose(&mut self, g: &Graph, choices: Vec<(Vec<Linear>, NodeId)>) -> Option<NodeId> {
        let needs = |forms: &[Linear]| {
            forms.iter().try_fold(self.widths.clone(), |widths, form| self.widened(g, widths, form))
        };
        let possible = choices.iter().filter_map(|(forms, node)| Some((needs(forms)?, *node)));
        let (widths, node) = possible.min_by_key(|(m, _)| m.iter().map(|m| m.0 + m.1).sum::<i64>())?;
        self.widths = widths;
        Some(node)
    }

    /// Returns `widths`, widened so that a form is not negative. Returns `None` if the form has several indices, or
    /// if no constant width up to [`MOST`] suffices.
    ///
    /// ```text
    /// i - 2              least at i = 0:       -2, so the width before becomes 2
    /// n - 1 - (i + 3)    least at i = n - 1:   -3, so the width after becomes 3
    /// ```
    fn widened(
        &self,
        g: &Graph,
        mut widths: Vec<BoundaryWidth>,
        form: &Linear,
    ) -> Option<Vec<BoundaryWidth>> {
        let mut own = self.index.iter().enumerate().filter(|(_, i)| form.terms.contains_key(i));
        let Some((axis, i)) = own.next() else {
            return form.at_least(g, 0).then_some(widths);
        };
        let mut rest = form.clone();
        let k = rest.terms.remove(i)?;
        if k < 0 {
            // the form is least at the last index
            rest = rest.minus(&self.extents[axis].scaled(-k));
            rest.constant = rest.constant.wrapping_sub(k);
        }
        // if the constant is not small, `at_least` proves nothing below
        let missing = rest.constant.saturating_neg().max(0);
        let width = width(missing, k);
        if own.next().is_some() || width > MOST || !rest.at_least(g, -missing) {
            return None;
        }
        let side = if k > 0 { &mut widths[axis].0 } else { &mut widths[axis].1 };
        *side = width.max(*side);
        Some(widths)
    }

    /// Whether a form cannot overflow: its constant and its coefficients are small, and its terms are indices,
    /// lengths of arrays, and extents that are a single node, apart from a small constant.
    fn is_small(&self, g: &Graph, form: &Linear) -> bool {
        let is_extent = |t: &NodeId| {
            self.extents.iter().any(|e| {
                e.terms.len() == 1 && e.terms.get(t) == Some(&1) && e.constant.unsigned_abs() < 1 << 40
            })
        };
        let known = |t: &NodeId| self.index.contains(t) || matches!(g.op(*t), Op::Len(..)) || is_extent(t);
        form.constant.unsigned_abs() < 1 << 40
            && form.terms.iter().all(|(t, k)| k.unsigned_abs() < 1 << 6 && known(t))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::parse;
    use crate::passes::pipeline;
    use crate::schedule::facts::stencil::stencils;
    use crate::schedule::groups;

    /// The boundary widths of a function's only group, and the taps of its interior.
    fn of(text: &str) -> (Vec<BoundaryWidth>, Vec<Vec<i64>>) {
        let f = pipeline::run(&parse::parse(text).unwrap().remove(0), &mut |_, _| ()).unwrap();
        let fused = groups::fused_groups(&f).unwrap().remove(0);
        let mut g = f.graph.clone();
        let inner = Interior::of(&mut g, &fused);
        let found = stencils(&mut g, &fused.domain, &inner.arrays);
        let mut taps: Vec<_> = found.iter().flat_map(|s| s.taps.iter().cloned()).collect();
        taps.sort();
        (inner.widths, taps)
    }

    /// [`of`] for a vector of `n` elements, `body` at %i.
    fn vector(body: &str) -> (Vec<BoundaryWidth>, Vec<Vec<i64>>) {
        of(&format!(
            "func @f(%x: [f32], %k: i64) -> (r: [f32]) {{
  %n = len %x
  %last = sub %n, 1i64
  %n2 = add %n, %n
  %end = sub %n2, 1i64
  %r = generate %n (%i: i64) {{
    %b = sub %i, 2i64
    %a = add %i, 3i64
{body}    yield %r
  }}
  return %r
}}"
        ))
    }

    #[test]
    fn clamped() {
        let body = "    %l = max %b, 0i64
    %p = elem %x, %l
    %h = min %a, %last
    %q = elem %x, %h
    %r = add %p, %q
";
        assert_eq!(vector(body), (vec![(2, 3)], vec![vec![-2], vec![3]]));
    }

    #[test]
    fn mirrored() {
        let body = "    %o = sub -1i64, %b
    %l = max %b, %o
    %e = sub %end, %l
    %m = min %l, %e
    %p = elem %x, %m
    %h = sub %end, %a
    %s = min %a, %h
    %q = elem %x, %s
    %r = add %p, %q
";
        assert_eq!(vector(body), (vec![(2, 3)], vec![vec![-2], vec![3]]));
    }

    #[test]
    fn wrapped() {
        let body = "    %up = add %b, %n
    %below = lt %b, 0i64
    %s = select %below, %up, %b
    %p = elem %x, %s
    %m = rem %a, %n
    %q = elem %x, %m
    %back = add %up, 1i64
    %w = rem %back, %n
    %t = elem %x, %w
    %s1 = add %p, %q
    %r = add %s1, %t
";
        assert_eq!(vector(body), (vec![(2, 3)], vec![vec![-2], vec![-1], vec![3]]));
    }

    #[test]
    fn chosen() {
        let body = "    %c1 = ge %b, 0i64
    %c2 = lt %a, %n
    %c3 = ne %i, %last
    %c4 = eq %i, 0i64
    %c = and %c1, %c2
    %p = at %x, %b
    %q = at %x, %a
    %s = add %p, %q
    %t = select %c, %s, 0f32
    %u = select %c3, %t, %p
    %r = select %c4, 1f32, %u
";
        assert_eq!(vector(body), (vec![(2, 3)], vec![vec![-2], vec![3]]));
    }

    /// Nothing is replaced for an index that is shifted by a value of the call, nor for a test that holds in half of
    /// the vector or up to a distance beyond `MOST`.
    #[test]
    fn undecided() {
        let body = "    %j = add %i, %k
    %c = lt %j, %n
    %twice = mul %i, 2i64
    %d = lt %twice, %n
    %far = lt %i, 65i64
    %m = rem %i, 4i64
    %c1 = and %c, %d
    %c2 = and %c1, %far
    %s = select %c2, %m, %j
    %r = at %x, %s
";
        assert_eq!(vector(body), (vec![(0, 0)], vec![]));
    }

    #[test]
    fn larger_than_the_array() {
        let text = "func @f(%x: [[f32]]) -> (r: [[f32]]) {
  %n = len %x
  %n1 = len %x axis 1
  %last = sub %n, 1i64
  %last1 = sub %n1, 1i64
  %m = add %n, 3i64
  %m1 = add %n1, 1i64
  %r = generate %m, %m1 (%i: i64, %j: i64) {
    %b = sub %i, 1i64
    %l = max %b, 0i64
    %c = min %l, %last
    %o = min %j, %last1
    %p = elem %x, %c, %o
    yield %p
  }
  return %r
}";
        assert_eq!(of(text), (vec![(1, 2), (0, 1)], vec![vec![-1, 0]]));
    }
}
