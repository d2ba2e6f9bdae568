//! Functions of matrices and of arrays of three dimensions. Those of all arrays are in
//! [`crate::array`], [`crate::axis`] and [`crate::reduce`].

use crate::axis::{over_parts, over_parts_of, read, slice, spread};
use crate::elem::{Elem, Num};
use crate::handle::{IntoScalar, MExp, SExp, TExp, VExp};
use crate::item::Item;
use crate::node::{self, NodeRef, Op, make};
use crate::reduce::{self, FirstState};
use crate::results::{Scalars, leafwise, nodes_of, of_nodes};
use crate::scope::Place;
use arraygpu_compiler::Error;
use arraygpu_compiler::loc::Loc;
use std::panic::Location;

/// The axes of a matrix.
pub(crate) const ROWS: u8 = 0;
pub(crate) const COLS: u8 = 1;
/// The first axis of an array of three dimensions, whose planes are matrices.
pub(crate) const PLANES: u8 = 0;

macro_rules! by_parts {
    ($handle:ident $example:literal: $(
        $axes:expr, $part:ident $what:literal -> $out:ident $arrays:ident $result:literal:
        $map:ident $reduce:ident $sum:ident $sums:literal;
    )*) => {
        impl<T: Item> $handle<T> { $(
            #[doc = concat!("`f` of each ", $what, ": ", $result, ". `f` may reduce.")]
            /// If it gives a tuple, the result is a tuple of arrays.
            ///
            #[doc = concat!("Cost: a segmented reduction where `f` reduces its ", $what, ": at most one evaluation of each")]
            /// element for each reduction in `f`. Else fused; the operations of `f` for each element of
            /// the result.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($map), "(|v| v.sum() + v.max() - v.max());")]
            #[doc = concat!("assert_eq!(call(f, [", $example, "]), [", $sums, "]);")]
            /// ```
            #[track_caller]
            pub fn $map<R: Scalars>(self, f: impl FnOnce($part<T>) -> R) -> R::$arrays {
                let part = |x: &[NodeRef]| nodes_of(f(of_nodes(x)));
                of_nodes(&over_parts_of(Location::caller(), stringify!($map), &nodes_of(self), &$axes, part))
            }

            #[doc = concat!("[`", stringify!($part), "::reduce`] of each ", $what, ": ", $result, ".")]
            ///
            /// Cost: a segmented reduction: one evaluation of each element.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($reduce), "(0.0, |a, b| a + b);")]
            #[doc = concat!("assert_eq!(call(f, [", $example, "]), [", $sums, "]);")]
            /// ```
            #[track_caller]
            pub fn $reduce(
                self,
                init: impl FirstState<T>,
                f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>,
            ) -> $out<T> {
                let at = Location::caller();
                let init = init.state_at(at);
                let part = |x: &[NodeRef]| reduce::reduce(at, stringify!($reduce), init, x, f);
                of_nodes(&over_parts_of(at, stringify!($reduce), &nodes_of(self), &$axes, part))
            }
        )* }

        impl<T: Elem> $handle<T> { $(
            #[doc = concat!("[`", stringify!($part), "::sum`] of each ", $what, ": ", $result, ".")]
            ///
            /// Cost: a segmented reduction: one evaluation of each element.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($sum), "();")]
            #[doc = concat!("assert_eq!(call(f, [", $example, "]), [", $sums, "]);")]
            /// ```
            #[track_caller]
            pub fn $sum(self) -> $out<T>
            where
                T: Num,
            {
                let at = Location::caller();
                let part = |x| vec![reduce::sum(at, x)];
                $out::of(over_parts(at, stringify!($sum), self.node(), &$axes, part)[0])
            }
        )* }
    };
}

