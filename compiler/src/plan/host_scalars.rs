//! The scalars of a plan that the host computes, and the shape rules over them.

use crate::core::Rule;
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};

/// A host scalar of one plan: its index in [`crate::plan::Plan::host`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct HostId(pub u32);

/// How a host scalar is computed. Its operands come before it in the list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum HostOp {
    Const(Lit),
    /// The length of an array parameter along an axis.
    Len(u32, u8),
    /// The value of a scalar parameter.
    Arg(u32),
    /// The number of the present step of an iteration ([`crate::plan::Repeat::turn`]), i64. Each iteration that needs
    /// it has its own. Before the first step it is 0.
    Turn(u32),
    /// 1 if the author's promises are checked in this call, else 0, i64.
    Checked,
    Unary(UnaryOp, HostId),
    Binary(BinaryOp, HostId, HostId),
    MulAdd(HostId, HostId, HostId),
    Select(HostId, HostId, HostId),
    Cast(Ty, HostId),
}

/// A shape rule, which is checked before anything is allocated, launched or written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostRule {
    /// The relation that must hold.
    pub rule: Rule,
    /// The first operand (i64).
    pub a: HostId,
    /// The second operand (i64).
    pub b: HostId,
    /// The construct and the parameters to which the rule applies, such as `zip_with: x, y`.
    pub subject: String,
    /// The author's `file:line:column`, or an empty string.
    pub loc: String,
}
