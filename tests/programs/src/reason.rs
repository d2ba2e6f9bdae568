//! Why programs are far from the ideal, where several share the reason.

use crate::program::Excess::{self, Bytes, Launches, Work};

/// Why a program is far from the ideal.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reason {
    /// What it is a reason for: a program that has it is far from the ideal there.
    pub of: Excess,
    /// What else it explains where that occurs.
    pub also: &'static [Excess],
    /// The reason.
    pub text: &'static str,
}

impl Reason {
    const fn new(of: Excess, also: &'static [Excess], text: &'static str) -> Reason {
        Reason { of, also, text }
    }
}

/// Data are read again.
pub const PASSES: Reason = Reason::new(
    Bytes,
    &[],
    "a reduction is complete only after a whole pass: what uses it reads the data once more",
);
/// Elementary functions before a product.
pub const OPERAND: Reason = Reason::new(
    Bytes,
    &[Launches],
    "an operand of the product is computed and stored by a launch of its own, or its tiles would compute it again",
);
/// Products of products.
pub const CUBE: Reason = Reason::new(
    Bytes,
    &[],
    "the product of a step that its other product reads is a matrix, too, and stored between them",
);
/// Row and columns.
pub const BOTH: Reason =
    Reason::new(Bytes, &[Launches], "the launches over rows and over columns each read the matrix");
/// A matrix of scores.
pub const SCORES: Reason = Reason::new(
    Bytes,
    &[Launches],
    "the scores are stored between their products: no strategy keeps a block's scores on the chip (flash attention)",
);
/// Large intermediate results.
pub const PAIRS: Reason = Reason::new(
    Bytes,
    &[Launches],
    "the values of all pairs are stored, or each would be computed again for every element",
);
/// Stages that are stored.
pub const LADDER: Reason = Reason::new(
    Bytes,
    &[Launches],
    "what some stages compute is stored for the later ones, which would compute it again for every read",
);
/// Results that are computed twice.
pub const RESULT_AGAIN: Reason = Reason::new(
    Bytes,
    &[Launches],
    "a launch over other extents computes what an earlier one stores as a result again, from the input",
);
/// The author's stores.
pub const AUTHOR: Reason =
    Reason::new(Bytes, &[Launches], "the author asks for an array to be stored (`materialize`)");
/// Scans.
pub const SCAN: Reason = Reason::new(
    Bytes,
    &[Work, Launches],
    "a scan reads its vector twice and stores its result, which a reduction or other indices behind it read again",
);
/// Sorts.
pub const SORT: Reason = Reason::new(
    Bytes,
    &[Work, Launches],
    "a radix sort has a pass for each 8 bits of a key, in three launches (digits counted by tiles, the sums of these counts, the move), of which two read keys and one moves keys and indices; shorter vectors merge runs in two launches for each doubling: no block waits for another one",
);
/// Groups whose order is fixed.
pub const GROUPED: Reason = Reason::new(
    Bytes,
    &[Work, Launches],
    "the floats of a group are added in the order of semantics 5.1 whatever runs: the destinations are sorted (radix passes), elements gathered, and segments reduced; `unordered()` gives that up",
);
/// What stays of a vector.
pub const KEPT: Reason = Reason::new(
    Bytes,
    &[Launches],
    "how many elements stay is counted by tiles before they are stored: the vector is read twice, and what is kept once more",
);
/// Counts by destinations.
pub const BINS: Reason = Reason::new(
    Launches,
    &[Bytes],
    "each part of the vector has bins of its own, which a second launch joins: with as many bins as elements they are as long as the vector",
);
/// Functions of bytes.
pub const TABLE: Reason = Reason::new(
    Launches,
    &[Work],
    "a costly function of a byte is computed for all 256 bytes by a launch of its own, and read from that table",
);
/// Destinations of which the last element counts.
pub const LAST: Reason = Reason::new(
    Bytes,
    &[],
    "the highest index of each destination is stored, 8 bytes an element, and read where the result is made",
);
/// Segments.
pub const SEGMENTS: Reason = Reason::new(
    Bytes,
    &[Launches],
    "segments may have any lengths: these, the tiles of long ones and (of a scan) the segment of each element are stored by launches of their own",
);
/// Chains of gathers and stencils.
pub const STAGES: Reason = Reason::new(
    Work,
    &[],
    "the stages are one kernel, which computes each earlier stage again for every read of it",
);
/// Stencils of stencils.
pub const HALO: Reason = Reason::new(
    Work,
    &[],
    "the inner stencil is computed again for each neighbour: `core/recompute` takes that for cheaper than storing it",
);
/// The like where a CPU computes them one after the other.
pub const CHAIN: Reason = Reason::new(
    Work,
    &[],
    "CPUs compute the stages one after the other; a GPU's launch computes the inner stencil again for each neighbour where that is predicted to be faster than tiles of it (counted here)",
);
/// Values that depend on some indices only.
pub const FEWER: Reason = Reason::new(
    Work,
    &[],
    "arithmetic of one of the indices is computed for all of them: `passes/hoist` stores reductions and elementary functions, whose work exceeds a load",
);
/// Reductions that keep the order.
pub const ORDERED: Reason = Reason::new(
    Work,
    &[],
    "elements carry a flag that says whether they are there, which every join asks, and the launches that join tiles' results have 128 places whatever the length",
);
/// Bits beside values that few operations read.
pub const BITS: Reason = Reason::new(
    Work,
    &[Launches],
    "readers of a stored value ask the bits beside it whether it left a record, which is more than the few operations of the program",
);
/// Reads that no condition proves to be in bounds.
pub const RECORDS: Reason = Reason::new(
    Bytes,
    &[Work, Launches],
    "reads that nothing proves to be in bounds may leave a record: stored values have bits beside them that say so, and readers ask for these",
);
/// Reductions of rows that an element needs as a whole.
pub const APART: Reason = Reason::new(
    Launches,
    &[Bytes],
    "the reductions of rows are stored by a launch of their own, which reads the rows once more",
);
/// Reductions inside of reductions are stored.
pub const FLATTENED: Reason = Reason::new(
    Launches,
    &[Bytes],
    "reductions inside of reductions, and all but one product of an element, are stored, or each thread would run one alone",
);
/// Elementary functions of some indices.
pub const HOISTED: Reason = Reason::new(
    Launches,
    &[Bytes],
    "an elementary function of some of the indices is stored by a launch of its own (`passes/hoist`), or every element would compute it",
);
/// What an iteration begins with.
pub const STARTS: Reason =
    Reason::new(Launches, &[], "what an iteration begins with is stored by a launch before its first step");
/// States that count steps.
pub const COUNTER: Reason = Reason::new(
    Launches,
    &[],
    "the state that counts the steps has one element, and so a launch of its own in each; `iterate_indexed` needs none",
);
/// Different reductions of one state.
pub const LOOPS: Reason = Reason::new(
    Launches,
    &[],
    "a reduction and elements that are loops have launches of their own: no strategy does both",
);
/// Reductions that scale others.
pub const FACTOR: Reason = Reason::new(
    Launches,
    &[],
    "the factor of a reduction is a reduction itself, and multiplied where the other one is stored, after a launch of its own",
);
/// Stencils of new states.
pub const NEIGHBOURS: Reason = Reason::new(
    Launches,
    &[],
    "the second state of a step reads neighbours of the new first one, which another launch has stored",
);
