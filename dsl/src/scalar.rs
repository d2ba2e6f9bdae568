//! What scalar expressions can do, beside the operators of [`crate::ops`].

use crate::elem::{Elem, Float, Num, Signed};
use crate::handle::{IntoScalar, SExp};
use crate::item::Item;
use crate::node::{self, NodeRef, Op, make};
use crate::results::{leafwise, of_nodes};
use crate::scope::Place;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::scalar::{BinaryOp, UnaryOp};
use std::panic::Location;

/// Methods of one operand, each with its cost and an example: argument and result.
macro_rules! unary_methods {
    ($class:ident $cost:literal: $($(#[$doc:meta])* $method:ident $op:ident $x:literal => $y:literal;)*) => { $(
        $(#[$doc])*
        ///
        #[doc = concat!("Cost: ", $cost, ", in the code that uses the result.")]
        ///
        /// ```
        /// # use arraygpu_dsl::{example::*, prelude::*};
        #[doc = concat!("let f = |x: SExp<f32>| x.", stringify!($method), "();")]
        #[doc = concat!("assert_eq!(call(f, [scalar(", stringify!($x), ")]), [scalar(", stringify!($y), ")]);")]
        /// ```
        #[track_caller]
        pub fn $method(self) -> SExp<T>
        where
            T: $class,
        {
            SExp::of(node::unary(Location::caller(), UnaryOp::$op, self.node()))
        }
    )* };
}

/// Methods of two operands, of which the second may be a literal; each with its cost and an
/// example.
macro_rules! binary_methods {
    ($class:ident $cost:literal -> $out:ty: $(
        $(#[$doc:meta])* $method:ident $op:ident ($x:literal, $y:literal) => $z:literal;
    )*) => { $(
        $(#[$doc])*
        ///
        #[doc = concat!("Cost: ", $cost, ", in the code that uses the result.")]
        ///
        /// ```
        /// # use arraygpu_dsl::{example::*, prelude::*};
        #[doc = concat!("let f = |x: SExp<f32>| x.", stringify!($method), "(", stringify!($y), ");")]
        #[doc = concat!("assert_eq!(call(f, [scalar(", stringify!($x), ")]), [scalar(", stringify!($z), ")]);")]
        /// ```
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
    binary_methods! { Elem "one operation" -> bool:
        /// Whether the two are equal. `-0.0` equals `0.0`; NaN equals nothing.
        eq Eq (1.0f32, 2.0f32) => false;
        /// Whether the two differ.
        ne Ne (1.0f32, 2.0f32) => true;
    }

    binary_methods! { Num "one operation" -> bool:
        /// Whether it is less than `other`; false with a NaN.
        lt Lt (1.0f32, 2.0f32) => true;
        /// Whether it is at most `other`; false with a NaN.
        le Le (2.0f32, 2.0f32) => true;
        /// Whether it is greater than `other`; false with a NaN.
        gt Gt (1.0f32, 2.0f32) => false;
        /// Whether it is at least `other`; false with a NaN.
        ge Ge (2.0f32, 2.0f32) => true;
    }

    binary_methods! { Num "one operation" -> T:
        /// The lesser of the two. It is NaN if one is NaN; `-0.0` is less than `0.0` (`docs/semantics.md` 2.2).
        min Min (1.0f32, 2.0f32) => 1.0f32;
        /// The greater of the two. It is NaN if one is NaN; `0.0` is greater than `-0.0`.
        max Max (1.0f32, 2.0f32) => 2.0f32;
    }

    binary_methods! { Float "an elementary function (error bounds: `docs/elementary.md`)" -> T:
        /// The power `self` to `other`; NaN of a negative number to one that is no integer, 1 of anything to 0.
        powf Pow (2.0f32, 10.0f32) => 1024.0f32;
        /// The angle in radians, from -pi to pi, of the point (x = `other`, y = `self`), as Rust's `atan2`.
        atan2 Atan2 (0.0f32, 1.0f32) => 0.0f32;
        /// The hypotenuse: the square root of the sum of both squares, without overflow in between.
        hypot Hypot (3.0f32, 4.0f32) => 5.0f32;
        /// The exact remainder of the division, with the sign of `self`. The operator `%` of floats
        /// is this.
        fmod Fmod (-7.5f32, 2.0f32) => -1.5f32;
    }

    binary_methods! { Float "one operation" -> T:
        /// The magnitude of `self` with the sign of `other`; a NaN counts as positive.
        copysign Copysign (3.0f32, -1.0f32) => -3.0f32;
    }

    unary_methods! { Signed "one operation":
        /// The absolute value. That of the least integer is the least integer, since integers wrap.
        abs Abs -2.0f32 => 2.0f32;
    }

    unary_methods! { Float "one operation":
        /// The square root, correctly rounded; NaN of a negative number.
        sqrt Sqrt 9.0f32 => 3.0f32;
        /// The greatest integer that is not above it.
        floor Floor -1.5f32 => -2.0f32;
        /// The least integer that is not below it.
        ceil Ceil -1.5f32 => -1.0f32;
        /// The integer part: rounded towards zero.
        trunc Trunc -1.5f32 => -1.0f32;
        /// The nearest integer, halves away from zero.
        round Round 2.5f32 => 3.0f32;
        /// The nearest integer, halves to the even one.
        round_ties_even RoundTiesEven 2.5f32 => 2.0f32;
    }

    unary_methods! { Float "an elementary function (error bounds: `docs/elementary.md`)":
        /// e to this power.
        exp Exp 0.0f32 => 1.0f32;
        /// 2 to this power.
        exp2 Exp2 10.0f32 => 1024.0f32;
        /// e to this power, minus 1, without cancellation near 0.
        expm1 Expm1 0.0f32 => 0.0f32;
        /// The natural logarithm; minus infinity of 0, NaN of a negative number.
        log Log 1.0f32 => 0.0f32;
        /// The natural logarithm by Rust's name for it: [`SExp::log`].
        ln Log 1.0f32 => 0.0f32;
        /// The logarithm to base 2; minus infinity of 0, NaN of a negative number.
        log2 Log2 8.0f32 => 3.0f32;
        /// The logarithm to base 10; minus infinity of 0, NaN of a negative number.
        log10 Log10 1000.0f32 => 3.0f32;
        /// The natural logarithm of 1 plus this, without cancellation near 0.
        log1p Log1p 0.0f32 => 0.0f32;
        /// The sine of an angle in radians.
        sin Sin 0.0f32 => 0.0f32;
        /// The cosine of an angle in radians.
        cos Cos 0.0f32 => 1.0f32;
        /// The tangent of an angle in radians.
        tan Tan 0.0f32 => 0.0f32;
        /// The sine of an angle in half turns: of pi times this. It is exact at multiples of a
        /// half.
        sinpi SinPi 0.5f32 => 1.0f32;
        /// The cosine of an angle in half turns: of pi times this. It is exact at multiples of a
        /// half.
        cospi CosPi 1.0f32 => -1.0f32;
        /// The angle in radians with this sine, from -pi/2 to pi/2; NaN outside of -1 to 1.
        asin Asin 0.0f32 => 0.0f32;
        /// The angle in radians with this cosine, from 0 to pi; NaN outside of -1 to 1.
        acos Acos 1.0f32 => 0.0f32;
        /// The angle in radians with this tangent, from -pi/2 to pi/2.
        atan Atan 0.0f32 => 0.0f32;
        /// The hyperbolic sine.
        sinh Sinh 0.0f32 => 0.0f32;
        /// The hyperbolic cosine.
        cosh Cosh 0.0f32 => 1.0f32;
        /// The hyperbolic tangent.
        tanh Tanh 0.0f32 => 0.0f32;
        /// The cube root, also of negative numbers.
        cbrt Cbrt -27.0f32 => -3.0f32;
        /// 1 over the square root; infinite of 0, NaN of a negative number.
        rsqrt Rsqrt 4.0f32 => 0.5f32;
        /// The error function.
        erf Erf 0.0f32 => 0.0f32;
        /// 1 minus the error function, without cancellation.
        erfc Erfc 0.0f32 => 1.0f32;
        /// The cumulative distribution function of the standard normal distribution.
        normcdf Normcdf 0.0f32 => 0.5f32;
    }

    /// `self` times 2 to the power `n`, rounded once, whatever `n` is: infinite or 0 where that is beyond the type.
    ///
    /// Cost: an elementary function, in the code that uses the result.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: SExp<f32>| x.ldexp(3);
    /// assert_eq!(call(f, [scalar(1.5f32)]), [scalar(12.0f32)]);
    /// ```
    #[track_caller]
    pub fn ldexp(self, n: impl IntoScalar<i32>) -> SExp<T>
    where
        T: Float,
    {
        let at = Location::caller();
        SExp::of(node::ldexp(at, self.node(), n.scalar_at(at)))
    }

    /// The mantissa m, 0.5 <= |m| < 1, and the exponent e: `self` is m times 2 to the power e. For
    /// 0, infinity and NaN they are the number itself and 0.
    ///
    /// Cost: an elementary function for each of the two that is used, in the code that uses it.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: SExp<f32>| x.frexp();
    /// assert_eq!(call(f, [scalar(12.0f32)]), [scalar(0.75f32), scalar(4i32)]);
    /// ```
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

    /// `self * b + c`, rounded once. (`f16` and `bf16` are computed in f32, and rounded to the type
    /// then.)
    ///
    /// Cost: one operation, in the code that uses the result.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: SExp<f32>| x.mul_add(2.0, 1.0);
    /// assert_eq!(call(f, [scalar(3.0f32)]), [scalar(7.0f32)]);
    /// ```
    #[track_caller]
    pub fn mul_add(self, b: impl IntoScalar<T>, c: impl IntoScalar<T>) -> SExp<T>
    where
        T: Num,
    {
        let at = Location::caller();
        let op = Op::MulAdd(self.node(), b.scalar_at(at), c.scalar_at(at));
        SExp::of(make(at, Type::scalar(T::TY), op))
    }

    /// The value as another type, as Rust's `as`: integers wrap, floats round to nearest, a float
    /// becomes an integer by truncation and saturates (NaN gives 0). As bool it is "not zero".
    ///
    /// Cost: one operation, in the code that uses the result.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: SExp<f32>| x.cast::<i8>();
    /// assert_eq!(call(f, [scalar(-1000.5f32)]), [scalar(-128i8)]);
    /// ```
    #[track_caller]
    pub fn cast<U: Elem>(self) -> SExp<U> {
        SExp::of(node::cast(Location::caller(), U::TY, self.node()))
    }
}

/// A constant as an expression, for places where a literal alone does not do, such as a closure's
/// result.
///
/// Cost: none; the constant is part of the code.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// let f = |x: VExp<f32>| x.map(|_| lit(1.0f32));
/// assert_eq!(call(f, [vector(&[5.0f32, 7.0])]), [vector(&[1.0f32, 1.0])]);
/// ```
#[track_caller]
pub fn lit<T: Item>(value: T) -> SExp<T> {
    value.into_scalar()
}

/// `a` where `condition` is true, else `b` (`docs/semantics.md` 2.7). Both may be literals if something else tells
/// the type. The arm that is not taken leaves no error record. Of tuples, and of long arms, it is
/// [`if_else`](crate::if_else).
///
/// Cost: one operation, in the code that uses the result; both arms may be evaluated.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// let f = |x: SExp<f32>| cond(x.lt(0.0), 0.0, x);
/// assert_eq!(call(f, [scalar(-2.0f32)]), [scalar(0.0f32)]);
/// ```
#[track_caller]
pub fn cond<T: Item>(condition: SExp<bool>, a: impl IntoScalar<T>, b: impl IntoScalar<T>) -> SExp<T> {
    let at = Location::caller();
    let (a, b) = (a.scalar_at(at), b.scalar_at(at));
    let select = |(a, b): (&NodeRef, &NodeRef)| make(at, a.ty, Op::Select(condition.node(), a, b));
    let leaves: Vec<NodeRef> = T::split(&a).iter().zip(T::split(&b)).map(select).collect();
    of_nodes(&leaves)
}

/// What [`slet`] gives a variable: what may stand for a scalar expression of `T`.
#[diagnostic::on_unimplemented(
    message = "`slet` takes a scalar expression, a record or a constant, not `{Self}`",
    label = "not a scalar expression",
    note = "of several values write Rust's own `let`: `let (a, b) = (x + y, x - y);` computes each at most once, however often it is used",
    note = "so does `let y = x * x;` of an array in the code of each element; `.materialize()` stores it"
)]
pub trait LetValue<T: Item> {
    #[doc(hidden)]
    fn value_at(self, at: Place) -> NodeRef;
}

#[diagnostic::do_not_recommend]
impl<T: Item, X: IntoScalar<T>> LetValue<T> for X {
    fn value_at(self, at: Place) -> NodeRef {
        self.scalar_at(at)
    }
}

/// `f(x)`, where `x` is computed at most once and has a variable of its own in the generated code.
/// It never changes a value. Handles are shared anyway: a handle that is used twice is one value.
///
/// Cost: that of `x` and of what `f` gives.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// let f = |a: SExp<f32>, b: SExp<f32>| slet(a - b, |d| d * d);
/// assert_eq!(call(f, [scalar(5.0f32), scalar(2.0f32)]), [scalar(9.0f32)]);
/// ```
#[track_caller]
pub fn slet<T: Item, R>(x: impl LetValue<T>, f: impl FnOnce(SExp<T>) -> R) -> R {
    let at = Location::caller();
    let x = SExp::<T>::of(x.value_at(at));
    f(leafwise(x, |x| make(at, x.ty, Op::Bound(x))))
}
