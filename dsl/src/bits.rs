//! The bits of floats as integers, and back.

use crate::handle::{IntoScalar, MExp, SExp, TExp, VExp};
use crate::node::{self, NodeRef, Op, make};
use crate::scope::Place;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use std::panic::Location;

/// The bits of a float; those of a NaN are the bits of the one NaN that results have.
fn to_bits(at: Place, x: NodeRef) -> NodeRef {
    let one_nan = match x.ty.elem {
        Ty::F32 => Lit::u32(f32::NAN.to_bits()),
        _ => Lit::u64(f64::NAN.to_bits()),
    };
    let bits = make(at, Type::scalar(one_nan.ty), Op::Unary(UnaryOp::ToBits, x));
    let is_nan = node::binary(at, BinaryOp::Ne, x, x);
    make(at, bits.ty, Op::Select(is_nan, node::constant(at, one_nan), bits))
}

/// The float with these bits.
fn from_bits(at: Place, bits: NodeRef) -> NodeRef {
    let op = UnaryOp::FromBits;
    make(at, Type::scalar(op.result(bits.ty.elem)), Op::Unary(op, bits))
}

macro_rules! bits {
    ($($float:ident $word:ident $one:literal;)*) => { $(
        impl SExp<$float> {
            #[doc = concat!("The bits of the number as a `", stringify!($word), "`. A NaN has those of the one NaN that results have.")]
            ///
            /// Cost: three operations, in the code that uses the result.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: SExp<", stringify!($float), ">| x.to_bits();")]
            #[doc = concat!("assert_eq!(call(f, [scalar(1", stringify!($float), ")]), [scalar(", stringify!($one), stringify!($word), ")]);")]
            /// ```
            #[track_caller]
            pub fn to_bits(self) -> SExp<$word> {
                SExp::of(to_bits(Location::caller(), self.node()))
            }

            /// The number with these bits. Nothing distinguishes the NaNs of different bits.
            ///
            /// Cost: one operation, in the code that uses the result.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: SExp<", stringify!($word), ">| SExp::<", stringify!($float), ">::from_bits(x);")]
            #[doc = concat!("assert_eq!(call(f, [scalar(", stringify!($one), stringify!($word), ")]), [scalar(1", stringify!($float), ")]);")]
            /// ```
            #[track_caller]
            pub fn from_bits(bits: impl IntoScalar<$word>) -> SExp<$float> {
                let at = Location::caller();
                SExp::of(from_bits(at, bits.scalar_at(at)))
            }
        }
        bits!(@array VExp $float $word "vector(&[1.5, -2.0])");
        bits!(@array MExp $float $word "matrix(&[[1.5, -2.0]])");
        bits!(@array TExp $float $word "tensor(&[[[1.5, -2.0]]])");
    )* };
    (@array $handle:ident $float:ident $word:ident $example:literal) => {
        impl $handle<$float> {
            /// [`SExp::to_bits`] of each element.
            ///
            /// Cost: fused; three operations for each element.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: ", stringify!($handle), "<", stringify!($float), ">| ", stringify!($handle), "::<", stringify!($float), ">::from_bits(x.to_bits());")]
            #[doc = concat!("assert_eq!(call(f, [", $example, "]), [", $example, "]);")]
            /// ```
            #[track_caller]
            pub fn to_bits(self) -> $handle<$word> {
                let at = Location::caller();
                $handle::of(node::map_one(at, "to_bits", &[self.node()], |v| to_bits(at, v[0])))
            }

            /// [`SExp::from_bits`] of each element.
            ///
            /// Cost: fused; one operation for each element.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: ", stringify!($handle), "<", stringify!($float), ">| ", stringify!($handle), "::<", stringify!($float), ">::from_bits(x.to_bits());")]
            #[doc = concat!("assert_eq!(call(f, [", $example, "]), [", $example, "]);")]
            /// ```
            #[track_caller]
            pub fn from_bits(bits: $handle<$word>) -> $handle<$float> {
                let at = Location::caller();
                $handle::of(node::map_one(at, "from_bits", &[bits.node()], |v| from_bits(at, v[0])))
            }
        }
    };
}

bits! {
    f32 u32 0x3f80_0000;
    f64 u64 0x3ff0_0000_0000_0000;
}
