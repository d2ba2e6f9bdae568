//! Places of extremes, both extremes at once, and means: of arrays, of their rows, columns and planes
//! (semantics 5.15).

use crate::axis::{generated, len, over_parts};
use crate::elem::{Elem, Float, Num};
use crate::handle::{MExp, SExp, TExp, VExp};
use crate::joined::{self, Order};
use crate::matrix::{COLS, PLANES, ROWS};
use crate::node::{self, NodeRef, Op, make};
use crate::reduce::{reduce_by, summed};
use crate::scope::Place;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use std::panic::Location;

/// The numbers of the elements of an array in row-major order, as an array of its shape.
fn numbers(at: Place, construct: &'static str, src: NodeRef) -> NodeRef {
    let extents: Vec<NodeRef> = (0..src.ty.rank).map(|axis| len(at, src, axis)).collect();
    if let [n] = extents[..] {
        return make(at, Type::vector(Ty::I64), Op::Iota(n));
    }
    let binary = |op, a, b| node::binary(at, op, a, b);
    let number = |index: &[NodeRef]| {
        let further =
            |number, (n, i): (&NodeRef, &NodeRef)| binary(BinaryOp::Add, binary(BinaryOp::Mul, number, n), i);
        vec![extents.iter().zip(index).skip(1).fold(index[0], further)]
    };
    generated(at, construct, &extents, number)[0]
}

/// The number of the first of the extreme elements.
fn place(at: Place, construct: &'static str, better: BinaryOp, src: NodeRef) -> NodeRef {
    place_of(at, construct, better, [src, numbers(at, construct, src)])
}

/// The number of the first of the extreme elements, given each element's number: a reduction of pairs of a value and
/// its number, by which the order of the elements does not matter.
pub(crate) fn place_of(at: Place, construct: &'static str, better: BinaryOp, srcs: [NodeRef; 2]) -> NodeRef {
    let ty = srcs[0].ty.elem;
    let worst = if better == BinaryOp::Lt { Lit::greatest(ty) } else { Lit::least(ty) };
    let init = [worst, Lit::i64(-1)].map(|value| node::constant(at, value));
    joined::reduce(at, construct, Order::Reduce, &init, &srcs, |a, b| {
        let binary = |op, a, b| node::binary(at, op, a, b);
        let (x, y) = (a[0], b[0]);
        let (mut is_better, mut is_same) = (binary(better, y, x), binary(BinaryOp::Eq, x, y));
        if ty.is_float() {
            let [x, y] = [x, y].map(|v| binary(BinaryOp::Ne, v, v));
            let first = binary(BinaryOp::And, y, node::unary(at, UnaryOp::Not, x));
            is_better = binary(BinaryOp::Or, is_better, first);
            is_same = binary(BinaryOp::Or, is_same, binary(BinaryOp::And, x, y));
        }
        // -1, the number of no element, comes last
        let [i, j] = [a[1], b[1]].map(|number| node::cast(at, Ty::U64, number));
        let is_before = binary(BinaryOp::And, is_same, binary(BinaryOp::Lt, j, i));
        let takes = binary(BinaryOp::Or, is_better, is_before);
        let choose = |(b, a): (&NodeRef, &NodeRef)| make(at, b.ty, Op::Select(takes, b, a));
        b.iter().zip(a).map(choose).collect()
    })[1]
}

/// The least and the greatest element.
fn minmax(at: Place, construct: &'static str, src: NodeRef) -> Vec<NodeRef> {
    let ty = src.ty.elem;
    let ops = [(BinaryOp::Min, Lit::greatest(ty)), (BinaryOp::Max, Lit::least(ty))];
    ops.map(|(op, init)| reduce_by(at, construct, op, init, src)).to_vec()
}

/// The sum of all elements, divided by their number.
fn mean(at: Place, construct: &'static str, src: NodeRef) -> NodeRef {
    let multiply = |a, b| node::binary(at, BinaryOp::Mul, a, b);
    let count = (0..src.ty.rank).map(|axis| len(at, src, axis)).reduce(multiply).expect("an array has axes");
    mean_of(at, construct, src, count)
}

