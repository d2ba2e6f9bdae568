//! Complex numbers: a record of two floats, with the formulas of `docs/semantics.md` 2.11.

use crate::elem::Float;
use crate::handle::{IntoScalar, MExp, SExp, TExp, VExp};
use crate::node::{self, NodeRef, Op, make};
use crate::product;
use crate::rank::{Rank0, Rank1, Rank2, Rank3};
use crate::reduce;
use crate::results::{leafwise, nodes_of, of_nodes};
use crate::scope::Place;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::scalar::{BinaryOp, Ty, UnaryOp};
use arraygpu_derive::Record;
use std::ops;
use std::panic::Location;

/// A complex number.
///
/// Sums and differences are those of both parts; products are
/// `(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)`, each operation rounded, without a repair of
/// infinities and NaN; quotients are Smith's.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// let f = |z: SExp<Complex<f32>>, w: SExp<Complex<f32>>| z * w;
/// let args = [1.0f32, 2.0, 3.0, -1.0].map(scalar);
/// assert_eq!(call_parts(f, args), [5.0f32, 5.0].map(scalar));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Record)]
#[record(crate = crate)]
pub struct Complex<T: Float> {
    /// The real part.
    pub re: T,
    /// The imaginary part.
    pub im: T,
}

impl<T: Float> Complex<T> {
    /// The number with these parts, as a constant.
    ///
    /// Cost: none; the constant is part of the code.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |z: SExp<Complex<f32>>| z + Complex::new(0.0, 1.0);
    /// assert_eq!(call_parts(f, [2.0f32, 3.0].map(scalar)), [2.0f32, 4.0].map(scalar));
    /// ```
    #[must_use]
    pub fn new(re: T, im: T) -> Complex<T> {
        Complex { re, im }
    }
}

/// The complex number with these parts.
///
/// Cost: none.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// let f = |x: SExp<f32>| complex(x, 1.0).norm_sqr();
/// assert_eq!(call(f, [scalar(2.0f32)]), [scalar(5.0f32)]);
/// ```
#[track_caller]
pub fn complex<T: Float>(re: impl IntoScalar<T>, im: impl IntoScalar<T>) -> SExp<Complex<T>> {
    let at = Location::caller();
    of_nodes(&[re.scalar_at(at), im.scalar_at(at)])
}

/// The parts of a number, or of the elements of an array.
type Parts = [NodeRef; 2];

fn binary(at: Place, op: BinaryOp, [a, b]: Parts, [c, d]: Parts) -> Parts {
    let of = |op, x, y| node::binary(at, op, x, y);
    let (add, sub) = (|x, y| of(BinaryOp::Add, x, y), |x, y| of(BinaryOp::Sub, x, y));
    let mul = |x, y| of(BinaryOp::Mul, x, y);
    match op {
        BinaryOp::Mul => [sub(mul(a, c), mul(b, d)), add(mul(a, d), mul(b, c))],
        BinaryOp::Div => divide(at, [a, b], [c, d]),
        op => [of(op, a, c), of(op, b, d)],
    }
}

/// Smith's quotient: by the larger part of the divisor, so that squares of it cannot overflow.
fn divide(at: Place, [a, b]: Parts, [c, d]: Parts) -> Parts {
    let of = |op, x, y| node::binary(at, op, x, y);
    let size = |x| node::unary(at, UnaryOp::Abs, x);
    let by_real = of(BinaryOp::Ge, size(c), size(d));
    let choose = |x: NodeRef, y: NodeRef| make(at, x.ty, Op::Select(by_real, x, y));
    let (large, small) = (choose(c, d), choose(d, c));
    let ratio = of(BinaryOp::Div, small, large);
    let divisor = of(BinaryOp::Add, large, of(BinaryOp::Mul, small, ratio));
    let scaled = |x| of(BinaryOp::Mul, x, ratio);
    let re = choose(of(BinaryOp::Add, a, scaled(b)), of(BinaryOp::Add, scaled(a), b));
    let im = choose(of(BinaryOp::Sub, b, scaled(a)), of(BinaryOp::Sub, scaled(b), a));
    [of(BinaryOp::Div, re, divisor), of(BinaryOp::Div, im, divisor)]
}

