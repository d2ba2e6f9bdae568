//! Variances, standard deviations and norms of arrays, of their rows, columns and planes.
//!
//! Those of halves are computed in f32, and rounded once (semantics 5.6).

use crate::axis::{len, over_parts};
use crate::elem::{Elem, Float};
use crate::handle::{IntoScalar, MExp, SExp, TExp, VExp};
use crate::matrix::{COLS, PLANES, ROWS};
use crate::node::{self, NodeRef, Op, make};
use crate::reduce::summed;
use crate::scope::Place;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use std::panic::Location;

/// The variance of all elements (semantics 5.13).
fn variance(at: Place, src: NodeRef, ddof: NodeRef) -> NodeRef {
    summed(at, src.ty.elem, &[src], |ty, v| wide_variance(at, ty, v[0], ddof))
}

fn wide_variance(at: Place, ty: Ty, x: NodeRef, ddof: NodeRef) -> NodeRef {
    let multiply = |a, b| node::binary(at, BinaryOp::Mul, a, b);
    let count = (0..x.ty.rank).map(|axis| len(at, x, axis)).reduce(multiply).expect("an array has axes");
    let free = node::binary(at, BinaryOp::Sub, count, ddof);
    let free = node::binary(at, BinaryOp::Max, free, node::constant(at, Lit::i64(0)));
    let sum = make(at, Type::scalar(ty), Op::SquaredDeviations(x));
    node::binary(at, BinaryOp::Div, sum, node::cast(at, ty, free))
}

/// The square root of the variance.
fn std(at: Place, src: NodeRef, ddof: NodeRef) -> NodeRef {
    let root = |ty, v: &[NodeRef]| node::unary(at, UnaryOp::Sqrt, wide_variance(at, ty, v[0], ddof));
    summed(at, src.ty.elem, &[src], root)
}

/// The Euclidean norm.
pub(crate) fn norm(at: Place, src: NodeRef) -> NodeRef {
    let root =
        |ty, v: &[NodeRef]| node::unary(at, UnaryOp::Sqrt, make(at, Type::scalar(ty), Op::Dot(v[0], v[0])));
    summed(at, src.ty.elem, &[src], root)
}

macro_rules! of_all_elements {
    ($($handle:ident $example:literal;)*) => { $(
        impl<T: Elem> $handle<T> {
            /// The variance of all elements: the sum of their squared deviations from their mean,
            /// divided by their number less `ddof` (0 for a population, 1 for a sample). If that
            /// divisor is not positive, the result is that of a division by 0: NaN for no elements,
            /// and for one with `ddof` 1. The mean is not subtracted in a second pass: the deviations
            /// are merged (`docs/semantics.md` 5.12). Where the mean is large, the relative error is about
            /// that of a rounding, times the mean divided by the deviation (measured for f32 and numbers
            /// between b and b + 1: 7e-7 for b = 1000, 5e-5 for 10,000). Two passes lose less up to
            /// b = 100,000. Halves are computed in f32, and rounded once.
            ///
            /// Cost: a reduction.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.variance(0);")]
            /// assert_eq!(call(f, [x]), [scalar(1.25f32)]);
            /// ```
            #[track_caller]
            pub fn variance(self, ddof: impl IntoScalar<i64>) -> SExp<T>
            where
                T: Float,
            {
                let at = Location::caller();
                SExp::of(variance(at, self.node(), ddof.scalar_at(at)))
            }

            #[doc = concat!("The standard deviation of all elements, the square root of [`", stringify!($handle), "::variance`].")]
            ///
            /// Cost: a reduction.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| (x * 2.0).std(0);")]
            /// assert_eq!(call(f, [x]), [scalar(5.0f32.sqrt())]);
            /// ```
            #[track_caller]
            pub fn std(self, ddof: impl IntoScalar<i64>) -> SExp<T>
            where
                T: Float,
            {
                let at = Location::caller();
                SExp::of(std(at, self.node(), ddof.scalar_at(at)))
            }

            /// The Euclidean norm of all elements: the square root of the sum of their squares (`dot`).
            /// Squares may overflow. Halves are computed in f32, and rounded once.
            ///
            /// Cost: a reduction.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.norm();")]
            /// assert_eq!(call(f, [x]), [scalar(30.0f32.sqrt())]);
            /// ```
            #[track_caller]
            pub fn norm(self) -> SExp<T>
            where
                T: Float,
            {
                SExp::of(norm(Location::caller(), self.node()))
            }
        }
    )* };
}

