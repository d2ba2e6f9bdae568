//! Estimates how much of an array a kernel reads, as a set of regions. A region says for each axis of the array which
//! indices a read has over all elements of the kernel:
//!
//! ```text
//! x[i + 1], i < n           Run: n indices
//! x[3 i + 2], i < n         Run: n indices with the step 3 and the remainder 2 (one channel of three)
//! x[k + 1], k a scalar      One: a single index
//! x[i, i + 1]               Along: the second index goes with the first one (a diagonal)
//! ```
//!
//! A run that is longer than the axis, as of an array that is a part of a joined one, reads that axis and no more:
//! reads are in bounds, so the other indices of the kernel read something else.
//!
//! Regions that differ by constant distances only count once, so that a stencil reads its array once. Regions without
//! common elements count each: planes 0, 1 and 2 of an array, or different channels. A single element counts beside
//! any other region.

use crate::core::linear::Linear;
use crate::core::{Graph, NodeId, Op, Var};
use indexmap::IndexMap;

/// One axis of a region.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Axis {
    /// A variable over this extent, times this factor, plus these terms. The last number is the remainder of the
    /// constant by the factor, which tells channels apart.
    Run(NodeId, i64, Vec<(NodeId, i64)>, i64),
    /// One index: its terms and its constant.
    One(Vec<(NodeId, i64)>, i64),
    /// The variable of this earlier axis, times this factor, plus these terms.
    Along(usize, i64, Vec<(NodeId, i64)>),
}

/// The part of an array that one read of a kernel covers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region(Vec<Axis>);

impl Region {
    /// Returns the region that indices cover, or None if it is not known. `of_var` returns the
    /// extent that a variable runs over.
    pub fn of(g: &Graph, index: &[NodeId], of_var: impl Fn(Var) -> Option<NodeId>) -> Option<Region> {
        let (mut axes, mut used) = (Vec::new(), Vec::<(Var, usize)>::new());
        for i in index {
            let form = Linear::of(g, *i);
            let mut terms: Vec<(NodeId, i64)> = form.terms.iter().map(|(t, k)| (*t, *k)).collect();
            let Some(at) = terms.iter().position(|(n, _)| !g.is_closed(*n)) else {
                axes.push(Axis::One(terms, form.constant));
                continue;
            };
            let (n, k) = terms.remove(at);
            let Op::Var(v, _) = g.op(n) else { return None };
            let extent = of_var(*v)?;
            let closed = terms.iter().all(|(n, _)| g.is_closed(*n));
            let step = k.checked_abs().filter(|k| *k > 0)?;
            if !closed || !g.is_closed(extent) {
                return None;
            }
            match used.iter().find(|(known, _)| known == v) {
                Some((_, axis)) => axes.push(Axis::Along(*axis, k, terms)),
                None => {
                    used.push((*v, axes.len()));
                    axes.push(Axis::Run(extent, k, terms, form.constant.rem_euclid(step)));
                }
            }
        }
        Some(Region(axes))
    }

    /// Whether the region contains the other one. The array has the extents `whole`.
    fn contains(&self, other: &Region, whole: &[NodeId]) -> bool {
        let of_axis = |((own, other), n): ((&Axis, &Axis), &NodeId)| match own {
            Axis::Run(extent, 1 | -1, ..) if extent == n => true,
            own => own == other,
        };
        self.0.iter().zip(&other.0).zip(whole).all(of_axis)
    }

    /// Whether both regions count: they have no element in common, or one of them is a single element.
    fn is_apart(&self, other: &Region) -> bool {
        let is_element = |of: &Region| of.0.iter().all(|axis| matches!(axis, Axis::One(..)));
        let of_axis = |pair: (&Axis, &Axis)| match pair {
            (Axis::One(a, i), Axis::One(b, j)) => a == b && i != j,
            (Axis::Run(_, k, a, i), Axis::Run(_, l, b, j)) => k == l && a == b && i != j,
            _ => false,
        };
        is_element(self) || is_element(other) || self.0.iter().zip(&other.0).any(of_axis)
    }

    /// Returns the region without what is outside of the array's extents `whole`.
    fn inside(mut self, g: &Graph, whole: &[NodeId]) -> Region {
        for (axis, n) in self.0.iter_mut().zip(whole) {
            let Axis::Run(extent, ..) = axis else { continue };
            let (run, all) = (Linear::of(g, *extent), Linear::of(g, *n));
            if run.cannot_wrap(g) && all.cannot_wrap(g) && run.minus(&all).at_least(g, 0) {
                *extent = *n;
            }
        }
        self
    }

    /// Returns the extents of the region.
    fn extents(&self) -> Vec<NodeId> {
        let extent = |axis: &Axis| if let Axis::Run(extent, ..) = axis { Some(*extent) } else { None };
        self.0.iter().filter_map(extent).collect()
    }
}

/// The regions of all arrays that are read; None for one that is not known.
#[derive(Default, Debug)]
pub struct Reads(IndexMap<NodeId, Vec<Option<Region>>>);

impl Reads {
    /// Adds a read.
    pub fn add(&mut self, array: NodeId, region: Option<Region>) {
        self.0.entry(array).or_default().push(region);
    }

    /// Returns the arrays that are read.
    pub fn arrays(&self) -> impl Iterator<Item = NodeId> {
        self.0.keys().copied()
    }

    /// Returns the extents of the regions of an array with the extents `whole` that are read: one
    /// region, or several that are apart. None stands for all of the array.
    pub fn regions(&self, g: &Graph, array: NodeId, whole: &[NodeId]) -> Option<Vec<Vec<NodeId>>> {
        let mut kept: Vec<Region> = Vec::new();
        for region in self.0.get(&array)? {
            let region = region.clone()?.inside(g, whole);
            if kept.iter().any(|k| k.contains(&region, whole)) {
                continue;
            }
            kept.retain(|k| !region.contains(k, whole));
            kept.push(region);
        }
        let apart = kept.iter().enumerate().all(|(i, a)| kept[..i].iter().all(|b| a.is_apart(b)));
        apart.then(|| kept.iter().map(|r| r.extents()).collect())
    }
}
