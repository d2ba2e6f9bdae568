//! What a filter keeps of a vector ([`Filtered`]): as many elements as the device finds (semantics 5.22).

use crate::axis::{generate, slice};
use crate::composite;
use crate::handle::{IntoScalar, SExp, VExp};
use crate::item::{Item, leaves_of_item};
use crate::joined::{self, Order};
use crate::node::{self, NodeRef};
use crate::reduce::FirstState;
use crate::results::{Scalars, each_tuple, leafwise, nodes_of, of_nodes};
use crate::scalar::cond;
use crate::scope::Place;
use crate::segments::inside;
use arraygpu_compiler::Error;
use arraygpu_compiler::build::Composite;
use arraygpu_compiler::loc::Loc;
use arraygpu_compiler::scalar::Lit;
use std::panic::Location;

/// Elements of a vector that a condition keeps, in their order. The host knows how many there may be, the device how
/// many there are: so their number is a scalar like any other, and no length.
///
/// A function returns them as a vector of as many elements as there may be and their number:
/// `(kept.filled(0.0), kept.len())`.
#[derive(Debug)]
pub struct Filtered<T: Item> {
    /// As many as the vector has, of which the first `count` are kept.
    pub(crate) values: VExp<T>,
    /// Where they stand in the vector.
    pub(crate) order: VExp<i64>,
    pub(crate) count: SExp<i64>,
}

impl<T: Item> Clone for Filtered<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Item> Copy for Filtered<T> {}

impl<T: Item> Filtered<T> {
    /// Their number. Only the device knows it, so it may be computed with, but cannot be the length of an array, a
    /// bound of a slice or a number of steps (E0209).
    ///
    /// Cost: the sum of what the tiles of the filter's scan keep.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.filter(|v| v.gt(0.0)).len();
    /// assert_eq!(call(f, [vector(&[1.0f32, -2.0, 3.0])]), [scalar(2i64)]);
    /// ```
    #[allow(clippy::len_without_is_empty)]
    pub fn len(self) -> SExp<i64> {
        self.count
    }

    /// A vector as long as the one that they come from: the elements, and then `default`.
    ///
    /// Cost: fused; the last launch of the filter stores the elements, which others read.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.filter(|v| v.gt(0.0)).filled(-1.0);
    /// assert_eq!(call(f, [vector(&[1.0f32, -2.0, 3.0])]), [vector(&[1.0f32, 3.0, -1.0])]);
    /// ```
    #[track_caller]
    pub fn filled(self, default: impl FirstState<T>) -> VExp<T> {
        let default = SExp::of(default.state_at(Location::caller()));
        generate(self.values.len(), |i| cond(i.lt(self.count), inside(self.values, i), default))
    }

    /// The indices that the elements have in the vector which they come from.
    ///
    /// Cost: none.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.filter(|v| v.gt(0.0)).indices().filled(-1);
    /// assert_eq!(call(f, [vector(&[1.0f32, -2.0, 3.0])]), [vector(&[0i64, 2, -1])]);
    /// ```
    pub fn indices(self) -> Filtered<i64> {
        Filtered { values: self.order, order: self.order, count: self.count }
    }

    /// `f` of each element. It is not computed of what is left out, and leaves no error records there. If `f` gives a
    /// tuple, the result is a tuple of `Filtered`, which come from the same filter.
    ///
    /// Cost: fused; the operations of `f` for each element.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<i64>| x.filter(|v| v.ne(0)).map(|v| 12 / v).filled(0);
    /// assert_eq!(call(f, [vector(&[4i64, 0, 3])]), [vector(&[3i64, 4, 0])]);
    /// ```
    #[track_caller]
    pub fn map<R: KeptScalars>(self, f: impl FnOnce(SExp<T>) -> R) -> R::Kept {
        self.each(|i| f(inside(self.values, i)))
    }

