//! Writes scans (semantics 5.18) as three parts that have strategies of their own ([`ScanPart`]): the totals of
//! tiles, a scan of these totals, which gives the prefix of each tile, and the scan of each tile with its prefix.
//!
//! If the operator or an element may leave an error record, a scan becomes arrays of partial results, each of which
//! is a `generate`, so that the strategies for elements leave the records (`core/scan_totals.rs`).
//!
//! ```text
//! %s = scan (+) from %init over %x
//!   ->
//! %totals = materialize (scan_totals (+) from %tiles over %x)
//! %before = materialize (scan_before (+) from %init over %totals)
//! %s = materialize (scan_tiles (+) from %before over %x)
//! ```

use crate::core::records::may_record_here;
use crate::core::rewrite::rewrite_from;
use crate::core::scan_lines::Lines;
use crate::core::scan_stages::{by_tiles, stored};
use crate::core::scan_totals::Scan;
use crate::core::{Function, Op, ScanPart, tuples};
use crate::error::Result;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    if !f.needs(|n| matches!(f.graph.op(n), Op::Scan { .. })) {
        return Ok(f);
    }
    Ok(rewrite_from(&f, true, &mut |g, op, old| match op {
        Op::Scan { part: ScanPart::Whole, join, init, src, which } => {
            let once = f.graph.node(old).once;
            if !may_record_here(g, [join.body, init, src]) {
                let tiles = by_tiles(g, (join, init, src), which, once);
                return stored(g, tiles, once);
            }
            let init = tuples::components(g, init);
            let sources = tuples::arrays_of_components(g, src);
            if once {
                let made = sources.iter().filter(|x| g.op(**x).needs_launch()).copied().collect::<Vec<_>>();
                made.into_iter().for_each(|x| g.mark_once(x));
            }
            let lines = Lines::vector(g, sources[0]);
            Scan::new(g, (join, sources), lines, once).results(g, &init)[which as usize]
        }
        op => g.add(op),
    }))
}
