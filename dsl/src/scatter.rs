//! Elements that go to destinations which are data: `scatter`, `scatter_reduce`, `histogram`.
//!
//! A destination's elements are found by sorting the destinations; equal ones keep the order of the elements.

use crate::axis::generate;
use crate::handle::{IntoScalar, SExp, VExp};
use crate::item::Item;
use crate::node;
use crate::reduce::FirstState;
use crate::results::{nodes_of, of_nodes};
use crate::scalar::cond;
use crate::segments::{first_where, inside, reduced};
use crate::sort::ordered;
use std::panic::Location;

/// What happens to elements whose destination is outside of the result.
#[derive(Clone, Copy, Debug)]
enum Outside {
    Recorded,
    Ignored,
    Clamped,
}

/// Where elements go: indices of the result, and what happens to those outside of it.
#[derive(Clone, Copy, Debug)]
pub struct Destinations {
    indices: VExp<i64>,
    outside: Outside,
}

impl From<VExp<i64>> for Destinations {
    /// Each index outside of the result leaves an error record.
    fn from(indices: VExp<i64>) -> Destinations {
        Destinations { indices, outside: Outside::Recorded }
    }
}

impl VExp<i64> {
    /// These indices as destinations of `scatter` and its kin; what goes outside of the result is left out.
    ///
    /// Cost: none.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |i: VExp<i64>| i.ignored().histogram(2);
    /// assert_eq!(call(f, [vector(&[0i64, 5, 1, -1, 1])]), [vector(&[1i64, 2])]);
    /// ```
    pub fn ignored(self) -> Destinations {
        Destinations { indices: self, outside: Outside::Ignored }
    }

    /// These indices as destinations of `scatter` and its kin; what is below 0 goes to the first element of
    /// the result, what is past the end to the last one.
    ///
    /// Cost: none.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |i: VExp<i64>| i.clamped().histogram(2);
    /// assert_eq!(call(f, [vector(&[0i64, 5, 1, -1, 1])]), [vector(&[2i64, 3])]);
    /// ```
    pub fn clamped(self) -> Destinations {
        Destinations { indices: self, outside: Outside::Clamped }
    }

    /// How many of these indices are 0, 1, .. n - 1. An index outside of that leaves an error record; see
    /// [`VExp::ignored`] and [`VExp::clamped`].
    ///
    /// Cost: [`VExp::argsort`] of the indices, and a search for each element of the result.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |i: VExp<i64>| i.histogram(3);
    /// assert_eq!(call(f, [vector(&[0i64, 2, 2])]), [vector(&[1i64, 0, 2])]);
    /// ```
    #[track_caller]
    pub fn histogram(self, n: impl IntoScalar<i64>) -> VExp<i64> {
        Destinations::from(self).histogram(n)
    }
}

impl Destinations {
    /// How many of these indices are 0, 1, .. n - 1: [`VExp::histogram`].
    ///
    /// Cost: that of [`VExp::histogram`].
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| (x * 4.0).floor().cast::<i64>().clamped().histogram(4);
    /// assert_eq!(call(f, [vector(&[0.1f32, 0.3, 0.26, 1.0])]), [vector(&[1i64, 2, 0, 1])]);
    /// ```
    #[track_caller]
    pub fn histogram(self, n: impl IntoScalar<i64>) -> VExp<i64> {
        let n = SExp::of(n.scalar_at(Location::caller()));
        let (_, firsts) = self.sorted(n);
        generate(n, |k| inside(firsts, k + 1) - inside(firsts, k))
    }

