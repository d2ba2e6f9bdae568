//! The rolling buffers of a chain of stencils: how many rows and columns of each stage they hold.

use crate::core::NodeId;
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::facts::{ChainStage, StencilChain};

/// The maximum bytes of all buffers, so that they stay in the first-level cache of a core.
const BYTES: i64 = 24 << 10;
/// The maximum bytes if a stage reads many rows: then the buffers are in the second-level cache.
const MAX_BYTES: i64 = 128 << 10;

/// The bounds of the width of a strip, in columns. The narrower the strip, the better the buffers fit into the cache;
/// but neighbouring strips both compute the halo between them, which costs most where strips are narrow.
const COLUMNS: std::ops::RangeInclusive<i64> = 256..=2048;
/// The number of columns of a strip is a multiple of this, so that strips begin where a vector begins.
const MULTIPLE: i64 = 64;

/// What one stage computes for a row and a strip of columns of the last stage.
#[derive(Clone)]
pub struct StageRows {
    /// The first and the last row, counted from the row of the last stage.
    pub rows: (i64, i64),
    /// The first column, counted from the first one of the strip, and the last column, counted from the last one.
    pub columns: (i64, i64),
    /// The number of rows that its buffers hold.
    pub held: i64,
}

/// The buffers of a chain.
#[derive(Clone)]
pub struct Buffers {
    /// The rows and columns of each stage; those of the last one are its own.
    pub stages: Vec<StageRows>,
    /// The columns of a strip.
    pub columns: i64,
}

impl Buffers {
    /// Returns the buffers of a chain, if they fit into the caches.
    pub fn of(l: &LaunchContext, chain: &StencilChain) -> Option<Buffers> {
        // what lies beyond the edges can be read at its own place in larger matrices only
        if chain.least > 1 {
            return None;
        }
        let stages = StageRows::of_chain(chain)?;
        let (_, before) = chain.stages.split_last()?;
        let bytes_of = |columns: i64| -> i64 {
            let of_stage = |(stage, rows): (&ChainStage, &StageRows)| {
                let size: i64 = stage.fused.items.iter().map(|it| l.g.ty(it.node).elem.size() as i64).sum();
                rows.held * rows.width(columns) * size
            };
            before.iter().zip(&stages).map(of_stage).sum()
        };
        let mut columns = *COLUMNS.end();
        while columns > *COLUMNS.start() && bytes_of(columns) > BYTES {
            columns -= MULTIPLE;
        }
        (bytes_of(columns) <= MAX_BYTES).then_some(Buffers { stages, columns })
    }

    /// Returns how many rows before a band's first row of the last stage the walk begins.
    pub fn rows_before(&self) -> i64 {
        self.stages.iter().map(|s| s.rows.1 - s.rows.0).max().unwrap_or(0)
    }
}

impl StageRows {
    /// Returns the rows and columns of each stage that one row of the last stage needs.
    pub fn of_chain(chain: &StencilChain) -> Option<Vec<StageRows>> {
        let (_, before) = chain.stages.split_last()?;
        let mut stages = vec![StageRows { rows: (0, 0), columns: (0, 0), held: 0 }];
        for (at, stage) in before.iter().enumerate().rev() {
            // the first of `stages` is the one after this one
            let needed = needed(stage, chain.stages[at + 1..].iter().zip(&stages))?;
            stages.insert(0, needed);
        }
        Some(stages)
    }

    /// Returns the width of a strip of the last stage in this stage.
    pub fn width(&self, columns: i64) -> i64 {
        columns + self.columns.1 - self.columns.0
    }
}

/// Returns the rows and columns of a stage that its readers need for one row of the last stage.
fn needed<'r>(
    stage: &ChainStage,
    readers: impl Iterator<Item = (&'r ChainStage, &'r StageRows)>,
) -> Option<StageRows> {
    let is_mine = |x: NodeId| stage.fused.items.iter().any(|it| it.node == x);
    let mut found: Option<StageRows> = None;
    let mut oldest = i64::MAX;
    for (reader, own) in readers {
        for s in reader.stencils.iter().filter(|s| is_mine(s.array)) {
            let (rows, columns) = (s.reach(0), s.reach(1));
            let mine = StageRows {
                rows: (own.rows.0 + rows.0, own.rows.1 + rows.1),
                columns: (own.columns.0 + columns.0, own.columns.1 + columns.1),
                held: 0,
            };
            // the reader still has to compute its last row
            oldest = oldest.min(own.rows.1 + rows.0);
            found = Some(match found {
                None => mine,
                Some(f) => StageRows {
                    rows: (f.rows.0.min(mine.rows.0), f.rows.1.max(mine.rows.1)),
                    columns: (f.columns.0.min(mine.columns.0), f.columns.1.max(mine.columns.1)),
                    held: 0,
                },
            });
        }
    }
    let found = found?;
    let held = found.rows.1 - oldest + 1;
    Some(StageRows { held, ..found })
}