by_parts! { MExp "matrix(&[[1.0f32, 2.0], [3.0, 4.0]])":
    [ROWS], VExp "row" -> VExp Vectors "a vector with one element for each row":
        map_rows reduce_rows sum_rows "vector(&[3.0f32, 7.0])";
    [COLS], VExp "column" -> VExp Vectors "a vector with one element for each column":
        map_cols reduce_cols sum_cols "vector(&[4.0f32, 6.0])";
}
by_parts! { TExp "tensor(&[[[1.0f32, 2.0], [3.0, 4.0]]])":
    [PLANES, 1], VExp "row of each plane" -> MExp Matrices "a matrix of `planes` x `rows` elements":
        map_rows reduce_rows sum_rows "matrix(&[[3.0f32, 7.0]])";
    [PLANES, 2], VExp "column of each plane" -> MExp Matrices "a matrix of `planes` x `cols` elements":
        map_cols reduce_cols sum_cols "matrix(&[[4.0f32, 6.0]])";
    [PLANES], MExp "plane" -> VExp Vectors "a vector of `planes` elements":
        map_planes reduce_planes sum_planes "vector(&[10.0f32])";
}

impl<T: Item> MExp<T> {
    /// The element in row `i`, column `j`, counted from 0. Outside of the matrix it is 0 (false) and leaves an error
    /// record (`docs/semantics.md` 4.3).
    ///
    /// Cost: one read, or the evaluation of that element; a check, if the compiler cannot prove the
    /// indices.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: MExp<f32>| x.at(1, 0);
    /// assert_eq!(call(f, [matrix(&[[1.0f32, 2.0], [3.0, 4.0]])]), [scalar(3.0f32)]);
    /// ```
    #[track_caller]
    pub fn at(self, i: impl IntoScalar<i64>, j: impl IntoScalar<i64>) -> SExp<T> {
        let at = Location::caller();
        let index = vec![i.scalar_at(at), j.scalar_at(at)];
        leafwise(self, |x| read(at, x, index.clone()))
    }

    /// Rows `r0` up to, not including, `r1`, and of these columns `c0` up to, not including, `c1`. The result has
    /// `r1 - r0` x `c1 - c0` elements. `0 <= r0 <= r1 <= rows` and `0 <= c0 <= c1 <= cols` are checked before the
    /// function runs; all four are made of lengths, constants and scalar parameters.
    ///
    /// Cost: none; it changes indices.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: MExp<f32>| x.slice(0, 2, 1, 2);
    /// assert_eq!(call(f, [matrix(&[[1.0f32, 2.0], [3.0, 4.0]])]), [matrix(&[[2.0f32], [4.0]])]);
    /// ```
    #[track_caller]
    pub fn slice(
        self,
        r0: impl IntoScalar<i64>,
        r1: impl IntoScalar<i64>,
        c0: impl IntoScalar<i64>,
        c1: impl IntoScalar<i64>,
    ) -> MExp<T> {
        let at = Location::caller();
        let [r0, r1] = [r0.scalar_at(at), r1.scalar_at(at)];
        let [c0, c1] = [c0.scalar_at(at), c1.scalar_at(at)];
        leafwise(self, |x| block(at, "slice", x, [r0, r1], [c0, c1]))
    }

    /// [`MExp::slice`] of every `rstride`-th row and every `cstride`-th column. Both are at least
    /// 1, which is checked before the function runs.
    ///
    /// Cost: none; it changes indices. Elements that are not neighbours in memory take more
    /// transactions to read.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: MExp<f32>| x.slice_by(0, 2, 2, 0, 3, 2);
    /// let x = matrix(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    /// assert_eq!(call(f, [x]), [matrix(&[[1.0f32, 3.0]])]);
    /// ```
    #[track_caller]
    pub fn slice_by(
        self,
        r0: impl IntoScalar<i64>,
        r1: impl IntoScalar<i64>,
        rstride: impl IntoScalar<i64>,
        c0: impl IntoScalar<i64>,
        c1: impl IntoScalar<i64>,
        cstride: impl IntoScalar<i64>,
    ) -> MExp<T> {
        let at = Location::caller();
        let [r0, r1, rstride] = [r0.scalar_at(at), r1.scalar_at(at), rstride.scalar_at(at)];
        let [c0, c1, cstride] = [c0.scalar_at(at), c1.scalar_at(at), cstride.scalar_at(at)];
        leafwise(self, |x| {
            let rows = slice(at, "slice_by", (x, ROWS), [r0, r1], Some(rstride));
            slice(at, "slice_by", (rows, COLS), [c0, c1], Some(cstride))
        })
    }

