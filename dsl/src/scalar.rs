//! What scalar expressions can do, beside the operators of [`crate::ops`].

use crate::elem::{Elem, Float, Num, Signed};
use crate::handle::{IntoScalar, SExp};
use crate::node::{self, Op, make};
use arraygpu_compiler::core::Type;
use arraygpu_compiler::scalar::{BinaryOp, UnaryOp};
use std::panic::Location;

/// Methods of one operand.
macro_rules! unary_methods {
    ($class:ident: $($(#[$doc:meta])* $method:ident $op:ident;)*) => { $(
        $(#[$doc])*
        #[track_caller]
        pub fn $method(self) -> SExp<T>
        where
            T: $class,
        {
            SExp::of(node::unary(Location::caller(), UnaryOp::$op, self.node()))
        }
    )* };
}

/// Methods of two operands; the second may be a literal.
macro_rules! binary_methods {
    ($class:ident -> $out:ty: $($(#[$doc:meta])* $method:ident $op:ident;)*) => { $(
        $(#[$doc])*
        #[allow(clippy::should_implement_trait)]
        #[track_caller]
        pub fn $method(self, other: impl IntoScalar<T>) -> SExp<$out>
        where
            T: $class,
        {
            let at = Location::caller();
            SExp::of(node::binary(at, BinaryOp::$op, self.node(), other.scalar_at(at)))
        }
    )* };
}

impl<T: Elem> SExp<T> {
    binary_methods! { Elem -> bool:
        /// Whether the two are equal. `-0.0` equals `0.0`, NaN nothing.
        eq Eq;
        /// Whether the two differ.
        ne Ne;
    }

    binary_methods! { Num -> bool:
        /// Whether it is less than `other`; false with a NaN.
        lt Lt;
        /// Whether it is at most `other`; false with a NaN.
        le Le;
        /// Whether it is greater than `other`; false with a NaN.
        gt Gt;
        /// Whether it is at least `other`; false with a NaN.
        ge Ge;
    }

    binary_methods! { Num -> T:
        /// The lesser of the two. NaN if one is NaN; `-0.0` is less than `0.0`.
        min Min;
        /// The greater of the two. NaN if one is NaN; `0.0` is greater than `-0.0`.
        max Max;
    }

    binary_methods! { Float -> T:
        /// The power `self` to `other`.
        powf Pow;
        /// The angle of the point (x = `other`, y = `self`), as Rust's `atan2`.
        atan2 Atan2;
        /// The hypotenuse: the square root of the sum of both squares, without overflow in between.
        hypot Hypot;
        /// The remainder of the division with the sign of `self`, exactly; the operator `%` of floats is the same.
        fmod Fmod;
        /// The magnitude of `self` with the sign of `other`; a NaN counts as positive.
        copysign Copysign;
    }

    unary_methods! { Signed:
        /// The absolute value. Of the least integer it is that integer: integers wrap.
        abs Abs;
    }

    unary_methods! { Float:
        /// Square root.
        sqrt Sqrt;
        /// The next integer below, or itself.
        floor Floor;
        /// The next integer above, or itself.
        ceil Ceil;
        /// The integer towards zero.
        trunc Trunc;
        /// The nearest integer, halves away from zero.
        round Round;
        /// The nearest integer, halves to the even one.
        round_ties_even RoundTiesEven;
        /// e to this power.
        exp Exp;
        /// 2 to this power.
        exp2 Exp2;
        /// e to this power, minus 1, exact near 0.
        expm1 Expm1;
        /// Natural logarithm.
        log Log;
        /// Natural logarithm, by Rust's name: the same as [`SExp::log`].
        ln Log;
        /// Logarithm to base 2.
        log2 Log2;
        /// Logarithm to base 10.
        log10 Log10;
        /// Natural logarithm of 1 plus this, exact near 0.
        log1p Log1p;
        /// Sine of an angle in radians.
        sin Sin;
        /// Cosine of an angle in radians.
        cos Cos;
        /// Tangent of an angle in radians.
        tan Tan;
        /// Sine of pi times this, exact at halves.
        sinpi SinPi;
        /// Cosine of pi times this, exact at halves.
        cospi CosPi;
        /// The angle with this sine.
        asin Asin;
        /// The angle with this cosine.
        acos Acos;
        /// The angle with this tangent.
        atan Atan;
        /// Hyperbolic sine.
        sinh Sinh;
        /// Hyperbolic cosine.
        cosh Cosh;
        /// Hyperbolic tangent.
        tanh Tanh;
        /// Cube root.
        cbrt Cbrt;
        /// 1 over the square root.
        rsqrt Rsqrt;
        /// The error function.
        erf Erf;
        /// 1 minus the error function, without cancellation.
        erfc Erfc;
        /// The cumulative distribution function of the standard normal distribution.
        normcdf Normcdf;
    }

    /// `self` times 2 to the power `n`, rounded once, whatever `n` is.
    #[track_caller]
    pub fn ldexp(self, n: impl IntoScalar<i32>) -> SExp<T>
    where
        T: Float,
    {
        let at = Location::caller();
        SExp::of(node::ldexp(at, self.node(), n.scalar_at(at)))
    }

    /// The mantissa m, 0.5 <= |m| < 1, and the exponent e: `self` is m times 2 to the power e. Of 0, infinity and NaN it is the number itself and 0.
    #[track_caller]
    pub fn frexp(self) -> (SExp<T>, SExp<i32>)
    where
        T: Float,
    {
        let at = Location::caller();
        let exponent = node::unary(at, UnaryOp::FrexpExponent, self.node());
        let mantissa = node::unary(at, UnaryOp::FrexpMantissa, self.node());
        (SExp::of(mantissa), SExp::of(node::cast(at, arraygpu_compiler::scalar::Ty::I32, exponent)))
    }

    /// `self * b + c`, rounded once.
    #[track_caller]
    pub fn mul_add(self, b: impl IntoScalar<T>, c: impl IntoScalar<T>) -> SExp<T>
    where
        T: Num,
    {
        let at = Location::caller();
        let op = Op::MulAdd(self.node(), b.scalar_at(at), c.scalar_at(at));
        SExp::of(make(at, Type::scalar(T::TY), op))
    }

    /// The value as another type, as Rust's `as`: integers wrap, floats round to nearest, float to integer truncates and
    /// saturates (NaN gives 0). To bool it is "not zero".
    #[track_caller]
    pub fn cast<U: Elem>(self) -> SExp<U> {
        SExp::of(node::cast(Location::caller(), U::TY, self.node()))
    }
}

/// A constant as an expression, where a literal alone would not do: `lit(1.0)` as a closure's result.
#[track_caller]
pub fn lit<T: Elem>(value: T) -> SExp<T> {
    value.into_scalar()
}

/// `a` where `condition` is true, else `b`. Both may be literals if the other tells the type. The arm not taken leaves no error record.
#[track_caller]
pub fn cond<T: Elem>(condition: SExp<bool>, a: impl IntoScalar<T>, b: impl IntoScalar<T>) -> SExp<T> {
    let at = Location::caller();
    let op = Op::Select(condition.node(), a.scalar_at(at), b.scalar_at(at));
    SExp::of(make(at, Type::scalar(T::TY), op))
}

/// Names a scalar: `slet(a - b, |d| d * d)` is `f(x)`, with x computed at most once, and a variable of its own in the generated
/// code. Handles are shared anyway, so it never changes a value; it says that sharing is meant.
#[track_caller]
pub fn slet<T: Elem, R>(x: impl IntoScalar<T>, f: impl FnOnce(SExp<T>) -> R) -> R {
    let at = Location::caller();
    let x = x.scalar_at(at);
    f(SExp::of(make(at, x.ty, Op::Bound(x))))
}
