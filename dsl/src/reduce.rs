//! Reductions of whole arrays, a matrix in row-major order, and sums over Rust iterators of
//! expressions.

use crate::elem::{Elem, Num};
use crate::handle::{IntoScalar, MExp, SExp, TExp, VExp};
use crate::item::Item;
use crate::joined::{self, Order};
use crate::node::{self, NodeRef, Op, make};
use crate::results::{nodes_of, of_nodes};
use crate::scope::{Place, innermost_place};
use arraygpu_compiler::Error;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty};
use std::iter::Sum;
use std::panic::Location;

/// A sum of elements of type `ty`, as `f` makes it. Halves are summed in f32, and rounded once
/// (semantics 5.6).
pub(crate) fn summed(
    at: Place,
    ty: Ty,
    srcs: &[NodeRef],
    f: impl FnOnce(Ty, &[NodeRef]) -> NodeRef,
) -> NodeRef {
    let wide = node::sum_type(ty);
    let srcs: Vec<NodeRef> = srcs.iter().map(|s| node::as_type(at, wide, s)).collect();
    node::as_type(at, ty, f(wide, &srcs))
}

/// A reduction by an operator.
pub(crate) fn reduce_by(
    at: Place,
    construct: &'static str,
    op: BinaryOp,
    init: Lit,
    src: NodeRef,
) -> NodeRef {
    let lambda = node::bind_one(at, construct, &[init.ty, init.ty], |v| node::binary(at, op, v[0], v[1]));
    make(
        at,
        Type::scalar(init.ty),
        Op::Reduce { ordered: false, lambda, init: node::constant(at, init), src, which: 0 },
    )
}

/// The sum of all elements.
pub(crate) fn sum(at: Place, src: NodeRef) -> NodeRef {
    summed(at, src.ty.elem, &[src], |ty, v| reduce_by(at, "sum", BinaryOp::Add, Lit::zero(ty), v[0]))
}

/// A reduction by an author's closure: a value for each leaf.
pub(crate) fn reduce<T: Item>(
    at: Place,
    construct: &'static str,
    init: NodeRef,
    srcs: &[NodeRef],
    f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>,
) -> Vec<NodeRef> {
    reduce_in(Order::Reduce, at, construct, init, srcs, f)
}

fn reduce_in<T: Item>(
    order: Order,
    at: Place,
    construct: &'static str,
    init: NodeRef,
    srcs: &[NodeRef],
    f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>,
) -> Vec<NodeRef> {
    let init = T::split(&init);
    joined::reduce(at, construct, order, init, srcs, |a, b| nodes_of(f(of_nodes(a), of_nodes(b))))
}

/// The initial value of a reduction or a fold of one array: a scalar.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the initial value of a reduction or fold of one array",
    label = "expected a scalar expression or a constant of the accumulator's type",
    note = "a state of several numbers is a tuple's: `(x,).fold((0.0f32, 0i64), |(sum, count), (a,)| ..)`, `(x, y).reduce((0.0, 0.0), |(a, b), (c, d)| ..)`"
)]
pub trait FirstState<T: Item> {
    #[doc(hidden)]
    fn state_at(self, at: Place) -> NodeRef;
}

#[diagnostic::do_not_recommend]
impl<T: Item, X: IntoScalar<T>> FirstState<T> for X {
    fn state_at(self, at: Place) -> NodeRef {
        self.scalar_at(at)
    }
}