/// The sum of all elements, divided by this number of them.
pub(crate) fn mean_of(at: Place, construct: &'static str, src: NodeRef, count: NodeRef) -> NodeRef {
    summed(at, src.ty.elem, &[src], |ty, v| {
        let sum = reduce_by(at, construct, BinaryOp::Add, Lit::zero(ty), v[0]);
        node::binary(at, BinaryOp::Div, sum, node::cast(at, ty, count))
    })
}

macro_rules! of_all_elements {
    ($($handle:ident $example:literal;)*) => { $(
        impl<T: Elem> $handle<T> {
            /// The index of the least element, counted in row-major order: the first one if several are equal,
            /// where -0 equals 0. A NaN is less than all other elements, as `min` has it. -1 if there are no
            /// elements.
            ///
            /// Cost: a reduction.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.argmin();")]
            /// assert_eq!(call(f, [x]), [scalar(1i64)]);
            /// ```
            #[track_caller]
            pub fn argmin(self) -> SExp<i64>
            where
                T: Num,
            {
                SExp::of(place(Location::caller(), "argmin", BinaryOp::Lt, self.node()))
            }

            /// The index of the greatest element, counted in row-major order: the first one if several are
            /// equal, where -0 equals 0. A NaN is greater than all other elements, as `max` has it. -1 if there
            /// are no elements.
            ///
            /// Cost: a reduction.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.argmax();")]
            /// assert_eq!(call(f, [x]), [scalar(2i64)]);
            /// ```
            #[track_caller]
            pub fn argmax(self) -> SExp<i64>
            where
                T: Num,
            {
                SExp::of(place(Location::caller(), "argmax", BinaryOp::Gt, self.node()))
            }

            /// The least and the greatest element: `min` and `max`.
            ///
            /// Cost: a reduction.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.minmax();")]
            /// assert_eq!(call(f, [x]), [scalar(1.0f32), scalar(4.0f32)]);
            /// ```
            #[track_caller]
            pub fn minmax(self) -> (SExp<T>, SExp<T>)
            where
                T: Num,
            {
                let both = minmax(Location::caller(), "minmax", self.node());
                (SExp::of(both[0]), SExp::of(both[1]))
            }

            /// The mean of all elements: their sum divided by their number; NaN if there are none. Halves are
            /// summed and divided in f32, and rounded once.
            ///
            /// Cost: a reduction.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.mean();")]
            /// assert_eq!(call(f, [x]), [scalar(2.5f32)]);
            /// ```
            #[track_caller]
            pub fn mean(self) -> SExp<T>
            where
                T: Float,
            {
                SExp::of(mean(Location::caller(), "mean", self.node()))
            }
        }
    )* };
}

of_all_elements! {
    VExp "vector(&[3.0f32, 1.0, 4.0, 2.0])";
    MExp "matrix(&[[3.0f32, 1.0], [4.0, 2.0]])";
    TExp "tensor(&[[[3.0f32, 1.0], [4.0, 2.0]]])";
}

