//! Softmax, the logarithm of a sum of exponentials, and arrays divided by their norm; of arrays, of
//! their rows, columns and planes. What semantics 5.13 says, of halves in f32 and rounded once.

use crate::axis::{len, over_parts, spread};
use crate::elem::{Elem, Float};
use crate::handle::{MExp, SExp, TExp, VExp};
use crate::matrix::{COLS, PLANES, ROWS};
use crate::moments::norm;
use crate::node::{self, NodeRef, Op, make};
use crate::reduce::{self, reduce_by, summed};
use crate::scope::Place;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::scalar::{BinaryOp, Lit, UnaryOp};
use std::panic::Location;

/// The greatest element if it is finite, else 0: what exponents are reduced by.
fn shift(at: Place, construct: &'static str, x: NodeRef) -> NodeRef {
    let ty = x.ty.elem;
    let most = reduce_by(at, construct, BinaryOp::Max, Lit::least(ty), x);
    let size = node::unary(at, UnaryOp::Abs, most);
    let is_finite = node::binary(at, BinaryOp::Lt, size, node::constant(at, Lit::float(ty, f64::INFINITY)));
    make(at, Type::scalar(ty), Op::Select(is_finite, most, node::constant(at, Lit::zero(ty))))
}

/// exp(x - shift) of each element. `shift` is a scalar, or an array of the same shape.
fn exponentials(at: Place, x: NodeRef, shift: NodeRef) -> NodeRef {
    node::unary(at, UnaryOp::Exp, node::binary(at, BinaryOp::Sub, x, shift))
}

/// The logarithm of the sum of the exponentials of all elements.
fn log_sum_exp(at: Place, construct: &'static str, src: NodeRef) -> NodeRef {
    summed(at, src.ty.elem, &[src], |_, v| {
        let shift = shift(at, construct, v[0]);
        let sum = reduce::sum(at, exponentials(at, v[0], shift));
        node::binary(at, BinaryOp::Add, shift, node::unary(at, UnaryOp::Log, sum))
    })
}

/// An array of the type in which halves are computed, made of one of that type.
fn in_wide(at: Place, src: NodeRef, f: impl FnOnce(NodeRef) -> NodeRef) -> NodeRef {
    let ty = src.ty.elem;
    node::as_type(at, ty, f(node::as_type(at, node::sum_type(ty), src)))
}

/// The exponentials of all elements, divided by their sum.
fn softmax(at: Place, construct: &'static str, src: NodeRef) -> NodeRef {
    in_wide(at, src, |x| {
        let all = exponentials(at, x, shift(at, construct, x));
        node::binary(at, BinaryOp::Div, all, reduce::sum(at, all))
    })
}

/// All elements divided by their norm.
fn normalise(at: Place, src: NodeRef) -> NodeRef {
    in_wide(at, src, |x| node::binary(at, BinaryOp::Div, x, norm(at, x)))
}

/// What `f` makes of each part of an array, of each combination of indices of these axes: an array of the numbers,
/// and one of the shape of `x`, in which each stands where its part does.
fn of_parts(
    at: Place,
    construct: &'static str,
    (x, axes): (NodeRef, &[u8]),
    f: impl FnOnce(NodeRef) -> NodeRef,
) -> [NodeRef; 2] {
    let scalars = over_parts(at, construct, x, axes, |part| vec![f(part)])[0];
    let others = (0..x.ty.rank).filter(|axis| !axes.contains(axis));
    let wide = others.fold(scalars, |numbers, axis| spread(at, construct, (numbers, axis), len(at, x, axis)));
    [scalars, wide]
}

/// The logarithm of the sum of the exponentials of each part. The greatest elements are an
/// array of their own, so that the sums need no reduction inside of another one.
fn log_sum_exp_of_parts(at: Place, construct: &'static str, (src, axes): (NodeRef, &[u8])) -> NodeRef {
    in_wide(at, src, |x| {
        let [shifts, wide] = of_parts(at, construct, (x, axes), |part| shift(at, construct, part));
        let all = exponentials(at, x, wide);
        let [sums, _] = of_parts(at, construct, (all, axes), |part| reduce::sum(at, part));
        node::binary(at, BinaryOp::Add, shifts, node::unary(at, UnaryOp::Log, sums))
    })
}

