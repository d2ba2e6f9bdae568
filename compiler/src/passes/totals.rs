//! Reuses the totals of a scan. If a vector of integers is both scanned and summed, the sum is made of the totals of
//! the scan's complete tiles and of the elements after the last complete tile. Integers wrap, so any order of the sum
//! gives the same, and the vector is read one time less.
//!
//! ```text
//! %n = len %x
//! %totals = materialize (scan_totals (+) from (%n + 8191) / 8192 over %x)
//! %sum = reduce (+) from %init over %x
//!   ->
//! %sum = reduce (+) from %init over generate (%n / 8192 + %n % 8192) (%i) {
//!   select(%i < %n / 8192, %totals[min(%i, (%n + 8191) / 8192 - 1)], %x[%i + 8191 * (%n / 8192)])
//! }
//! ```

use crate::core::arithmetic::{is_sum, with_number};
use crate::core::records::may_record_here;
use crate::core::rewrite::rewrite_from;
use crate::core::scan_stages;
use crate::core::simplify::{extent, simplify};
use crate::core::{Function, Graph, Lambda, NodeId, Op, SCAN_TILE, ScanPart};
use crate::error::Result;
use crate::scalar::{BinaryOp, Ty};
use rustc_hash::FxHashSet as HashSet;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    let is_totals = |n: NodeId| matches!(f.graph.op(n), Op::Scan { part: ScanPart::Totals, .. });
    if !f.needs(is_totals) {
        return Ok(f);
    }
    let mut known: HashSet<(NodeId, NodeId)> = HashSet::default();
    for n in f.graph.reachable(f.roots()) {
        if let Op::Scan { part: ScanPart::Totals, join, src, .. } = f.graph.op(n)
            && is_sum(&f.graph, join)
        {
            known.insert((join.body, *src));
        }
    }
    Ok(rewrite_from(&f, true, &mut |g, op, old| match op {
        Op::Reduce { join, init, src, .. } if is_known(&f.graph, old, &known) => {
            by_totals(g, join, init, src)
        }
        op => g.add(op),
    }))
}

fn is_known(g: &Graph, n: NodeId, known: &HashSet<(NodeId, NodeId)>) -> bool {
    matches!(g.op(n), Op::Reduce { join, src, .. } if known.contains(&(join.body, *src)))
}

/// Returns the sum of a vector that also has a scan by tiles.
fn by_totals(g: &mut Graph, join: Lambda, init: NodeId, src: NodeId) -> NodeId {
    let binary = |g: &mut Graph, op, a, b| simplify(g, Op::Binary(op, a, b));
    let element = match g.op(src) {
        // a record would name the element's index
        Op::Generate(_, element) if !may_record_here(g, [element.body]) => element.clone(),
        _ => return g.add(Op::Reduce { join, init, src, which: 0 }),
    };
    let (n, tiles) = (extent(g, src, 0), scan_stages::tiles(g, src));
    let totals = g.add(Op::Scan { part: ScanPart::Totals, join: join.clone(), init: tiles, src, which: 0 });
    let totals = g.add(Op::Materialize(totals));
    let complete = with_number(g, BinaryOp::Div, n, SCAN_TILE);
    let rest = with_number(g, BinaryOp::Rem, n, SCAN_TILE);
    let count = binary(g, BinaryOp::Add, complete, rest);
    let last = with_number(g, BinaryOp::Sub, tiles, 1);
    let skipped = with_number(g, BinaryOp::Mul, complete, SCAN_TILE - 1);
    let lambda = g.lambda(&[Ty::I64], |g, i| {
        // both arms of the `select` are read; both reads are in bounds, because a vector with an element has a tile
        let tile = binary(g, BinaryOp::Min, i[0], last);
        let total = g.add(Op::Elem(totals, vec![tile]));
        let at = binary(g, BinaryOp::Add, i[0], skipped);
        let own = g.open(&element, &[at]);
        let is_tile = binary(g, BinaryOp::Lt, i[0], complete);
        simplify(g, Op::Select(is_tile, total, own))
    });
    let src = g.add(Op::Generate(vec![count], lambda));
    g.add(Op::Reduce { join, init, src, which: 0 })
}
