//! Why programs are far from the ideal, where several share the reason.

/// Data are read again.
pub const PASSES: &str =
    "a reduction is complete only after a whole pass: what uses it reads the data once more";
/// Elementary functions before a product.
pub const OPERAND: &str = "an operand of the product is computed and stored by a launch of its own, or its tiles would compute it again";
/// Chains of gathers and stencils.
pub const STAGES: &str =
    "the stages are one kernel, which computes each earlier stage again for every read of it";
/// Stencils of stencils.
pub const HALO: &str = "the inner stencil is computed again for each neighbour: `core/recompute` takes that for cheaper than storing it";
/// The like where a CPU computes them one after the other.
pub const CHAIN: &str = "CPUs compute the stages one after the other; a GPU's launch computes the inner stencil again for each neighbour where that is predicted to be faster than tiles of it (counted here)";
/// Values that depend on some indices only.
pub const FEWER: &str =
    "a value that depends on some of the indices is computed for all of them; only reductions are hoisted";
/// Reductions inside of elements.
pub const AGAIN: &str = "a reduction is computed again for every element that reads its result";
/// Row and columns.
pub const BOTH: &str = "the launches over rows and over columns each read the matrix";
/// A matrix of scores.
pub const SCORES: &str = "the scores are stored between their products: no strategy keeps a block's scores on the chip (flash attention)";
/// Reductions of rows that an element needs as a whole.
pub const APART: &str =
    "the reductions of rows are stored by a launch of their own, which reads the rows once more";
/// Reads that no condition proves to be in bounds.
pub const RECORDS: &str = "reads that nothing proves to be in bounds may leave a record: stored values have bits beside them that say so, and readers ask for these";
/// Large intermediate results.
pub const PAIRS: &str =
    "the values of all pairs are stored, or each would be computed again for every element";
/// Reductions inside of reductions are stored.
pub const FLATTENED: &str = "reductions inside of reductions, and all but one product of an element, are stored, or each thread would run one alone";
/// Reductions that keep the order.
pub const ORDERED: &str = "elements carry a flag that says whether they are there, which every join asks, and the launches that join tiles' results have 128 places whatever the length";
/// Scans.
pub const SCAN: &str = "a scan reads its vector twice and stores its result, which a reduction or other indices behind it read again";
