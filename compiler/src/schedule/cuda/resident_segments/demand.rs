//! The demand of a launch with resident rows or columns: how many registers and how much code an element takes in a
//! thread, hence which mappings fit.

use crate::plan::GUESSED_LENGTH;
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::element::reduction::Reduction;
use crate::schedule::facts::{ResidentSegments, Stage};

/// The maximum number of words of a thread's elements. The rest of the at most 255 registers of a thread are for
/// accumulators, addresses and intermediate values.
const MAX_WORDS: i64 = 128;

/// The maximum number of operations of a thread. The code is unrolled over its elements, so this bounds its size.
const MAX_OPERATIONS: i64 = 3300;

/// The words of registers that a tree column takes besides its elements in a reduction with moments, if accumulators
/// have 4 bytes: for its own accumulators, and for those that are being joined with them.
const WORDS_OF_MOMENTS: i64 = 4;

/// What an element takes in a thread.
#[derive(Clone, Copy)]
pub struct Demand {
    /// The vector width of accesses, where arrays are aligned.
    pub v: i64,
    /// The words of registers of an element in all arrays.
    pub words: i64,
    /// The number of arrays.
    pub arrays: usize,
    /// The words of the counts and means of a tree column.
    pub of_moments: i64,
    operations: i64,
}

impl Demand {
    /// Returns the demand of an element. `None` if no array is read or stored.
    pub fn of(l: &LaunchContext, kept: &ResidentSegments) -> Option<Demand> {
        let stored = kept.stages.iter().flat_map(|s| match s {
            Stage::Store { arrays } => arrays.as_slice(),
            Stage::Reduce { .. } => &[],
        });
        let arrays = || l.facts.accesses.own.iter().copied();
        let size = |x| l.g.ty(x).elem.size() as i64;
        let widest = stored.map(|a| a.computed).chain(arrays()).map(size).max()?;
        Some(Demand {
            v: (16 / widest).min(4),
            words: arrays().map(|x| size(x).max(4) / 4).sum(),
            arrays: arrays().count(),
            of_moments: words_of_moments(l, kept),
            operations: i64::from(l.facts.cost / GUESSED_LENGTH),
        })
    }

    /// Returns why a thread cannot have `elements` elements of each of `segments` rows or strips of columns; `None`
    /// if it can. `is_in_registers` says whether the registers of a multiprocessor suffice for a block.
    pub fn obstacle(&self, elements: i64, segments: i64, is_in_registers: bool) -> Option<&'static str> {
        if elements * self.words > MAX_WORDS || !is_in_registers {
            return Some("its elements take more registers than a multiprocessor has");
        }
        (elements * segments * self.operations > MAX_OPERATIONS)
            .then_some("the code, which is written out for each element of a thread, would be too long")
    }
}

/// Describes, for reports, which rows or columns are too long to be resident, and why. `levels` has the longest row
/// or column of each mapping, and why the mapping cannot be used, if it cannot.
pub fn limit(levels: &[(u32, Option<&'static str>)]) -> Option<String> {
    let longest = levels.iter().filter(|level| level.1.is_none()).map(|level| level.0).max()?;
    let next = levels.iter().filter(|level| level.0 > longest).min_by_key(|level| level.0);
    let why = next.and_then(|level| level.1).unwrap_or("the registers of a cluster of 8 blocks hold no more");
    Some(format!("more than {longest} elements are not kept: {why}"))
}

/// Returns the words of registers that the moments of a tree column take: the most of all reductions, 0 without
/// moments.
fn words_of_moments(l: &LaunchContext, kept: &ResidentSegments) -> i64 {
    let reductions = kept.stages.iter().flat_map(|s| match s {
        Stage::Reduce { reductions, .. } => reductions.as_slice(),
        Stage::Store { .. } => &[],
    });
    let counted = reductions.map(|n| Reduction::nested(l, *n)).filter(Reduction::is_counted);
    counted
        .map(|r| WORDS_OF_MOMENTS * r.types.iter().map(|ty| ty.size() as i64).max().unwrap_or(0) / 4)
        .max()
        .unwrap_or(0)
}
