//! Filters of vectors: `filter`, `partition`, `unique`, `run_lengths` (semantics 5.22).
//!
//! What is kept is at the front of an order of the elements: that of a sort by whether they are left out.

use crate::axis::generate;
use crate::elem::Elem;
use crate::filtered::Filtered;
use crate::handle::{SExp, VExp};
use crate::item::Item;
use crate::results::{nodes_of, of_nodes};
use crate::scalar::cond;
use crate::scope::Place;
use crate::segments::inside;
use crate::sort::ordered;
use std::panic::Location;

/// An order of the elements of a vector in which those that are kept come first, and how many these are.
#[track_caller]
fn kept_first(is_kept: VExp<bool>) -> (VExp<i64>, SExp<i64>) {
    let count = is_kept.map(|kept| kept.cast::<i64>()).sum();
    (is_kept.map(|kept| !kept).argsort(), count)
}

impl<T: Item> VExp<T> {
    /// The elements for which the condition holds, in their order. A filter stands outside of closures.
    ///
    /// Cost: the condition for each element, which is stored, and a scan, whose last launch stores the elements in their
    /// order.
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
        kept(Location::caller(), "filter", self, self.map(condition))
    }

    /// The elements for which the condition holds, then the others, both in their order; and the number of the
    /// first ones. It stands outside of closures.
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
        let parts = kept(Location::caller(), "partition", self, self.map(condition));
        (parts.values, parts.count)
    }
}

impl<T: Item> Filtered<T> {
    /// Those of the kept elements for which another condition holds. It is not computed of what is left out.
    ///
    /// Cost: that of [`VExp::filter`] of a vector as long as the one that they come from; one condition of both is cheaper.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<i64>| x.filter(|v| v.ne(0)).filter(|v| (12 / v).lt(4)).filled(0);
    /// assert_eq!(call(f, [vector(&[4i64, 0, 3, 6])]), [vector(&[4i64, 6, 0, 0])]);
    /// ```
    #[track_caller]
    pub fn filter(self, condition: impl FnOnce(SExp<T>) -> SExp<bool>) -> Filtered<T> {
        let at = Location::caller();
        self.among("filter", kept(at, "filter", self.values, self.map(condition).values))
    }

    /// What is kept of these elements, given what is kept of the vector of them.
    #[track_caller]
    fn among<U: Item>(self, construct: &'static str, kept: Filtered<U>) -> Filtered<U> {
        let order = ordered(Location::caller(), construct, kept.order.node(), &[self.order.node()]);
        Filtered { order: of_nodes(&order), ..kept }
    }
}

/// What is kept of a vector.
#[track_caller]
fn kept<T: Item>(at: Place, construct: &'static str, values: VExp<T>, is_kept: VExp<bool>) -> Filtered<T> {
    let (order, count) = kept_first(is_kept);
    let values = of_nodes(&ordered(at, construct, order.node(), &nodes_of(values)));
    Filtered { values, order, count }
}

/// The first elements of the runs of a vector, or of the elements of it for which `is_there` holds, which stand first.
#[track_caller]
fn runs<T: Elem>(
    construct: &'static str,
    x: VExp<T>,
    is_there: impl FnOnce(SExp<i64>, SExp<bool>) -> SExp<bool>,
) -> Filtered<T> {
    let begins = generate(x.len(), |i| {
        let before = inside(x, (i - 1).max(0));
        is_there(i, i.eq(0) | inside(x, i).ne(before))
    });
    kept(Location::caller(), construct, x, begins)
}

/// The lengths of runs of so many elements.
#[track_caller]
fn lengths<T: Elem>(runs: Filtered<T>, count: SExp<i64>) -> Filtered<i64> {
    let n = runs.order.len();
    let values = generate(n, |k| {
        let has_next = (k + 1).lt(runs.count);
        let end = cond(has_next, inside(runs.order, (k + 1).min(n - 1)), count);
        end - inside(runs.order, k)
    });
    Filtered { values, order: runs.order, count: runs.count }
}

impl<T: Elem> VExp<T> {
    /// The first element of each run of equal ones. As by `==`, -0 equals 0 and no NaN equals another one, so that each
    /// is a run of its own. It stands outside of closures.
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
        runs("unique", self, |_, begins| begins)
    }

    /// The first element of each run of equal ones, as [`VExp::unique`] finds them, and how many elements each run has:
    /// the run-length encoding of the vector. It stands outside of closures.
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
        (runs, lengths(runs, self.len()))
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
        let runs = runs("run_lengths", self.values, |i, begins| i.lt(self.count) & begins);
        let lengths = lengths(runs, self.count);
        (self.among("run_lengths", runs), self.among("run_lengths", lengths))
    }
}
