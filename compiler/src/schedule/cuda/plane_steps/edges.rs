//! Whether several steps in one launch are right at the edges of a volume. They are if reads beyond an edge give the
//! element at the edge (clamped), a constant, or the element from the other end of the axis (periodic). Anything
//! else, such as a mirror image or elements at the edges that keep their values, needs single steps.

use crate::core::{NodeId, Op, linear};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::boundary::halo::Halo;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::boundary::predicated::{self, Domain};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::element::opened;
use crate::schedule::facts::stencil::Stencil;
use crate::schedule::groups::FusedGroup;

/// The distance beyond an edge up to which indices are tested for wrapping around.
const FAR: i64 = 64;

/// Returns for each axis whether reads beyond its edges wrap around to its other end. Returns `None` if arrays
/// disagree about an axis, or if reads beyond an edge are neither clamped, constant nor wrapped.
pub fn wrapped(
    l: &mut LaunchContext,
    (fused, inner): (&FusedGroup, &Interior),
    stencils: &[Stencil],
) -> Option<[bool; 3]> {
    let halo = Halo::of(l, fused, inner)?;
    let index: Vec<NodeId> = fused.domain.iter().map(|_| l.g.fresh_var(Ty::I64).1).collect();
    let mut wrapped = [false; 3];
    for (axis, wrapped) in wrapped.iter_mut().enumerate() {
        let mut found = Vec::new();
        for s in stencils.iter().filter(|s| s.reach(axis) != (0, 0)) {
            found.push(match halo.has_values(s.array) {
                false => false,
                true if is_clamped(l, &halo, s.array, (&index, axis)) => false,
                true if goes_on(l, &halo, s, (&index, axis)) => true,
                true => return None,
            });
        }
        *wrapped = found.contains(&true);
        if *wrapped && found.contains(&false) {
            return None;
        }
    }
    // beyond an edge that wraps, an element is computed with an index outside the volume, so its value may depend on
    // its index only through the elements that it reads
    let roots: Vec<NodeId> = inner.arrays.iter().map(|x| opened(&mut l.g, *x, &index)).collect();
    let is_same = |axis: &NodeId| roots.iter().all(|n| predicated::only_reads_by(&l.g, *n, *axis));
    let all = index.iter().zip(wrapped).all(|(axis, wrapped)| !wrapped || is_same(axis));
    all.then_some(wrapped)
}

/// Whether every element that is read beyond the edges of an axis is the one at the edge: the index is
/// `max(0, min(i, n - 1))`, where either bound may be missing. Constants may be read as well.
fn is_clamped(l: &mut LaunchContext, halo: &Halo, array: NodeId, (index, axis): (&[NodeId], usize)) -> bool {
    let Some(value) = halo.value(l, array, index) else { return false };
    let extent = l.extent(array, axis as u8);
    let [zero, one] = [0, 1].map(|k| l.g.lit(Lit::i64(k)));
    let last = linear::sub(&mut l.g, extent, one);
    // the halo clamps its reads; the program may have clamped the index already, at one end or both
    let inner = |n: NodeId| match *l.g.op(n) {
        Op::Binary(BinaryOp::Min, a, b) if b == last => Some(a),
        Op::Binary(BinaryOp::Min, a, b) if a == last => Some(b),
        Op::Binary(BinaryOp::Max, a, b) if b == zero => Some(a),
        Op::Binary(BinaryOp::Max, a, b) if a == zero => Some(b),
        _ => None,
    };
    l.g.reachable([value]).into_iter().all(|n| match l.g.op(n) {
        Op::Elem(x, at) if *x == array => {
            std::iter::successors(Some(at[axis]), |n| inner(*n)).last() == Some(index[axis])
        }
        _ => true,
    })
}

/// Whether reads beyond the edges of an axis give the elements from its other end.
fn goes_on(l: &mut LaunchContext, halo: &Halo, s: &Stencil, (index, axis): (&[NodeId], usize)) -> bool {
    let extents: Vec<NodeId> = (0..index.len() as u8).map(|a| l.extent(s.array, a)).collect();
    let (first, last) = s.reach(axis);
    for by in [first, last].into_iter().filter(|by| *by != 0) {
        let mut at = index.to_vec();
        let by = l.g.lit(Lit::i64(by));
        at[axis] = linear::add(&mut l.g, at[axis], by);
        let Some(value) = halo.value(l, s.array, &at) else { return false };
        let domain =
            Domain { index, extents: &extents, reach: &|_| vec![(-FAR, FAR); index.len()], may_wrap: true };
        let found = predicated::element(&mut l.g, &domain, value);
        if !found.is_some_and(|e| e.wrapped[axis]) {
            return false;
        }
    }
    true
}