    /// `f` of each element and of that at the same place of another `Filtered`, which must come from the same
    /// filter: then both have as many. `kept.map(..)`, `kept.scan(..)` and `kept.indices()` do, and so do both
    /// results of [`VExp::run_lengths`].
    ///
    /// Cost: fused; the operations of `f` for each element.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<i64>| {
    ///     let kept = x.filter(|v| v.gt(0));
    ///     kept.zip_with(kept.indices(), |v, i| v * 10 + i).filled(-1)
    /// };
    /// assert_eq!(call(f, [vector(&[1i64, -2, 3])]), [vector(&[10i64, 32, -1])]);
    /// ```
    #[track_caller]
    pub fn zip_with<U: Item, R: KeptScalars>(
        self,
        other: Filtered<U>,
        f: impl FnOnce(SExp<T>, SExp<U>) -> R,
    ) -> R::Kept {
        let other = self.of_the_same_filter("zip_with", Location::caller(), other);
        self.each(|i| f(inside(self.values, i), inside(other.values, i)))
    }

    /// Another `Filtered`, whose values are an error where it is not kept by the same filter.
    pub(crate) fn of_the_same_filter<U: Item>(
        self,
        construct: &str,
        at: Place,
        other: Filtered<U>,
    ) -> Filtered<U> {
        if std::ptr::eq(self.count.node(), other.count.node()) {
            return other;
        }
        let message = format!(
            "{construct}: these elements are kept by two filters, and may differ in number: filter one vector of both \
             elements, or read the second one at `kept.indices()`"
        );
        let error = Error::user("E0212", message).at(Some(&Loc::caller(at)));
        Filtered { values: leafwise(other.values, |x| node::invalid(at, x.ty, error.clone())), ..other }
    }

    /// What `f` gives at each index of a kept element, and 0 behind these.
    #[track_caller]
    fn each<R: KeptScalars>(self, f: impl FnOnce(SExp<i64>) -> R) -> R::Kept {
        let at = Location::caller();
        let value = |i: SExp<i64>| -> R {
            let is_kept = i.lt(self.count).node();
            leafwise(f(i), |x| {
                let zero = node::constant(at, Lit::zero(x.ty.elem));
                node::make(at, x.ty, node::Op::Select(is_kept, x, zero))
            })
        };
        R::kept(generate(self.values.len(), value), self.order, self.count)
    }

    /// The reduction of the elements by `f`, beginning with `init`, with the bits of [`VExp::reduce`] of a vector of
    /// these elements alone. `f` must be associative and commutative up to rounding.
    ///
    /// Cost: a reduction of as many elements as the vector has.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.filter(|v| v.gt(0.0)).reduce(0.0, |a, b| a + b);
    /// assert_eq!(call(f, [vector(&[1.0f32, -2.0, 3.0])]), [scalar(4.0f32)]);
    /// ```
    #[track_caller]
    pub fn reduce(self, init: impl FirstState<T>, f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>) -> SExp<T> {
        let at = Location::caller();
        self.reduced(at, "reduce", Order::Reduce, init.state_at(at), f)
    }

    /// [`VExp::reduce_noncommutative`] of a vector of the kept elements: `f` need not be commutative.
    ///
    /// Cost: that of [`VExp::reduce_noncommutative`] of a vector as long as the one that they come from.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// // the last one that is even
    /// let last = |a: SExp<i64>, b: SExp<i64>| cond((b % 2).eq(0), b, a);
    /// let f = |x: VExp<i64>| x.filter(|v| v.gt(0)).reduce_noncommutative(0, last);
    /// assert_eq!(call(f, [vector(&[4i64, -2, 6, 3])]), [scalar(6i64)]);
    /// ```
    #[track_caller]
    pub fn reduce_noncommutative(
        self,
        init: impl FirstState<T>,
        f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>,
    ) -> SExp<T> {
        let at = Location::caller();
        self.reduced(at, "reduce_noncommutative", Order::ReduceOrdered, init.state_at(at), f)
    }

    #[track_caller]
    fn reduced(
        self,
        at: Place,
        construct: &'static str,
        order: Order,
        init: NodeRef,
        f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>,
    ) -> SExp<T> {
        of_nodes(
            &self
                .joined(init, f, |first, srcs, join| joined::reduce(at, construct, order, first, srcs, join)),
        )
    }

