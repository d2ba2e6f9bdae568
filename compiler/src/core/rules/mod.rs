//! The rewrites of scalar operations, as data: `simplify` applies them, and `cargo xtask prove`
//! shows each of them right for all operands (`compiler/tests/proofs`).
//!
//! ```text
//! /// x + -0 = x
//! add_minus_zero: FLOATS, (Add x minus_zero) => x;
//! ```
//!
//! A rule has a name, the types that it is for, what it finds, and what takes its place: same bits
//! for all operands, NaN payloads aside (semantics 2.4), and no new record. Names of operands are
//! x, y and z; c is a constant. The rules of an operator are tried in their order, the first that
//! fits is taken.
//!
//! Constants are folded before any rule by the evaluation that defines the operators, and sums of
//! i64 take a normal form (`core/linear.rs`).

mod arithmetic;
mod bits;
mod choices;
mod pattern;
mod rounding;

pub use pattern::{Condition, Format, Pattern};

use crate::core::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Ty, UnaryOp};

/// A rewrite of scalars that keeps every bit.
#[derive(Debug)]
pub struct Rule {
    /// Its name in the log of proofs.
    pub name: &'static str,
    /// What it says, as one writes it.
    pub equation: &'static str,
    /// The types of the first operand of what it finds; for a selection, of its arms.
    pub types: Types,
    /// What it finds.
    pub from: Pattern,
    /// What takes its place.
    pub to: Pattern,
    /// What must hold of the constant c.
    pub when: Option<Condition>,
}

/// A set of element types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Types(u16);

impl Types {
    const fn of(all: &[Ty]) -> Types {
        let (mut bits, mut i) = (0, 0);
        while i < all.len() {
            bits |= 1 << all[i] as u16;
            i += 1;
        }
        Types(bits)
    }

    const fn with(self, other: Types) -> Types {
        Types(self.0 | other.0)
    }

    /// Whether a type is among them.
    pub fn has(self, ty: Ty) -> bool {
        self.0 >> ty as u16 & 1 == 1
    }

    /// The types, in their order.
    pub fn iter(self) -> impl Iterator<Item = Ty> {
        Ty::ALL.into_iter().filter(move |ty| self.has(*ty))
    }
}

const FLOATS: Types = Types::of(&[Ty::F32, Ty::F64, Ty::F16, Ty::Bf16]);
const SIGNED: Types = Types::of(&[Ty::I8, Ty::I16, Ty::I32, Ty::I64]);
const UNSIGNED: Types = Types::of(&[Ty::U8, Ty::U16, Ty::U32, Ty::U64]);
const INTEGERS: Types = SIGNED.with(UNSIGNED);
const BOOL: Types = Types::of(&[Ty::Bool]);
/// What has bits to join.
const BITS: Types = INTEGERS.with(BOOL);
const ALL: Types = BITS.with(FLOATS);
/// Floats that an operator gives the bits of, and the types of those bits.
const BITS_OF: Types = Types::of(&[Ty::F32, Ty::F64]);
const BITS_ARE: Types = Types::of(&[Ty::U32, Ty::U64]);

/// Rules, one a line, with the equation above.
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

/// A pattern as an S-expression.
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

use {pat, rules};

/// The rules that an operation is looked at by.
fn of(op: &Op) -> &'static [Rule] {
    use BinaryOp::{Add, And, Div, Eq, Ge, Gt, Le, Lt, Max, Min, Mul, Ne, Or, Shl, Shr, Sub, Xor};
    match op {
        Op::Unary(op, _) => match op {
            UnaryOp::Neg => arithmetic::NEG,
            UnaryOp::Not => bits::NOT,
            UnaryOp::Abs => arithmetic::ABS,
            UnaryOp::ToBits => bits::TO_BITS,
            UnaryOp::FromBits => bits::FROM_BITS,
            UnaryOp::Floor => rounding::FLOOR,
            UnaryOp::Ceil => rounding::CEIL,
            UnaryOp::Trunc => rounding::TRUNC,
            UnaryOp::Round => rounding::ROUND,
            UnaryOp::RoundTiesEven => rounding::ROUND_TIES_EVEN,
            _ => &[],
        },
        Op::Binary(op, ..) => match op {
            Add => arithmetic::ADD,
            Sub => arithmetic::SUB,
            Mul => arithmetic::MUL,
            Div => arithmetic::DIV,
            Min => arithmetic::MIN,
            Max => arithmetic::MAX,
            And => bits::AND,
            Or => bits::OR,
            Xor => bits::XOR,
            Shl => bits::SHL,
            Shr => bits::SHR,
            Eq => bits::EQ,
            Le => bits::LE,
            Ge => bits::GE,
            Ne => bits::NE,
            Lt => bits::LT,
            Gt => bits::GT,
            _ => &[],
        },
        Op::MulAdd(..) => arithmetic::MUL_ADD,
        Op::Select(..) => choices::SELECT,
        Op::Cast(..) => choices::CAST,
        _ => &[],
    }
}

/// Every rule there is, operator by operator.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    let n = NodeId(0);
    let unary = UnaryOp::ALL.iter().map(move |op| Op::Unary(*op, n));
    let binary = BinaryOp::ALL.iter().map(move |op| Op::Binary(*op, n, n));
    let others = [Op::MulAdd(n, n, n), Op::Select(n, n, n), Op::Cast(Ty::F32, n)];
    unary.chain(binary).chain(others).flat_map(|op| of(&op))
}

/// What an operation is by the first rule that fits. Its operands are simple, and not all constant.
pub fn apply(g: &mut Graph, op: &Op) -> Option<NodeId> {
    let rules = of(op);
    let ty = match *op {
        Op::Unary(_, a) | Op::Binary(_, a, _) | Op::MulAdd(a, ..) | Op::Select(_, a, _) => g.ty(a).elem,
        Op::Cast(ty, _) => ty,
        _ => return None,
    };
    rules.iter().filter(|rule| rule.types.has(ty)).find_map(|rule| {
        let found = rule.from.find(g, op, ty).filter(|f| f.holds(rule.when))?;
        Some(rule.to.make(g, &found))
    })
}

impl std::fmt::Display for Rule {
    /// `(add x -0) => x`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} => {}", self.from, self.to)?;
        self.when.map_or(Ok(()), |c| write!(f, " if {c:?}"))
    }
}
