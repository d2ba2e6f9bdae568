//! Reductions by operators that are associative but not commutative (semantics 5.17).

use crate::handle::{MExp, SExp, TExp, VExp};
use crate::item::Item;
use crate::joined::Order;
use crate::reduce::FirstState;
use crate::results::{each_tuple, nodes_of, of_nodes};
use crate::tuples::{Arrays, Elements, IntoScalars, arrays_of, reduce};
use std::panic::Location;

macro_rules! methods {
    ($($handle:ident $example:literal $result:literal;)*) => { $(
        impl<T: Item> $handle<T> {
            /// `f(init, v)`, where v joins all elements by `f`, always a part of the array with the part that follows it,
            /// in the fixed tree of `docs/semantics.md` 5.17; `init` if there are no elements. `f` must be associative
            /// up to rounding, which is not checked; it need not be commutative. Matrices and arrays of three dimensions
            /// count in row-major order.
            ///
            /// Cost: three launches, of which the second and third are short, with the operations of `f` for each element;
            /// [`Self::reduce`] takes one. It is parallel, as [`Self::fold`] is not.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            /// // the last element that is not 0
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.reduce_noncommutative(0.0, |a, b| cond(b.eq(0.0), a, b));")]
            #[doc = concat!("assert_eq!(call(f, [", $example, "]), [scalar(", $result, "f32)]);")]
            /// ```
            #[track_caller]
            pub fn reduce_noncommutative(
                self,
                init: impl FirstState<T>,
                f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>,
            ) -> SExp<T> {
                let at = Location::caller();
                let first = SExp::<T>::of(init.state_at(at));
                let construct = "reduce_noncommutative";
                of_nodes(&reduce::<Self>(at, construct, Order::ReduceOrdered, first, &nodes_of(self), f))
            }
        }
    )* };
}

methods! {
    VExp "vector(&[1.0f32, 2.0, 0.0])" "2.0";
    MExp "matrix(&[[1.0f32, 2.0], [3.0, 0.0]])" "3.0";
    TExp "tensor(&[[[1.0f32, 2.0], [3.0, 4.0]]])" "4.0";
}

/// Reductions of tuples by operators that are not commutative.
pub trait OrderedReductions: Sized {
    /// [`VExp::reduce_noncommutative`] of the tuples of the elements, by an operator of two tuples, the lower one first.
    /// Arrays of different shapes are an error of the call.
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
        let at = Location::caller();
        let construct = "reduce_noncommutative";
        of_nodes(&reduce::<Self>(at, construct, Order::ReduceOrdered, init, &arrays_of(self), f))
    }
}

macro_rules! reductions {
    ($($name:ident)+) => {
        impl<$($name),+> OrderedReductions for ($($name,)+) {}
    };
}
each_tuple!(reductions);
