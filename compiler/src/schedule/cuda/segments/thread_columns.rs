//! The columns that a thread reduces together: neighbours, which vectors load, or columns that are as far apart as
//! its warp or block is wide. And the versions of a reduction's code: without tests of reads for calls in which all
//! reads are in bounds, and without clamps for columns of the interior (multi-versioning).

use super::job::{Job, LONG_ELEMENT, depends_on};
use crate::core::simplify::simplify;
use crate::core::{NodeId, Op, linear};
use crate::error::{Error, Result};
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::divided_number::Walk;
use crate::schedule::element::in_bounds;
use crate::schedule::element::lower::Lower;
use crate::schedule::element::nested_loop::read;
use crate::schedule::element::reduction::each_accumulator;
use crate::schedule::facts::along::Along;
use crate::schedule::groups::FusedGroup;

/// The number of segments of a thread that are no neighbours, and the maximum number of words of their accumulators
/// for each.
const COARSENED: i64 = 4;
const MAX_COARSENED_WORDS: usize = 2;

/// Columns that a thread reduces together.
pub(super) struct ThreadColumns {
    /// Their indices.
    pub places: Vec<Expr>,
    /// The nodes of their indices.
    pub nodes: Vec<NodeId>,
    /// The nodes whose values are known.
    pub known: Vec<(NodeId, Expr)>,
}

/// A function that writes the code of a job's elements, and returns some values that it computes.
type OfElements<'c> = dyn FnMut(&mut Lower, &Job, &mut Vec<Stmt>) -> Result<Vec<Expr>> + 'c;

impl<'a> Job<'a> {
    /// Gives each thread several columns that are `spacing` apart, if vectors load no neighbours, elements lie along
    /// several axes, whose indices the columns share, and columns are windows, whose elements are read from caches.
    pub(super) fn coarsen(&mut self, l: &mut Lower, spacing: i64) {
        let words: usize = each_accumulator(&self.reductions).map(|r| r.ty.size().div_ceil(4)).sum();
        let is_simple = words <= MAX_COARSENED_WORDS
            && self.operations < LONG_ELEMENT
            && !self.reductions.iter().any(|r| r.is_counted() || r.is_general(l.launch));
        if self.v > 1 || self.s.along == Along::Rows || self.stored.is_some() || !is_simple {
            return;
        }
        if self.of_element.is_some() && self.has_windows(l) {
            let v = COARSENED / words as i64;
            (self.v, self.spacing) = (v, spacing);
            if let Some((_, untested)) = &mut self.in_bounds {
                (untested.v, untested.spacing) = (v, spacing);
            }
        }
    }

    /// Whether segments overlap: an index of a read depends on both the segment and the element. Otherwise each
    /// segment has elements of its own, and the launch takes the time to read them.
    fn has_windows(&self, l: &mut Lower) -> bool {
        let (_, k) = l.launch.g.fresh_var(Ty::I64);
        let roots = self.elements(l, k);
        let depends = |i: &NodeId| depends_on(l.launch, *i, k) && depends_on(l.launch, *i, self.s.index);
        let is_of_window = |n: NodeId| match l.launch.g.op(n) {
            Op::Elem(_, at) | Op::At(_, at) => at.iter().any(depends),
            _ => false,
        };
        l.launch.g.reachable(roots).into_iter().any(is_of_window)
    }

    /// The distance between the first segments of neighbouring lanes.
    pub(super) fn lane_stride(&self) -> i64 {
        if self.spacing > 1 { 1 } else { self.v }
    }

