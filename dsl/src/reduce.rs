//! Reductions of vectors, and sums over Rust iterators of expressions.

use crate::elem::{Elem, Num};
use crate::handle::{IntoScalar, SExp, VExp};
use crate::node::{self, NodeRef, Op, make};
use crate::scope::{Place, innermost_place};
use arraygpu_compiler::Error;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty};
use std::iter::Sum;
use std::panic::Location;

/// A sum of elements of type `ty`, as `f` makes it: of halves in f32, rounded once (semantics 5.2).
fn summed(at: Place, ty: Ty, srcs: &[NodeRef], f: impl FnOnce(Ty, &[NodeRef]) -> NodeRef) -> NodeRef {
    let wide = node::sum_type(ty);
    let srcs: Vec<NodeRef> = srcs.iter().map(|s| node::as_type(at, wide, s)).collect();
    node::as_type(at, ty, f(wide, &srcs))
}

/// A reduction by an operator.
fn reduce_by(at: Place, construct: &'static str, op: BinaryOp, init: Lit, src: NodeRef) -> NodeRef {
    let lambda = node::bind_one(at, construct, &[init.ty, init.ty], |v| node::binary(at, op, v[0], v[1]));
    make(at, Type::scalar(init.ty), Op::Reduce { lambda, init: node::constant(at, init), src })
}

macro_rules! reductions {
    ($($(#[$doc:meta])* $method:ident $op:ident $init:ident;)*) => { $(
        $(#[$doc])*
        #[track_caller]
        pub fn $method(self) -> SExp<T>
        where
            T: Num,
        {
            let at = Location::caller();
            SExp::of(reduce_by(at, stringify!($method), BinaryOp::$op, Lit::$init(T::TY), self.node()))
        }
    )* };
}

impl<T: Elem> VExp<T> {
    reductions! {
        /// The product, in the fixed order of `docs/semantics.md` 5.1; 1 of nothing.
        product Mul one;
        /// The least element; of nothing the greatest value of the type (infinity for floats). NaN if there is one.
        min Min greatest;
        /// The greatest element; of nothing the least value of the type (minus infinity for floats). NaN if there is one.
        max Max least;
    }

    /// The sum, in the fixed order of `docs/semantics.md` 5.1; 0 of nothing. Halves are summed in f32, and rounded once.
    #[track_caller]
    pub fn sum(self) -> SExp<T>
    where
        T: Num,
    {
        let at = Location::caller();
        let add = |ty, v: &[NodeRef]| reduce_by(at, "sum", BinaryOp::Add, Lit::zero(ty), v[0]);
        SExp::of(summed(at, T::TY, &[self.node()], add))
    }

    /// `f(init, v)`, where v joins all elements by `f` in the fixed tree of `docs/semantics.md` 5.1; of nothing it is `init`.
    /// `f` must be associative and commutative up to rounding, which is not checked.
    #[track_caller]
    pub fn reduce(self, init: impl IntoScalar<T>, f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>) -> SExp<T> {
        let at = Location::caller();
        let init = init.scalar_at(at);
        let join = |v: &[NodeRef]| f(SExp::of(v[0]), SExp::of(v[1])).node();
        let lambda = node::bind_one(at, "reduce", &[T::TY, T::TY], join);
        SExp::of(make(at, Type::scalar(T::TY), Op::Reduce { lambda, init, src: self.node() }))
    }

    /// The strict left fold in index order, for any `f(accumulator, element)`: exact about order, but one thread's work.
    #[track_caller]
    pub fn fold<A: Elem>(
        self,
        init: impl IntoScalar<A>,
        f: impl FnOnce(SExp<A>, SExp<T>) -> SExp<A>,
    ) -> SExp<A> {
        let at = Location::caller();
        let init = init.scalar_at(at);
        let step = |v: &[NodeRef]| f(SExp::of(v[0]), SExp::of(v[1])).node();
        let lambda = node::bind_one(at, "fold", &[A::TY, T::TY], step);
        SExp::of(make(at, Type::scalar(A::TY), Op::Fold { lambda, init, src: self.node() }))
    }

    /// The sum from first to last, as a plain loop adds: `fold(0, +)`. Halves are summed in f32, and rounded once.
    #[track_caller]
    pub fn sum_in_order(self) -> SExp<T>
    where
        T: Num,
    {
        let at = Location::caller();
        let step = |v: &[NodeRef]| node::binary(at, BinaryOp::Add, v[0], v[1]);
        let fold = |ty, v: &[NodeRef]| {
            let lambda = node::bind_one(at, "sum_in_order", &[ty, ty], step);
            let init = node::constant(at, Lit::zero(ty));
            make(at, Type::scalar(ty), Op::Fold { lambda, init, src: v[0] })
        };
        SExp::of(summed(at, T::TY, &[self.node()], fold))
    }

    /// The dot product of two vectors of one length, by multiply-adds in the fixed order of `docs/semantics.md` 5.3. Of halves in f32, rounded once.
    #[track_caller]
    pub fn dot(self, y: VExp<T>) -> SExp<T>
    where
        T: Num,
    {
        let at = Location::caller();
        let dot = |ty, v: &[NodeRef]| make(at, Type::scalar(ty), Op::Dot(v[0], v[1]));
        SExp::of(summed(at, T::TY, &[self.node(), y.node()], dot))
    }
}

impl VExp<bool> {
    /// Whether an element is true; false of nothing.
    #[track_caller]
    pub fn any(self) -> SExp<bool> {
        SExp::of(reduce_by(Location::caller(), "any", BinaryOp::Or, Lit::bool(false), self.node()))
    }

    /// Whether all elements are true; true of nothing.
    #[track_caller]
    pub fn all(self) -> SExp<bool> {
        SExp::of(reduce_by(Location::caller(), "all", BinaryOp::And, Lit::bool(true), self.node()))
    }
}

/// Whether an element is true; false of nothing. The same as `x.any()`.
#[track_caller]
pub fn any(x: VExp<bool>) -> SExp<bool> {
    x.any()
}

/// Whether all elements are true; true of nothing. The same as `x.all()`.
#[track_caller]
pub fn all(x: VExp<bool>) -> SExp<bool> {
    x.all()
}

/// The sum of the terms from first to last. The standard library calls us here, so an addition's place is that of its second term.
fn sum_of(terms: impl Iterator<Item = NodeRef>) -> Option<NodeRef> {
    terms.reduce(|sum, term| node::binary(term.at, BinaryOp::Add, sum, term))
}

/// Of no scalars the sum is 0.
impl<T: Num> Sum for SExp<T> {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        let at = innermost_place().unwrap_or_else(|| Location::caller());
        SExp::of(sum_of(terms.map(SExp::node)).unwrap_or_else(|| node::constant(at, Lit::zero(T::TY))))
    }
}

/// Of no vectors there is no sum, since it would have no length: an error when the function is lowered.
impl<T: Num> Sum for VExp<T> {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        VExp::of(sum_of(terms.map(VExp::node)).unwrap_or_else(|| {
            let at = innermost_place().unwrap_or_else(|| Location::caller());
            let error = Error::user("E0208", "the sum of no vectors has no length: the iterator gave none");
            node::invalid(at, Type::vector(T::TY), error)
        }))
    }
}

impl<'a, T: Num> Sum<&'a SExp<T>> for SExp<T> {
    fn sum<I: Iterator<Item = &'a Self>>(terms: I) -> Self {
        terms.copied().sum()
    }
}

impl<'a, T: Num> Sum<&'a VExp<T>> for VExp<T> {
    fn sum<I: Iterator<Item = &'a Self>>(terms: I) -> Self {
        terms.copied().sum()
    }
}
