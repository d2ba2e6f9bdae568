//! What vectors can do, beside what all arrays can ([`crate::array`], [`crate::axis`], [`crate::reduce`]), and the functions that make vectors.

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
    #[track_caller]
    pub fn at(self, i: impl IntoScalar<i64>) -> SExp<T> {
        let at = Location::caller();
        SExp::of(read(at, self.node(), vec![i.scalar_at(at)]))
    }

    /// The elements at those indices, each as [`VExp::at`] reads it.
    #[track_caller]
    pub fn gather(self, indices: VExp<i64>) -> VExp<T> {
        let at = Location::caller();
        VExp::of(node::map_one(at, "gather", &[indices.node()], |i| read(at, self.node(), vec![i[0]])))
    }

    /// The matrix of `n` rows, each of them this vector. `n >= 0` is checked before the function runs.
    #[track_caller]
    pub fn broadcast_rows(self, n: impl IntoScalar<i64>) -> MExp<T> {
        let at = Location::caller();
        MExp::of(spread(at, "broadcast_rows", (self.node(), 0), n.scalar_at(at)))
    }

    /// The matrix of `n` columns, each of them this vector. `n >= 0` is checked before the function runs.
    #[track_caller]
    pub fn broadcast_cols(self, n: impl IntoScalar<i64>) -> MExp<T> {
        let at = Location::caller();
        MExp::of(spread(at, "broadcast_cols", (self.node(), 1), n.scalar_at(at)))
    }

    /// The function of each element of this vector with each element of another one: row i is `f(x[i], y[0]), f(x[i], y[1]) ..`.
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

/// 0, 1, .. n - 1. `n >= 0` is checked before the function runs.
#[track_caller]
pub fn iota(n: impl IntoScalar<i64>) -> VExp<i64> {
    let at = Location::caller();
    VExp::of(make(at, Type::vector(Ty::I64), Op::Iota(n.scalar_at(at))))
}

/// `n` times `x`. `n >= 0` is checked before the function runs.
#[track_caller]
pub fn fill<T: Elem>(n: impl IntoScalar<i64>, x: impl IntoScalar<T>) -> VExp<T> {
    let at = Location::caller();
    VExp::of(make(at, Type::vector(T::TY), Op::Fill(n.scalar_at(at), x.scalar_at(at))))
}
