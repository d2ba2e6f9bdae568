//! Reductions of runs of equal keys: `reduce_by_key` (semantics 5.22), a composite of the compiler.

use crate::composite;
use crate::elem::Elem;
use crate::filtered::Filtered;
use crate::handle::{SExp, VExp};
use crate::item::Item;
use crate::node::NodeRef;
use crate::reduce::FirstState;
use crate::scope::Place;
use arraygpu_compiler::build::Composite;
use std::panic::Location;

/// The reductions of the runs that begin at these indices, of which there are so many, and behind these the initial
/// value. The last one ends before an index, if one is given, or at the end of the vector.
fn reduced<T: Item>(
    at: Place,
    (begins, count, end): (VExp<i64>, SExp<i64>, Option<SExp<i64>>),
    (values, init): (VExp<T>, NodeRef),
    f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>,
) -> VExp<T> {
    let more: Vec<NodeRef> = [begins.node(), count.node()].into_iter().chain(end.map(SExp::node)).collect();
    composite::joined_items(at, Composite::ReduceByKey, (values, init), &more, f)
}

impl<K: Elem> VExp<K> {
    /// The first key of each run of equal ones, as [`VExp::unique`] finds them, and the reduction of the run's
    /// elements of `values` by `f`, beginning with `init`: two vectors of one filter, which `zip_with` joins. Each
    /// run is reduced in the order of `docs/semantics.md` 5.1 from its own first element, and so has the bits of
    /// [`VExp::reduce`] of its elements alone; of keys that are sorted (`sort_by_key`) those of
    /// [`VExp::scatter_reduce`]. Both vectors have one length, which is checked before the function runs. `f` must be
    /// associative and commutative up to rounding. It stands outside of closures (E0312).
    ///
    /// Cost: that of [`VExp::filter`] for the keys, and that of [`VExp::segmented_reduce`] of the runs, without the
    /// launch that stores lengths; the last launch stores the values behind the last run, and reads nothing for
    /// these.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |keys: VExp<i32>, x: VExp<f32>| {
    ///     let (keys, sums) = keys.reduce_by_key(x, 0.0, |a, b| a + b);
    ///     (keys.filled(-1), sums.filled(0.0), sums.len())
    /// };
    /// let args = [vector(&[5i32, 5, 7, 5]), vector(&[1.0f32, 2.0, 3.0, 4.0])];
    /// let results = [vector(&[5i32, 7, 5, -1]), vector(&[3.0f32, 3.0, 4.0, 0.0]), scalar(3i64)];
    /// assert_eq!(call(f, args), results);
    /// ```
    #[track_caller]
    pub fn reduce_by_key<T: Item>(
        self,
        values: VExp<T>,
        init: impl FirstState<T>,
        f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>,
    ) -> (Filtered<K>, Filtered<T>) {
        let (at, init) = (Location::caller(), init.state_at(Location::caller()));
        let runs = self.unique();
        let values = reduced(at, (runs.order, runs.count, None), (values, init), f);
        (runs, Filtered { values, order: runs.order, count: runs.count })
    }
}

impl<K: Elem> Filtered<K> {
    /// The first key of each run of equal ones among the kept keys, and the reduction of the run's elements of
    /// `values`, which come from the same filter: [`VExp::reduce_by_key`] of vectors of the kept elements.
    ///
    /// Cost: that of [`Filtered::unique`] for the keys, and else that of [`VExp::reduce_by_key`].
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |keys: VExp<i64>| {
    ///     let kept = keys.filter(|k| k.ge(0));
    ///     let (keys, sums) = kept.reduce_by_key(kept.indices(), 0, |a, b| a + b);
    ///     keys.zip_with(sums, |k, s| 100 * k + s).filled(-1)
    /// };
    /// assert_eq!(call(f, [vector(&[5i64, -1, 5, 7])]), [vector(&[502i64, 703, -1, -1])]);
    /// ```
    #[track_caller]
    pub fn reduce_by_key<T: Item>(
        self,
        values: Filtered<T>,
        init: impl FirstState<T>,
        f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>,
    ) -> (Filtered<K>, Filtered<T>) {
        let (at, init) = (Location::caller(), init.state_at(Location::caller()));
        let values = self.of_the_same_filter("reduce_by_key", at, values);
        let (runs, among) = self.runs(at);
        let values = reduced(at, (among, runs.count, Some(self.count)), (values.values, init), f);
        (runs, Filtered { values, order: runs.order, count: runs.count })
    }
}
