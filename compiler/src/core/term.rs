//! Implements the number type of `arraygpu-math` by nodes of core IR, so that an elementary
//! function builds the nodes that compute it.

use super::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use arraygpu_math::{Bits, Flag, Real};
use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

/// The graph under construction, and the function that adds operations to it.
pub struct Maker<'g> {
    /// The graph.
    pub graph: &'g mut Graph,
    /// Returns the node for an operation.
    pub add: fn(&mut Graph, Op) -> NodeId,
}

/// A node of the graph under construction, whose type is `T`.
pub struct Term<'g, T> {
    maker: &'g RefCell<Maker<'g>>,
    /// The node.
    pub node: NodeId,
    ty: PhantomData<T>,
}

impl<T> Clone for Term<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Term<'_, T> {}

impl<'g, T> Term<'g, T> {
    /// Makes a term of a node, whose type must be `T`.
    pub fn new(maker: &'g RefCell<Maker<'g>>, node: NodeId) -> Self {
        Term { maker, node, ty: PhantomData }
    }

    fn add<U>(self, op: Op) -> Term<'g, U> {
        let mut maker = self.maker.borrow_mut();
        let node = (maker.add)(maker.graph, op);
        Term::new(self.maker, node)
    }
    fn unary<U>(self, op: UnaryOp) -> Term<'g, U> {
        self.add(Op::Unary(op, self.node))
    }
    fn binary<U>(self, op: BinaryOp, b: Self) -> Term<'g, U> {
        self.add(Op::Binary(op, self.node, b.node))
    }
    fn choose(c: Term<'g, bool>, a: Self, b: Self) -> Self {
        a.add(Op::Select(c.node, a.node, b.node))
    }
}

macro_rules! operators {
    ($ty:ty: $($trait:ident $method:ident $op:ident),*) => {$(
        impl<'g> $trait for Term<'g, $ty> {
            type Output = Self;
            fn $method(self, b: Self) -> Self {
                self.binary(BinaryOp::$op, b)
            }
        }
    )*};
}

macro_rules! machine {
    ($float:ident $bits:ident $double:expr, $lit:expr, $bits_ty:expr) => {
        operators!($float: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div);
        operators!($bits: Add add Add, Sub sub Sub, Mul mul Mul, BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor);

        impl Neg for Term<'_, $float> {
            type Output = Self;
            fn neg(self) -> Self {
                self.unary(UnaryOp::Neg)
            }
        }

        impl<'g> Real for Term<'g, $float> {
            type Bits = Term<'g, $bits>;
            type Flag = Term<'g, bool>;
            const DOUBLE: bool = $double;

            fn lit(self, x: f64) -> Self {
                self.add(Op::Const($lit(x as $float)))
            }
            fn mul_add(self, b: Self, c: Self) -> Self {
                self.add(Op::MulAdd(self.node, b.node, c.node))
            }
            fn sqrt(self) -> Self {
                self.unary(UnaryOp::Sqrt)
            }
            fn abs(self) -> Self {
                self.unary(UnaryOp::Abs)
            }
            fn trunc(self) -> Self {
                self.unary(UnaryOp::Trunc)
            }
            fn floor(self) -> Self {
                self.unary(UnaryOp::Floor)
            }
            fn round_ties_even(self) -> Self {
                self.unary(UnaryOp::RoundTiesEven)
            }
            fn rem_slow(self, y: Self) -> Self {
                self.binary(BinaryOp::RemSlow, y)
            }
            fn bits(self) -> Self::Bits {
                self.unary(UnaryOp::ToBits)
            }
            fn lt(self, y: Self) -> Self::Flag {
                self.binary(BinaryOp::Lt, y)
            }
            fn le(self, y: Self) -> Self::Flag {
                self.binary(BinaryOp::Le, y)
            }
            fn eq(self, y: Self) -> Self::Flag {
                self.binary(BinaryOp::Eq, y)
            }
            fn ne(self, y: Self) -> Self::Flag {
                self.binary(BinaryOp::Ne, y)
            }
            fn select(c: Self::Flag, a: Self, b: Self) -> Self {
                Term::choose(c, a, b)
            }
        }

        impl<'g> Bits for Term<'g, $bits> {
            type Real = Term<'g, $float>;
            type Flag = Term<'g, bool>;

            fn lit(self, x: u64) -> Self {
                self.add(Op::Const(Lit { ty: $bits_ty, bits: x as $bits as u64 }))
            }
            fn shl(self, k: u32) -> Self {
                self.binary(BinaryOp::Shl, self.lit(k.into()))
            }
            fn shr(self, k: u32) -> Self {
                self.binary(BinaryOp::Shr, self.lit(k.into()))
            }
            fn eq(self, y: Self) -> Self::Flag {
                self.binary(BinaryOp::Eq, y)
            }
            fn lt(self, y: Self) -> Self::Flag {
                self.binary(BinaryOp::Lt, y)
            }
            fn select(c: Self::Flag, a: Self, b: Self) -> Self {
                Term::choose(c, a, b)
            }
            fn real(self) -> Self::Real {
                self.unary(UnaryOp::FromBits)
            }
        }
    };
}

machine!(f32 u32 false, Lit::f32, Ty::U32);
machine!(f64 u64 true, Lit::f64, Ty::U64);

impl Not for Term<'_, bool> {
    type Output = Self;
    fn not(self) -> Self {
        self.unary(UnaryOp::Not)
    }
}
operators!(bool: BitAnd bitand And, BitOr bitor Or);

impl Flag for Term<'_, bool> {
    fn unlikely(self) -> Self {
        self.unary(UnaryOp::Unlikely)
    }
}
