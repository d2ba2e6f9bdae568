//! Whether several steps in one launch are right at the edges of a volume: beyond an edge, elements must read what
//! the first or last plane, row or column has, or a constant, or the elements of the other end. If elements at the
//! edges are computed in another way, for example kept as they are, the launch makes single steps.

use crate::core::{NodeId, Op, linear};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::boundary::halo::Halo;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::boundary::predicated::{self, Domain};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::element::opened;
use crate::schedule::facts::stencil::Stencil;
use crate::schedule::groups::FusedGroup;

/// How far beyond an edge the indices of reads are examined.
const FAR: i64 = 64;

/// Returns for each axis whether reads beyond its edges go on at the other end. Returns `None` if arrays do not agree
/// on that, or if elements read something else there, such as a mirror image.
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
    // beyond such an edge, blocks compute the other end's elements, whose values so must not depend on their place
    let roots: Vec<NodeId> = inner.arrays.iter().map(|x| opened(&mut l.g, *x, &index)).collect();
    let is_same = |axis: &NodeId| roots.iter().all(|n| predicated::only_reads_by(&l.g, *n, *axis));
    let all = index.iter().zip(wrapped).all(|(axis, wrapped)| !wrapped || is_same(axis));
    all.then_some(wrapped)
}

/// Whether reads beyond the edges of an axis that are reads of elements are those of the element at the edge.
fn is_clamped(l: &mut LaunchContext, halo: &Halo, array: NodeId, (index, axis): (&[NodeId], usize)) -> bool {
    let Some(value) = halo.value(l, array, index) else { return false };
    let extent = l.extent(array, axis as u8);
    let [zero, one] = [0, 1].map(|k| l.g.lit(Lit::i64(k)));
    let last = linear::sub(&mut l.g, extent, one);
    // a halo's reads are clamped; the program may have clamped them before, at one side or at both
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

/// Whether reads beyond the edges of an axis are those of the elements at its other end.
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