of_all_elements! {
    VExp "vector(&[1.0f32, 2.0, 3.0, 4.0])";
    MExp "matrix(&[[1.0f32, 2.0], [3.0, 4.0]])";
    TExp "tensor(&[[[1.0f32, 2.0], [3.0, 4.0]]])";
}

macro_rules! of_parts {
    ($handle:ident $example:literal: $(
        $axes:expr, $part:ident $what:literal -> $out:ident $result:literal:
        $variance:ident $variances:literal $std:ident $stds:literal $norm:ident $norms:literal;
    )*) => {
        impl<T: Elem> $handle<T> { $(
            #[doc = concat!("[`", stringify!($part), "::variance`] of each ", $what, ": ", $result, ".")]
            ///
            /// Cost: a segmented reduction: one evaluation of each element.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($variance), "(1);")]
            #[doc = concat!("assert_eq!(call(f, [", $example, "]), [", $variances, "]);")]
            /// ```
            #[track_caller]
            pub fn $variance(self, ddof: impl IntoScalar<i64>) -> $out<T>
            where
                T: Float,
            {
                let at = Location::caller();
                let ddof = ddof.scalar_at(at);
                let part = |x| vec![variance(at, x, ddof)];
                $out::of(over_parts(at, stringify!($variance), self.node(), &$axes, part)[0])
            }

            #[doc = concat!("[`", stringify!($part), "::std`] of each ", $what, ": ", $result, ".")]
            ///
            /// Cost: a segmented reduction: one evaluation of each element.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($std), "(0);")]
            #[doc = concat!("assert_eq!(call(f, [", $example, "]), [", $stds, "]);")]
            /// ```
            #[track_caller]
            pub fn $std(self, ddof: impl IntoScalar<i64>) -> $out<T>
            where
                T: Float,
            {
                let at = Location::caller();
                let ddof = ddof.scalar_at(at);
                let part = |x| vec![std(at, x, ddof)];
                $out::of(over_parts(at, stringify!($std), self.node(), &$axes, part)[0])
            }

            #[doc = concat!("[`", stringify!($part), "::norm`] of each ", $what, ": ", $result, ".")]
            ///
            /// Cost: a segmented reduction: one evaluation of each element.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($norm), "();")]
            #[doc = concat!("assert_eq!(call(f, [", $example, "]), [", $norms, "]);")]
            /// ```
            #[track_caller]
            pub fn $norm(self) -> $out<T>
            where
                T: Float,
            {
                let at = Location::caller();
                let part = |x| vec![norm(at, x)];
                $out::of(over_parts(at, stringify!($norm), self.node(), &$axes, part)[0])
            }
        )* }
    };
}

of_parts! { MExp "matrix(&[[3.0f32, 0.0], [4.0, 0.0]])":
    [ROWS], VExp "row" -> VExp "a vector with one element for each row":
        variance_rows "vector(&[4.5f32, 8.0])" std_rows "vector(&[1.5f32, 2.0])" norm_rows "vector(&[3.0f32, 4.0])";
    [COLS], VExp "column" -> VExp "a vector with one element for each column":
        variance_cols "vector(&[0.5f32, 0.0])" std_cols "vector(&[0.5f32, 0.0])" norm_cols "vector(&[5.0f32, 0.0])";
}
of_parts! { TExp "tensor(&[[[3.0f32, 0.0], [4.0, 0.0]]])":
    [PLANES, 1], VExp "row of each plane" -> MExp "a matrix of `planes` x `rows` elements":
        variance_rows "matrix(&[[4.5f32, 8.0]])" std_rows "matrix(&[[1.5f32, 2.0]])" norm_rows "matrix(&[[3.0f32, 4.0]])";
    [PLANES, 2], VExp "column of each plane" -> MExp "a matrix of `planes` x `cols` elements":
        variance_cols "matrix(&[[0.5f32, 0.0]])" std_cols "matrix(&[[0.5f32, 0.0]])" norm_cols "matrix(&[[5.0f32, 0.0]])";
    [PLANES], MExp "plane (all of its elements, row by row)" -> VExp "a vector of `planes` elements":
        variance_planes "vector(&[4.25f32])" std_planes "vector(&[3.1875f32.sqrt()])" norm_planes "vector(&[5.0f32])";
}
