//! Reductions of what a filter keeps by the operators that have words of their own (semantics 5.22).
//!
//! Elements behind the kept ones have a value that changes no join, so these are reductions of vectors.

use crate::axis::generate;
use crate::elem::{Elem, Float, Num};
use crate::extremes;
use crate::filtered::Filtered;
use crate::handle::{IntoScalar, SExp, VExp};
use crate::node;
use crate::reduce::{reduce_by, sum};
use crate::scalar::cond;
use crate::scope::Place;
use arraygpu_compiler::scalar::{BinaryOp, Lit};
use std::panic::Location;

macro_rules! operators {
    ($($(#[$doc:meta])* $method:ident $op:ident $init:ident $result:literal;)*) => { $(
        $(#[$doc])*
        ///
        /// Cost: a reduction of as many elements as the vector has.
        ///
        /// ```
        /// # use arraygpu_dsl::{example::*, prelude::*};
        #[doc = concat!("let f = |x: VExp<f32>| x.filter(|v| v.gt(0.0)).", stringify!($method), "();")]
        #[doc = concat!("assert_eq!(call(f, [vector(&[3.0f32, -2.0, 4.0])]), [scalar(", stringify!($result), "f32)]);")]
        /// ```
        #[track_caller]
        pub fn $method(self) -> SExp<T>
        where
            T: Num,
        {
            let (at, init) = (Location::caller(), Lit::$init(T::TY));
            SExp::of(reduce_by(at, stringify!($method), BinaryOp::$op, init, self.or(at, init).node()))
        }
    )* };
}

impl<T: Elem> Filtered<T> {
    operators! {
        /// [`VExp::product`] of a vector of the kept elements; 1 if there are none.
        product Mul one 12.0;
        /// [`VExp::min`] of a vector of the kept elements; the greatest value of the type if there are none.
        min Min greatest 3.0;
        /// [`VExp::max`] of a vector of the kept elements; the least value of the type if there are none.
        max Max least 4.0;
    }

    /// [`VExp::sum`] of a vector of the kept elements; 0 if there are none.
    ///
    /// Cost: a reduction of as many elements as the vector has.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.filter(|v| v.gt(0.0)).sum();
    /// assert_eq!(call(f, [vector(&[1.0f32, -2.0, 3.0])]), [scalar(4.0f32)]);
    /// ```
    #[track_caller]
    pub fn sum(self) -> SExp<T>
    where
        T: Num,
    {
        let at = Location::caller();
        SExp::of(sum(at, self.or(at, Lit::no_sum(T::TY)).node()))
    }

    /// [`VExp::mean`] of a vector of the kept elements; NaN if there are none.
    ///
    /// Cost: a reduction of as many elements as the vector has.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.filter(|v| v.gt(0.0)).mean();
    /// assert_eq!(call(f, [vector(&[1.0f32, -2.0, 3.0])]), [scalar(2.0f32)]);
    /// ```
    #[track_caller]
    pub fn mean(self) -> SExp<T>
    where
        T: Float,
    {
        let at = Location::caller();
        let values = self.or(at, Lit::no_sum(T::TY));
        SExp::of(extremes::mean_of(at, "mean", values.node(), self.count.node()))
    }

    /// Where the least one stands among the kept elements, as [`VExp::argmin`] of a vector of these has it; -1 if there
    /// are none. `kept.indices().at(i)` is its index in the vector that they come from.
    ///
    /// Cost: a reduction of as many elements as the vector has.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.filter(|v| v.gt(0.0)).argmin();
    /// assert_eq!(call(f, [vector(&[4.0f32, -2.0, 3.0])]), [scalar(1i64)]);
    /// ```
    #[track_caller]
    pub fn argmin(self) -> SExp<i64>
    where
        T: Num,
    {
        self.place(Location::caller(), "argmin", BinaryOp::Lt)
    }

    /// Where the greatest one stands among the kept elements, as [`VExp::argmax`] of a vector of these has it; -1 if
    /// there are none.
    ///
    /// Cost: a reduction of as many elements as the vector has.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.filter(|v| v.gt(0.0)).argmax();
    /// assert_eq!(call(f, [vector(&[3.0f32, -2.0, 4.0])]), [scalar(1i64)]);
    /// ```
    #[track_caller]
    pub fn argmax(self) -> SExp<i64>
    where
        T: Num,
    {
        self.place(Location::caller(), "argmax", BinaryOp::Gt)
    }

    /// The least and the greatest of the kept elements: `min` and `max`.
    ///
    /// Cost: a reduction of as many elements as the vector has.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.filter(|v| v.gt(0.0)).minmax();
    /// assert_eq!(call(f, [vector(&[3.0f32, -2.0, 4.0])]), [scalar(3.0f32), scalar(4.0f32)]);
    /// ```
    #[track_caller]
    pub fn minmax(self) -> (SExp<T>, SExp<T>)
    where
        T: Num,
    {
        (self.min(), self.max())
    }

    /// The element number i of those that are kept. A number outside of these gives 0 (or false), and leaves an error
    /// record.
    ///
    /// Cost: that of a read.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.filter(|v| v.gt(0.0)).at(1);
    /// assert_eq!(call(f, [vector(&[1.0f32, -2.0, 3.0])]), [scalar(3.0f32)]);
    /// ```
    #[track_caller]
    pub fn at(self, i: impl IntoScalar<i64>) -> SExp<T> {
        let at = Location::caller();
        let i = SExp::<i64>::of(i.scalar_at(at));
        let is_kept = SExp::of(node::within(at, i.node(), self.count.node()));
        cond(is_kept, self.values.at(i), SExp::of(node::constant(at, Lit::zero(T::TY))))
    }

    /// The kept elements, and `other` behind them.
    #[track_caller]
    fn or(self, at: Place, other: Lit) -> VExp<T> {
        self.filled(SExp::of(node::constant(at, other)))
    }

    /// The number of the first of the extreme elements.
    #[track_caller]
    fn place(self, at: Place, construct: &'static str, better: BinaryOp) -> SExp<i64> {
        let worst = if better == BinaryOp::Lt { Lit::greatest(T::TY) } else { Lit::least(T::TY) };
        // what is not kept is as the initial value: the worst one, with the number of no element
        let none = SExp::of(node::constant(at, Lit::i64(-1)));
        let numbers: VExp<i64> = generate(self.values.len(), |i| cond(i.lt(self.count), i, none));
        SExp::of(extremes::place_of(at, construct, better, [self.or(at, worst).node(), numbers.node()]))
    }
}

impl Filtered<bool> {
    /// Whether any of the kept elements is true; false if there are none.
    ///
    /// Cost: a reduction of as many elements as the vector has.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.filter(|v| v.gt(0.0)).map(|v| v.gt(2.0)).any();
    /// assert_eq!(call(f, [vector(&[1.0f32, -2.0, 3.0])]), [scalar(true)]);
    /// ```
    #[track_caller]
    pub fn any(self) -> SExp<bool> {
        let (at, no) = (Location::caller(), Lit::bool(false));
        SExp::of(reduce_by(at, "any", BinaryOp::Or, no, self.or(at, no).node()))
    }

    /// Whether all of the kept elements are true; true if there are none.
    ///
    /// Cost: a reduction of as many elements as the vector has.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.filter(|v| v.gt(0.0)).map(|v| v.gt(2.0)).all();
    /// assert_eq!(call(f, [vector(&[1.0f32, -2.0, 3.0])]), [scalar(false)]);
    /// ```
    #[track_caller]
    pub fn all(self) -> SExp<bool> {
        let (at, yes) = (Location::caller(), Lit::bool(true));
        SExp::of(reduce_by(at, "all", BinaryOp::And, yes, self.or(at, yes).node()))
    }
}