fn parts_of<T: Float>(z: SExp<Complex<T>>) -> Parts {
    [z.re.node(), z.im.node()]
}

macro_rules! operators {
    ($($trait:ident $method:ident)*) => { $(
        impl<T: Float, R: IntoScalar<Complex<T>>> ops::$trait<R> for SExp<Complex<T>> {
            type Output = SExp<Complex<T>>;
            #[track_caller]
            fn $method(self, right: R) -> SExp<Complex<T>> {
                let at = Location::caller();
                let right = SExp::<Complex<T>>::of(right.scalar_at(at));
                of_nodes(&binary(at, BinaryOp::$trait, parts_of(self), parts_of(right)))
            }
        }
        operators!(@array VExp $trait $method);
        operators!(@array MExp $trait $method);
        operators!(@array TExp $trait $method);
    )* };
    (@array $handle:ident $trait:ident $method:ident) => {
        impl<T: Float> ops::$trait for $handle<Complex<T>> {
            type Output = $handle<Complex<T>>;
            #[track_caller]
            fn $method(self, right: $handle<Complex<T>>) -> $handle<Complex<T>> {
                let (at, srcs) = (Location::caller(), nodes_of((self, right)));
                let f = |v: &[NodeRef]| binary(at, BinaryOp::$trait, [v[0], v[1]], [v[2], v[3]]).to_vec();
                of_nodes(&node::map(at, stringify!($method), &srcs, f))
            }
        }
    };
}
operators!(Add add Sub sub Mul mul Div div);

macro_rules! negation {
    ($($handle:ident)*) => { $(
        impl<T: Float> ops::Neg for $handle<Complex<T>> {
            type Output = $handle<Complex<T>>;
            #[track_caller]
            fn neg(self) -> $handle<Complex<T>> {
                let at = Location::caller();
                leafwise(self, |x| node::unary(at, UnaryOp::Neg, x))
            }
        }
    )* };
}
negation!(SExp VExp MExp TExp);

impl<T: Float> SExp<Complex<T>> {
    /// The conjugate: the imaginary part changes its sign.
    ///
    /// Cost: one operation, in the code that uses the result.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |z: SExp<Complex<f32>>| z.conj();
    /// assert_eq!(call_parts(f, [2.0f32, 3.0].map(scalar)), [2.0f32, -3.0].map(scalar));
    /// ```
    #[track_caller]
    pub fn conj(self) -> SExp<Complex<T>> {
        let [re, im] = parts_of(self);
        of_nodes(&[re, node::unary(Location::caller(), UnaryOp::Neg, im)])
    }

    /// The product with a real number: of both parts.
    ///
    /// Cost: two operations, in the code that uses the result.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |z: SExp<Complex<f32>>| z.scale(2.0);
    /// assert_eq!(call_parts(f, [2.0f32, 3.0].map(scalar)), [4.0f32, 6.0].map(scalar));
    /// ```
    #[track_caller]
    pub fn scale(self, factor: impl IntoScalar<T>) -> SExp<Complex<T>> {
        let at = Location::caller();
        let factor = factor.scalar_at(at);
        leafwise(self, |x| node::binary(at, BinaryOp::Mul, x, factor))
    }

    /// The square of the absolute value: `re * re + im * im`.
    ///
    /// Cost: three operations, in the code that uses the result.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |z: SExp<Complex<f32>>| z.norm_sqr();
    /// assert_eq!(call_parts(f, [3.0f32, 4.0].map(scalar)), [scalar(25.0f32)]);
    /// ```
    #[track_caller]
    pub fn norm_sqr(self) -> SExp<T> {
        let (at, parts) = (Location::caller(), parts_of(self));
        let [re, im] = parts.map(|x| node::binary(at, BinaryOp::Mul, x, x));
        SExp::of(node::binary(at, BinaryOp::Add, re, im))
    }

