//! Totals of a strip whose reductions have a free order (`facts/order_free.rs`), as minima of sums in shortest paths
//! have. The rows are folded as they lie in memory, several in a pass over the strip, so that the accumulators are
//! loaded and stored once for all of these:
//!
//! ```text
//! for rows by 8 {
//!     for q of the strip { block[q] = f(block[q], f(f(f(x0, x1), f(x2, x3)), f(f(x4, x5), f(x6, x7)))) }
//! }
//! ```
//!
//! The tree of other reductions takes rows at a distance of 128, two in a pass, and joins its columns at the end.
//! Its prefetches would cost more here than they save, because rows follow one another.

use super::strip::{Order, Strip};
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::lower::{LaunchContext, Lower};
use crate::schedule::element::reduction::Reduction;
use crate::schedule::facts;

/// The maximum number of rows of a pass.
const MOST_ROWS: usize = 8;
/// The maximum number of nodes of the elements of a pass: each has registers for what is the same along its row.
const MOST_NODES: usize = 256;

/// Whether the order of all reductions is free, each of which has one accumulator.
pub(super) fn is_order_free(l: &mut LaunchContext, reductions: &[Reduction]) -> bool {
    reductions.iter().all(|r| {
        r.accumulators() == 1 && r.has_identity(l) && facts::order_free::is_order_free(&mut l.g, r.nodes[0])
    })
}

impl Strip<'_> {
    /// Emits the totals of the strip's segments in the order of their elements. They are stored in the block.
    pub(super) fn fold(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<()> {
        let e = l.k.reg("e", Ty::I64);
        self.fill(l, self.width.clone(), out);
        out.push(Stmt::Var(e, Expr::int(0)));
        let most = self.rows_of_pass(l, MOST_NODES);
        let fewer = [2, 1].into_iter().filter(|rows| *rows < most);
        for rows in std::iter::once(most).chain(fewer) {
            let of_pass: Vec<Expr> = (0..rows).map(|k| Expr::Reg(e).plus(Expr::int(k as i64))).collect();
            let mut body = Vec::new();
            self.elements(l, &of_pass, &Expr::int(0), Order::Free, &mut body)?;
            let next = Expr::Reg(e).plus(Expr::int(rows as i64));
            body.push(Stmt::Assign(e, next.clone()));
            out.push(Stmt::While(Expr::binary(BinaryOp::Le, next, self.length.clone()), body));
        }
        Ok(())
    }

    /// Returns the number of rows of a pass, a power of two, where all their elements have so many nodes.
    pub(super) fn rows_of_pass(&self, l: &mut Lower, most_nodes: usize) -> usize {
        let (_, k) = l.launch.g.fresh_var(Ty::I64);
        let roots: Vec<NodeId> = self.reductions.iter().flat_map(|r| r.first(l.launch, k)).collect();
        let nodes = l.launch.g.reachable(roots).into_iter().filter(|n| !l.launch.g.is_closed(*n)).count();
        let fits = most_nodes / nodes.max(1);
        MOST_ROWS.min(1 << fits.max(2).ilog2())
    }
}

/// Returns the accumulator after the elements at these indices, which are joined as a tree of neighbours.
pub(super) fn after(l: &mut LaunchContext, r: &Reduction, old: &[NodeId], index: &[NodeId]) -> Vec<NodeId> {
    let mut values: Vec<Vec<NodeId>> = index.iter().map(|k| r.first(l, *k)).collect();
    while values.len() > 1 {
        let pairs = values.chunks(2);
        values = pairs.map(|p| if let [a, b] = p { r.join(l, a, b) } else { p[0].clone() }).collect();
    }
    r.join(l, old, &values[0])
}
