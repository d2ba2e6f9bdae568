//! Reductions, scans and folds of tuples: of the elements of several arrays, with several accumulators
//! (semantics 5.14, 5.17, 5.18).

use crate::composite;
use crate::handle::{IntoScalar, MExp, SExp, TExp, VExp};
use crate::item::Item;
use crate::joined::{self, Order};
use crate::node::NodeRef;
use crate::rank::{Rank1, Rank2, Rank3};
use crate::results::{Results, Scalars, each_tuple, nodes_of, of_nodes};
use crate::scalars::LoopState;
use crate::scope::Place;
use arraygpu_compiler::build::Composite;
use std::panic::Location;

/// The initial values of a tuple: for each component a scalar expression, a constant, or a tuple of
/// them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand for `{S}`",
    label = "expected `{S}`",
    note = "an initial value, or an arm of `if_else`, has a scalar expression, or a constant of its type, for each component"
)]
pub trait IntoScalars<S> {
    #[doc(hidden)]
    fn scalars_at(self, at: Place, out: &mut Vec<NodeRef>);
}

#[diagnostic::do_not_recommend]
impl<T: Item, X: IntoScalar<T>> IntoScalars<SExp<T>> for X {
    fn scalars_at(self, at: Place, out: &mut Vec<NodeRef>) {
        out.extend_from_slice(T::split(&self.scalar_at(at)));
    }
}

/// One array, or a tuple of arrays of one shape (nested as one likes), whose elements at the same place
/// are joined together. Its methods are those of a tuple: `(x, y).reduce(..)`; a single array is
/// `(x,)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no array, and no tuple of arrays of one rank",
    note = "`(x, y).reduce(init, f)` joins the elements of `VExp`s, of `MExp`s or of `TExp`s"
)]
pub trait Arrays: Copy {
    /// The elements at one place: a scalar for each array, in the same tuples.
    type Elements: Scalars;
    /// The arrays of the same rank as these.
    type Rank;
    #[doc(hidden)]
    fn arrays(self, out: &mut Vec<NodeRef>);
}

macro_rules! single {
    ($($handle:ident $rank:ident)*) => { $(
        impl<T: Item> Arrays for $handle<T> {
            type Elements = SExp<T>;
            type Rank = $rank;
            fn arrays(self, out: &mut Vec<NodeRef>) {
                self.nodes(out);
            }
        }
    )* };
}
single!(VExp Rank1 MExp Rank2 TExp Rank3);

macro_rules! tuples {
    ($first:ident $first_scalar:ident $($name:ident $scalar:ident)*) => {
        impl<$first: Arrays, $($name: Arrays<Rank = $first::Rank>),*> Arrays for ($first, $($name,)*) {
            type Elements = ($first::Elements, $($name::Elements,)*);
            type Rank = $first::Rank;
            #[allow(non_snake_case)]
            fn arrays(self, out: &mut Vec<NodeRef>) {
                let ($first, $($name,)*) = self;
                $first.arrays(out);
                $($name.arrays(out);)*
            }
        }
        impl<$first_scalar, $($scalar,)* $first: IntoScalars<$first_scalar>, $($name: IntoScalars<$scalar>),*>
            IntoScalars<($first_scalar, $($scalar,)*)> for ($first, $($name,)*)
        {
            #[allow(non_snake_case)]
            fn scalars_at(self, at: Place, out: &mut Vec<NodeRef>) {
                let ($first, $($name,)*) = self;
                $first.scalars_at(at, out);
                $($name.scalars_at(at, out);)*
            }
        }
    };
}
tuples!(A SA);
tuples!(A SA B SB);
tuples!(A SA B SB C SC);
tuples!(A SA B SB C SC D SD);
tuples!(A SA B SB C SC D SD E SE);
tuples!(A SA B SB C SC D SD E SE F SF);
tuples!(A SA B SB C SC D SD E SE F SF G SG);
tuples!(A SA B SB C SC D SD E SE F SF G SG H SH);
tuples!(A SA B SB C SC D SD E SE F SF G SG H SH I SI);
tuples!(A SA B SB C SC D SD E SE F SF G SG H SH I SI J SJ);
tuples!(A SA B SB C SC D SD E SE F SF G SG H SH I SI J SJ K SK);
tuples!(A SA B SB C SC D SD E SE F SF G SG H SH I SI J SJ K SK L SL);

