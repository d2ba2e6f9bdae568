//! The operators, with handles and literals on either side.
//!
//! | left | right | result |
//! |---|---|---|
//! | `SExp<T>` | `SExp<T>`, a `T` | `SExp<T>` |
//! | `VExp<T>` | `VExp<T>`, `SExp<T>`, a `T` | `VExp<T>` |
//! | `SExp<T>`, a `T` | `VExp<T>` | `VExp<T>` |
//! | a `T` | `SExp<T>` | `SExp<T>` |
//!
//! `MExp<T>` and `TExp<T>` as `VExp<T>`; no two of the three mix, for which way to repeat the
//! smaller one is the author's choice. An `i32` literal may stand beside floats. The right-hand
//! sides are traits of ours, so that their messages are, too. (For a wrong literal on the *left*
//! rustc lists the standard library's impls instead: nothing can be done about that.)

use crate::elem::{Bits, Elem, Int, Num};
use crate::handle::{IntoScalar, MExp, SExp, TExp, VExp, float_literal};
use crate::node::{self, NodeRef};
use crate::results::Results;
use crate::scope::Place;
use arraygpu_compiler::scalar::{BinaryOp, UnaryOp};
use half::{bf16, f16};
use std::ops;
use std::panic::Location;

/// What may stand to the right of an operator whose left side is `SExp<T>`.
#[diagnostic::on_unimplemented(
    message = "`SExp<{T}>` and `{Self}` do not mix in one expression",
    label = "expected `SExp<{T}>`, an array of `{T}` or a constant of type `{T}`",
    note = "element types never convert by themselves: write `.cast::<{T}>()` on an expression, and on a Rust number `as {T}`, or `f16::from_f32(0.5)`, `bf16::from_f32(0.5)` for a half"
)]
pub trait ScalarRhs<T: Elem>: Sized {
    /// A scalar, or an array if this is one.
    type Out: Results;
    #[doc(hidden)]
    fn operand_at(self, at: Place) -> NodeRef;
}

macro_rules! array_right_hand_sides {
    ($($name:ident $message:literal $label:literal;)*) => { $(
        /// What may stand to the right of an operator whose left side is an array of this rank:
        /// such an array of the same shape, or a scalar.
        #[diagnostic::on_unimplemented(
            message = $message,
            label = $label,
            note = "element types never convert by themselves: write `.cast::<{T}>()` on an expression, and on a Rust number `as {T}`, or `f16::from_f32(0.5)`, `bf16::from_f32(0.5)` for a half",
            note = "nor do shapes: a vector becomes a matrix by `.broadcast_rows(n)` (n rows, each the vector) or `.broadcast_cols(n)`"
        )]
        pub trait $name<T: Elem>: Sized {
            #[doc(hidden)]
            fn operand_at(self, at: Place) -> NodeRef;
        }
    )* };
}

array_right_hand_sides! {
    VectorRhs "`VExp<{T}>` and `{Self}` do not mix in one expression"
        "expected `VExp<{T}>`, `SExp<{T}>` or a constant of type `{T}`";
    MatrixRhs "`MExp<{T}>` and `{Self}` do not mix in one expression"
        "expected `MExp<{T}>`, `SExp<{T}>` or a constant of type `{T}`";
    TensorRhs "`TExp<{T}>` and `{Self}` do not mix in one expression"
        "expected `TExp<{T}>`, `SExp<{T}>` or a constant of type `{T}`";
}

/// Implements the right-hand sides: which types may stand to the right of which handles.
macro_rules! right_hand_sides {
    ($($ty:ty => $out:ident, $sides:tt, $generics:tt, $elem:ty, $node:expr;)*) => { $(
        right_hand_sides!(@scalar $ty, $out, $generics, $elem, $node);
        right_hand_sides!(@sides $sides, $ty, $generics, $elem, $node);
    )* };
    (@scalar $ty:ty, $out:ident, ($($generics:tt)*), $elem:ty, $node:expr) => {
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> ScalarRhs<$elem> for $ty {
            type Out = $out<$elem>;
            fn operand_at(self, at: Place) -> NodeRef {
                $node(self, at)
            }
        }
    };
    (@sides ($($side:ident)*), $ty:ty, $generics:tt, $elem:ty, $node:expr) => {
        $(right_hand_sides!(@one $side, $ty, $generics, $elem, $node);)*
    };
    (@one $side:ident, $ty:ty, ($($generics:tt)*), $elem:ty, $node:expr) => {
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> $side<$elem> for $ty {
            fn operand_at(self, at: Place) -> NodeRef {
                $node(self, at)
            }
        }
    };
}

