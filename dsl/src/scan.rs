//! Scans of vectors: the partial results of a reduction (semantics 5.18).

use crate::composite;
use crate::handle::{SExp, VExp};
use crate::item::Item;
use crate::reduce::FirstState;
use crate::results::{nodes_of, of_nodes};
use crate::scope::Place;
use arraygpu_compiler::build::Composite;
use std::panic::Location;

fn scan<T: Item>(
    at: Place,
    which: Composite,
    (x, init): (VExp<T>, impl FirstState<T>),
    f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>,
) -> VExp<T> {
    let init = init.state_at(at);
    let join = |a: &[_], b: &[_]| nodes_of(f(of_nodes(a), of_nodes(b)));
    of_nodes(&composite::joined(at, which, (&nodes_of(x), T::split(&init)), &[], join))
}

/// Scans.
impl<T: Item> VExp<T> {
    /// The vector of the partial results of a reduction: element i joins `init` and the elements up to and with i
    /// by `f`, always a part of the vector with the part that follows it, in the fixed order of
    /// `docs/semantics.md` 5.18. `f` must be associative up to rounding, which is not checked; it need not be
    /// commutative. From the last element on it is `x.reverse().scan(init, f).reverse()`. A scan stands outside of
    /// closures.
    ///
    /// Cost: three launches, which compute each element twice, or store it first where that costs more, and
    /// store the result; on one thread of a CPU one launch, which computes each element once. If the operator
    /// or an element may leave an error record, up to twelve launches.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.scan(0.0, |a, b| a + b);
    /// assert_eq!(call(f, [vector(&[1.0f32, 2.0, 3.0])]), [vector(&[1.0f32, 3.0, 6.0])]);
    /// ```
    #[track_caller]
    pub fn scan(self, init: impl FirstState<T>, f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>) -> VExp<T> {
        scan(Location::caller(), Composite::Scan, (self, init), f)
    }

    /// [`Self::scan`] without the element itself: the first element is `init`, element i is element i - 1 of the
    /// scan.
    ///
    /// Cost: that of the scan.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<i64>| x.scan_exclusive(0, |a, b| a + b);
    /// assert_eq!(call(f, [vector(&[1i64, 2, 3])]), [vector(&[0i64, 1, 3])]);
    /// ```
    #[track_caller]
    pub fn scan_exclusive(
        self,
        init: impl FirstState<T>,
        f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>,
    ) -> VExp<T> {
        scan(Location::caller(), Composite::ScanExclusive, (self, init), f)
    }
}
