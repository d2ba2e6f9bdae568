//! The shapes for which a variant of a kernel is the fastest one.

use crate::error::Result;
use crate::text::Cursor;
use std::fmt::{self, Display, Formatter};

/// Conditions on the shape under which a variant is the fastest. The variant would be right without
/// them as well.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Profit {
    /// Minimum number of blocks of the grid.
    pub min_blocks: Option<u32>,
    /// Maximum number of blocks of the grid; for panels, of the blocks of one panel.
    pub max_blocks: Option<u32>,
    /// Minimum number of elements of a segment.
    pub min_inner_length: Option<u32>,
    /// Maximum number of rows.
    pub max_rows: Option<u32>,
    /// Maximum number of columns.
    pub max_columns: Option<u32>,
}

/// The words of the conditions in texts, in the order of the fields.
const WORDS: [&str; 5] = ["blocks", "most", "shortest", "rows", "columns"];

impl Display for Profit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Profit { min_blocks, max_blocks, min_inner_length, max_rows, max_columns } = self;
        for (word, limit) in
            WORDS.iter().zip([min_blocks, max_blocks, min_inner_length, max_rows, max_columns])
        {
            if let Some(n) = limit {
                write!(f, " {word} {n}")?;
            }
        }
        Ok(())
    }
}

impl Profit {
    pub(super) fn parse(c: &mut Cursor) -> Result<Profit> {
        let mut limits = [None; 5];
        for (word, limit) in WORDS.iter().zip(&mut limits) {
            *limit = if c.eat(word) { Some(c.u32()?) } else { None };
        }
        let [min_blocks, max_blocks, min_inner_length, max_rows, max_columns] = limits;
        Ok(Profit { min_blocks, max_blocks, min_inner_length, max_rows, max_columns })
    }
}