macro_rules! operators {
    ($handle:ident $example:literal: $($(#[$doc:meta])* $method:ident $op:ident $init:ident $result:literal;)*) => { $(
        $(#[$doc])*
        ///
        /// Cost: a reduction.
        ///
        /// ```
        /// # use arraygpu_dsl::{example::*, prelude::*};
        #[doc = concat!("let x = ", $example, ";")]
        #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($method), "();")]
        #[doc = concat!("assert_eq!(call(f, [x]), [scalar(", stringify!($result), "f32)]);")]
        /// ```
        #[track_caller]
        pub fn $method(self) -> SExp<T>
        where
            T: Num,
        {
            let at = Location::caller();
            SExp::of(reduce_by(at, stringify!($method), BinaryOp::$op, Lit::$init(T::TY), self.node()))
        }
    )* };
}

/// Reductions of all elements of an array, in row-major order.
macro_rules! reductions {
    ($($handle:ident $rank:literal $example:literal;)*) => { $(
        impl<T: Item> $handle<T> {
            /// `f(init, v)`, where v joins all elements by `f` in the fixed tree of
            /// `docs/semantics.md` 5.1; `init` if there are no elements. `f` must be associative
            /// and commutative up to rounding, which is not checked. Matrices and arrays of three
            /// dimensions count in row-major order.
            ///
            /// Cost: a reduction, with the operations of `f` for each element.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.reduce(0.0, |a, b| a.max(b));")]
            /// assert_eq!(call(f, [x]), [scalar(4.0f32)]);
            /// ```
            #[track_caller]
            pub fn reduce(
                self,
                init: impl FirstState<T>,
                f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>,
            ) -> SExp<T> {
                let at = Location::caller();
                of_nodes(&reduce(at, "reduce", init.state_at(at), &nodes_of(self), f))
            }

            /// `f(init, v)`, where v joins all elements by `f`, always a part of the array with the part
            /// that follows it, in the fixed tree of `docs/semantics.md` 5.17; `init` if there are no
            /// elements. `f` must be associative up to rounding, which is not checked; it need not be
            /// commutative. Matrices and arrays of three dimensions count in row-major order.
            ///
            /// Cost: three launches, of which the second and third are short, with the operations of `f`
            /// for each element; [`Self::reduce`] takes one. It is parallel, as [`Self::fold`] is not.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            /// // the last element that is not 0
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.reduce_noncommutative(0.0, |a, b| cond(b.eq(0.0), a, b));")]
            #[doc = concat!("assert_eq!(call(f, [", $example, "]), [scalar(4.0f32)]);")]
            /// ```
            #[track_caller]
            pub fn reduce_noncommutative(
                self,
                init: impl FirstState<T>,
                f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>,
            ) -> SExp<T> {
                let at = Location::caller();
                let (construct, order) = ("reduce_noncommutative", Order::ReduceOrdered);
                of_nodes(&reduce_in(order, at, construct, init.state_at(at), &nodes_of(self), f))
            }

            /// The strict left fold in index order (row-major): `f(.. f(f(init, x0), x1) .., x)`,
            /// for any `f(accumulator, element)`. The accumulator may have another type than the
            /// elements.
            ///
            /// Cost: one thread goes through all elements in order, the operations of `f` for each.
            /// A fold that mentions a closure's variable is computed for each value of it.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.fold(0.0, |a, x| a * 10.0 + x);")]
            /// assert_eq!(call(f, [x]), [scalar(1234.0f32)]);
            /// ```
            #[track_caller]
            pub fn fold<A: Item>(
                self,
                init: impl FirstState<A>,
                f: impl FnOnce(SExp<A>, SExp<T>) -> SExp<A>,
            ) -> SExp<A> {
                let at = Location::caller();
                let init = init.state_at(at);
                let step = |acc: &[NodeRef], x: &[NodeRef]| nodes_of(f(of_nodes(acc), of_nodes(x)));
                of_nodes(&joined::fold(at, "fold", A::split(&init), &nodes_of(self), step))
            }
        }

        impl<T: Elem> $handle<T> {
            operators! { $handle $example:
                /// The product of all elements, in the fixed order of `docs/semantics.md` 5.1; 1 if
                /// there are none.
                product Mul one 24.0;
                /// The least element, or the greatest value of the type (infinity for floats) if
                /// there are none. It is NaN if an element is NaN.
                min Min greatest 1.0;
                /// The greatest element, or the least value of the type (minus infinity for floats)
                /// if there are none. It is NaN if an element is NaN.
                max Max least 4.0;
            }

            /// The sum of all elements, in the fixed order of `docs/semantics.md` 5.1; 0 if there
            /// are none. Halves are summed in f32, and rounded once.
            ///
            /// Cost: a reduction.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.sum();")]
            /// assert_eq!(call(f, [x]), [scalar(10.0f32)]);
            /// ```
            #[track_caller]
            pub fn sum(self) -> SExp<T>
            where
                T: Num,
            {
                SExp::of(sum(Location::caller(), self.node()))
            }

            /// The sum from the first element to the last, as a plain loop adds: `fold(0, +)`.
            /// Halves are summed in f32, and rounded once.
            ///
            /// Cost: one thread goes through all elements in order, as by [`Self::fold`].
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.sum_in_order();")]
            /// assert_eq!(call(f, [x]), [scalar(10.0f32)]);
            /// ```
            #[track_caller]
            pub fn sum_in_order(self) -> SExp<T>
            where
                T: Num,
            {
                let at = Location::caller();
                let step = |v: &[NodeRef]| node::binary(at, BinaryOp::Add, v[0], v[1]);
                let fold = |ty, v: &[NodeRef]| {
                    let lambda = node::bind_one(at, "sum_in_order", &[ty, ty], step);
                    let init = node::constant(at, Lit::zero(ty));
                    make(at, Type::scalar(ty), Op::Fold { lambda, init, src: v[0], which: 0 })
                };
                SExp::of(summed(at, T::TY, &[self.node()], fold))
            }

            /// The sum of the products with the elements of an array of the same shape, by
            /// multiply-adds in the fixed order of `docs/semantics.md` 5.3. Halves are summed in
            /// f32, and rounded once. Different shapes are an error of the call.
            ///
            /// Cost: a reduction of both arrays.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.dot(x);")]
            /// assert_eq!(call(f, [x]), [scalar(30.0f32)]);
            /// ```
            #[track_caller]
            pub fn dot(self, y: $handle<T>) -> SExp<T>
            where
                T: Num,
            {
                let at = Location::caller();
                let dot = |ty, v: &[NodeRef]| make(at, Type::scalar(ty), Op::Dot(v[0], v[1]));
                SExp::of(summed(at, T::TY, &[self.node(), y.node()], dot))
            }
        }

        impl $handle<bool> {
            /// Whether any element is true; false if there are none.
            ///
            /// Cost: a reduction; it does not stop early.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.gt(3.0).any();")]
            /// assert_eq!(call(f, [x]), [scalar(true)]);
            /// ```
            #[track_caller]
            pub fn any(self) -> SExp<bool> {
                SExp::of(reduce_by(Location::caller(), "any", BinaryOp::Or, Lit::bool(false), self.node()))
            }

            /// Whether all elements are true; true if there are none.
            ///
            /// Cost: a reduction; it does not stop early.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.gt(3.0).all();")]
            /// assert_eq!(call(f, [x]), [scalar(false)]);
            /// ```
            #[track_caller]
            pub fn all(self) -> SExp<bool> {
                SExp::of(reduce_by(Location::caller(), "all", BinaryOp::And, Lit::bool(true), self.node()))
            }
        }

        /// The elementwise sum of the arrays of an iterator, fused. A sum of no arrays would have
        /// no shape: it is an error of the generator.
        impl<T: Num> Sum for $handle<T> {
            fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
                $handle::of(sum_of(terms.map($handle::node)).unwrap_or_else(|| no_terms(Type { elem: T::TY, rank: $rank })))
            }
        }

        impl<'a, T: Num> Sum<&'a $handle<T>> for $handle<T> {
            fn sum<I: Iterator<Item = &'a Self>>(terms: I) -> Self {
                terms.copied().sum()
            }
        }
    )* };
}
reductions! {
    VExp 1 "vector(&[1.0f32, 2.0, 3.0, 4.0])";
    MExp 2 "matrix(&[[1.0f32, 2.0], [3.0, 4.0]])";
    TExp 3 "tensor(&[[[1.0f32, 2.0], [3.0, 4.0]]])";
}