/// The softmax of each part.
fn softmax_of_parts(at: Place, construct: &'static str, (src, axes): (NodeRef, &[u8])) -> NodeRef {
    in_wide(at, src, |x| {
        let [_, shifts] = of_parts(at, construct, (x, axes), |part| shift(at, construct, part));
        let all = exponentials(at, x, shifts);
        let [_, sums] = of_parts(at, construct, (all, axes), |part| reduce::sum(at, part));
        node::binary(at, BinaryOp::Div, all, sums)
    })
}

/// Each part divided by its norm.
fn normalise_parts(at: Place, construct: &'static str, (src, axes): (NodeRef, &[u8])) -> NodeRef {
    in_wide(at, src, |x| {
        let [_, norms] = of_parts(at, construct, (x, axes), |part| norm(at, part));
        node::binary(at, BinaryOp::Div, x, norms)
    })
}

macro_rules! of_all_elements {
    ($($handle:ident $zeros:literal $halves:literal $lengths:literal $units:literal;)*) => { $(
        impl<T: Elem> $handle<T> {
            /// The logarithm of the sum of the exponentials of all elements, without overflow: the
            /// greatest element is subtracted first. Minus infinity if there are no elements, or only
            /// such; infinity if one of them is. Halves are computed in f32, and rounded once.
            ///
            /// Cost: two reductions, of which the second needs the first, and an `exp` for each
            /// element.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.log_sum_exp();")]
            #[doc = concat!("assert_eq!(call(f, [", $zeros, "]), [scalar(2.0f32.ln())]);")]
            /// ```
            #[track_caller]
            pub fn log_sum_exp(self) -> SExp<T>
            where
                T: Float,
            {
                SExp::of(log_sum_exp(Location::caller(), "log_sum_exp", self.node()))
            }

            /// The exponentials of all elements, divided by their sum, without overflow: the greatest
            /// element is subtracted first. NaN if all elements are minus infinity, and at an element
            /// that is infinite; beside it others are 0, or NaN if their exponential overflows. Halves
            /// are computed in f32, and rounded once.
            ///
            /// Cost: two reductions, of which the second needs the first, and a map that needs both.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.softmax();")]
            #[doc = concat!("assert_eq!(call(f, [", $zeros, "]), [", $halves, "]);")]
            /// ```
            #[track_caller]
            pub fn softmax(self) -> $handle<T>
            where
                T: Float,
            {
                $handle::of(softmax(Location::caller(), "softmax", self.node()))
            }

            #[doc = concat!("The elements divided by [`", stringify!($handle), "::norm`]; NaN if all are 0. Halves are")]
            /// computed in f32, and rounded once.
            ///
            /// Cost: a reduction, and a map that needs it.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.normalise();")]
            #[doc = concat!("assert_eq!(call(f, [", $lengths, "]), [", $units, "]);")]
            /// ```
            #[track_caller]
            pub fn normalise(self) -> $handle<T>
            where
                T: Float,
            {
                $handle::of(normalise(Location::caller(), self.node()))
            }
        }
    )* };
}

of_all_elements! {
    VExp "vector(&[0.0f32, 0.0])" "vector(&[0.5f32, 0.5])" "vector(&[3.0f32, 4.0])" "vector(&[0.6f32, 0.8])";
    MExp "matrix(&[[0.0f32], [0.0]])" "matrix(&[[0.5f32], [0.5]])" "matrix(&[[3.0f32, 4.0]])" "matrix(&[[0.6f32, 0.8]])";
    TExp "tensor(&[[[0.0f32, 0.0]]])" "tensor(&[[[0.5f32, 0.5]]])" "tensor(&[[[3.0f32, 4.0]]])" "tensor(&[[[0.6f32, 0.8]]])";
}