    /// The angle in radians: `im.atan2(re)`.
    ///
    /// Cost: an elementary function, in the code that uses the result.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |z: SExp<Complex<f32>>| z.arg();
    /// assert_eq!(call_parts(f, [2.0f32, 0.0].map(scalar)), [scalar(0.0f32)]);
    /// ```
    #[track_caller]
    pub fn arg(self) -> SExp<T> {
        let [re, im] = parts_of(self);
        SExp::of(node::binary(Location::caller(), BinaryOp::Atan2, im, re))
    }
}

/// Functions whose names those of other elements have, too: `z.abs()` finds them behind the fields, and
/// `SExp::abs` is that of the others.
impl<T: Float> ComplexOf<T, Rank0> {
    /// The absolute value: [`SExp::hypot`] of both parts.
    ///
    /// Cost: an elementary function, in the code that uses the result.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |z: SExp<Complex<f32>>| z.abs();
    /// assert_eq!(call_parts(f, [3.0f32, 4.0].map(scalar)), [scalar(5.0f32)]);
    /// ```
    #[track_caller]
    pub fn abs(self) -> SExp<T> {
        let [re, im] = [self.re.node(), self.im.node()];
        SExp::of(node::binary(Location::caller(), BinaryOp::Hypot, re, im))
    }

    /// The number with both parts cast: [`SExp::cast`].
    ///
    /// Cost: two operations, in the code that uses the result.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |z: SExp<Complex<f32>>| z.cast::<f64>();
    /// assert_eq!(call_parts(f, [1.0f32, 2.0].map(scalar)), [1.0f64, 2.0].map(scalar));
    /// ```
    #[track_caller]
    pub fn cast<U: Float>(self) -> SExp<Complex<U>> {
        let at = Location::caller();
        of_nodes(&[self.re.node(), self.im.node()].map(|x| node::cast(at, U::TY, x)))
    }

    /// Whether both parts are equal.
    ///
    /// Cost: three operations, in the code that uses the result.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |z: SExp<Complex<f32>>| z.eq(Complex::new(1.0, 2.0));
    /// assert_eq!(call_parts(f, [1.0f32, 2.0].map(scalar)), [scalar(true)]);
    /// ```
    #[allow(clippy::should_implement_trait)]
    #[track_caller]
    pub fn eq(self, other: impl IntoScalar<Complex<T>>) -> SExp<bool> {
        let at = Location::caller();
        let ([a, b], [c, d]) =
            ([self.re.node(), self.im.node()], parts_of(SExp::<Complex<T>>::of(other.scalar_at(at))));
        let [re, im] =
            [(a, c), (b, d)].map(|(x, y)| make(at, Type::scalar(Ty::Bool), Op::Binary(BinaryOp::Eq, x, y)));
        SExp::of(node::binary(at, BinaryOp::And, re, im))
    }
}

