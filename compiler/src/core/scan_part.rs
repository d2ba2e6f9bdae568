//! The parts of a scan (semantics 5.18), as operations and as numbers of elements.

/// The number of elements of a chunk.
pub const SCAN_CHUNK: i64 = 4;
/// The number of elements of a row.
pub const SCAN_ROW: i64 = 32 * SCAN_CHUNK;
/// The number of elements of a tile.
pub const SCAN_TILE: i64 = 64 * SCAN_ROW;
/// The number of elements of a group.
pub const SCAN_GROUP: i64 = 32 * SCAN_TILE;

/// What a scan computes. All forms but the whole are stored (`materialize`), and nothing else may need them. There is
/// one exception: elements that are stored at other places ([`Op::Place`]), or at their own, may read the tiles at
/// their own index, and then the launch that scans the tiles stores these elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScanPart {
    /// The partial results of a vector, with an initial value before its elements.
    Whole,
    /// The total of each tile of a vector. It has the number of tiles in place of the initial value. The total of a
    /// tile that is not complete may be any value.
    Totals,
    /// What stands before each tile, given the tiles' totals: the initial value joined with the groups before the
    /// tile's own, and with the tiles before it in its group.
    Before,
    /// The partial results of a vector, each joined to what stands before its tile. A vector of what stands before
    /// the tiles is in place of the initial value.
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
