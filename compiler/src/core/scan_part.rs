//! The parts of a scan (semantics 5.18), as operations and as numbers of elements.
//!
//! ```text
//! %s = scan (+) from %init over %x
//!   ->
//! %totals = scan_totals (+) from %tiles over %x          the total of each of so many tiles
//! %before = scan_before (+) from %init over %totals      what stands before each tile
//! %s = scan_tiles (+) from %before over %x               the scan of each tile behind that
//! ```

use super::simplify::{extent, simplify};
use super::{Graph, Lambda, NodeId, Op, tuples};
use crate::scalar::{BinaryOp, Lit, Ty};

/// The elements of a chunk.
pub const SCAN_CHUNK: i64 = 4;
/// The elements of a row.
pub const SCAN_ROW: i64 = 32 * SCAN_CHUNK;
/// The elements of a tile.
pub const SCAN_TILE: i64 = 64 * SCAN_ROW;
/// The elements of a group.
pub const SCAN_GROUP: i64 = 32 * SCAN_TILE;

/// What a scan computes. All but the whole are stored (`materialize`), and nothing else may need them; but elements that
/// are stored in other places ([`Op::Place`]) may read the tiles at their own index, and the launch which scans these
/// stores them.
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

/// Returns a component of a scan by tiles: the scans of the tiles, which are not stored yet.
pub fn by_tiles(
    g: &mut Graph,
    (join, init, src): (Lambda, NodeId, NodeId),
    which: u32,
    once: bool,
) -> NodeId {
    let count = tiles(g, src);
    let totals = of_tiles(g, (ScanPart::Totals, count), (&join, count, src), once);
    let before = of_tiles(g, (ScanPart::Before, count), (&join, init, totals), once);
    g.add(Op::Scan { part: ScanPart::Tiles, join, init: before, src, which })
}

/// Returns the number of tiles of a vector.
pub fn tiles(g: &mut Graph, src: NodeId) -> NodeId {
    let n = extent(g, src, 0);
    let [most, size] = [SCAN_TILE - 1, SCAN_TILE].map(|n| g.lit(Lit::i64(n)));
    let up = simplify(g, Op::Binary(BinaryOp::Add, n, most));
    simplify(g, Op::Binary(BinaryOp::Div, up, size))
}

/// Returns the array of a part that has one value for each of so many tiles.
pub fn of_tiles(
    g: &mut Graph,
    (part, count): (ScanPart, NodeId),
    (join, init, src): (&Lambda, NodeId, NodeId),
    once: bool,
) -> NodeId {
    let components = 0..join.params.len() as u32 / 2;
    let component = |which| {
        let scan = g.add(Op::Scan { part, join: join.clone(), init, src, which });
        stored(g, scan, once)
    };
    let all: Vec<NodeId> = components.map(component).collect();
    let lambda = g.lambda(&[Ty::I64], |g, tile| {
        let own = all.iter().map(|x| g.add(Op::Elem(*x, vec![tile[0]]))).collect();
        tuples::of(g, own)
    });
    g.add(Op::Generate(vec![count], lambda))
}

/// Returns the array as one that is stored.
pub fn stored(g: &mut Graph, x: NodeId, once: bool) -> NodeId {
    let stored = g.add(Op::Materialize(x));
    if once {
        g.mark_once(stored);
    }
    stored
}

/// Returns a component of the scan on which places ([`Op::Place`]) depend.
pub fn scan_of_places(g: &Graph, at: NodeId) -> Option<NodeId> {
    let body = g.op(at).lambda()?.body;
    let is_known = |n: NodeId| g.op(n).needs_launch() && g.is_closed(n);
    g.reachable_until([body], is_known).into_iter().find(|n| matches!(g.op(*n), Op::Scan { .. }))
}
