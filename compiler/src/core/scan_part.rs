//! The parts of a scan (semantics 5.18), as operations and as numbers of elements.

/// The elements of a chunk.
pub const SCAN_CHUNK: i64 = 4;
/// The elements of a row.
pub const SCAN_ROW: i64 = 32 * SCAN_CHUNK;
/// The elements of a tile.
pub const SCAN_TILE: i64 = 64 * SCAN_ROW;
/// The elements of a group.
pub const SCAN_GROUP: i64 = 32 * SCAN_TILE;

/// What a scan computes. All but the whole are stored (`materialize`), and nothing else may need them; but elements that
/// are stored in other places ([`Op::Place`]), or in their own, may read the tiles at their own index, and the
/// launch which scans these stores them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScanPart {
    /// The partial results of a vector behind an initial value.
    Whole,
    /// The total of each tile of a vector. In place of the initial value it has the number of tiles. The total of a
    /// tile that is not complete is any value.
    Totals,
    /// What stands before each tile, given their totals: what the groups before its own and the initial value
    /// join to, with the tiles before it in its group.
    Before,
    /// The partial results of a vector, each behind what stands before its tile: a vector of these is in place of
    /// the initial value.
    Tiles,
}

impl ScanPart {
    const ALL: [ScanPart; 4] = [ScanPart::Whole, ScanPart::Totals, ScanPart::Before, ScanPart::Tiles];

    /// Returns the operation's name in texts.
    pub fn name(self) -> &'static str {
        match self {
            ScanPart::Whole => "scan",
            ScanPart::Totals => "scan_totals",
            ScanPart::Before => "scan_before",
            ScanPart::Tiles => "scan_tiles",
        }
    }

    /// Returns the part of that name.
    pub fn parse(name: &str) -> Option<ScanPart> {
        ScanPart::ALL.into_iter().find(|part| part.name() == name)
    }
}
