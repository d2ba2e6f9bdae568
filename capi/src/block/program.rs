//! What a kernel becomes: a table of slots, and steps whose operations name their operands by slot.
//!
//! A slot is an address. Most are fixed places of a call's memory (scalars, constants, local arrays, block registers), some are given by the call (arrays), and windows move:
//! they are the part of an array that the current block is about.

use super::ops::Op;

/// Index into the table of addresses.
pub(super) type Slot = u32;

/// The first slot is of a constant 0, for operands that an operation does not have.
pub(super) const NONE: Slot = 0;

/// What a slot's address is, before a call begins.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Home {
    /// A scalar, by number: 8 bytes each.
    Scalar(u32),
    /// An array that lives as long as the call: its first byte among those of such arrays.
    Local(u32),
    /// A block register that has no place yet: the size of an element.
    Block(u32),
    /// A block register: its first byte in the memory that all vector loops share.
    Arena(u32),
    /// An array of the call, a scratch array, a slot.
    Array(u32),
    Scratch(u32),
    Place(u32),
    /// Made by a [`Window`].
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

/// Points a slot at element `(start + step * counter) * stride` of an array. All operands are scalars of i64.
#[derive(Clone, Copy)]
pub(super) struct Window {
    pub slot: Slot,
    pub base: Slot,
    pub start: Slot,
    pub step: Slot,
    pub counter: Slot,
    pub stride: Slot,
    /// Bytes of an element.
    pub size: i64,
}

/// A statement.
pub(super) enum Step {
    Ops(Vec<Instr>),
    Windows(Vec<Window>),
    /// From the value of a slot to that of another, one by one.
    Loop {
        counter: Slot,
        lo: Slot,
        hi: Slot,
        body: Vec<Step>,
    },
    /// The same, a block at a time.
    Blocks(Box<Blocks>),
    /// The test leaves a bool in the slot.
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

/// A loop that is a vector at a time.
pub(super) struct Blocks {
    /// Its value at the first iteration of the block.
    pub counter: Slot,
    pub lo: Slot,
    pub hi: Slot,
    /// Once, if there are iterations.
    pub head: Vec<Step>,
    /// At the beginning of each block.
    pub windows: Vec<Window>,
    /// For each block.
    pub body: Vec<Step>,
    /// Iterations of a block, at most.
    pub block: usize,
}

/// `main` or `finish`.
pub(super) struct Program {
    /// The table.
    pub homes: Vec<Home>,
    /// How many scalars there are, and bytes of local arrays and of block registers.
    pub scalars: u32,
    pub locals: u32,
    pub arena: u32,
    /// Scalars with their values.
    pub constants: Vec<(u32, u64)>,
    /// Scalars that are "in" scalars of the call: number, which, and whether it is a bool.
    pub ins: Vec<(u32, u32, bool)>,
    /// Scalars that are strides of arrays.
    pub strides: Vec<(u32, u32)>,
    /// Scalars that are the first tile and the end.
    pub tiles: [u32; 2],
    /// Scalars that are the lowest element that left a record, and the sites.
    pub sites: Vec<(u32, u32)>,
    pub steps: Vec<Step>,
}
