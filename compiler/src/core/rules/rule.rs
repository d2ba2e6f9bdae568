//! The form of a rule, the sets of types that rules apply to, and the macros to write rules.

use super::pattern::{Condition, Pattern};
use crate::scalar::Ty;

/// A rewrite of scalar operations that keeps every bit.
#[derive(Debug)]
pub struct Rule {
    /// Its name in the log of proofs.
    pub name: &'static str,
    /// Its equation in mathematical notation.
    pub equation: &'static str,
    /// The types of the pattern's first operand; for a selection, of its arms.
    pub types: Types,
    /// The pattern to find.
    pub from: Pattern,
    /// The replacement.
    pub to: Pattern,
    /// The condition on the constant c.
    pub when: Option<Condition>,
}

/// A set of element types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Types(u16);

impl Types {
    pub(super) const fn of(all: &[Ty]) -> Types {
        let (mut bits, mut i) = (0, 0);
        while i < all.len() {
            bits |= 1 << all[i] as u16;
            i += 1;
        }
        Types(bits)
    }

    pub(super) const fn with(self, other: Types) -> Types {
        Types(self.0 | other.0)
    }

    /// Returns whether a type is in the set.
    pub fn has(self, ty: Ty) -> bool {
        self.0 >> ty as u16 & 1 == 1
    }

    /// Returns the types in the order of [`Ty::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Ty> {
        Ty::ALL.into_iter().filter(move |ty| self.has(*ty))
    }
}

pub(super) const FLOATS: Types = Types::of(&[Ty::F32, Ty::F64, Ty::F16, Ty::Bf16]);
pub(super) const SIGNED: Types = Types::of(&[Ty::I8, Ty::I16, Ty::I32, Ty::I64]);
pub(super) const UNSIGNED: Types = Types::of(&[Ty::U8, Ty::U16, Ty::U32, Ty::U64]);
pub(super) const INTEGERS: Types = SIGNED.with(UNSIGNED);
pub(super) const BOOL: Types = Types::of(&[Ty::Bool]);
/// The types with bitwise operators: integers and bool.
pub(super) const BITS: Types = INTEGERS.with(BOOL);
pub(super) const ALL: Types = BITS.with(FLOATS);
/// The float types of `to_bits`, and the types of those bits.
pub(super) const BITS_OF: Types = Types::of(&[Ty::F32, Ty::F64]);
pub(super) const BITS_ARE: Types = Types::of(&[Ty::U32, Ty::U64]);

/// Writes rules, one on a line, each below its equation.
macro_rules! rules {
    ($(#[doc = $equation:literal] $name:ident: $types:expr, $from:tt => $to:tt $(if $when:ident)?;)*) => {
        &[$($crate::core::rules::Rule {
            name: stringify!($name),
            equation: $equation,
            types: $types,
            from: pat!($from),
            to: pat!($to),
            when: rules!(@when $($when)?),
        }),*]
    };
    (@when) => { None };
    (@when $when:ident) => { Some($crate::core::rules::Condition::$when) };
}

/// Writes a pattern as an S-expression.
macro_rules! pat {
    (x) => {
        $crate::core::rules::Pattern::Operand(0)
    };
    (y) => {
        $crate::core::rules::Pattern::Operand(1)
    };
    (z) => {
        $crate::core::rules::Pattern::Operand(2)
    };
    (c) => {
        $crate::core::rules::Pattern::Constant
    };
    (reciprocal_of_c) => {
        $crate::core::rules::Pattern::Reciprocal
    };
    (0) => {
        $crate::core::rules::Pattern::Zero
    };
    (1) => {
        $crate::core::rules::Pattern::One
    };
    (minus_zero) => {
        $crate::core::rules::Pattern::MinusZero
    };
    (minus_one) => {
        $crate::core::rules::Pattern::MinusOne
    };
    (all) => {
        $crate::core::rules::Pattern::AllBits
    };
    (true) => {
        $crate::core::rules::Pattern::Truth(true)
    };
    (false) => {
        $crate::core::rules::Pattern::Truth(false)
    };
    ((Cast $a:tt)) => {
        $crate::core::rules::Pattern::Cast(&pat!($a))
    };
    ((MulAdd $a:tt $b:tt $c:tt)) => {
        $crate::core::rules::Pattern::MulAdd(&[pat!($a), pat!($b), pat!($c)])
    };
    ((Select $a:tt $b:tt $c:tt)) => {
        $crate::core::rules::Pattern::Select(&[pat!($a), pat!($b), pat!($c)])
    };
    (($op:ident $a:tt)) => {
        $crate::core::rules::Pattern::Unary($crate::scalar::UnaryOp::$op, &pat!($a))
    };
    (($op:ident $a:tt $b:tt)) => {
        $crate::core::rules::Pattern::Binary($crate::scalar::BinaryOp::$op, &[pat!($a), pat!($b)])
    };
}

impl std::fmt::Display for Rule {
    /// `(add x -0) => x`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} => {}", self.from, self.to)?;
        self.when.map_or(Ok(()), |c| write!(f, " if {c:?}"))
    }
}

pub(super) use {pat, rules};
