//! The program that a kernel is lowered to: a table of slots, and steps whose operations name their
//! operands by slot.
//!
//! A slot is an address. Most slots are fixed places in the memory of a call (scalars, constants,
//! local arrays, block registers); some are given by the call (arrays). Windows move: each is the
//! part of an array that the current block accesses.

use super::ops::Op;

/// An index into the table of addresses.
pub(super) type Slot = u32;

/// The first slot holds the constant 0. It stands for operands that an operation does not have.
pub(super) const NONE: Slot = 0;

/// What determines the address of a slot.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Home {
    /// A scalar of 8 bytes, by its number.
    Scalar(u32),
    /// An array that lives as long as the call, by its first byte in the memory of such arrays.
    Local(u32),
    /// A block register that has no place yet, by the size of its elements.
    Block(u32),
    /// A block register, by its first byte in the memory that all vector loops share.
    Arena(u32),
    /// An array, a scratch array and a slot of the call, each by its number.
    Array(u32),
    Scratch(u32),
    Place(u32),
    /// The address is set by a [`Window`].
    Moving,
}

/// One operation.
#[derive(Clone, Copy)]
pub(super) struct Instr {
    pub op: Op,
    pub d: Slot,
    pub a: Slot,
    pub b: Slot,
    pub c: Slot,
}

/// Points a slot at element `(start + step * counter) * stride` of an array. All operands are
/// scalars of i64.
#[derive(Clone, Copy)]
pub(super) struct Window {
    pub slot: Slot,
    pub base: Slot,
    pub start: Slot,
    pub step: Slot,
    pub counter: Slot,
    pub stride: Slot,
    /// Size of an element in bytes.
    pub size: i64,
}

/// A statement.
pub(super) enum Step {
    Ops(Vec<Instr>),
    Windows(Vec<Window>),
    /// A loop from the value of `lo` up to that of `hi`, one iteration at a time.
    Loop {
        counter: Slot,
        lo: Slot,
        hi: Slot,
        body: Vec<Step>,
    },
    /// A loop that runs a block of iterations at a time.
    Blocks(Box<Blocks>),
    /// A loop that runs as long as `test` leaves true, a bool, in the slot `flag`.
    While {
        test: Vec<Step>,
        flag: Slot,
        body: Vec<Step>,
    },
    If {
        flag: Slot,
        yes: Vec<Step>,
        no: Vec<Step>,
    },
}

/// A vector loop, which runs a block of iterations at a time.
pub(super) struct Blocks {
    /// Holds the index of the block's first iteration.
    pub counter: Slot,
    pub lo: Slot,
    pub hi: Slot,
    /// The steps that run once, if there are iterations.
    pub head: Vec<Step>,
    /// The windows that move at the beginning of each block.
    pub windows: Vec<Window>,
    /// The steps of each block.
    pub body: Vec<Step>,
    /// Maximum number of iterations of a block.
    pub block: usize,
}

/// The program of `main` or `finish`.
pub(super) struct Program {
    /// The table of slots.
    pub homes: Vec<Home>,
    /// The number of scalars, and the bytes of local arrays and of block registers.
    pub scalars: u32,
    pub locals: u32,
    pub arena: u32,
    /// Scalars with constant values.
    pub constants: Vec<(u32, u64)>,
    /// Scalars that are "in" scalars of the call: the scalar's number, the index of the "in"
    /// scalar, and whether it is a bool.
    pub ins: Vec<(u32, u32, bool)>,
    /// Scalars that are strides of arrays: the scalar's number, and the array's.
    pub strides: Vec<(u32, u32)>,
    /// The scalars that hold the first tile and the end.
    pub tiles: [u32; 2],
    /// Scalars that hold the lowest element with an error record, each with its site.
    pub sites: Vec<(u32, u32)>,
    pub steps: Vec<Step>,
}
