//! Functions of arrays along an axis: lengths, slices, reversal, parts; and the functions that make
//! arrays from indices.

use crate::handle::{IntoScalar, MExp, SExp, TExp, VExp};
use crate::item::Item;
use crate::node::{self, NodeRef, Op, make};
use crate::results::{Results, Scalars, leafwise, nodes_of};
use crate::scope::Place;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::scalar::{Lit, Ty};
use std::panic::Location;

/// The length of an array along an axis.
pub(crate) fn len(at: Place, src: NodeRef, axis: u8) -> NodeRef {
    make(at, Type::scalar(Ty::I64), Op::Len(src, axis))
}

/// A slice along an axis; stride 1 if none is given.
pub(crate) fn slice(
    at: Place,
    construct: &'static str,
    (src, axis): (NodeRef, u8),
    [start, stop]: [NodeRef; 2],
    stride: Option<NodeRef>,
) -> NodeRef {
    let stride = stride.unwrap_or_else(|| node::constant(at, Lit::i64(1)));
    make(at, src.ty, Op::Slice { construct, src, axis, start, stop, stride })
}

/// An element.
pub(crate) fn read(at: Place, src: NodeRef, index: Vec<NodeRef>) -> NodeRef {
    make(at, Type::scalar(src.ty.elem), Op::At(src, index))
}

/// The part at an index of an axis. `inside`: the index runs over that axis.
pub(crate) fn pick(
    at: Place,
    construct: &'static str,
    (src, axis): (NodeRef, u8),
    index: NodeRef,
    inside: bool,
) -> NodeRef {
    let ty = Type { elem: src.ty.elem, rank: src.ty.rank - 1 };
    make(at, ty, Op::Pick { construct, src, axis, index, inside })
}

/// The array repeated n times along a new axis.
pub(crate) fn spread(at: Place, construct: &'static str, (src, axis): (NodeRef, u8), n: NodeRef) -> NodeRef {
    let ty = Type { elem: src.ty.elem, rank: src.ty.rank + 1 };
    make(at, ty, Op::Spread { construct, src, axis, n })
}

/// The function of the indices of these extents: an array for each value that it gives.
pub(crate) fn generated(
    at: Place,
    construct: &'static str,
    extents: &[NodeRef],
    f: impl FnOnce(&[NodeRef]) -> Vec<NodeRef>,
) -> Vec<NodeRef> {
    let lambdas = node::bind(at, construct, &vec![Ty::I64; extents.len()], f);
    let array = |lambda: node::Lambda| {
        let ty = Type::array(lambda.body.ty.elem, extents.len());
        make(at, ty, Op::Generate { construct, extents: extents.to_vec(), lambda })
    };
    lambdas.into_iter().map(array).collect()
}

/// The function of each part of an array: of each combination of indices of these axes, which
/// ascend.
pub(crate) fn over_parts(
    at: Place,
    construct: &'static str,
    src: NodeRef,
    axes: &[u8],
    f: impl FnOnce(NodeRef) -> Vec<NodeRef>,
) -> Vec<NodeRef> {
    over_parts_of(at, construct, &[src], axes, |parts| f(parts[0]))
}

/// [`over_parts`] of the leaves of an array, which have one shape.
pub(crate) fn over_parts_of(
    at: Place,
    construct: &'static str,
    srcs: &[NodeRef],
    axes: &[u8],
    f: impl FnOnce(&[NodeRef]) -> Vec<NodeRef>,
) -> Vec<NodeRef> {
    let extents: Vec<NodeRef> = axes.iter().map(|axis| len(at, srcs[0], *axis)).collect();
    generated(at, construct, &extents, |index| {
        let part = |src: &NodeRef| {
            // from the last axis on: picking an axis does not renumber those before it
            let last_first = axes.iter().zip(index).rev();
            last_first.fold(*src, |part, (axis, i)| pick(at, construct, (part, *axis), i, true))
        };
        f(&srcs.iter().map(part).collect::<Vec<_>>())
    })
}

