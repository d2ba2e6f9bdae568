//! Matrix products: of matrices, and of the planes of arrays of three dimensions.

use crate::axis::{generated, len, pick};
use crate::elem::{Elem, Num};
use crate::handle::{MExp, TExp};
use crate::matrix::{COLS, PLANES, ROWS};
use crate::node::{self, NodeRef, Op, make};
use crate::reduce;
use crate::scope::Place;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::scalar::Ty;
use std::panic::Location;

/// The inner product of a row and a column.
fn inner(at: Place, row: NodeRef, col: NodeRef) -> NodeRef {
    let dot = |ty, v: &[NodeRef]| make(at, Type::scalar(ty), Op::PanelDot(v[0], v[1]));
    reduce::summed(at, row.ty.elem, &[row, col], dot)
}

/// The product of two matrices.
pub(crate) fn of_matrices(at: Place, a: NodeRef, b: NodeRef) -> NodeRef {
    let extents = [len(at, a, ROWS), len(at, b, COLS)];
    let element = |i: &[NodeRef]| {
        let row = pick(at, "matmul", (a, ROWS), i[0], true);
        let col = pick(at, "matmul", (b, COLS), i[1], true);
        vec![inner(at, row, col)]
    };
    generated(at, "matmul", &extents, element)[0]
}

/// The products of the planes of two arrays.
pub(crate) fn of_planes(at: Place, a: NodeRef, b: NodeRef) -> NodeRef {
    // the rule that there are as many planes belongs to a function of their numbers
    let numbers = [a, b].map(|x| make(at, Type::vector(Ty::I64), Op::Iota(len(at, x, PLANES))));
    let planes = node::map_one(at, "matmul of planes", &numbers, |v| v[0]);
    let extents = [len(at, planes, 0), len(at, a, 1 + ROWS), len(at, b, 1 + COLS)];
    let element = |i: &[NodeRef]| {
        let [a, b] = [a, b].map(|x| pick(at, "matmul", (x, PLANES), i[0], true));
        let row = pick(at, "matmul", (a, ROWS), i[1], true);
        let col = pick(at, "matmul", (b, COLS), i[2], true);
        vec![inner(at, row, col)]
    };
    generated(at, "matmul", &extents, element)[0]
}

impl<T: Elem> MExp<T> {
    /// The matrix product, of `self.rows()` x `b.cols()` elements: element (i, j) is the sum of
    /// `self.at(i, k) * b.at(k, j)` over k, by multiply-adds in panels of 512 in the fixed order of
    /// `docs/semantics.md` 5.7. `self` has as many columns as `b` has rows; other shapes are an error of the call.
    /// Halves are summed in f32, and rounded once. GPUs use tensor cores where
    /// [`Package::tensor_cores`](crate::Package::tensor_cores) allows it, in an order of theirs.
    ///
    /// Cost: rows * columns * inner multiply-adds, by tiles in registers, in one launch (two for a
    /// split-K product on GPUs). What is done with the factors and with the product fuses with it.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |a: MExp<f32>, b: MExp<f32>| a.matmul(b);
    /// let (a, b) = (matrix(&[[1.0f32, 2.0]]), matrix(&[[3.0f32], [4.0]]));
    /// assert_eq!(call(f, [a, b]), [matrix(&[[11.0f32]])]);
    /// ```
    #[track_caller]
    pub fn matmul(self, b: MExp<T>) -> MExp<T>
    where
        T: Num,
    {
        MExp::of(of_matrices(Location::caller(), self.node(), b.node()))
    }
}

impl<T: Elem> TExp<T> {
    /// The matrix product of each plane with the same plane of `b`: element (p, i, j) is the sum of
    /// `self.at(p, i, k) * b.at(p, k, j)` over k, in the order of [`MExp::matmul`], whose bits each plane
    /// has. Both have as many planes, and `self` has as many columns as `b` has rows; other shapes are an
    /// error of the call. One matrix for all planes is `m.broadcast_planes(planes)`. GPUs use tensor cores
    /// where [`Package::tensor_cores`](crate::Package::tensor_cores) allows it.
    ///
    /// Cost: planes * rows * columns * inner multiply-adds, by tiles in registers, in one launch. What is
    /// done with the factors and with the product fuses with it.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |a: TExp<f32>, b: TExp<f32>| a.matmul(b);
    /// let (a, b) = (tensor(&[[[1.0f32, 2.0]], [[5.0, 6.0]]]), tensor(&[[[3.0f32], [4.0]], [[1.0], [0.5]]]));
    /// assert_eq!(call(f, [a, b]), [tensor(&[[[11.0f32]], [[8.0]]])]);
    /// ```
    #[track_caller]
    pub fn matmul(self, b: TExp<T>) -> TExp<T>
    where
        T: Num,
    {
        TExp::of(of_planes(Location::caller(), self.node(), b.node()))
    }
}