    /// [`VExp::fold`] of a vector of the kept elements: strictly in their order.
    ///
    /// Cost: one thread goes through as many elements as the vector has.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.filter(|v| v.gt(0.0)).fold(0.0, |a, v| a * 10.0 + v);
    /// assert_eq!(call(f, [vector(&[1.0f32, -2.0, 3.0])]), [scalar(13.0f32)]);
    /// ```
    #[track_caller]
    pub fn fold<A: Item>(
        self,
        init: impl FirstState<A>,
        f: impl FnOnce(SExp<A>, SExp<T>) -> SExp<A>,
    ) -> SExp<A> {
        let at = Location::caller();
        let init = init.state_at(at);
        let srcs = [vec![self.is_kept().node()], nodes_of(self.values)].concat();
        let step = |acc: &[NodeRef], x: &[NodeRef]| {
            let before: SExp<A> = of_nodes(acc);
            nodes_of(cond(SExp::of(x[0]), f(before, of_nodes(&x[1..])), before))
        };
        of_nodes(&joined::fold(at, "fold", A::split(&init), &srcs, step))
    }

    /// The partial results of that reduction of the kept elements alone: [`VExp::scan`] of a vector of these.
    ///
    /// Cost: that of the scan of a vector as long as the one that they come from.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.filter(|v| v.gt(0.0)).scan(0.0, |a, b| a + b).filled(-1.0);
    /// assert_eq!(call(f, [vector(&[1.0f32, -2.0, 3.0])]), [vector(&[1.0f32, 4.0, -1.0])]);
    /// ```
    #[track_caller]
    pub fn scan(self, init: impl FirstState<T>, f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>) -> Filtered<T> {
        let at = Location::caller();
        self.scanned(at, Composite::Scan, init.state_at(at), f)
    }

    /// [`VExp::scan_exclusive`] of a vector of the kept elements: each one is what stands before it, the first one
    /// `init`.
    ///
    /// Cost: that of [`Filtered::scan`].
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.filter(|v| v.gt(0.0)).scan_exclusive(0.0, |a, b| a + b).filled(-1.0);
    /// assert_eq!(call(f, [vector(&[1.0f32, -2.0, 3.0])]), [vector(&[0.0f32, 1.0, -1.0])]);
    /// ```
    #[track_caller]
    pub fn scan_exclusive(
        self,
        init: impl FirstState<T>,
        f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>,
    ) -> Filtered<T> {
        let at = Location::caller();
        self.scanned(at, Composite::ScanExclusive, init.state_at(at), f)
    }

    #[track_caller]
    fn scanned(
        self,
        at: Place,
        which: Composite,
        init: NodeRef,
        f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>,
    ) -> Filtered<T> {
        let values =
            self.joined(init, f, |first, srcs, join| composite::joined(at, which, (srcs, first), &[], join));
        Filtered { values: of_nodes(&values), ..self }
    }

    /// Whether each element is kept.
    #[track_caller]
    fn is_kept(self) -> VExp<bool> {
        generate(self.values.len(), |i| i.lt(self.count))
    }

    /// Joins the kept elements, as `by` does all elements; the values of its components, without that which says
    /// whether an element is kept.
    #[track_caller]
    fn joined(
        self,
        init: NodeRef,
        f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>,
        by: impl FnOnce(&[NodeRef], &[NodeRef], Join) -> Vec<NodeRef>,
    ) -> Vec<NodeRef> {
        let yes = node::constant(Location::caller(), Lit::bool(true));
        // what is left out is not computed, and leaves no error records
        let values = self.map(|v| v).values;
        let srcs = [vec![self.is_kept().node()], nodes_of(values)].concat();
        let first = [&[yes], T::split(&init)].concat();
        // every join has elements that stand before the others; what is kept stands before what is not
        let join = Box::new(|a: &[NodeRef], b: &[NodeRef]| {
            let (before, behind): (SExp<T>, SExp<T>) = (of_nodes(&a[1..]), of_nodes(&b[1..]));
            let value = cond(SExp::of(b[0]), f(before, behind), before);
            [vec![a[0]], nodes_of(value)].concat()
        });
        by(&first, &srcs, join).split_off(1)
    }

