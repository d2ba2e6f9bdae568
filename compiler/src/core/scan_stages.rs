//! Scans by tiles (semantics 5.18): the arrays of their parts ([`ScanPart`]).
//!
//! ```text
//! %s = scan (+) from %init over %x
//!   ->
//! %totals = scan_totals (+) from %tiles over %x          the total of each of so many tiles
//! %before = scan_before (+) from %init over %totals      what stands before each tile
//! %s = scan_tiles (+) from %before over %x               the scan of each tile behind that
//! ```

use super::arithmetic::ceil_div;
use super::simplify::extent;
use super::{Graph, Lambda, NodeId, Op, SCAN_TILE, ScanPart, tuples};
use crate::scalar::Ty;

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
    ceil_div(g, n, SCAN_TILE)
}

/// Returns the array of a part that has one value for each tile.
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

/// Returns a component of the scan on which places ([`Op::Place`]), or the elements that are stored at their own,
/// depend.
pub fn scan_of_places(g: &Graph, at: NodeId, src: NodeId) -> Option<NodeId> {
    let body = g.op(if is_index(g, at) { src } else { at }).lambda()?.body;
    let is_known = |n: NodeId| g.op(n).needs_launch() && g.is_closed(n);
    g.reachable_until([body], is_known).into_iter().find(|n| matches!(g.op(*n), Op::Scan { .. }))
}

/// Returns a component of the scan that a stored array is, or on which its elements or their places depend.
pub fn scan_of_array(g: &Graph, x: NodeId) -> Option<NodeId> {
    match *g.op(x) {
        Op::Scan { .. } => Some(x),
        Op::Place { at, src } => scan_of_places(g, at, src),
        _ => None,
    }
}

/// Whether the elements of a vector are their own indices.
pub fn is_index(g: &Graph, x: NodeId) -> bool {
    let Op::Generate(_, lambda) = g.op(x) else { return false };
    matches!(*g.op(lambda.body), Op::Var(v, _) if v == lambda.params[0].0)
}
