//! What arrays of every rank can do, element by element; reductions are in [`crate::reduce`], operators in [`crate::ops`].

use crate::elem::{Elem, Float, Num, Signed};
use crate::handle::{MExp, SExp, TExp, VExp};
use crate::node::{self, Op, make};
use crate::ops::{MatrixRhs, TensorRhs, VectorRhs};
use crate::results::{Results, Scalars, nodes_of};
use arraygpu_compiler::scalar::{BinaryOp, Ty, UnaryOp};
use std::panic::Location;

macro_rules! zips {
    ($handle:ident $arrays:ident: $($(#[$doc:meta])* $method:ident($($name:ident: $ty:ident),+);)*) => { $(
        $(#[$doc])*
        #[track_caller]
        pub fn $method<$($ty: Elem,)+ R: Scalars>(
            self,
            $($name: $handle<$ty>,)+
            f: impl FnOnce(SExp<T>, $(SExp<$ty>),+) -> R,
        ) -> R::$arrays {
            let arrays = node::map(Location::caller(), stringify!($method), &[self.node(), $($name.node()),+], |vars| {
                let mut vars = vars.iter().copied();
                let mut next = || vars.next().expect("a variable for each array");
                nodes_of(f(SExp::of(next()), $(SExp::<$ty>::of(next())),+))
            });
            R::$arrays::from_nodes(&mut arrays.into_iter())
        }
    )* };
}

macro_rules! elementwise {
    ($handle:ident $class:ident: $($method:ident $op:ident)*) => { $(
        #[doc = concat!("[`SExp::", stringify!($method), "`] of each element.")]
        #[track_caller]
        pub fn $method(self) -> $handle<T>
        where
            T: $class,
        {
            $handle::of(node::unary(Location::caller(), UnaryOp::$op, self.node()))
        }
    )* };
}

macro_rules! elementwise_binary {
    ($handle:ident $rhs:ident $class:ident -> $out:ty: $($method:ident $op:ident)*) => { $(
        #[doc = concat!("[`SExp::", stringify!($method), "`] of each element with the other array's elements, a scalar or a literal.")]
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
    ($($handle:ident $arrays:ident $rhs:ident;)*) => { $(
        impl<T: Elem> $handle<T> {
            /// The function of each element. It may give a tuple: then the result is a tuple of arrays.
            #[track_caller]
            pub fn map<R: Scalars>(self, f: impl FnOnce(SExp<T>) -> R) -> R::$arrays {
                let arrays = node::map(Location::caller(), "map", &[self.node()], |v| nodes_of(f(SExp::of(v[0]))));
                R::$arrays::from_nodes(&mut arrays.into_iter())
            }

            zips! { $handle $arrays:
                /// The function of each pair of elements of two arrays of one shape. It may give a tuple: then the result is a tuple of arrays.
                zip_with(y: U);
                /// As `zip_with`, of three arrays.
                zip3(y: U, z: V);
                /// As `zip_with`, of four arrays.
                zip4(y: U, z: V, u: W);
                /// As `zip_with`, of five arrays.
                zip5(y: U, z: V, u: W, v: X);
                /// As `zip_with`, of six arrays.
                zip6(y: U, z: V, u: W, v: X, w: Y);
            }

            elementwise! { $handle Signed: abs Abs }
            elementwise! { $handle Float:
                sqrt Sqrt floor Floor ceil Ceil trunc Trunc round Round round_ties_even RoundTiesEven
                exp Exp exp2 Exp2 expm1 Expm1 log Log ln Log log2 Log2 log10 Log10 log1p Log1p
                sin Sin cos Cos tan Tan sinpi SinPi cospi CosPi asin Asin acos Acos atan Atan sinh Sinh cosh Cosh tanh Tanh
                cbrt Cbrt rsqrt Rsqrt erf Erf erfc Erfc normcdf Normcdf
            }
            elementwise_binary! { $handle $rhs Float -> T: powf Pow atan2 Atan2 hypot Hypot fmod Fmod copysign Copysign }
            elementwise_binary! { $handle $rhs Elem -> bool: eq Eq ne Ne }
            elementwise_binary! { $handle $rhs Num -> bool: lt Lt le Le gt Gt ge Ge }

            /// [`SExp::ldexp`] of each element.
            #[track_caller]
            pub fn ldexp(self, n: impl $rhs<i32>) -> $handle<T>
            where
                T: Float,
            {
                let at = Location::caller();
                $handle::of(node::ldexp(at, self.node(), n.operand_at(at)))
            }

            /// [`SExp::frexp`] of each element.
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
            #[track_caller]
            pub fn cast<U: Elem>(self) -> $handle<U> {
                $handle::of(node::cast(Location::caller(), U::TY, self.node()))
            }

            /// The same array, stored: for one that is expensive to compute and read at many places. Never changes a value.
            #[track_caller]
            pub fn materialize(self) -> $handle<T> {
                let x = self.node();
                $handle::of(make(Location::caller(), x.ty, Op::Materialize(x)))
            }
        }
    )* };
}

arrays! {
    VExp Vectors VectorRhs;
    MExp Matrices MatrixRhs;
    TExp Tensors TensorRhs;
}
