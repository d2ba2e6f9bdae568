//! The shapes for which a variant of a kernel is the fastest one.

use crate::error::Result;
use crate::text::Cursor;
use std::fmt::{self, Display, Formatter};

/// Conditions on the shape under which a variant is the fastest. Its code would be right without them as well.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Profit {
    /// Minimum number of blocks of the grid.
    pub min_blocks: Option<u32>,
    /// Maximum number of blocks of the grid; for panels, of the blocks of one panel.
    pub max_blocks: Option<u32>,
    /// Maximum number of elements for each multiprocessor of the device.
    pub max_elements: Option<u32>,
    /// Minimum number of elements of a segment.
    pub min_inner_length: Option<u32>,
    /// Maximum number of rows.
    pub max_rows: Option<u32>,
    /// Maximum number of columns.
    pub max_columns: Option<u32>,
    /// Minimum number of rows.
    pub min_rows: Option<u32>,
    /// Minimum number of columns.
    pub min_columns: Option<u32>,
    /// The minimum share of the device that must be busy, in percent (`plan/policy/busy.rs`). Below it, a variant
    /// with smaller blocks is faster.
    pub min_busy: Option<u32>,
}

/// The words of the conditions in texts, in the order of the fields.
const WORDS: [&str; 9] = ["blocks", "most", "few", "shortest", "rows", "columns", "tall", "wide", "busy"];

impl Display for Profit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut profit = *self;
        for (word, limit) in WORDS.iter().zip(profit.limits()) {
            if let Some(n) = limit {
                write!(f, " {word} {n}")?;
            }
        }
        Ok(())
    }
}

impl Profit {
    /// Returns all limits, in the order of the words.
    fn limits(&mut self) -> [&mut Option<u32>; 9] {
        let Profit { min_blocks, max_blocks, max_elements, min_inner_length, .. } = self;
        let Profit { max_rows, max_columns, min_rows, min_columns, min_busy, .. } = self;
        [
            min_blocks,
            max_blocks,
            max_elements,
            min_inner_length,
            max_rows,
            max_columns,
            min_rows,
            min_columns,
            min_busy,
        ]
    }

    pub(super) fn parse(c: &mut Cursor) -> Result<Profit> {
        let mut profit = Profit::default();
        for (word, limit) in WORDS.iter().zip(profit.limits()) {
            *limit = if c.eat(word) { Some(c.u32()?) } else { None };
        }
        Ok(profit)
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::gpu;
    use crate::plan::policy::{Device, Layout, Space};

    #[test]
    fn few_rows_or_columns_have_a_variant_of_their_own() {
        let text = "gpu @s {
  version tiles threads 256 plane 32 by 128 tall 5 wide 17
  version flat threads 256 elements 1024 flat 0
  version any threads 256 plane 32 by 32
}";
        let kernel = &gpu::parse(text).unwrap()[0];
        let chosen = |extents: &[u64]| {
            let space = Space { extents, inner_length: 0 };
            let dense = Layout { extents: &[8], strides: &[1], size: 4, address: 0 };
            let device = Device { multiprocessors: 132, capability: 90 };
            kernel.choose(&space, 1, device, |i| (i == 0).then_some(dense), || false, &[])
        };
        assert_eq!(chosen(&[1 << 20, 3]), Some(1));
        assert_eq!(chosen(&[1, 1 << 20]), Some(1));
        assert_eq!(chosen(&[7, 4, 4096]), Some(1));
        assert_eq!(chosen(&[3, 5, 17]), Some(0));
        assert_eq!(chosen(&[4096, 4096]), Some(0));
    }
}
