//! Filters of vectors: `filter`, `partition`, `unique`, `run_lengths` (semantics 5.22).
//!
//! What is kept is at the front of an order of the elements, which the compiler makes.

use crate::axis::generate;
use crate::composite::composite;
use crate::elem::Elem;
use crate::filtered::Filtered;
use crate::handle::{SExp, VExp};
use crate::item::Item;
use crate::node::NodeRef;
use crate::results::{nodes_of, of_nodes};
use crate::scope::Place;
use crate::segments::inside;
use arraygpu_compiler::build::Composite;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::scalar::Ty;
use std::panic::Location;

impl<T: Item> VExp<T> {
    /// The elements for which the condition holds, in their order, from none to all of them. How many there are only
    /// the device knows, so the result is a [`Filtered`] and no vector: `filled` and `with_len` make one of it. A
    /// filter stands outside of closures (E0312).
    ///
    /// Cost: the condition for each element, which is stored or computed again, and a scan, whose last launch stores
    /// the elements in their order.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| {
    ///     let positive = x.filter(|v| v.gt(0.0));
    ///     (positive.filled(0.0), positive.len())
    /// };
    /// assert_eq!(call(f, [vector(&[1.0f32, -2.0, 3.0])]), [vector(&[1.0f32, 3.0, 0.0]), scalar(2i64)]);
    /// ```
    #[track_caller]
    pub fn filter(self, condition: impl FnOnce(SExp<T>) -> SExp<bool>) -> Filtered<T> {
        let is_kept = self.map(condition);
        kept(Location::caller(), Composite::Filter, &[is_kept.node()], self)
    }

    /// The elements for which the condition holds, then the others, both in their order; and the number of the first
    /// ones. It stands outside of closures (E0312).
    ///
    /// Cost: that of [`VExp::filter`].
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<i32>| x.partition(|v| v.gt(0));
    /// assert_eq!(call(f, [vector(&[-1i32, 2, -3, 4])]), [vector(&[2i32, 4, -1, -3]), scalar(2i64)]);
    /// ```
    #[track_caller]
    pub fn partition(self, condition: impl FnOnce(SExp<T>) -> SExp<bool>) -> (VExp<T>, SExp<i64>) {
        let is_kept = self.map(condition);
        let parts = kept(Location::caller(), Composite::Filter, &[is_kept.node()], self);
        (parts.values, parts.count)
    }
}

impl<T: Item> Filtered<T> {
    /// Those of the kept elements for which another condition holds. It is not computed of what is left out.
    ///
    /// Cost: that of [`VExp::filter`] of a vector as long as the one that they come from; one condition of both is
    /// cheaper.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<i64>| x.filter(|v| v.ne(0)).filter(|v| (12 / v).lt(4)).filled(0);
    /// assert_eq!(call(f, [vector(&[4i64, 0, 3, 6])]), [vector(&[4i64, 6, 0, 0])]);
    /// ```
    #[track_caller]
    pub fn filter(self, condition: impl FnOnce(SExp<T>) -> SExp<bool>) -> Filtered<T> {
        let is_kept = self.map(condition).values;
        self.among(Location::caller(), is_kept).0
    }

    /// Those of the kept elements for which a condition holds, which does not hold of what is left out; and where
    /// they stand among the kept elements.
    fn among(self, at: Place, is_kept: VExp<bool>) -> (Filtered<T>, VExp<i64>) {
        // the places in the vector from which the elements come are kept like these
        let srcs = [nodes_of(self.values), vec![self.order.node()]].concat();
        let (all, count) = kept_of(at, Composite::Filter, &[is_kept.node()], &srcs);
        let (values, orders) = all.split_at(srcs.len() - 1);
        let [own, among] = [0, 1].map(|k| VExp::of(orders[k]));
        (Filtered { values: of_nodes(values), order: own, count }, among)
    }
}

/// What a composite keeps of a vector, given its first operands.
fn kept<T: Item>(at: Place, which: Composite, first: &[NodeRef], values: VExp<T>) -> Filtered<T> {
    let srcs = nodes_of(values);
    let (all, count) = kept_of(at, which, first, &srcs);
    let (values, order) = all.split_at(srcs.len());
    Filtered { values: of_nodes(values), order: VExp::of(order[0]), count }
}

