//! Expressions of kernel IR, and what they name.

use super::device::Gpu;
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};

/// A register: an index into [`Kernel::regs`](super::Kernel::regs). It is assigned once by `let` or a loop, or
/// several times if declared by `var`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Reg(pub u32);

/// A memory that a kernel indexes, by position in its list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Mem {
    /// [`Kernel::arrays`](super::Kernel::arrays)
    Array(u32),
    /// [`Kernel::locals`](super::Kernel::locals)
    Local(u32),
    /// [`Kernel::scratch`](super::Kernel::scratch)
    Scratch(u32),
    /// [`Kernel::shared`](super::Kernel::shared)
    Shared(u32),
}

/// An expression. It has no effects.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Expr {
    Lit(Lit),
    Reg(Reg),
    /// A scalar parameter that is passed by value.
    In(u32),
    /// The value of a slot.
    Slot(u32),
    Load(Mem, Box<Expr>),
    /// A predicated load: the element, or 0 if the condition (the last operand) is false; then nothing is read.
    LoadIf(Mem, Box<Expr>, Box<Expr>),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    MulAdd(Box<Expr>, Box<Expr>, Box<Expr>),
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    Cast(Ty, Box<Expr>),
    /// CPU: the first tile of this call in `main`; 0 in `finish`.
    TileBegin,
    /// CPU: one past the last tile of this call in `main`; the number of tiles in `finish`.
    TileEnd,
    /// GPU: the position of the thread.
    Place(Gpu),
    /// GPU: the value of the lane that is this many lanes higher, or this lane's own value if there
    /// is none. All lanes of the warp take part.
    ShuffleDown(Box<Expr>, u32),
    /// GPU: the value of the lane that is this many lanes lower, or this lane's own value if there
    /// is none. All lanes of the warp take part.
    ShuffleUp(Box<Expr>, u32),
    /// GPU: the value of the lane whose number differs in this bit, a power of two. All lanes of the
    /// warp take part.
    ShuffleXor(Box<Expr>, u32),
    /// GPU: the value of lane 0 of the warp. All lanes of the warp take part.
    Broadcast(Box<Expr>),
}
