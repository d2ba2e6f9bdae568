//! The rewrites of scalar operations, as data: `simplify` applies them, and `cargo xtask prove`
//! shows each of them right for all operands (`compiler/suite/tests/proofs`).
//!
//! ```text
//! /// x + -0 = x
//! add_minus_zero: FLOATS, (Add x minus_zero) => x;
//! ```
//!
//! A rule has a name, the types to which it applies, a pattern to find, and a replacement. The replacement has the
//! same bits for all operands, NaN payloads aside (semantics 2.4), and leaves no new error record; if a rule drops an
//! operand, `apply` checks whether that would lose a record. The operands are named x, y and z; c is a constant. The
//! rules of an operator are tried in order, and the first match is taken.
//!
//! Constants are folded before any rule by the evaluation that defines the operators, and sums of
//! i64 take a normal form (`core/linear.rs`).

mod arithmetic;
mod bits;
mod choices;
mod pattern;
mod rounding;
mod rule;

pub use pattern::{Condition, Format, Pattern, Simplify};
pub use rule::{Rule, Types};

use crate::core::records::loses_record;
use crate::core::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Ty, UnaryOp};

/// Returns the rules that an operation is matched with.
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

/// Returns every rule, operator by operator.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    let n = NodeId(0);
    let unary = UnaryOp::ALL.iter().map(move |op| Op::Unary(*op, n));
    let binary = BinaryOp::ALL.iter().map(move |op| Op::Binary(*op, n, n));
    let others = [Op::MulAdd(n, n, n), Op::Select(n, n, n), Op::Cast(Ty::F32, n)];
    unary.chain(binary).chain(others).flat_map(|op| of(&op))
}

/// Returns the replacement of an operation by the first rule that matches and drops no operand with which an error
/// record may be lost. The operands are already simplified, and not all of them are constants. `simplify` makes the
/// new nodes.
pub fn apply(g: &mut Graph, op: &Op, simplify: Simplify) -> Option<NodeId> {
    let rules = of(op);
    let ty = match *op {
        Op::Unary(_, a) | Op::Binary(_, a, _) | Op::MulAdd(a, ..) | Op::Select(_, a, _) => g.ty(a).elem,
        Op::Cast(ty, _) => ty,
        _ => return None,
    };
    if g.approximates && ty.is_float() && matches!(op, Op::MulAdd(..)) {
        return None;
    }
    rules.iter().filter(|rule| rule.types.has(ty)).find_map(|rule| {
        let found = rule.from.find(g, op, ty).filter(|f| f.holds(rule.when))?;
        let loses = found.dropped(op, &rule.to).any(|n| loses_record(g, n));
        (!loses).then(|| rule.to.make(g, &found, simplify))
    })
}