/// What a composite keeps of vectors: the values, their order, and their number.
fn kept_of(at: Place, which: Composite, first: &[NodeRef], srcs: &[NodeRef]) -> (Vec<NodeRef>, SExp<i64>) {
    let order = [Type::vector(Ty::I64), Type::scalar(Ty::I64)];
    let types: Vec<Type> = srcs.iter().map(|x| x.ty).chain(order).collect();
    let mut all = composite(at, which, [first, srcs].concat(), None, &types);
    let count = all.pop().map(SExp::of).expect("the number is the last value");
    (all, count)
}

/// The lengths of so many runs that begin at these indices. The last one ends before an index, if one is given, or
/// at the end of the vector.
fn lengths(at: Place, (begins, count): (VExp<i64>, SExp<i64>), end: Vec<NodeRef>) -> VExp<i64> {
    let operands = [vec![begins.node(), count.node()], end].concat();
    VExp::of(composite(at, Composite::RunLengths, operands, None, &[Type::vector(Ty::I64)])[0])
}

impl<T: Elem> VExp<T> {
    /// The first element of each run of equal ones. As by `==`, -0 equals 0 and no NaN equals another one, so that
    /// each is a run of its own. It stands outside of closures (E0312).
    ///
    /// Cost: that of [`VExp::filter`].
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<i32>| x.unique().filled(0);
    /// assert_eq!(call(f, [vector(&[5i32, 5, 7, 5])]), [vector(&[5i32, 7, 5, 0])]);
    /// ```
    #[track_caller]
    pub fn unique(self) -> Filtered<T> {
        kept(Location::caller(), Composite::Unique, &[], self)
    }

    /// The first element of each run of equal ones, as [`VExp::unique`] finds them, and how many elements each run
    /// has: the run-length encoding of the vector. It stands outside of closures (E0312).
    ///
    /// Cost: that of [`VExp::filter`].
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<i32>| {
    ///     let (values, lengths) = x.run_lengths();
    ///     (values.filled(0), lengths.filled(0), lengths.len())
    /// };
    /// let results = [vector(&[5i32, 7, 5, 0]), vector(&[2i64, 1, 1, 0]), scalar(3i64)];
    /// assert_eq!(call(f, [vector(&[5i32, 5, 7, 5])]), results);
    /// ```
    #[track_caller]
    pub fn run_lengths(self) -> (Filtered<T>, Filtered<i64>) {
        let runs = self.unique();
        let values = lengths(Location::caller(), (runs.order, runs.count), Vec::new());
        (runs, Filtered { values, order: runs.order, count: runs.count })
    }
}

impl<T: Elem> Filtered<T> {
    /// The first element of each run of equal ones among the kept elements, as [`VExp::unique`] finds them.
    ///
    /// Cost: that of [`VExp::filter`] of a vector as long as the one that they come from.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<i32>| x.filter(|v| v.ne(0)).unique().filled(0);
    /// assert_eq!(call(f, [vector(&[5i32, 0, 5, 7])]), [vector(&[5i32, 7, 0, 0])]);
    /// ```
    #[track_caller]
    pub fn unique(self) -> Filtered<T> {
        self.run_lengths().0
    }

    /// The first element of each run of equal ones among the kept elements, and how many kept elements each run has.
    ///
    /// Cost: that of [`Filtered::unique`].
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<i32>| x.filter(|v| v.ne(0)).run_lengths().1.filled(0);
    /// assert_eq!(call(f, [vector(&[5i32, 0, 5, 7])]), [vector(&[2i64, 1, 0, 0])]);
    /// ```
    #[track_caller]
    pub fn run_lengths(self) -> (Filtered<T>, Filtered<i64>) {
        let at = Location::caller();
        let (runs, among) = self.runs(at);
        let lengths = lengths(at, (among, runs.count), vec![self.count.node()]);
        (runs, Filtered { values: lengths, order: runs.order, count: runs.count })
    }

    /// The first element of each run among the kept elements, and where it stands among these.
    pub(crate) fn runs(self, at: Place) -> (Filtered<T>, VExp<i64>) {
        let begins = generate(self.values.len(), |i| {
            let before = inside(self.values, (i - 1).max(0));
            i.lt(self.count) & (i.eq(0) | inside(self.values, i).ne(before))
        });
        self.among(at, begins)
    }
}
