//! The faults that the interpreter reports: a kind, a message, and the statements and threads.

use crate::kernel::{Kernel, Stmt, print};
use crate::loc::Loc;
use std::fmt;

/// The kind of a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// Two threads access one element, at least one of them writes, and nothing orders the
    /// accesses.
    Race,
    /// An element of a `noalias` array is also accessed through another array, and written.
    Alias,
    /// Some threads of a block are not at the barrier at which the others wait.
    DivergentBarrier,
    /// Some lanes of a warp take no part in a shuffle or broadcast.
    DivergentShuffle,
    /// An index outside of its memory.
    OutOfBounds,
    /// A vector access whose index or address is no multiple of its size.
    Misaligned,
    /// A read of memory that was never written.
    Unwritten,
    /// A counter that is not 0 before or after the launch, or at which more threads arrive than the total says.
    Counter,
    /// Shared memory of another block is accessed, and nothing orders the access after the block's
    /// beginning and before its end.
    Absent,
    /// Every warp that could run waits for words that no one has published.
    Deadlock,
    /// More statements were executed than any test needs.
    Endless,
    /// The arguments do not fit the kernel.
    Arguments,
}

impl FaultKind {
    /// Returns the name of the kind for messages.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Race => "data race",
            FaultKind::Alias => "aliased element",
            FaultKind::DivergentBarrier => "divergent barrier",
            FaultKind::DivergentShuffle => "divergent shuffle",
            FaultKind::OutOfBounds => "out of bounds",
            FaultKind::Misaligned => "misaligned access",
            FaultKind::Unwritten => "read of unwritten memory",
            FaultKind::Counter => "counter",
            FaultKind::Absent => "memory of an absent block",
            FaultKind::Deadlock => "deadlock",
            FaultKind::Endless => "endless loop",
            FaultKind::Arguments => "arguments",
        }
    }
}

/// A thread of the grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thread {
    /// The number of its block in the grid.
    pub block: u32,
    /// Its number in the block.
    pub thread: u32,
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {} of block {}", self.thread, self.block)
    }
}

/// A thread at a statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The thread.
    pub thread: Thread,
    /// The first line of the statement in kernel IR, with the author's locations if it has any.
    pub statement: String,
    /// The author's line, where the statement has one.
    pub loc: Option<Loc>,
}

impl Place {
    pub(super) fn new(k: &Kernel, thread: Thread, at: &Stmt) -> Place {
        let loc = if let Stmt::Let(_, _, loc) = at { loc.first().cloned() } else { None };
        Place { thread, statement: print::head(k, at), loc }
    }
}

/// A fault of a kernel, or of its launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The kind.
    pub kind: FaultKind,
    /// The kernel's name.
    pub kernel: String,
    /// The message, with names, indices and sizes.
    pub message: String,
    /// The place of the fault; for a race, that of the access that was found last.
    pub at: Option<Place>,
    /// The place of the other access, if there are two.
    pub other: Option<Place>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in kernel @{}: {}", self.kind.name(), self.kernel, self.message)?;
        for p in [&self.at, &self.other].into_iter().flatten() {
            write!(f, "\n  {} at: {}", p.thread, p.statement)?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}

/// A result whose error is boxed, because a fault is large.
pub(super) type Check<T> = Result<T, Box<Fault>>;