/// The nodes of a tuple of arrays.
pub(crate) fn arrays_of(all: impl Arrays) -> Vec<NodeRef> {
    let mut nodes = Vec::new();
    all.arrays(&mut nodes);
    nodes
}

pub(crate) fn reduce<A: Arrays>(
    at: Place,
    construct: &'static str,
    order: Order,
    init: impl IntoScalars<A::Elements>,
    srcs: &[NodeRef],
    f: impl FnOnce(A::Elements, A::Elements) -> A::Elements,
) -> Vec<NodeRef> {
    let mut first = Vec::new();
    init.scalars_at(at, &mut first);
    joined::reduce(at, construct, order, &first, srcs, |a, b| nodes_of(f(of_nodes(a), of_nodes(b))))
}

pub(crate) fn scan<A: Arrays, R: Results>(
    at: Place,
    which: Composite,
    (all, init): (A, impl IntoScalars<A::Elements>),
    f: impl FnOnce(A::Elements, A::Elements) -> A::Elements,
) -> R {
    let mut first = Vec::new();
    init.scalars_at(at, &mut first);
    let join = |a: &[NodeRef], b: &[NodeRef]| nodes_of(f(of_nodes(a), of_nodes(b)));
    of_nodes(&composite::joined(at, which, (&arrays_of(all), &first), &[], join))
}

fn fold<A: Arrays, S: LoopState>(
    at: Place,
    construct: &'static str,
    init: S,
    srcs: &[NodeRef],
    f: impl FnOnce(S::Expressions, A::Elements) -> S::Expressions,
) -> Vec<NodeRef> {
    let mut first = Vec::new();
    init.states_at(at, &mut first);
    let step = |acc: &[NodeRef], element: &[NodeRef]| nodes_of(f(of_nodes(acc), of_nodes(element)));
    joined::fold(at, construct, &first, srcs, step)
}

/// The elements of arrays at one place: a scalar for each array, in the same tuples.
pub type Elements<A> = <A as Arrays>::Elements;

/// Reductions and folds of tuples: of the elements of several arrays at the same place, or with an
/// accumulator that is a tuple. Tuples have up to 12 components and may be nested.
pub trait TupleReductions: Sized {
    /// [`VExp::reduce`] of the tuples of the elements: `f(init, v)`, where v joins all tuples by `f` in the
    /// fixed tree of `docs/semantics.md` 5.1. `f` must be associative and commutative up to rounding, which
    /// is not checked. Arrays of different shapes are an error of the call.
    ///
    /// Cost: a reduction, with the operations of `f` for each element. All components are computed together;
    /// one that no result needs costs nothing.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// // the sum of the products, and that of the weights
    /// let f = |x: VExp<f32>, w: VExp<f32>| {
    ///     let (sum, weight) = (x * w, w).reduce((0.0, 0.0), |(s, a), (t, b)| (s + t, a + b));
    ///     sum / weight
    /// };
    /// assert_eq!(call(f, [vector(&[1.0f32, 2.0]), vector(&[3.0f32, 1.0])]), [scalar(1.25f32)]);
    /// ```
    #[track_caller]
    fn reduce(
        self,
        init: impl IntoScalars<Elements<Self>>,
        f: impl FnOnce(Elements<Self>, Elements<Self>) -> Elements<Self>,
    ) -> Elements<Self>
    where
        Self: Arrays,
    {
        of_nodes(&reduce::<Self>(Location::caller(), "reduce", Order::Reduce, init, &arrays_of(self), f))
    }

