//! Prefetches of the rows that a strip reads next.

use super::strip::Strip;
use crate::core::{COLUMNS, NodeId, Op};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::lower::Lower;
use crate::schedule::facts::segments::neighbours;

impl Strip<'_> {
    /// Emits prefetches of the elements that follow `rows` in the tree, because the hardware's own prefetching does
    /// not follow the jump of 128 rows. Other values that the elements of a row read are mostly in the caches.
    pub(super) fn prefetch(&self, l: &mut Lower, rows: &[Expr], out: &mut Vec<Stmt>) -> Result<()> {
        if l.k.strided || !self.outer.is_empty() {
            return Ok(());
        }
        let mut hints = Vec::new();
        let (_, k) = l.launch.g.fresh_var(Ty::I64);
        let roots: Vec<NodeId> = self.reductions.iter().flat_map(|r| r.first(l.launch, k)).collect();
        for (x, outer) in neighbours(l.launch, &roots, self.s.index) {
            // the address of a prefetch must not depend on reads, because these might be out of bounds
            let reads = l.launch.g.reachable(outer.iter().copied());
            let reads = reads.into_iter().any(|n| matches!(l.launch.g.op(n), Op::Elem(..) | Op::At(..)));
            let moves = outer.iter().any(|n| !l.launch.g.is_closed(*n));
            if reads || !moves {
                continue;
            }
            let (array, per_line) = (l.launch.input(x), 64 / l.launch.g.ty(x).elem.size() as i64);
            for row in rows {
                let ahead = row.clone().plus(Expr::int(COLUMNS * rows.len() as i64));
                let address =
                    l.element_address(array, &outer, self.base.clone(), &[(k, ahead)], &mut hints)?;
                let p = l.k.reg("p", Ty::I64);
                let index = address.plus(Expr::Reg(p).times(Expr::int(per_line)));
                let lines = self.width.clone().plus(Expr::int(per_line - 1));
                let lines = Expr::binary(BinaryOp::Shr, lines, Expr::int(per_line.trailing_zeros().into()));
                let hint = vec![Stmt::Prefetch { array, index, wide: false }];
                hints.push(Stmt::For(p, Expr::int(0), lines, hint));
            }
        }
        let ahead = rows[0].clone().plus(Expr::int(COLUMNS * rows.len() as i64));
        if !hints.is_empty() {
            let more = Expr::binary(BinaryOp::Lt, ahead, self.length.clone());
            out.push(Stmt::If(more, hints, vec![]));
        }
        Ok(())
    }
}
