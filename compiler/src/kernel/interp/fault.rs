//! What the interpreter reports: the kind, a sentence, and the statements and threads.

use crate::kernel::{Kernel, Stmt, print};
use crate::loc::Loc;
use std::fmt;

/// What went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// Two threads access one element, at least one writes, and nothing orders them.
    Race,
    /// An element of a `noalias` array is also accessed through another array, and written.
    Alias,
    /// Some threads of a block are not at the barrier where the others wait.
    DivergentBarrier,
    /// Some lanes of a warp take no part in a shuffle or broadcast.
    DivergentShuffle,
    /// An index outside of its memory.
    OutOfBounds,
    /// A vector access whose index or address is no multiple of its size.
    Misaligned,
    /// A read of memory that nothing wrote.
    Unwritten,
    /// A counter that is not at 0 before or after the launch, or counts to another number than before.
    Counter,
    /// More steps than any test needs.
    Endless,
    /// The arguments do not fit the kernel.
    Arguments,
}

impl FaultKind {
    /// In words.
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
            FaultKind::Endless => "endless loop",
            FaultKind::Arguments => "arguments",
        }
    }
}

/// A thread of the grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thread {
    /// Number of its block.
    pub block: u32,
    /// Number in the block.
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
    /// Who.
    pub thread: Thread,
    /// The statement's kernel IR (its first line); with the author's places where it has some.
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
    /// What kind.
    pub kind: FaultKind,
    /// The kernel's name.
    pub kernel: String,
    /// What happened, with names, indices and sizes.
    pub message: String,
    /// Where; of a race the access that was found last.
    pub at: Option<Place>,
    /// The other one, of two.
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

/// A fault as it travels.
pub(super) type Check<T> = Result<T, Box<Fault>>;
