//! For which shapes a variant of a kernel is the fastest one.

use crate::error::Result;
use crate::text::Cursor;
use std::fmt::{self, Display, Formatter};

/// Shapes of which a variant is the fastest: without these conditions it would be right, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Profit {
    /// The grid has at least so many blocks.
    pub min_blocks: Option<u32>,
    /// It has at most so many; of panels: of each panel.
    pub max_blocks: Option<u32>,
    /// Segments have at least so many elements.
    pub min_inner_length: Option<u32>,
    /// There are at most so many rows.
    pub max_rows: Option<u32>,
    /// There are at most so many columns.
    pub max_columns: Option<u32>,
}

/// Their words.
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