macro_rules! softmaxes_of_parts {
    ($handle:ident $zeros:literal $lengths:literal: $(
        $axes:expr, $part:ident $what:literal -> $out:ident $result:literal:
        $log_sum_exp:ident $logs:literal $softmax:ident $softmaxes:literal $normalise:ident $units:literal;
    )*) => {
        impl<T: Elem> $handle<T> { $(
            #[doc = concat!("[`", stringify!($part), "::log_sum_exp`] of each ", $what, ": ", $result, ".")]
            ///
            /// Cost: two segmented reductions, and an `exp` for each element. Rows that fit into the
            /// registers of a block are read once, in one launch; on GPUs columns are as well.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($log_sum_exp), "();")]
            #[doc = concat!("assert_eq!(call(f, [", $zeros, "]), [", $logs, "]);")]
            /// ```
            #[track_caller]
            pub fn $log_sum_exp(self) -> $out<T>
            where
                T: Float,
            {
                let name = stringify!($log_sum_exp);
                $out::of(log_sum_exp_of_parts(Location::caller(), name, (self.node(), &$axes)))
            }

            #[doc = concat!("[`", stringify!($part), "::softmax`] of each ", $what, ".")]
            ///
            /// Cost: two segmented reductions and a map. Rows that fit into the registers of a block are
            /// read once, in one launch; on GPUs columns are as well.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($softmax), "();")]
            #[doc = concat!("assert_eq!(call(f, [", $zeros, "]), [", $softmaxes, "]);")]
            /// ```
            #[track_caller]
            pub fn $softmax(self) -> $handle<T>
            where
                T: Float,
            {
                $handle::of(softmax_of_parts(Location::caller(), stringify!($softmax), (self.node(), &$axes)))
            }

            #[doc = concat!("[`", stringify!($part), "::normalise`] of each ", $what, ".")]
            ///
            /// Cost: a segmented reduction and a map. Rows that fit into the registers of a block are
            /// read once, in one launch; on GPUs columns are as well.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($normalise), "();")]
            #[doc = concat!("assert_eq!(call(f, [", $lengths, "]), [", $units, "]);")]
            /// ```
            #[track_caller]
            pub fn $normalise(self) -> $handle<T>
            where
                T: Float,
            {
                $handle::of(normalise_parts(Location::caller(), stringify!($normalise), (self.node(), &$axes)))
            }
        )* }
    };
}

softmaxes_of_parts! { MExp "matrix(&[[0.0f32, 0.0]])" "matrix(&[[3.0f32, 4.0]])":
    [ROWS], VExp "row" -> VExp "a vector with one element for each row":
        log_sum_exp_rows "vector(&[2.0f32.ln()])" softmax_rows "matrix(&[[0.5f32, 0.5]])" normalise_rows "matrix(&[[0.6f32, 0.8]])";
    [COLS], VExp "column" -> VExp "a vector with one element for each column":
        log_sum_exp_cols "vector(&[0.0f32, 0.0])" softmax_cols "matrix(&[[1.0f32, 1.0]])" normalise_cols "matrix(&[[1.0f32, 1.0]])";
}
softmaxes_of_parts! { TExp "tensor(&[[[0.0f32], [0.0]]])" "tensor(&[[[3.0f32], [4.0]]])":
    [PLANES, 1], VExp "row of each plane" -> MExp "a matrix of `planes` x `rows` elements":
        log_sum_exp_rows "matrix(&[[0.0f32, 0.0]])" softmax_rows "tensor(&[[[1.0f32], [1.0]]])" normalise_rows "tensor(&[[[1.0f32], [1.0]]])";
    [PLANES, 2], VExp "column of each plane" -> MExp "a matrix of `planes` x `cols` elements":
        log_sum_exp_cols "matrix(&[[2.0f32.ln()]])" softmax_cols "tensor(&[[[0.5f32], [0.5]]])" normalise_cols "tensor(&[[[0.6f32], [0.8]]])";
    [PLANES], MExp "plane (all of its elements, row by row)" -> VExp "a vector of `planes` elements":
        log_sum_exp_planes "vector(&[2.0f32.ln()])" softmax_planes "tensor(&[[[0.5f32], [0.5]]])" normalise_planes "tensor(&[[[0.6f32], [0.8]]])";
}
