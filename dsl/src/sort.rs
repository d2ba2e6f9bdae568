//! Orders of vectors: `argsort`, `sort` and `sort_by_key` (semantics 5.19).

use crate::composite;
use crate::elem::Elem;
use crate::handle::VExp;
use crate::item::Item;
use crate::node::{NodeRef, Op, make};
use crate::results::{Results, each_tuple, nodes_of, of_nodes};
use crate::scope::Place;
use arraygpu_compiler::build::Composite;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::scalar::Ty;
use std::panic::Location;

/// What is sorted by keys: a vector, or a tuple of vectors, nested as one likes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be sorted by keys",
    label = "expected a vector, or a tuple of vectors",
    note = "write `keys.sort_by_key(x)`, or `keys.sort_by_key((x, y))` of several vectors",
    note = "the rows of a matrix in the order of keys: `let order = keys.argsort();`, then `generate2(m.rows(), m.cols(), |i, j| m.at(order.at(i), j))`"
)]
pub trait SortedByKey: Results {}

#[diagnostic::do_not_recommend]
impl<T: Item> SortedByKey for VExp<T> {}

macro_rules! of_tuples {
    ($($name:ident)+) => {
        #[diagnostic::do_not_recommend]
        impl<$($name: SortedByKey),+> SortedByKey for ($($name,)+) {}
    };
}
each_tuple!(of_tuples);

fn order(at: Place, which: Composite, x: NodeRef) -> VExp<i64> {
    of_nodes(&composite::composite(at, which, vec![x], None, &[Type::vector(Ty::I64)]))
}

/// An element at an index that the construct knows to be inside.
pub(crate) fn element(at: Place, x: NodeRef, i: NodeRef) -> NodeRef {
    make(at, Type::scalar(x.ty.elem), Op::Elem(x, vec![i]))
}

impl<T: Elem> VExp<T> {
    /// The indices of the elements in ascending order of these: -0 before +0, NaNs last, false before true, and equal
    /// elements in the order of their indices. A sort stands outside of closures (E0312).
    ///
    /// Cost: a radix sort, of three launches for each eight bits of a key, 4 times for 32 bits: they count how often
    /// each of 256 digits occurs in each part of the vector, and move keys and indices where they go by that digit.
    /// Integers that are clamped to 0 .. n by `.min(n).max(0)` have as many bits as n. Where the number of elements
    /// can be halved at most 3 / 2 times as often as keys have digits, it takes two launches for each such
    /// halving, in which each element searches for its place in a merged run. Truth values have one scan.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.argsort();
    /// assert_eq!(call(f, [vector(&[3.0f32, 1.0, 2.0, 1.0])]), [vector(&[1i64, 3, 2, 0])]);
    /// ```
    #[track_caller]
    pub fn argsort(self) -> VExp<i64> {
        order(Location::caller(), Composite::Argsort, self.node())
    }

    /// The indices of the elements in descending order of these: +0 before -0, NaNs last as well, true before false,
    /// and equal elements in the order of their indices.
    ///
    /// Cost: that of [`VExp::argsort`].
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<i32>| x.argsort_descending();
    /// assert_eq!(call(f, [vector(&[3i32, 1, 2, 3])]), [vector(&[0i64, 3, 2, 1])]);
    /// ```
    #[track_caller]
    pub fn argsort_descending(self) -> VExp<i64> {
        order(Location::caller(), Composite::ArgsortDescending, self.node())
    }

    /// The elements in ascending order, that of [`VExp::argsort`] (`docs/semantics.md` 5.19): a vector of the same
    /// length.
    ///
    /// Cost: that of [`VExp::argsort`]; the sorted elements are made of its keys.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.sort();
    /// assert_eq!(call(f, [vector(&[3.0f32, 1.0, 2.0])]), [vector(&[1.0f32, 2.0, 3.0])]);
    /// ```
    #[track_caller]
    pub fn sort(self) -> VExp<T> {
        of_nodes(&composite::alike(Location::caller(), (Composite::Sort, "sort"), vec![self.node()]))
    }

    /// The elements in descending order, that of [`VExp::argsort_descending`].
    ///
    /// Cost: that of [`VExp::sort`].
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<u8>| x.sort_descending();
    /// assert_eq!(call(f, [vector(&[3u8, 1, 200])]), [vector(&[200u8, 3, 1])]);
    /// ```
    #[track_caller]
    pub fn sort_descending(self) -> VExp<T> {
        let which = (Composite::SortDescending, "sort_descending");
        of_nodes(&composite::alike(Location::caller(), which, vec![self.node()]))
    }

    /// The elements in ascending order, and those of another vector, which may be of records, in the same order; or
    /// those of each vector of a tuple. All have one length, which is checked before the function runs.
    ///
    /// Cost: that of [`VExp::sort`]; up to four vectors of values of integers, `f32` or `f64` move with the keys. Others
    /// are read at the indices of the order.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |keys: VExp<i32>, values: VExp<f32>| keys.sort_by_key(values);
    /// let (keys, values) = (vector(&[2i32, 1, 2]), vector(&[0.5f32, 1.5, 2.5]));
    /// assert_eq!(call(f, [keys, values]), [vector(&[1i32, 2, 2]), vector(&[1.5f32, 0.5, 2.5])]);
    /// ```
    #[track_caller]
    pub fn sort_by_key<V: SortedByKey>(self, values: V) -> (VExp<T>, V) {
        let all = [vec![self.node()], nodes_of(values)].concat();
        let sorted = composite::alike(Location::caller(), (Composite::Sort, "sort_by_key"), all);
        (of_nodes(&sorted[..1]), of_nodes(&sorted[1..]))
    }
}
