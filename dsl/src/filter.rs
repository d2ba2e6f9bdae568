//! Filters of vectors: `filter`, `partition`, `unique`, `run_lengths` (semantics 5.22).
//!
//! What is kept is at the front of an order of the elements, which the compiler makes.

use crate::axis::generate;
use crate::composite::composite;
use crate::elem::Elem;
use crate::handle::{SExp, VExp};
use crate::item::{Item, leaves_of_item};
use crate::joined::{self, Order};
use crate::node::{self, NodeRef};
use crate::reduce::FirstState;
use crate::results::{nodes_of, of_nodes};
use crate::scalar::cond;
use crate::scope::Place;
use crate::segments::inside;
use arraygpu_compiler::build::Composite;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::scalar::{Lit, Ty};
use std::panic::Location;

/// Elements of a vector that a condition keeps, in their order. The host knows how many there may be, the device how
/// many there are: so their number is a scalar like any other, and no length.
///
/// A function returns them as a vector of as many elements as there may be and their number:
/// `(kept.filled(0.0), kept.len())`.
#[derive(Clone, Copy, Debug)]
pub struct Filtered<T: Item> {
    /// As many as the vector has, of which the first `count` are kept.
    values: VExp<T>,
    /// Where they stand in the vector.
    order: VExp<i64>,
    count: SExp<i64>,
}

impl<T: Item> Filtered<T> {
    /// Their number.
    ///
    /// Cost: a reduction of the condition, computed once.
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
    /// Cost: fused; a read of the element's index in the vector, and one of the element there.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.filter(|v| v.gt(0.0)).filled(-1.0);
    /// assert_eq!(call(f, [vector(&[1.0f32, -2.0, 3.0])]), [vector(&[1.0f32, 3.0, -1.0])]);
    /// ```
    #[track_caller]
    pub fn filled(self, default: impl FirstState<T>) -> VExp<T> {
        let at = Location::caller();
        let (values, default) = (nodes_of(self.values), default.state_at(at));
        let types: Vec<Type> = values.iter().map(|x| x.ty).collect();
        let operands = [&[self.count.node()], &values[..], T::split(&default)].concat();
        of_nodes(&composite(at, Composite::Filled, operands, None, &types))
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

    /// `f` of each element. It is not computed of what is left out, and leaves no error records there.
    ///
    /// Cost: fused; the operations of `f` for each element.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<i64>| x.filter(|v| v.ne(0)).map(|v| 12 / v).filled(0);
    /// assert_eq!(call(f, [vector(&[4i64, 0, 3])]), [vector(&[3i64, 4, 0])]);
    /// ```
    #[track_caller]
    pub fn map<U: Item>(self, f: impl FnOnce(SExp<T>) -> SExp<U>) -> Filtered<U> {
        let at = Location::caller();
        let zeros = leaves_of_item::<U>().into_iter().map(|leaf| node::constant(at, Lit::zero(leaf.ty)));
        let zero: SExp<U> = of_nodes(&zeros.collect::<Vec<_>>());
        let values = generate(self.values.len(), |i| cond(i.lt(self.count), f(inside(self.values, i)), zero));
        Filtered { values, order: self.order, count: self.count }
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
        let init = init.state_at(at);
        let is_kept = generate(self.values.len(), |i| i.lt(self.count));
        let srcs = [vec![is_kept.node()], nodes_of(self.values)].concat();
        let first = [&[node::constant(at, Lit::bool(true))], T::split(&init)].concat();
        // every join has elements that stand before the others; what is kept stands before what is not
        let all = joined::reduce(at, "reduce", Order::Reduce, &first, &srcs, |a, b| {
            let (before, behind): (SExp<T>, SExp<T>) = (of_nodes(&a[1..]), of_nodes(&b[1..]));
            let value = cond(SExp::of(b[0]), f(before, behind), before);
            [vec![a[0]], nodes_of(value)].concat()
        });
        of_nodes(&all[1..])
    }
}

/// What a composite keeps of vectors, which are the last of its operands: the values, their order, and their number.
fn kept<T: Item>(at: Place, which: Composite, operands: Vec<NodeRef>, values: &[NodeRef]) -> Filtered<T> {
    let order = [Type::vector(Ty::I64), Type::scalar(Ty::I64)];
    let types: Vec<Type> = values.iter().map(|x| x.ty).chain(order).collect();
    let all = composite(at, which, operands, None, &types);
    let (kept, rest) = all.split_at(values.len());
    Filtered { values: of_nodes(kept), order: VExp::of(rest[0]), count: SExp::of(rest[1]) }
}

impl<T: Item> VExp<T> {
    /// The elements for which the condition holds, in their order. A filter stands outside of closures.
    ///
    /// Cost: the condition for each element, which is stored, and a scan. Where `filled` is stored, the last launch of
    /// the scan stores the elements themselves; other readers read them by stored indices.
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
        let (at, values) = (Location::caller(), nodes_of(self));
        let operands = [vec![self.map(condition).node()], values.clone()].concat();
        kept(at, Composite::Filter, operands, &values)
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
        let all = self.filter(condition);
        (all.values, all.count)
    }
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
        let x = self.node();
        kept(Location::caller(), Composite::Unique, vec![x], &[x])
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
        let operands = vec![runs.order.node(), runs.count.node()];
        let lengths =
            composite(Location::caller(), Composite::RunLengths, operands, None, &[Type::vector(Ty::I64)]);
        let lengths = VExp::of(lengths[0]);
        (runs, Filtered { values: lengths, order: runs.order, count: runs.count })
    }
}
