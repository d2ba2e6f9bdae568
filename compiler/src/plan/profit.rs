//! For which shapes a version of a kernel is the fastest one.

use super::gpu::{GpuVersion, Grid, number};
use crate::error::Result;
use crate::text::Cursor;
use std::fmt::{self, Display, Formatter};

/// Shapes of which a version is the fastest: without these conditions it would be right, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Profit {
    /// The grid has at least so many blocks.
    pub least: Option<u32>,
    /// It has at most so many; of panels: of each panel.
    pub most: Option<u32>,
    /// Segments have at least so many elements.
    pub shortest: Option<u32>,
    /// There are at most so many rows.
    pub rows: Option<u32>,
    /// There are at most so many columns.
    pub columns: Option<u32>,
}

/// Their words.
const WORDS: [&str; 5] = ["blocks", "most", "shortest", "rows", "columns"];

impl Display for Profit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Profit { least, most, shortest, rows, columns } = self;
        for (word, limit) in WORDS.iter().zip([least, most, shortest, rows, columns]) {
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
            *limit = if c.eat(word) { Some(number(c)?) } else { None };
        }
        let [least, most, shortest, rows, columns] = limits;
        Ok(Profit { least, most, shortest, rows, columns })
    }
}

impl GpuVersion {
    /// Whether it may be the fastest one, with scratch that one can afford, over this index space,
    /// whose elements are segments of that length each.
    pub fn is_profitable(&self, extents: &[u64], segment: u64) -> bool {
        // a stream keeps what panels leave: no more than 256 MiB of f32, indexed by 31 bits
        const MOST_SCRATCH: u64 = 1 << 26;
        let Profit { least, most, shortest, rows, columns } = self.profit;
        let blocks = |segment: u64| self.grid.blocks(extents, segment, self.threads, 1);
        let of_panel = if let Grid::Panels(..) = self.grid { 1 } else { segment };
        let axis = |from_last: usize| extents.iter().rev().nth(from_last).copied().unwrap_or(1);
        let fits = match self.grid {
            Grid::Panels(rows, cols) => {
                blocks(segment).saturating_mul(u64::from(rows) * u64::from(cols)) <= MOST_SCRATCH
            }
            Grid::Sums(..) => false,
            _ => true,
        };
        fits && least.is_none_or(|n| blocks(segment) >= n.into())
            && most.is_none_or(|n| blocks(of_panel) <= n.into())
            && shortest.is_none_or(|n| segment >= n.into())
            && rows.is_none_or(|n| axis(1) <= n.into())
            && columns.is_none_or(|n| axis(0) <= n.into())
    }
}