    /// A vector of n elements, which are all that are kept. The host knows n and checks that the vector from which
    /// they come has at least as many (else the call fails before it runs); the device checks that exactly n are
    /// kept, and leaves an error record of both numbers if not. So what is kept has a length, and joins vectors of
    /// that length. n is made of lengths, constants and scalar parameters.
    ///
    /// Cost: fused, as [`Filtered::filled`], and a launch of one element that checks the number.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>, y: VExp<f32>| x.filter(|v| v.gt(0.0)).with_len(y.len()) + y;
    /// let (x, y) = (vector(&[1.0f32, -2.0, 3.0]), vector(&[0.5f32, 0.25]));
    /// assert_eq!(call(f, [x, y]), [vector(&[1.5f32, 3.25])]);
    /// ```
    #[track_caller]
    pub fn with_len(self, n: impl IntoScalar<i64>) -> VExp<T> {
        let at = Location::caller();
        let n = SExp::<i64>::of(n.scalar_at(at));
        let none = node::constant(at, Lit::i64(0));
        let front: VExp<T> = leafwise(self.values, |x| slice(at, "with_len", (x, 0), [none, n.node()], None));
        // stored, so that it is computed even where n is 0
        let (below, most) = (self.count.lt(n).cast::<i64>(), self.count.le(n).cast::<i64>());
        let fits = generate(1, |_| SExp::<bool>::of(node::within(at, below.node(), most.node())));
        let fits = fits.materialize();
        front.map(|v| cond(inside(fits, SExp::of(none)), v, zero(at)))
    }
}

/// What the closure of [`Filtered::map`] may give: a scalar, or a tuple of scalars (then there is a `Filtered` for
/// each).
#[diagnostic::on_unimplemented(
    message = "the closure must give a scalar expression or a tuple of them, not `{Self}`",
    label = "not a scalar expression",
    note = "a constant becomes an expression by `lit(x)`"
)]
pub trait KeptScalars: Scalars {
    /// The same tuple with what a filter keeps in place of scalars.
    type Kept;
    #[doc(hidden)]
    fn kept(values: Self::Vectors, order: VExp<i64>, count: SExp<i64>) -> Self::Kept;
}

impl<T: Item> KeptScalars for SExp<T> {
    type Kept = Filtered<T>;
    fn kept(values: VExp<T>, order: VExp<i64>, count: SExp<i64>) -> Filtered<T> {
        Filtered { values, order, count }
    }
}

impl<A: KeptScalars, const N: usize> KeptScalars for [A; N] {
    type Kept = [A::Kept; N];
    fn kept(values: [A::Vectors; N], order: VExp<i64>, count: SExp<i64>) -> Self::Kept {
        values.map(|values| A::kept(values, order, count))
    }
}

macro_rules! tuples_kept {
    ($($name:ident)+) => {
        impl<$($name: KeptScalars),+> KeptScalars for ($($name,)+) {
            type Kept = ($($name::Kept,)+);
            #[allow(non_snake_case)]
            fn kept(($($name,)+): Self::Vectors, order: VExp<i64>, count: SExp<i64>) -> Self::Kept {
                ($($name::kept($name, order, count),)+)
            }
        }
    };
}
each_tuple!(tuples_kept);

/// An operator of the components of two parts.
type Join<'f> = Box<dyn FnOnce(&[NodeRef], &[NodeRef]) -> Vec<NodeRef> + 'f>;

/// 0 in each field.
fn zero<T: Item>(at: Place) -> SExp<T> {
    let leaves = leaves_of_item::<T>();
    of_nodes(&leaves.iter().map(|leaf| node::constant(at, Lit::zero(leaf.ty))).collect::<Vec<_>>())
}