    /// The indices of the elements in the order of their destinations, those outside of the result behind all others,
    /// and how many elements have lower destinations than 0, 1, .. n.
    #[track_caller]
    fn sorted(self, n: SExp<i64>) -> (VExp<i64>, VExp<i64>) {
        let at = Location::caller();
        let keys = self.indices.map(|i| match self.outside {
            Outside::Recorded => cond(SExp::of(node::within(at, i.node(), n.node())), i, n),
            Outside::Ignored => cond(i.ge(0) & i.lt(n), i, n),
            Outside::Clamped => i.min(n - 1).max(0),
        });
        // they are all between 0 and n; where it is written so, the sort knows how many digits they have
        let keys = keys.map(|i| i.min(n).max(0)).materialize();
        let order = keys.argsort();
        let sorted = keys.gather(order).materialize();
        let firsts = generate(n + 1, |k| first_where(sorted.len(), |i| inside(sorted, i).ge(k)));
        (order, firsts.materialize())
    }
}

impl<T: Item> VExp<T> {
    /// A vector of n elements, of which `destinations[i]` is element i of this one, and the others are `default`: of
    /// several elements with one destination the last one counts. Both have one length, which is checked before the
    /// function runs. An index outside of the result leaves an error record; see [`VExp::ignored`] and
    /// [`VExp::clamped`].
    ///
    /// Cost: [`VExp::argsort`] of the destinations, a search for each element of the result, and a read of
    /// the elements that are there.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>, i: VExp<i64>| x.scatter(4, i, -1.0);
    /// let (x, i) = (vector(&[1.0f32, 2.0, 3.0]), vector(&[2i64, 0, 2]));
    /// assert_eq!(call(f, [x, i]), [vector(&[2.0f32, -1.0, 3.0, -1.0])]);
    /// ```
    #[track_caller]
    pub fn scatter(
        self,
        n: impl IntoScalar<i64>,
        destinations: impl Into<Destinations>,
        default: impl FirstState<T>,
    ) -> VExp<T> {
        let at = Location::caller();
        let (n, default) = (SExp::of(n.scalar_at(at)), SExp::of(default.state_at(at)));
        let (order, firsts) = destinations.into().sorted(n);
        let values: VExp<T> = of_nodes(&ordered(at, "scatter", order.node(), &nodes_of(self)));
        generate(n, |k| {
            let end = inside(firsts, k + 1);
            cond(end.gt(inside(firsts, k)), values.at(end - 1), default)
        })
    }

    /// A vector of n elements, of which element k is the reduction by `f` of the elements of this one whose
    /// destination is k, beginning with `init`: they are joined in the order of `docs/semantics.md` 5.1, of
    /// the sequence of their indices, so that group sums have the bits of [`VExp::reduce`] of each group
    /// alone. Both vectors have one length, which is checked before the function runs. An index outside of
    /// the result leaves an error record; see [`VExp::ignored`] and [`VExp::clamped`]. `f` must be
    /// associative and commutative up to rounding.
    ///
    /// Cost: [`VExp::argsort`] of the destinations, a search for each element of the result, and
    /// [`VExp::segmented_reduce`] of the elements in that order.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>, i: VExp<i64>| x.scatter_reduce(3, i, 0.0, |a, b| a + b);
    /// let (x, i) = (vector(&[1.0f32, 2.0, 3.0]), vector(&[2i64, 0, 2]));
    /// assert_eq!(call(f, [x, i]), [vector(&[2.0f32, 0.0, 4.0])]);
    /// ```
    #[track_caller]
    pub fn scatter_reduce(
        self,
        n: impl IntoScalar<i64>,
        destinations: impl Into<Destinations>,
        init: impl FirstState<T>,
        f: impl Fn(SExp<T>, SExp<T>) -> SExp<T>,
    ) -> VExp<T> {
        let at = Location::caller();
        let (n, init) = (SExp::of(n.scalar_at(at)), SExp::of(init.state_at(at)));
        let (order, firsts) = destinations.into().sorted(n);
        let values: VExp<T> = of_nodes(&ordered(at, "scatter_reduce", order.node(), &nodes_of(self)));
        let begins = firsts.slice(0, n);
        let lengths = firsts.slice(1, n + 1) - begins;
        reduced(at, values, (begins, lengths), init, f)
    }
}
