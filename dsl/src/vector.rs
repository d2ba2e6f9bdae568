//! What vector expressions can do, beside reductions ([`crate::reduce`]) and operators ([`crate::ops`]), and the functions that make vectors.

use crate::elem::{Elem, Float, Num, Signed};
use crate::handle::{IntoScalar, SExp, VExp};
use crate::node::{self, NodeRef, Op, make};
use crate::ops::VectorRhs;
use crate::results::{Results, Scalars, nodes_of};
use crate::scope::Place;
use arraygpu_compiler::Error;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::loc::Loc;
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, UnaryOp, eval_cast};
use std::panic::Location;

/// `map` in the types of the author: nodes to handles, handles to nodes.
fn map_with<R: Scalars>(
    at: Place,
    construct: &'static str,
    srcs: &[NodeRef],
    f: impl FnOnce(&[NodeRef]) -> R,
) -> R::Vectors {
    let vectors = node::map(at, construct, srcs, |vars| nodes_of(f(vars)));
    R::Vectors::from_nodes(&mut vectors.into_iter())
}

macro_rules! zips {
    ($($(#[$doc:meta])* $method:ident($($name:ident: $ty:ident),+);)*) => { $(
        $(#[$doc])*
        #[track_caller]
        pub fn $method<$($ty: Elem,)+ R: Scalars>(
            self,
            $($name: VExp<$ty>,)+
            f: impl FnOnce(SExp<T>, $(SExp<$ty>),+) -> R,
        ) -> R::Vectors {
            map_with(Location::caller(), stringify!($method), &[self.node(), $($name.node()),+], |vars| {
                let mut vars = vars.iter().copied();
                let mut next = || vars.next().expect("a variable for each vector");
                f(SExp::of(next()), $(SExp::<$ty>::of(next())),+)
            })
        }
    )* };
}

macro_rules! elementwise {
    ($class:ident: $($method:ident $op:ident)*) => { $(
        #[doc = concat!("[`SExp::", stringify!($method), "`] of each element.")]
        #[track_caller]
        pub fn $method(self) -> VExp<T>
        where
            T: $class,
        {
            VExp::of(node::unary(Location::caller(), UnaryOp::$op, self.node()))
        }
    )* };
}

macro_rules! elementwise_binary {
    ($class:ident -> $out:ty: $($method:ident $op:ident)*) => { $(
        #[doc = concat!("[`SExp::", stringify!($method), "`] of each element with a vector's elements, a scalar or a literal.")]
        #[allow(clippy::should_implement_trait)]
        #[track_caller]
        pub fn $method(self, other: impl VectorRhs<T>) -> VExp<$out>
        where
            T: $class,
        {
            let at = Location::caller();
            VExp::of(node::binary(at, BinaryOp::$op, self.node(), other.operand_at(at)))
        }
    )* };
}

impl<T: Elem> VExp<T> {
    /// The function of each element. It may give a tuple: then the result is a tuple of vectors.
    #[track_caller]
    pub fn map<R: Scalars>(self, f: impl FnOnce(SExp<T>) -> R) -> R::Vectors {
        map_with(Location::caller(), "map", &[self.node()], |vars| f(SExp::of(vars[0])))
    }

    zips! {
        /// The function of each pair of elements of two vectors of one length. It may give a tuple: then the result is a tuple of vectors.
        zip_with(y: U);
        /// As [`VExp::zip_with`], of three vectors.
        zip3(y: U, z: V);
        /// As [`VExp::zip_with`], of four vectors.
        zip4(y: U, z: V, u: W);
        /// As [`VExp::zip_with`], of five vectors.
        zip5(y: U, z: V, u: W, v: X);
        /// As [`VExp::zip_with`], of six vectors.
        zip6(y: U, z: V, u: W, v: X, w: Y);
    }

    elementwise! { Signed: abs Abs }
    elementwise! { Float:
        sqrt Sqrt floor Floor ceil Ceil trunc Trunc round Round round_ties_even RoundTiesEven
        exp Exp exp2 Exp2 expm1 Expm1 log Log log2 Log2 log10 Log10 log1p Log1p
        sin Sin cos Cos tan Tan sinpi SinPi cospi CosPi asin Asin acos Acos atan Atan sinh Sinh cosh Cosh tanh Tanh
        cbrt Cbrt rsqrt Rsqrt erf Erf erfc Erfc normcdf Normcdf
    }
    elementwise_binary! { Float -> T: powf Pow atan2 Atan2 hypot Hypot fmod Fmod copysign Copysign }
    elementwise_binary! { Elem -> bool: eq Eq ne Ne }
    elementwise_binary! { Num -> bool: lt Lt le Le gt Gt ge Ge }

    /// [`SExp::ldexp`] of each element.
    #[track_caller]
    pub fn ldexp(self, n: impl VectorRhs<i32>) -> VExp<T>
    where
        T: Float,
    {
        let at = Location::caller();
        VExp::of(node::ldexp(at, self.node(), n.operand_at(at)))
    }

    /// [`SExp::frexp`] of each element.
    #[track_caller]
    pub fn frexp(self) -> (VExp<T>, VExp<i32>)
    where
        T: Float,
    {
        let at = Location::caller();
        let exponent = node::unary(at, UnaryOp::FrexpExponent, self.node());
        let mantissa = node::unary(at, UnaryOp::FrexpMantissa, self.node());
        (VExp::of(mantissa), VExp::of(node::cast(at, Ty::I32, exponent)))
    }

    /// [`SExp::cast`] of each element.
    #[track_caller]
    pub fn cast<U: Elem>(self) -> VExp<U> {
        VExp::of(node::cast(Location::caller(), U::TY, self.node()))
    }

    /// The number of elements.
    #[track_caller]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(self) -> SExp<i64> {
        SExp::of(make(Location::caller(), Type::scalar(Ty::I64), Op::Len(self.node(), 0)))
    }

    /// Element `i`. Outside of the vector it is 0 (false) and leaves an error record.
    #[track_caller]
    pub fn at(self, i: impl IntoScalar<i64>) -> SExp<T> {
        let at = Location::caller();
        SExp::of(make(at, Type::scalar(T::TY), Op::At(self.node(), vec![i.scalar_at(at)])))
    }

    /// The elements at those indices, each as [`VExp::at`] reads it.
    #[track_caller]
    pub fn gather(self, indices: VExp<i64>) -> VExp<T> {
        let at = Location::caller();
        VExp::of(node::map_one(at, "gather", &[indices.node()], |i| {
            make(at, Type::scalar(T::TY), Op::At(self.node(), vec![i[0]]))
        }))
    }

    /// The elements from `start` up to, not including, `stop`; `0 <= start <= stop <= len` is checked before the function runs.
    #[track_caller]
    pub fn slice(self, start: impl IntoScalar<i64>, stop: impl IntoScalar<i64>) -> VExp<T> {
        let at = Location::caller();
        VExp::of(slice(at, "slice", self.node(), [start.scalar_at(at), stop.scalar_at(at)], None))
    }

    /// Every `stride`-th element from `start` up to, not including, `stop`; `stride >= 1`, and the ends as in [`VExp::slice`].
    #[track_caller]
    pub fn slice_by(
        self,
        start: impl IntoScalar<i64>,
        stop: impl IntoScalar<i64>,
        stride: impl IntoScalar<i64>,
    ) -> VExp<T> {
        let at = Location::caller();
        let ends = [start.scalar_at(at), stop.scalar_at(at)];
        VExp::of(slice(at, "slice_by", self.node(), ends, Some(stride.scalar_at(at))))
    }

    /// The elements from last to first.
    #[track_caller]
    pub fn reverse(self) -> VExp<T> {
        VExp::of(make(Location::caller(), Type::vector(T::TY), Op::Reverse(self.node(), 0)))
    }

    /// The same vector, stored: for one that is expensive to compute and read at many places. Never changes a value.
    #[track_caller]
    pub fn materialize(self) -> VExp<T> {
        VExp::of(make(Location::caller(), Type::vector(T::TY), Op::Materialize(self.node())))
    }

    /// The `k` slices of length `len - (k - 1)`: the i-th begins at element i. What stencils are made of.
    #[track_caller]
    pub fn windows(self, k: usize) -> Vec<VExp<T>> {
        let at = Location::caller();
        if k == 0 {
            let error = Error::user("E0207", "windows of no elements").at(Some(&Loc::caller(at)));
            return vec![VExp::of(node::invalid(at, Type::vector(T::TY), error))];
        }
        windows(at, "windows", self.node(), k).into_iter().map(VExp::of).collect()
    }

    /// `result[i] = weights[0] * x[i] + weights[1] * x[i + 1] + ...`, the first product rounded, then a chain of multiply-adds. It is
    /// `weights.len() - 1` elements shorter than x.
    #[track_caller]
    pub fn weighted_sum(self, weights: &[T]) -> VExp<T>
    where
        T: Num,
    {
        let at = Location::caller();
        let Some((first, rest)) = weights.split_first() else {
            let error = Error::user("E0207", "weighted_sum needs a weight").at(Some(&Loc::caller(at)));
            return VExp::of(node::invalid(at, Type::vector(T::TY), error));
        };
        // of halves in f32, rounded once
        let ty = node::sum_type(T::TY);
        let slices = windows(at, "weighted_sum", self.node(), weights.len());
        VExp::of(node::map_one(at, "weighted_sum", &slices, |x| {
            let weight = |w: &T| node::constant(at, eval_cast(ty, w.lit()));
            let x: Vec<NodeRef> = x.iter().map(|x| node::as_type(at, ty, x)).collect();
            let product = node::binary(at, BinaryOp::Mul, weight(first), x[0]);
            let sum = rest
                .iter()
                .zip(&x[1..])
                .fold(product, |sum, (w, x)| make(at, Type::scalar(ty), Op::MulAdd(weight(w), x, sum)));
            node::as_type(at, T::TY, sum)
        }))
    }
}

fn slice(
    at: Place,
    construct: &'static str,
    src: NodeRef,
    [start, stop]: [NodeRef; 2],
    stride: Option<NodeRef>,
) -> NodeRef {
    let stride = stride.unwrap_or_else(|| node::constant(at, Lit::i64(1)));
    make(at, src.ty, Op::Slice { construct, src, axis: 0, start, stop, stride })
}

fn windows(at: Place, construct: &'static str, src: NodeRef, k: usize) -> Vec<NodeRef> {
    let number = |n: usize| node::constant(at, Lit::i64(n as i64));
    let len = make(at, Type::scalar(Ty::I64), Op::Len(src, 0));
    let count = node::binary(at, BinaryOp::Sub, len, number(k - 1));
    let window = |i: usize| {
        let start = number(i);
        slice(at, construct, src, [start, node::binary(at, BinaryOp::Add, count, start)], None)
    };
    (0..k).map(window).collect()
}

/// 0, 1, .. n - 1. `n >= 0` is checked before the function runs.
#[track_caller]
pub fn iota(n: impl IntoScalar<i64>) -> VExp<i64> {
    let at = Location::caller();
    VExp::of(make(at, Type::vector(Ty::I64), Op::Iota(n.scalar_at(at))))
}

/// `n` times `x`. `n >= 0` is checked before the function runs.
#[track_caller]
pub fn fill<T: Elem>(n: impl IntoScalar<i64>, x: impl IntoScalar<T>) -> VExp<T> {
    let at = Location::caller();
    VExp::of(make(at, Type::vector(T::TY), Op::Fill(n.scalar_at(at), x.scalar_at(at))))
}

/// The function of 0, 1, .. n - 1. It may give a tuple: then the result is a tuple of vectors. `n >= 0` is checked before the function runs.
#[track_caller]
pub fn generate<R: Scalars>(n: impl IntoScalar<i64>, f: impl FnOnce(SExp<i64>) -> R) -> R::Vectors {
    let at = Location::caller();
    let n = n.scalar_at(at);
    let lambdas = node::bind(at, "generate", &[Ty::I64], |i| nodes_of(f(SExp::of(i[0]))));
    let vector =
        |lambda: node::Lambda| make(at, Type::vector(lambda.body.ty.elem), Op::Generate(vec![n], lambda));
    R::Vectors::from_nodes(&mut lambdas.into_iter().map(vector))
}