macro_rules! arrays {
    ($($handle:ident $rank:ident $example:literal;)*) => { $(
        impl<T: Float> $handle<Complex<T>> {
            /// [`SExp::conj`] of each element.
            ///
            /// Cost: fused; one operation for each element.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |z: ", stringify!($handle), "<Complex<f32>>| z.conj().conj();")]
            #[doc = concat!("let z = [", $example, ", ", $example, "];")]
            /// assert_eq!(call_parts(f, z.clone()), z);
            /// ```
            #[track_caller]
            pub fn conj(self) -> $handle<Complex<T>> {
                self.map(|z| z.conj())
            }

            /// [`SExp::norm_sqr`] of each element.
            ///
            /// Cost: fused; three operations for each element.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |z: ", stringify!($handle), "<Complex<f32>>| z.norm_sqr();")]
            #[doc = concat!("let g = |z: ", stringify!($handle), "<Complex<f32>>| z.re * z.re + z.im * z.im;")]
            #[doc = concat!("let z = [", $example, ", ", $example, "];")]
            /// assert_eq!(call_parts(f, z.clone()), call_parts(g, z));
            /// ```
            #[track_caller]
            pub fn norm_sqr(self) -> $handle<T> {
                self.map(|z| z.norm_sqr())
            }
        }

        impl<T: Float> ComplexOf<T, $rank> {
            /// The absolute value of each element.
            ///
            /// Cost: fused; an elementary function for each element.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |z: ", stringify!($handle), "<Complex<f32>>| z.abs();")]
            #[doc = concat!("let g = |z: ", stringify!($handle), "<Complex<f32>>| z.re.hypot(z.im);")]
            #[doc = concat!("let z = [", $example, ", ", $example, "];")]
            /// assert_eq!(call_parts(f, z.clone()), call_parts(g, z));
            /// ```
            #[track_caller]
            pub fn abs(self) -> $handle<T> {
                let (at, parts) = (Location::caller(), nodes_of(self));
                $handle::of(node::map_one(at, "abs", &parts, |v| node::binary(at, BinaryOp::Hypot, v[0], v[1])))
            }

            /// The numbers with both parts cast: [`SExp::cast`].
            ///
            /// Cost: fused; two operations for each element.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |z: ", stringify!($handle), "<Complex<f32>>| z.cast::<f64>().cast::<f32>();")]
            #[doc = concat!("let z = [", $example, ", ", $example, "];")]
            /// assert_eq!(call_parts(f, z.clone()), z);
            /// ```
            #[track_caller]
            pub fn cast<U: Float>(self) -> $handle<Complex<U>> {
                let at = Location::caller();
                of_nodes(&nodes_of(self).iter().map(|x| node::cast(at, U::TY, *x)).collect::<Vec<_>>())
            }

            /// The sum of all elements: of the real and of the imaginary parts, each in the fixed order of
            /// `docs/semantics.md` 5.1.
            ///
            /// Cost: a reduction of two accumulators, in one launch.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |z: ", stringify!($handle), "<Complex<f32>>| z.sum().re;")]
            #[doc = concat!("let g = |z: ", stringify!($handle), "<Complex<f32>>| z.re.sum();")]
            #[doc = concat!("let z = [", $example, ", ", $example, "];")]
            /// assert_eq!(call_parts(f, z.clone()), call_parts(g, z));
            /// ```
            #[track_caller]
            pub fn sum(self) -> SExp<Complex<T>> {
                let at = Location::caller();
                leafwise(self, |x| reduce::sum(at, x))
            }
        }
    )* };
}
arrays! {
    VExp Rank1 "vector(&[1.0f32, 2.0])";
    MExp Rank2 "matrix(&[[1.0f32, 2.0]])";
    TExp Rank3 "tensor(&[[[1.0f32, 2.0]]])";
}

macro_rules! products {
    ($($handle:ident $rank:ident $product:ident $example:literal;)*) => { $(
        impl<T: Float> ComplexOf<T, $rank> {
            /// The matrix product: four products of the real and the imaginary parts,
            /// `re = a.re b.re - a.im b.im` and `im = a.re b.im + a.im b.re`, each in the order of
            /// `docs/semantics.md` 5.7.
            ///
            /// Cost: that of four products of real numbers.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |a: ", stringify!($handle), "<Complex<f32>>, b: ", stringify!($handle), "<Complex<f32>>| a.matmul(b);")]
            #[doc = concat!("let [a, b, c, d] = [1.0f32, 2.0, 0.0, 5.0].map(|x| ", $example, ");")]
            /// // (1 + 2 i) (2 + i)
            /// assert_eq!(call_parts(f, [a.clone(), b.clone(), b, a]), [c, d]);
            /// ```
            #[track_caller]
            pub fn matmul(self, b: $handle<Complex<T>>) -> $handle<Complex<T>> {
                let at = Location::caller();
                let ([a, b], [c, d]) = ([self.re.node(), self.im.node()], [b.re.node(), b.im.node()]);
                let joined = |op, x, y| node::map_one(at, "matmul", &[x, y], |v| node::binary(at, op, v[0], v[1]));
                let product = |x, y| product::$product(at, x, y);
                of_nodes(&[
                    joined(BinaryOp::Sub, product(a, c), product(b, d)),
                    joined(BinaryOp::Add, product(a, d), product(b, c)),
                ])
            }
        }
    )* };
}
products! {
    MExp Rank2 of_matrices "matrix(&[[x]])";
    TExp Rank3 of_planes "tensor(&[[[x]]])";
}