/// Whether any element is true; false if there are none: [`VExp::any`] as a function.
///
/// Cost: a reduction; it does not stop early.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// let f = |x: VExp<f32>| any(x.gt(3.0));
/// assert_eq!(call(f, [vector(&[1.0f32, 4.0])]), [scalar(true)]);
/// ```
#[track_caller]
pub fn any(x: VExp<bool>) -> SExp<bool> {
    x.any()
}

/// Whether all elements are true; true if there are none: [`VExp::all`] as a function.
///
/// Cost: a reduction; it does not stop early.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// let f = |x: VExp<f32>| all(x.gt(3.0));
/// assert_eq!(call(f, [vector(&[1.0f32, 4.0])]), [scalar(false)]);
/// ```
#[track_caller]
pub fn all(x: VExp<bool>) -> SExp<bool> {
    x.all()
}

/// The sum of the terms from first to last. The standard library calls us here, so an addition's
/// place is that of its second term.
fn sum_of(terms: impl Iterator<Item = NodeRef>) -> Option<NodeRef> {
    terms.reduce(|sum, term| node::binary(term.at, BinaryOp::Add, sum, term))
}

/// The sum of the scalars of an iterator; 0 if there are none.
impl<T: Num> Sum for SExp<T> {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        let at = innermost_place().unwrap_or_else(|| Location::caller());
        SExp::of(sum_of(terms.map(SExp::node)).unwrap_or_else(|| node::constant(at, Lit::zero(T::TY))))
    }
}

fn no_terms(ty: Type) -> NodeRef {
    let at = innermost_place().unwrap_or_else(|| Location::caller());
    let (what, size) = if ty.rank == 1 { ("vectors", "length") } else { ("arrays", "shape") };
    let message = format!("the sum of no {what} has no {size}: the iterator gave none");
    node::invalid(at, ty, Error::user("E0208", message))
}

impl<'a, T: Num> Sum<&'a SExp<T>> for SExp<T> {
    fn sum<I: Iterator<Item = &'a Self>>(terms: I) -> Self {
        terms.copied().sum()
    }
}
