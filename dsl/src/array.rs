//! Elementwise functions of arrays of every rank. Reductions are in [`crate::reduce`], operators in
//! [`crate::ops`].

use crate::elem::{Elem, Float, Num, Signed};
use crate::handle::{MExp, SExp, TExp, VExp};
use crate::item::Item;
use crate::node::{self, Op, make};
use crate::ops::{MatrixRhs, TensorRhs, VectorRhs};
use crate::results::{Results, Scalars, leafwise, nodes_of, of_nodes};
use arraygpu_compiler::scalar::{BinaryOp, Ty, UnaryOp};
use std::panic::Location;

/// `zip_with` and its kin of more arrays. `$count`: how many arrays each joins.
macro_rules! zips {
    ($handle:ident $arrays:ident $example:literal: $(
        $(#[$doc:meta])* $method:ident $count:literal ($($name:ident: $ty:ident),+);
    )*) => { $(
        $(#[$doc])*
        ///
        /// All arrays have one shape, which is that of the result; other shapes are an error of the call.
        ///
        /// Cost: fused; the operations of `f` for each element.
        ///
        /// ```
        /// # use arraygpu_dsl::{example::*, prelude::*};
        #[doc = concat!(
            "let f = |x: ", stringify!($handle), "<f32>",
            $(", ", stringify!($name), ": ", stringify!($handle), "<f32>",)+
            "| x.", stringify!($method), "(", $(stringify!($name), ", ",)+
            "|x", $(", ", stringify!($name),)+ "| x", $(" + ", stringify!($name),)+ ");"
        )]
        #[doc = concat!("let x = ", $example, ";")]
        $(#[doc = concat!("let ", stringify!($name), " = x.clone();")])+
        #[doc = concat!("let expected = call(|x: ", stringify!($handle), "<f32>| x * ", stringify!($count), ", [x.clone()]);")]
        #[doc = concat!("assert_eq!(call(f, [x", $(", ", stringify!($name),)+ "]), expected);")]
        /// ```
        #[track_caller]
        #[allow(clippy::too_many_arguments, reason = "one for each array")]
        pub fn $method<$($ty: Item,)+ R: Scalars>(
            self,
            $($name: $handle<$ty>,)+
            f: impl FnOnce(SExp<T>, $(SExp<$ty>),+) -> R,
        ) -> R::$arrays {
            let srcs = nodes_of((self, $($name,)+));
            let arrays = node::map(Location::caller(), stringify!($method), &srcs, |vars| {
                let vars = &mut vars.iter().copied();
                nodes_of(f(SExp::from_nodes(vars), $(SExp::<$ty>::from_nodes(vars)),+))
            });
            of_nodes(&arrays)
        }
    )* };
}

/// Functions of a scalar for each element.
macro_rules! elementwise {
    ($handle:ident $class:ident $example:literal: $($method:ident $op:ident)*) => { $(
        #[doc = concat!("[`SExp::", stringify!($method), "`] of each element.")]
        ///
        #[doc = concat!("Cost: fused; that of [`SExp::", stringify!($method), "`] for each element.")]
        ///
        /// ```
        /// # use arraygpu_dsl::{example::*, prelude::*};
        #[doc = concat!("let x = ", $example, ";")]
        #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($method), "();")]
        #[doc = concat!("let g = |x: ", stringify!($handle), "<f32>| x.map(|a| a.", stringify!($method), "());")]
        /// assert_eq!(call(f, [x.clone()]), call(g, [x]));
        /// ```
        #[track_caller]
        pub fn $method(self) -> $handle<T>
        where
            T: $class,
        {
            $handle::of(node::unary(Location::caller(), UnaryOp::$op, self.node()))
        }
    )* };
}

/// Functions of two scalars for each element.
macro_rules! elementwise_binary {
    ($handle:ident $rhs:ident $class:ident $example:literal -> $out:ty: $($method:ident $op:ident)*) => { $(
        #[doc = concat!("[`SExp::", stringify!($method), "`] of each element and the other array's element, which has")]
        /// the same shape, or of each element and a scalar or a literal. Arrays of other shapes are
        /// an error of the call.
        ///
        #[doc = concat!("Cost: fused; that of [`SExp::", stringify!($method), "`] for each element.")]
        ///
        /// ```
        /// # use arraygpu_dsl::{example::*, prelude::*};
        #[doc = concat!("let x = ", $example, ";")]
        #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($method), "(2.0);")]
        #[doc = concat!("let g = |x: ", stringify!($handle), "<f32>| x.map(|a| a.", stringify!($method), "(2.0));")]
        /// assert_eq!(call(f, [x.clone()]), call(g, [x]));
        /// ```
        #[allow(clippy::should_implement_trait)]
        #[track_caller]
        pub fn $method(self, other: impl $rhs<T>) -> $handle<$out>
        where
            T: $class,
        {
            let at = Location::caller();
            $handle::of(node::binary(at, BinaryOp::$op, self.node(), other.operand_at(at)))
        }
    )* };
}

macro_rules! arrays {
    ($($handle:ident $arrays:ident $rhs:ident $example:literal;)*) => { $(
        impl<T: Item> $handle<T> {
            /// `f` of each element, as an array of the same shape. If `f` gives a tuple, the result
            /// is a tuple of arrays.
            ///
            /// Cost: fused; the operations of `f` for each element.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.map(|a| a * 2.0);")]
            #[doc = concat!("assert_eq!(call(f, [x.clone()]), call(|x: ", stringify!($handle), "<f32>| x + x, [x]));")]
            /// ```
            #[track_caller]
            pub fn map<R: Scalars>(self, f: impl FnOnce(SExp<T>) -> R) -> R::$arrays {
                of_nodes(&node::map(Location::caller(), "map", &nodes_of(self), |v| nodes_of(f(of_nodes(v)))))
            }

            zips! { $handle $arrays $example:
                /// `f` of each pair of elements at the same place, as an array of their shape. If
                /// `f` gives a tuple, the result is a tuple of arrays. Arrays of different shapes
                /// are an error of the call.
                zip_with 2 (y: U);
                /// `zip_with` of three arrays.
                zip3 3 (y: U, z: V);
                /// `zip_with` of four arrays.
                zip4 4 (y: U, z: V, u: W);
                /// `zip_with` of five arrays.
                zip5 5 (y: U, z: V, u: W, v: X);
                /// `zip_with` of six arrays.
                zip6 6 (y: U, z: V, u: W, v: X, w: Y);
                /// `zip_with` of seven arrays.
                zip7 7 (y: U, z: V, u: W, v: X, w: Y, a: A);
                /// `zip_with` of eight arrays.
                zip8 8 (y: U, z: V, u: W, v: X, w: Y, a: A, b: B);
                /// `zip_with` of nine arrays.
                zip9 9 (y: U, z: V, u: W, v: X, w: Y, a: A, b: B, c: C);
                /// `zip_with` of ten arrays.
                zip10 10 (y: U, z: V, u: W, v: X, w: Y, a: A, b: B, c: C, d: D);
                /// `zip_with` of eleven arrays.
                zip11 11 (y: U, z: V, u: W, v: X, w: Y, a: A, b: B, c: C, d: D, e: E);
                /// `zip_with` of twelve arrays.
                zip12 12 (y: U, z: V, u: W, v: X, w: Y, a: A, b: B, c: C, d: D, e: E, g: G);
            }

            /// The same array, stored before it is read. It is for an array whose elements are
            /// expensive to compute and are read several times. It never changes a value. It cannot
            /// stand inside of a closure whose variable the array mentions.
            ///
            /// Cost: memory for the array, one write of each element, a read wherever one is used.
            /// A launch that reads it comes after the one that writes it.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x / x.sqrt().materialize();")]
            #[doc = concat!("assert_eq!(call(f, [x.clone()]), call(|x: ", stringify!($handle), "<f32>| x / x.sqrt(), [x]));")]
            /// ```
            #[track_caller]
            pub fn materialize(self) -> $handle<T> {
                let at = Location::caller();
                leafwise(self, |x| make(at, x.ty, Op::Materialize(x)))
            }
        }

        impl<T: Elem> $handle<T> {
            elementwise! { $handle Signed $example: abs Abs }
            elementwise! { $handle Float $example:
                sqrt Sqrt floor Floor ceil Ceil trunc Trunc round Round round_ties_even RoundTiesEven
                exp Exp exp2 Exp2 expm1 Expm1 log Log ln Log log2 Log2 log10 Log10 log1p Log1p
                sin Sin cos Cos tan Tan sinpi SinPi cospi CosPi asin Asin acos Acos atan Atan sinh Sinh cosh Cosh tanh Tanh
                cbrt Cbrt rsqrt Rsqrt erf Erf erfc Erfc normcdf Normcdf
            }
            elementwise_binary! { $handle $rhs Float $example -> T: powf Pow atan2 Atan2 hypot Hypot fmod Fmod copysign Copysign }
            elementwise_binary! { $handle $rhs Elem $example -> bool: eq Eq ne Ne }
            elementwise_binary! { $handle $rhs Num $example -> bool: lt Lt le Le gt Gt ge Ge }

            /// [`SExp::ldexp`] of each element, with a number or an array of numbers of the same
            /// shape.
            ///
            /// Cost: fused; that of [`SExp::ldexp`] for each element.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.ldexp(3);")]
            #[doc = concat!("assert_eq!(call(f, [x.clone()]), call(|x: ", stringify!($handle), "<f32>| x * 8, [x]));")]
            /// ```
            #[track_caller]
            pub fn ldexp(self, n: impl $rhs<i32>) -> $handle<T>
            where
                T: Float,
            {
                let at = Location::caller();
                $handle::of(node::ldexp(at, self.node(), n.operand_at(at)))
            }

            /// [`SExp::frexp`] of each element: the array of the mantissas, and that of the
            /// exponents.
            ///
            /// Cost: fused; that of [`SExp::frexp`] for each element.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| { let (m, e) = x.frexp(); m.ldexp(e) };")]
            /// assert_eq!(call(f, [x.clone()]), [x]);
            /// ```
            #[track_caller]
            pub fn frexp(self) -> ($handle<T>, $handle<i32>)
            where
                T: Float,
            {
                let at = Location::caller();
                let exponent = node::unary(at, UnaryOp::FrexpExponent, self.node());
                let mantissa = node::unary(at, UnaryOp::FrexpMantissa, self.node());
                ($handle::of(mantissa), $handle::of(node::cast(at, Ty::I32, exponent)))
            }

            /// [`SExp::cast`] of each element.
            ///
            /// Cost: fused; one operation for each element.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.cast::<i64>().cast::<f32>();")]
            /// assert_eq!(call(f, [x.clone()]), [x]);
            /// ```
            #[track_caller]
            pub fn cast<U: Elem>(self) -> $handle<U> {
                $handle::of(node::cast(Location::caller(), U::TY, self.node()))
            }
        }
    )* };
}

arrays! {
    VExp Vectors VectorRhs "vector(&[1.0f32, 2.0, 3.0, 4.0])";
    MExp Matrices MatrixRhs "matrix(&[[1.0f32, 2.0], [3.0, 4.0]])";
    TExp Tensors TensorRhs "tensor(&[[[1.0f32, 2.0], [3.0, 4.0]]])";
}