right_hand_sides! {
    SExp<T> => SExp, (VectorRhs MatrixRhs TensorRhs), (T: Elem), T, |x: SExp<T>, _| x.node();
    VExp<T> => VExp, (VectorRhs), (T: Elem), T, |x: VExp<T>, _| x.node();
    MExp<T> => MExp, (MatrixRhs), (T: Elem), T, |x: MExp<T>, _| x.node();
    TExp<T> => TExp, (TensorRhs), (T: Elem), T, |x: TExp<T>, _| x.node();
    T => SExp, (VectorRhs MatrixRhs TensorRhs), (T: Elem), T, |x: T, at| node::constant(at, x.lit());
    i32 => SExp, (VectorRhs MatrixRhs TensorRhs), (), f32, float_literal::<f32>;
    i32 => SExp, (VectorRhs MatrixRhs TensorRhs), (), f64, float_literal::<f64>;
    i32 => SExp, (VectorRhs MatrixRhs TensorRhs), (), f16, float_literal::<f16>;
    i32 => SExp, (VectorRhs MatrixRhs TensorRhs), (), bf16, float_literal::<bf16>;
}

/// Classes of element types as bounds of the right-hand side. As bounds of the left one, rustc
/// would say no more than "cannot add" where the class is wrong.
macro_rules! classes {
    ($($name:ident $class:ident $message:literal $label:literal $note:literal;)*) => { $(
        /// The operator takes this element type.
        #[diagnostic::on_unimplemented(message = $message, label = $label, note = $note)]
        pub trait $name<T> {}
        #[diagnostic::do_not_recommend]
        impl<T: $class, R> $name<T> for R {}
    )* };
}

classes! {
    NumRhs Num "`{T}` is not a number type: it has no arithmetic"
        "this operator needs f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32 or u64"
        "for bools write `&`, `|`, `^`, `!`, `cond(c, a, b)`, or make numbers of them: `.cast::<i32>()`";
    IntRhs Int "`{T}` is not an integer type"
        "this operator needs i8, i16, i32, i64, u8, u16, u32 or u64"
        "element types never convert by themselves: write `.cast::<i32>()` or another integer type first";
    BitsRhs Bits "`{T}` has no bitwise operators"
        "this operator needs an integer type or bool"
        "compare numbers to get a bool: `.gt(0.0)`, `.ne(0.0)`";
}

fn results<R: Results>(node: NodeRef) -> R {
    R::from_nodes(&mut std::iter::once(node))
}

/// One operator for handles on the left.
macro_rules! operator {
    ($class:ident $trait:ident $method:ident $assign:ident $assign_method:ident $op:ident $symbol:literal $result:literal) => {
        impl<T: Elem, R: ScalarRhs<T> + $class<T>> ops::$trait<R> for SExp<T> {
            type Output = R::Out;
            /// The operator of both values; elementwise if the right side is an array.
            ///
            /// Cost: one operation, in the code that uses the result; fused, if the result is an
            /// array.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: SExp<i32>, y: SExp<i32>| x ", $symbol, " y;")]
            #[doc = concat!("assert_eq!(call(f, [scalar(13i32), scalar(3i32)]), [scalar(", $result, "i32)]);")]
            /// ```
            #[track_caller]
            fn $method(self, right: R) -> R::Out {
                let at = Location::caller();
                results(node::binary(at, BinaryOp::$op, self.node(), right.operand_at(at)))
            }
        }
        impl<T: Elem, R: IntoScalar<T> + $class<T>> ops::$assign<R> for SExp<T> {
            #[track_caller]
            fn $assign_method(&mut self, right: R) {
                let at = Location::caller();
                *self = SExp::of(node::binary(at, BinaryOp::$op, self.node(), right.scalar_at(at)));
            }
        }
        operator!(@array VExp VectorRhs $class $trait $method $assign $assign_method $op);
        operator!(@array MExp MatrixRhs $class $trait $method $assign $assign_method $op);
        operator!(@array TExp TensorRhs $class $trait $method $assign $assign_method $op);
    };
    (@array $handle:ident $rhs:ident $class:ident $trait:ident $method:ident $assign:ident $assign_method:ident $op:ident) => {
        impl<T: Elem, R: $rhs<T> + $class<T>> ops::$trait<R> for $handle<T> {
            type Output = $handle<T>;
            /// The operator of each element and the element of the other array, a scalar or a
            /// literal.
            ///
            /// Cost: fused; one operation for each element.
            #[track_caller]
            fn $method(self, right: R) -> $handle<T> {
                let at = Location::caller();
                $handle::of(node::binary(at, BinaryOp::$op, self.node(), right.operand_at(at)))
            }
        }
        impl<T: Elem, R: $rhs<T> + $class<T>> ops::$assign<R> for $handle<T> {
            #[track_caller]
            fn $assign_method(&mut self, right: R) {
                let at = Location::caller();
                *self = $handle::of(node::binary(at, BinaryOp::$op, self.node(), right.operand_at(at)));
            }
        }
    };
}