    /// The matrix whose rows are this one's columns: `cols` x `rows` elements.
    ///
    /// Cost: none; it changes indices.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: MExp<f32>| x.transpose();
    /// assert_eq!(call(f, [matrix(&[[1.0f32, 2.0]])]), [matrix(&[[1.0f32], [2.0]])]);
    /// ```
    #[track_caller]
    pub fn transpose(self) -> MExp<T> {
        let at = Location::caller();
        leafwise(self, |x| permute(at, x, vec![COLS, ROWS]))
    }

    /// The array of `n` planes, each of them this matrix: `n` x `rows` x `cols` elements. `n >= 0` is checked before
    /// the function runs.
    ///
    /// Cost: none; it changes indices. Operations of an element are done for each of its copies;
    /// a reduction that can leave no error record is done once, and its result is stored.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: MExp<f32>| x.broadcast_planes(2);
    /// assert_eq!(call(f, [matrix(&[[1.0f32]])]), [tensor(&[[[1.0f32]], [[1.0]]])]);
    /// ```
    #[track_caller]
    pub fn broadcast_planes(self, n: impl IntoScalar<i64>) -> TExp<T> {
        let at = Location::caller();
        let n = n.scalar_at(at);
        leafwise(self, |x| spread(at, "broadcast_planes", (x, 0), n))
    }
}

impl<T: Item> TExp<T> {
    /// The element in plane `k`, row `i`, column `j`. Outside of the array it is 0 (false) and
    /// leaves an error record.
    ///
    /// Cost: one read, or the evaluation of that element; a check, if the compiler cannot prove the
    /// indices.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: TExp<f32>| x.at(0, 1, 0);
    /// assert_eq!(call(f, [tensor(&[[[1.0f32, 2.0], [3.0, 4.0]]])]), [scalar(3.0f32)]);
    /// ```
    #[track_caller]
    pub fn at(self, k: impl IntoScalar<i64>, i: impl IntoScalar<i64>, j: impl IntoScalar<i64>) -> SExp<T> {
        let at = Location::caller();
        let index = vec![k.scalar_at(at), i.scalar_at(at), j.scalar_at(at)];
        leafwise(self, |x| read(at, x, index.clone()))
    }

    /// The same elements with the axes in another order: axis k of the result is axis `axes[k]` of this array (0:
    /// planes, 1: rows, 2: columns). `[1, 2, 0]` has the planes last, so that what reduces rows then reduces over the
    /// planes. What is no order of the three axes is an error of the generator (E0207).
    ///
    /// Cost: none; it changes indices.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: TExp<f32>| x.permute([2, 0, 1]);
    /// let x = tensor(&[[[1.0f32, 2.0], [3.0, 4.0]]]);
    /// assert_eq!(call(f, [x]), [tensor(&[[[1.0f32, 3.0]], [[2.0, 4.0]]])]);
    /// ```
    #[track_caller]
    pub fn permute(self, axes: [u8; 3]) -> TExp<T> {
        let at = Location::caller();
        let mut sorted = axes;
        sorted.sort_unstable();
        if sorted != [0, 1, 2] {
            let message = format!("permute: {axes:?} is no order of the axes 0, 1 and 2");
            let error = Error::user("E0207", message).at(Some(&Loc::caller(at)));
            return leafwise(self, |x| node::invalid(at, x.ty, error.clone()));
        }
        leafwise(self, |x| permute(at, x, axes.to_vec()))
    }
}

/// A part of a matrix without gaps.
pub(crate) fn block(
    at: Place,
    construct: &'static str,
    src: NodeRef,
    rows: [NodeRef; 2],
    cols: [NodeRef; 2],
) -> NodeRef {
    let rows = slice(at, construct, (src, ROWS), rows, None);
    slice(at, construct, (rows, COLS), cols, None)
}

fn permute(at: Place, src: NodeRef, axes: Vec<u8>) -> NodeRef {
    make(at, src.ty, Op::Permute(src, axes))
}