macro_rules! axes {
    ($handle:ident $example:literal: $(
        $axis:literal $what:literal $count:literal $len:ident $slice:ident $slice_by:ident $reverse:ident;
    )*) => {
        impl<T: Item> $handle<T> { $(
            #[doc = concat!("The number of ", $what, ".")]
            ///
            /// Cost: none; the host knows it.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($len), "();")]
            #[doc = concat!("assert_eq!(call(f, [x]), [scalar(", stringify!($count), "i64)]);")]
            /// ```
            #[track_caller]
            #[allow(clippy::len_without_is_empty)]
            pub fn $len(self) -> SExp<i64> {
                SExp::of(len(Location::caller(), nodes_of(self)[0], $axis))
            }

            #[doc = concat!("The ", $what, " from `start` up to, not including, `stop`. `0 <= start <= stop <= ", stringify!($len), "()`")]
            /// is checked before the function runs; both are made of lengths, constants and scalar
            /// parameters.
            ///
            /// Cost: none; it changes indices.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($slice), "(0, 1).", stringify!($len), "();")]
            /// assert_eq!(call(f, [x]), [scalar(1i64)]);
            /// ```
            #[track_caller]
            pub fn $slice(self, start: impl IntoScalar<i64>, stop: impl IntoScalar<i64>) -> $handle<T> {
                let at = Location::caller();
                let ends = [start.scalar_at(at), stop.scalar_at(at)];
                leafwise(self, |x| slice(at, stringify!($slice), (x, $axis), ends, None))
            }

            #[doc = concat!("Every `stride`-th of the ", $what, " from `start` up to, not including, `stop`: the ceiling of")]
            /// `(stop - start) / stride` of them. `stride >= 1` is checked before the function
            /// runs, and the
            #[doc = concat!("ends as by [`Self::", stringify!($slice), "`].")]
            ///
            /// Cost: none; it changes indices. Elements that are not neighbours in memory take more
            /// transactions to read.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($slice_by), "(0, x.", stringify!($len), "(), 2);")]
            #[doc = concat!("let count = call(|x: ", stringify!($handle), "<f32>| f(x).", stringify!($len), "(), [x]);")]
            #[doc = concat!("assert_eq!(count, [scalar((", stringify!($count), "i64 + 1) / 2)]);")]
            /// ```
            #[track_caller]
            pub fn $slice_by(
                self,
                start: impl IntoScalar<i64>,
                stop: impl IntoScalar<i64>,
                stride: impl IntoScalar<i64>,
            ) -> $handle<T> {
                let at = Location::caller();
                let ends = [start.scalar_at(at), stop.scalar_at(at)];
                let stride = Some(stride.scalar_at(at));
                leafwise(self, |x| slice(at, stringify!($slice_by), (x, $axis), ends, stride))
            }

            #[doc = concat!("The ", $what, " from last to first: an array of the same shape.")]
            ///
            /// Cost: none; it changes indices.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!(
                "let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($reverse), "().", stringify!($reverse), "();"
            )]
            /// assert_eq!(call(f, [x.clone()]), [x]);
            /// ```
            #[track_caller]
            pub fn $reverse(self) -> $handle<T> {
                let at = Location::caller();
                leafwise(self, |x| make(at, x.ty, Op::Reverse(x, $axis)))
            }
        )* }
    };
}

axes! { VExp "vector(&[1.0f32, 2.0, 3.0, 4.0])":
    0 "elements" 4 len slice slice_by reverse;
}
axes! { MExp "matrix(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]])":
    0 "rows" 2 rows slice_rows slice_rows_by reverse_rows;
    1 "columns" 3 cols slice_cols slice_cols_by reverse_cols;
}
axes! { TExp "tensor(&[[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]])":
    0 "planes" 1 planes slice_planes slice_planes_by reverse_planes;
    1 "rows" 2 rows slice_rows slice_rows_by reverse_rows;
    2 "columns" 3 cols slice_cols slice_cols_by reverse_cols;
}

macro_rules! parts {
    ($handle:ident $example:literal -> $part:ident: $($axis:literal $what:literal $method:ident $result:literal;)*) => {
        impl<T: Item> $handle<T> { $(
            #[doc = concat!("The ", $what, " at an index.")]
            ///
            /// An index that the host knows (made of lengths, constants and scalar parameters) is
            /// checked before the function runs. With another index each element is read as by
            /// `at`: outside of the array it is 0 and leaves an error record.
            ///
            /// Cost: none; it changes indices. With an index that the host does not know each read
            /// is checked.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($method), "(0);")]
            #[doc = concat!("assert_eq!(call(f, [x]), [", $result, "]);")]
            /// ```
            #[track_caller]
            pub fn $method(self, index: impl IntoScalar<i64>) -> $part<T> {
                let at = Location::caller();
                let index = index.scalar_at(at);
                leafwise(self, |x| pick(at, stringify!($method), (x, $axis), index, false))
            }
        )* }
    };
}