operator!(NumRhs Add add AddAssign add_assign Add "+" 16);
operator!(NumRhs Sub sub SubAssign sub_assign Sub "-" 10);
operator!(NumRhs Mul mul MulAssign mul_assign Mul "*" 39);
operator!(NumRhs Div div DivAssign div_assign Div "/" 4);
operator!(NumRhs Rem rem RemAssign rem_assign Rem "%" 1);
operator!(BitsRhs BitAnd bitand BitAndAssign bitand_assign And "&" 1);
operator!(BitsRhs BitOr bitor BitOrAssign bitor_assign Or "|" 15);
operator!(BitsRhs BitXor bitxor BitXorAssign bitxor_assign Xor "^" 14);
operator!(IntRhs Shl shl ShlAssign shl_assign Shl "<<" 104);
operator!(IntRhs Shr shr ShrAssign shr_assign Shr ">>" 1);

/// Literals on the left. The orphan rule demands an impl for each type.
macro_rules! literals {
    ($left:ty, $elem:ty: $($trait:ident $method:ident $op:ident)*) => { $(
        literals!(@one $left, $elem, SExp, $trait $method $op);
        literals!(@one $left, $elem, VExp, $trait $method $op);
        literals!(@one $left, $elem, MExp, $trait $method $op);
        literals!(@one $left, $elem, TExp, $trait $method $op);
    )* };
    (@one $left:ty, $elem:ty, $handle:ident, $trait:ident $method:ident $op:ident) => {
        impl ops::$trait<$handle<$elem>> for $left {
            type Output = $handle<$elem>;
            #[track_caller]
            fn $method(self, right: $handle<$elem>) -> $handle<$elem> {
                let at = Location::caller();
                let left = IntoScalar::<$elem>::scalar_at(self, at);
                $handle::of(node::binary(at, BinaryOp::$op, left, right.node()))
            }
        }
    };
}

literals!(f32, f32: Add add Add Sub sub Sub Mul mul Mul Div div Div Rem rem Rem);
literals!(f64, f64: Add add Add Sub sub Sub Mul mul Mul Div div Div Rem rem Rem);
literals!(f16, f16: Add add Add Sub sub Sub Mul mul Mul Div div Div Rem rem Rem);
literals!(bf16, bf16: Add add Add Sub sub Sub Mul mul Mul Div div Div Rem rem Rem);
literals!(i32, f32: Add add Add Sub sub Sub Mul mul Mul Div div Div Rem rem Rem);
literals!(i32, f64: Add add Add Sub sub Sub Mul mul Mul Div div Div Rem rem Rem);
literals!(i32, f16: Add add Add Sub sub Sub Mul mul Mul Div div Div Rem rem Rem);
literals!(i32, bf16: Add add Add Sub sub Sub Mul mul Mul Div div Div Rem rem Rem);
macro_rules! integer_literals {
    ($($ty:ty)*) => { $(
        literals!($ty, $ty: Add add Add Sub sub Sub Mul mul Mul Div div Div Rem rem Rem);
        literals!($ty, $ty: BitAnd bitand And BitOr bitor Or BitXor bitxor Xor Shl shl Shl Shr shr Shr);
    )* };
}
integer_literals!(i8 i16 i32 i64 u8 u16 u32 u64);
literals!(bool, bool: BitAnd bitand And BitOr bitor Or BitXor bitxor Xor);

macro_rules! unary_operator {
    ($class:ident $trait:ident $method:ident $op:ident) => {
        unary_operator!(@one SExp $class $trait $method $op);
        unary_operator!(@one VExp $class $trait $method $op);
        unary_operator!(@one MExp $class $trait $method $op);
        unary_operator!(@one TExp $class $trait $method $op);
    };
    (@one $handle:ident $class:ident $trait:ident $method:ident $op:ident) => {
        impl<T: $class> ops::$trait for $handle<T> {
            type Output = $handle<T>;
            #[track_caller]
            fn $method(self) -> $handle<T> {
                $handle::of(node::unary(Location::caller(), UnaryOp::$op, self.node()))
            }
        }
    };
}

unary_operator!(Num Neg neg Neg);
unary_operator!(Bits Not not Not);