macro_rules! of_parts {
    ($handle:ident $example:literal: $(
        $axes:expr, $part:ident $what:literal -> $out:ident $result:literal:
        $argmin:ident $argmins:literal $argmax:ident $argmaxs:literal $minmax:ident $minmaxs:literal $mean:ident $means:literal;
    )*) => {
        impl<T: Elem> $handle<T> { $(
            #[doc = concat!("[`", stringify!($part), "::argmin`] of each ", $what, ": ", $result, ".")]
            ///
            /// Cost: a segmented reduction: one evaluation of each element.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($argmin), "();")]
            #[doc = concat!("assert_eq!(call(f, [", $example, "]), [", $argmins, "]);")]
            /// ```
            #[track_caller]
            pub fn $argmin(self) -> $out<i64>
            where
                T: Num,
            {
                let at = Location::caller();
                let part = |x| vec![place(at, stringify!($argmin), BinaryOp::Lt, x)];
                $out::of(over_parts(at, stringify!($argmin), self.node(), &$axes, part)[0])
            }

            #[doc = concat!("[`", stringify!($part), "::argmax`] of each ", $what, ": ", $result, ".")]
            ///
            /// Cost: a segmented reduction: one evaluation of each element.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($argmax), "();")]
            #[doc = concat!("assert_eq!(call(f, [", $example, "]), [", $argmaxs, "]);")]
            /// ```
            #[track_caller]
            pub fn $argmax(self) -> $out<i64>
            where
                T: Num,
            {
                let at = Location::caller();
                let part = |x| vec![place(at, stringify!($argmax), BinaryOp::Gt, x)];
                $out::of(over_parts(at, stringify!($argmax), self.node(), &$axes, part)[0])
            }

            #[doc = concat!("[`", stringify!($part), "::minmax`] of each ", $what, ": twice ", $result, ".")]
            ///
            /// Cost: a segmented reduction: one evaluation of each element.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($minmax), "();")]
            #[doc = concat!("assert_eq!(call(f, [", $example, "]), ", $minmaxs, ");")]
            /// ```
            #[track_caller]
            pub fn $minmax(self) -> ($out<T>, $out<T>)
            where
                T: Num,
            {
                let at = Location::caller();
                let part = |x| minmax(at, stringify!($minmax), x);
                let both = over_parts(at, stringify!($minmax), self.node(), &$axes, part);
                ($out::of(both[0]), $out::of(both[1]))
            }

            #[doc = concat!("[`", stringify!($part), "::mean`] of each ", $what, ": ", $result, ".")]
            ///
            /// Cost: a segmented reduction: one evaluation of each element.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($mean), "();")]
            #[doc = concat!("assert_eq!(call(f, [", $example, "]), [", $means, "]);")]
            /// ```
            #[track_caller]
            pub fn $mean(self) -> $out<T>
            where
                T: Float,
            {
                let at = Location::caller();
                let part = |x| vec![mean(at, stringify!($mean), x)];
                $out::of(over_parts(at, stringify!($mean), self.node(), &$axes, part)[0])
            }
        )* }
    };
}

of_parts! { MExp "matrix(&[[3.0f32, 1.0], [2.0, 4.0]])":
    [ROWS], VExp "row" -> VExp "a vector with one element for each row":
        argmin_rows "vector(&[1i64, 0])" argmax_rows "vector(&[0i64, 1])"
        minmax_rows "[vector(&[1.0f32, 2.0]), vector(&[3.0f32, 4.0])]" mean_rows "vector(&[2.0f32, 3.0])";
    [COLS], VExp "column" -> VExp "a vector with one element for each column":
        argmin_cols "vector(&[1i64, 0])" argmax_cols "vector(&[0i64, 1])"
        minmax_cols "[vector(&[2.0f32, 1.0]), vector(&[3.0f32, 4.0])]" mean_cols "vector(&[2.5f32, 2.5])";
}
of_parts! { TExp "tensor(&[[[3.0f32, 1.0], [2.0, 4.0]]])":
    [PLANES, 1], VExp "row of each plane" -> MExp "a matrix of `planes` x `rows` elements":
        argmin_rows "matrix(&[[1i64, 0]])" argmax_rows "matrix(&[[0i64, 1]])"
        minmax_rows "[matrix(&[[1.0f32, 2.0]]), matrix(&[[3.0f32, 4.0]])]" mean_rows "matrix(&[[2.0f32, 3.0]])";
    [PLANES, 2], VExp "column of each plane" -> MExp "a matrix of `planes` x `cols` elements":
        argmin_cols "matrix(&[[1i64, 0]])" argmax_cols "matrix(&[[0i64, 1]])"
        minmax_cols "[matrix(&[[2.0f32, 1.0]]), matrix(&[[3.0f32, 4.0]])]" mean_cols "matrix(&[[2.5f32, 2.5]])";
    [PLANES], MExp "plane (all of its elements, row by row)" -> VExp "a vector of `planes` elements":
        argmin_planes "vector(&[1i64])" argmax_planes "vector(&[3i64])"
        minmax_planes "[vector(&[1.0f32]), vector(&[4.0f32])]" mean_planes "vector(&[2.5f32])";
}