    /// Returns `count` columns of a thread, from the one with the index `first` on. Neighbours exist; in place of
    /// a column that is beyond the last one, another one is taken, whose results are not stored.
    pub(super) fn columns(
        &self,
        l: &mut Lower,
        first: &Expr,
        count: usize,
        out: &mut Vec<Stmt>,
    ) -> ThreadColumns {
        let walk = Walk::new(l, self.of_segment.as_ref(), self.spacing, out);
        if self.spacing > 1 {
            let last = l.launch.count().minus(Expr::int(1));
            let all = self.walked(l, &walk, (first, &last), (count as i64, self.spacing), out);
            let mut columns = ThreadColumns { places: Vec::new(), nodes: Vec::new(), known: Vec::new() };
            for (place, indices) in all {
                let (_, node) = l.launch.g.fresh_var(Ty::I64);
                columns.known.push((node, place.clone()));
                columns.known.extend(walk.known(l, node, &indices));
                columns.nodes.push(node);
                columns.places.push(place);
            }
            return columns;
        }
        let (_, node) = l.launch.g.fresh_var(Ty::I64);
        let (mut nodes, mut known) = (Vec::new(), vec![(node, first.clone())]);
        let mut indices = walk.first(l, first, out);
        for q in 0..count {
            if q > 0 {
                walk.next(l, &mut indices, None, out);
            }
            let q = l.launch.g.lit(Lit::i64(q as i64));
            let segment = linear::add(&mut l.launch.g, node, q);
            known.extend(walk.known(l, segment, &indices));
            nodes.push(segment);
        }
        let places = (0..count as i64).map(|q| first.clone().plus(Expr::int(q))).collect();
        ThreadColumns { places, nodes, known }
    }

    /// Adds a version for columns of the interior, if reads are clamped or chosen by indices, and elements are short.
    pub(super) fn add_interior(&mut self, l: &mut Lower, fused: &'a FusedGroup) {
        if self.s.along == Along::Rows || self.stored.is_some() || self.operations >= LONG_ELEMENT {
            return;
        }
        if let Some(found) = in_bounds::interior(l.launch, &self.s.nested)
            && let Some(reductions) = self.replaced(l, &found.roots)
        {
            let mut inside = Job::of(l, self.s, fused, reductions, self.v);
            inside.spacing = self.spacing;
            self.interior = Some((found.condition, Box::new(inside)));
        }
    }

    /// Writes code of elements, and returns values of these types that it computes. There is a version without clamps
    /// for threads all of whose `columns` lie in the interior, and one without tests of reads for calls in which all
    /// reads are in bounds.
    pub(super) fn versions(
        &self,
        l: &mut Lower,
        columns: Option<&ThreadColumns>,
        types: &[Ty],
        code: &mut OfElements,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let mut versions = Vec::new();
        if let (Some((condition, inside)), Some(columns)) = (&self.interior, columns) {
            let mut all = l.launch.g.lit(Lit::bool(true));
            for column in &columns.nodes {
                let own = l.launch.replace(*condition, self.s.index, *column);
                all = simplify(&mut l.launch.g, Op::Binary(BinaryOp::And, all, own));
            }
            // the reads in the condition leave no records
            let all = l.conditions(&columns.known, &[all], out)?.remove(0);
            versions.push((all, &**inside));
        }
        versions.extend(self.in_bounds.iter().map(|(condition, untested)| (condition.clone(), &**untested)));
        if versions.is_empty() {
            return code(l, self, out);
        }
        let values: Vec<Reg> = types.iter().map(|ty| l.k.reg("value", *ty)).collect();
        out.extend(values.iter().zip(types).map(|(r, ty)| Stmt::Var(*r, Expr::Lit(Lit::zero(*ty)))));
        let mut version = |l: &mut Lower, job: &Job| {
            let mut body = Vec::new();
            let computed = code(l, job, &mut body)?;
            body.extend(values.iter().zip(computed).map(|(r, e)| Stmt::Assign(*r, e)));
            Ok::<_, Error>(body)
        };
        let fast: Vec<Vec<Stmt>> = versions.iter().map(|(_, job)| version(l, job)).collect::<Result<_>>()?;
        let mut rest = version(l, self)?;
        for ((condition, _), fast) in versions.into_iter().zip(fast).rev() {
            rest = vec![Stmt::If(condition, fast, rest)];
        }
        out.append(&mut rest);
        Ok(read(&values))
    }
}
