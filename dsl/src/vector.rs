//! Functions of vectors, and those that make vectors. Those of all arrays are in [`crate::array`],
//! [`crate::axis`] and [`crate::reduce`].

use crate::axis::{len, read, spread};
use crate::handle::{IntoScalar, MExp, SExp, VExp};
use crate::item::Item;
use crate::node::{self, Op, make};
use crate::results::{Results, Scalars, leafwise, nodes_of, of_nodes};
use arraygpu_compiler::core::Type;
use arraygpu_compiler::scalar::Ty;
use std::panic::Location;

impl<T: Item> VExp<T> {
    /// Element `i`, counted from 0. Outside of the vector it is 0 (false) and leaves an error record
    /// (`docs/semantics.md` 4.3).
    ///
    /// Cost: one read, or the evaluation of that element; a check, if the compiler cannot prove the
    /// index.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.at(1);
    /// assert_eq!(call(f, [vector(&[1.0f32, 2.0])]), [scalar(2.0f32)]);
    /// ```
    #[track_caller]
    pub fn at(self, i: impl IntoScalar<i64>) -> SExp<T> {
        let at = Location::caller();
        let i = i.scalar_at(at);
        leafwise(self, |x| read(at, x, vec![i]))
    }

    /// The elements at those indices, each as [`VExp::at`] reads it: a vector of as many elements as there are
    /// indices. An index outside of this vector gives 0 (false) and leaves an error record.
    ///
    /// Cost: fused; a read of an index and one of an element, in no order, for each element of the
    /// result.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>, i: VExp<i64>| x.gather(i);
    /// let (x, i) = (vector(&[1.0f32, 2.0]), vector(&[1i64, 1, 0]));
    /// assert_eq!(call(f, [x, i]), [vector(&[2.0f32, 2.0, 1.0])]);
    /// ```
    #[track_caller]
    pub fn gather(self, indices: VExp<i64>) -> VExp<T> {
        let at = Location::caller();
        let read = |i: &[_]| nodes_of(self).into_iter().map(|x| read(at, x, vec![i[0]])).collect();
        of_nodes(&node::map(at, "gather", &[indices.node()], read))
    }

    /// The matrix of `n` rows, each of them this vector: `n` x `len` elements. `n >= 0` is checked before the
    /// function runs.
    ///
    /// Cost: none; it changes indices. Operations of an element are done for each of its copies;
    /// a reduction that can leave no error record is done once, and its result is stored.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.broadcast_rows(2);
    /// assert_eq!(call(f, [vector(&[1.0f32, 2.0])]), [matrix(&[[1.0f32, 2.0], [1.0, 2.0]])]);
    /// ```
    #[track_caller]
    pub fn broadcast_rows(self, n: impl IntoScalar<i64>) -> MExp<T> {
        let at = Location::caller();
        let n = n.scalar_at(at);
        leafwise(self, |x| spread(at, "broadcast_rows", (x, 0), n))
    }

    /// The matrix of `n` columns, each of them this vector: `len` x `n` elements. `n >= 0` is checked before the
    /// function runs.
    ///
    /// Cost: none; it changes indices. Operations of an element are done for each of its copies;
    /// a reduction that can leave no error record is done once, and its result is stored.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.broadcast_cols(2);
    /// assert_eq!(call(f, [vector(&[1.0f32, 2.0])]), [matrix(&[[1.0f32, 1.0], [2.0, 2.0]])]);
    /// ```
    #[track_caller]
    pub fn broadcast_cols(self, n: impl IntoScalar<i64>) -> MExp<T> {
        let at = Location::caller();
        let n = n.scalar_at(at);
        leafwise(self, |x| spread(at, "broadcast_cols", (x, 1), n))
    }

    /// `f` of each element of this vector with each element of another one, of any lengths: a matrix with a row for
    /// each element of this one and a column for each of the other one. Row i is `f(x[i], y[0]), f(x[i], y[1]) ..`.
    /// If `f` gives a tuple, the result is a tuple of matrices.
    ///
    /// Cost: fused; the operations of `f` for each element of the matrix.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>, y: VExp<f32>| x.outer(y, |a, b| a * b);
    /// let (x, y) = (vector(&[1.0f32, 2.0]), vector(&[3.0f32, 4.0]));
    /// assert_eq!(call(f, [x, y]), [matrix(&[[3.0f32, 4.0], [6.0, 8.0]])]);
    /// ```
    #[track_caller]
    pub fn outer<U: Item, R: Scalars>(
        self,
        y: VExp<U>,
        f: impl FnOnce(SExp<T>, SExp<U>) -> R,
    ) -> R::Matrices {
        let at = Location::caller();
        let (xs, ys) = (nodes_of(self), nodes_of(y));
        let (rows, cols) = (len(at, ys[0], 0), len(at, xs[0], 0));
        let mut srcs: Vec<_> = xs.iter().map(|x| spread(at, "outer", (x, 1), rows)).collect();
        srcs.extend(ys.iter().map(|y| spread(at, "outer", (y, 0), cols)));
        let made = node::map(at, "outer", &srcs, |v| {
            let v = &mut v.iter().copied();
            nodes_of(f(SExp::from_nodes(v), SExp::from_nodes(v)))
        });
        of_nodes(&made)
    }
}

/// The vector 0, 1, .. n - 1, of i64. `n >= 0` is checked before the function runs; n is made of lengths, constants
/// and scalar parameters.
///
/// Cost: fused; the element is its index.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// let f = |n: SExp<i64>| iota(n);
/// assert_eq!(call(f, [scalar(3i64)]), [vector(&[0i64, 1, 2])]);
/// ```
#[track_caller]
pub fn iota(n: impl IntoScalar<i64>) -> VExp<i64> {
    let at = Location::caller();
    VExp::of(make(at, Type::vector(Ty::I64), Op::Iota(n.scalar_at(at))))
}

/// The vector of `n` elements `x`. `n >= 0` is checked before the function runs; n is made of lengths, constants and
/// scalar parameters.
///
/// Cost: fused; the element is `x`, which is computed once.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// let f = |n: SExp<i64>| fill(n, 1.5f32);
/// assert_eq!(call(f, [scalar(2i64)]), [vector(&[1.5f32, 1.5])]);
/// ```
#[track_caller]
pub fn fill<T: Item>(n: impl IntoScalar<i64>, x: impl IntoScalar<T>) -> VExp<T> {
    let at = Location::caller();
    let (n, x) = (n.scalar_at(at), SExp::<T>::of(x.scalar_at(at)));
    leafwise(x, |x| make(at, Type::vector(x.ty.elem), Op::Fill(n, x)))
}