parts! { MExp "matrix(&[[1.0f32, 2.0], [3.0, 4.0]])" -> VExp:
    0 "row" row "vector(&[1.0f32, 2.0])";
    1 "column" col "vector(&[1.0f32, 3.0])";
}
parts! { TExp "tensor(&[[[1.0f32, 2.0], [3.0, 4.0]]])" -> MExp:
    0 "plane" plane "matrix(&[[1.0f32, 2.0], [3.0, 4.0]])";
}

/// The vector `f(0), f(1), .. f(n - 1)`. If `f` gives a tuple, the result is a tuple of vectors. `n >= 0` is checked
/// before the function runs; n is made of lengths, constants and scalar parameters (others are refused with the
/// author's line, E0209). `f` is called once, when the function is registered, on an index that stands for all.
///
/// Cost: fused; the operations of `f` for each element. A reduction in `f` that
/// mentions an index is computed for each value of it.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// let f = |n: SExp<i64>| generate(n, |i| i * i);
/// assert_eq!(call(f, [scalar(4i64)]), [vector(&[0i64, 1, 4, 9])]);
/// ```
#[track_caller]
pub fn generate<R: Scalars>(n: impl IntoScalar<i64>, f: impl FnOnce(SExp<i64>) -> R) -> R::Vectors {
    let at = Location::caller();
    let made = generated(at, "generate", &[n.scalar_at(at)], |i| nodes_of(f(SExp::of(i[0]))));
    R::Vectors::from_nodes(&mut made.into_iter())
}

/// [`generate`] for matrices: the matrix of `rows` x `cols` elements with `f(i, j)` in row i, column j.
///
/// Cost: fused; the operations of `f` for each element. A reduction in `f` that
/// mentions an index is computed for each value of it.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// let f = |n: SExp<i64>| generate2(2, n, |i, j| 10 * i + j);
/// assert_eq!(call(f, [scalar(3i64)]), [matrix(&[[0i64, 1, 2], [10, 11, 12]])]);
/// ```
#[track_caller]
pub fn generate2<R: Scalars>(
    rows: impl IntoScalar<i64>,
    cols: impl IntoScalar<i64>,
    f: impl FnOnce(SExp<i64>, SExp<i64>) -> R,
) -> R::Matrices {
    let at = Location::caller();
    let extents = [rows.scalar_at(at), cols.scalar_at(at)];
    let made = generated(at, "generate2", &extents, |i| nodes_of(f(SExp::of(i[0]), SExp::of(i[1]))));
    R::Matrices::from_nodes(&mut made.into_iter())
}

/// [`generate`] for arrays of three dimensions, of `planes` x `rows` x `cols` elements: `f(k, i, j)` stands in plane
/// k, row i, column j.
///
/// Cost: fused; the operations of `f` for each element. A reduction in `f` that
/// mentions an index is computed for each value of it.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// let f = |n: SExp<i64>| generate3(2, 1, n, |k, i, j| 100 * k + 10 * i + j);
/// assert_eq!(call(f, [scalar(2i64)]), [tensor(&[[[0i64, 1]], [[100, 101]]])]);
/// ```
#[track_caller]
pub fn generate3<R: Scalars>(
    planes: impl IntoScalar<i64>,
    rows: impl IntoScalar<i64>,
    cols: impl IntoScalar<i64>,
    f: impl FnOnce(SExp<i64>, SExp<i64>, SExp<i64>) -> R,
) -> R::Tensors {
    let at = Location::caller();
    let extents = [planes.scalar_at(at), rows.scalar_at(at), cols.scalar_at(at)];
    let f = |i: &[NodeRef]| nodes_of(f(SExp::of(i[0]), SExp::of(i[1]), SExp::of(i[2])));
    let made = generated(at, "generate3", &extents, f);
    R::Tensors::from_nodes(&mut made.into_iter())
}
