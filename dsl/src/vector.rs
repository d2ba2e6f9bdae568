//! Functions of vectors, and those that make vectors. Those of all arrays are in [`crate::array`],
//! [`crate::axis`] and [`crate::reduce`].

use crate::axis::{len, read, spread};
use crate::elem::Elem;
use crate::handle::{IntoScalar, MExp, SExp, VExp};
use crate::node::{self, Op, make};
use crate::results::{Results, Scalars, nodes_of};
use arraygpu_compiler::core::Type;
use arraygpu_compiler::scalar::Ty;
use std::panic::Location;

impl<T: Elem> VExp<T> {
    /// Element `i`. Outside of the vector it is 0 (false) and leaves an error record.
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
        SExp::of(read(at, self.node(), vec![i.scalar_at(at)]))
    }

    /// The elements at those indices, each as [`VExp::at`] reads it: as many as there are indices.
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
        VExp::of(node::map_one(at, "gather", &[indices.node()], |i| read(at, self.node(), vec![i[0]])))
    }

    /// The matrix of `n` rows, each of them this vector. `n >= 0` is checked before the function
    /// runs.
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
        MExp::of(spread(at, "broadcast_rows", (self.node(), 0), n.scalar_at(at)))
    }

    /// The matrix of `n` columns, each of them this vector. `n >= 0` is checked before the function
    /// runs.
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
        MExp::of(spread(at, "broadcast_cols", (self.node(), 1), n.scalar_at(at)))
    }

    /// `f` of each element of this vector with each element of another one: row i of the matrix is
    /// `f(x[i], y[0]), f(x[i], y[1]) ..`. If `f` gives a tuple, the result is a tuple of matrices.
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
    pub fn outer<U: Elem, R: Scalars>(
        self,
        y: VExp<U>,
        f: impl FnOnce(SExp<T>, SExp<U>) -> R,
    ) -> R::Matrices {
        let at = Location::caller();
        let (x, y) = (self.node(), y.node());
        let rows = spread(at, "outer", (x, 1), len(at, y, 0));
        let cols = spread(at, "outer", (y, 0), len(at, x, 0));
        let f = |v: &[_]| nodes_of(f(SExp::of(v[0]), SExp::of(v[1])));
        R::Matrices::from_nodes(&mut node::map(at, "outer", &[rows, cols], f).into_iter())
    }
}

/// The vector 0, 1, .. n - 1. `n >= 0` is checked before the function runs.
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

/// The vector of `n` elements `x`. `n >= 0` is checked before the function runs.
///
/// Cost: fused; the element is `x`, which is computed once.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// let f = |n: SExp<i64>| fill(n, 1.5f32);
/// assert_eq!(call(f, [scalar(2i64)]), [vector(&[1.5f32, 1.5])]);
/// ```
#[track_caller]
pub fn fill<T: Elem>(n: impl IntoScalar<i64>, x: impl IntoScalar<T>) -> VExp<T> {
    let at = Location::caller();
    VExp::of(make(at, Type::vector(T::TY), Op::Fill(n.scalar_at(at), x.scalar_at(at))))
}