    /// [`VExp::reduce_noncommutative`] of the tuples of the elements, by an operator of two tuples, the
    /// lower one first. Arrays of different shapes are an error of the call.
    ///
    /// Cost: that of [`VExp::reduce_noncommutative`]; all components are computed together.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// // the composition of the functions a x + b, from the first to the last
    /// let f = |a: VExp<f32>, b: VExp<f32>| {
    ///     (a, b).reduce_noncommutative((1.0, 0.0), |(a, b), (c, d)| (a * c, b * c + d))
    /// };
    /// let args = [vector(&[2.0f32, 3.0]), vector(&[1.0f32, 5.0])];
    /// assert_eq!(call(f, args), [scalar(6.0f32), scalar(8.0f32)]);
    /// ```
    #[track_caller]
    fn reduce_noncommutative(
        self,
        init: impl IntoScalars<Elements<Self>>,
        f: impl FnOnce(Elements<Self>, Elements<Self>) -> Elements<Self>,
    ) -> Elements<Self>
    where
        Self: Arrays,
    {
        let (at, order) = (Location::caller(), Order::ReduceOrdered);
        of_nodes(&reduce::<Self>(at, "reduce_noncommutative", order, init, &arrays_of(self), f))
    }

    /// [`VExp::scan`] of the tuples of the elements, by an operator of two tuples, the lower one first: a vector for
    /// each component. Vectors of different lengths are an error of the call.
    ///
    /// Cost: that of [`VExp::scan`] for each component that a result needs; all are computed together.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// // the linear recurrence y[i] = a[i] y[i - 1] + b[i] from y[-1] = 1
    /// let f = |a: VExp<f32>, b: VExp<f32>| {
    ///     let (p, q) = (a, b).scan((1.0, 0.0), |(a, b), (c, d)| (a * c, b * c + d));
    ///     p + q
    /// };
    /// let args = [vector(&[2.0f32, 3.0]), vector(&[1.0f32, 5.0])];
    /// assert_eq!(call(f, args), [vector(&[3.0f32, 14.0])]);
    /// ```
    #[track_caller]
    fn scan(
        self,
        init: impl IntoScalars<Elements<Self>>,
        f: impl FnOnce(Elements<Self>, Elements<Self>) -> Elements<Self>,
    ) -> <Elements<Self> as Scalars>::Vectors
    where
        Self: Arrays<Rank = Rank1>,
    {
        scan(Location::caller(), Composite::Scan, (self, init), f)
    }

    /// [`VExp::scan_exclusive`] of the tuples of the elements.
    ///
    /// Cost: that of [`TupleReductions::scan`].
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<i64>| (x, -x).scan_exclusive((0, 5), |(a, b), (c, d)| (a + c, b.min(d)));
    /// assert_eq!(call(f, [vector(&[1i64, 2])]), [vector(&[0i64, 1]), vector(&[5i64, -1])]);
    /// ```
    #[track_caller]
    fn scan_exclusive(
        self,
        init: impl IntoScalars<Elements<Self>>,
        f: impl FnOnce(Elements<Self>, Elements<Self>) -> Elements<Self>,
    ) -> <Elements<Self> as Scalars>::Vectors
    where
        Self: Arrays<Rank = Rank1>,
    {
        scan(Location::caller(), Composite::ScanExclusive, (self, init), f)
    }

    /// [`VExp::fold`] with an accumulator that may be a tuple: the strict left fold in index order of
    /// `f(accumulator, elements)`. The first accumulator is made of expressions and of constants with their types
    /// (`0i64`, `1.0f32`).
    ///
    /// Cost: one thread goes through all elements in order, the operations of `f` for each.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// // the longest run of positive numbers
    /// let f = |x: VExp<f32>| {
    ///     let (longest, _) = (x,).fold((0i64, 0i64), |(longest, run), (a,)| {
    ///         let run = cond(a.gt(0.0), run + 1, 0);
    ///         (longest.max(run), run)
    ///     });
    ///     longest
    /// };
    /// assert_eq!(call(f, [vector(&[1.0f32, 2.0, -1.0, 3.0])]), [scalar(2i64)]);
    /// ```
    #[track_caller]
    fn fold<S: LoopState>(
        self,
        init: S,
        f: impl FnOnce(S::Expressions, Elements<Self>) -> S::Expressions,
    ) -> S::Expressions
    where
        Self: Arrays,
    {
        of_nodes(&fold::<Self, S>(Location::caller(), "fold", init, &arrays_of(self), f))
    }
}

macro_rules! reductions {
    ($($name:ident)+) => {
        // of any tuple: that its components are arrays of one rank is a condition of the methods, whose message is
        // ours; without it rustc would look for an iterator
        impl<$($name),+> TupleReductions for ($($name,)+) {}
    };
}
each_tuple!(reductions);
