//! The rows of a scan's tile: their totals, and what stands before the chunks in them.

use super::{Code, Value, chosen, load_all, shifted, store_all};
use crate::core::ScanPart;
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Lit};
use crate::schedule::cuda::expressions::int32;
use crate::schedule::element::lower::{Lower, bind};

impl Code<'_> {
    /// Scans the totals of the tile's rows, by one warp whose lanes have two rows each; or stores their total.
    pub(super) fn rows(
        &self,
        l: &mut Lower,
        (rows, halved): (&[Mem], &[Mem]),
        (tile, is_full): (&Expr, &Expr),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        if self.scan.part != ScanPart::Totals {
            return self.halve_rows(l, (rows, halved), out).map(drop);
        }
        let (_, [_, both]) = self.pairs(l, rows, out)?;
        let total = self.halve(l, both, &mut [], out)?;
        // nothing joins the total of a tile that is not full, but memory must not hold an undefined value
        let none: Value = self.types().map(|ty| Expr::Lit(Lit::zero(ty))).collect();
        let total = chosen(l, is_full, &total, &none, out);
        let (total, mut stores) = (self.widened(&total), Vec::new());
        self.store_one(l, &total, tile, &mut stores);
        out.push(Stmt::If(Expr::binary(BinaryOp::Eq, self.lane.clone(), int32(0)), stores, vec![]));
        Ok(())
    }

    /// Scans the totals of the tile's rows, and returns their total.
    pub(super) fn halve_rows(
        &self,
        l: &mut Lower,
        (rows, halved): (&[Mem], &[Mem]),
        out: &mut Vec<Stmt>,
    ) -> Result<Value> {
        let ([at, next], mut inside) = self.pairs(l, rows, out)?;
        let total = self.halve(l, inside[1].clone(), &mut inside, out)?;
        out.extend(store_all(halved, &at, &inside[0]));
        out.extend(store_all(halved, &next, &inside[1]));
        Ok(total)
    }

    /// Returns the numbers of the lane's two rows, the total of the first one, and that of both.
    fn pairs(&self, l: &mut Lower, rows: &[Mem], out: &mut Vec<Stmt>) -> Result<([Expr; 2], [Value; 2])> {
        let at = bind(l, "at", self.lane.clone().times(int32(2)), out);
        let next = at.clone().plus(int32(1));
        let (even, odd) = (load_all(l, rows, &at, out), load_all(l, rows, &next, out));
        let both = self.operator.join(l, &even, &odd, out)?;
        Ok(([at, next], [even, both]))
    }

    /// Returns what stands before the lane's chunk of a row in the tile, given what the lanes up to it have, and
    /// whether rows do.
    pub(super) fn inner(
        &self,
        l: &mut Lower,
        (halved, has_chunk): (&[Mem], &Expr),
        (row, chunk): (i64, &Value),
        out: &mut Vec<Stmt>,
    ) -> Result<(Value, Expr)> {
        let chunk = shifted(l, chunk, out);
        let at = self.row(row);
        let has_rows = bind(l, "rows", Expr::binary(BinaryOp::Gt, at.clone(), int32(0)), out);
        let last = Expr::binary(BinaryOp::Max, at.minus(int32(1)), int32(0));
        let rows = load_all(l, halved, &last, out);
        let inner = self.operator.join_if(l, (&has_rows, &rows), &chunk, out)?;
        Ok((chosen(l, has_chunk, &inner, &rows, out), has_rows))
    }

    /// Returns what stands before the lane's chunk of each row.
    pub(super) fn before_chunks(
        &self,
        l: &mut Lower,
        tile: &Expr,
        (halved, chunks): (&[Mem], Vec<Value>),
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Value>> {
        let outer = self.outer(l, tile, out)?;
        let has_chunk = Expr::binary(BinaryOp::Gt, self.lane.clone(), int32(0));
        let has_chunk = bind(l, "later", has_chunk, out);
        let mut all = Vec::new();
        for (chunk, row) in chunks.into_iter().zip(0..) {
            let (inner, has_rows) = self.inner(l, (halved, &has_chunk), (row, &chunk), out)?;
            let both = self.operator.join(l, &outer, &inner, out)?;
            let is_any = Expr::binary(BinaryOp::Or, has_rows, has_chunk.clone());
            all.push(chosen(l, &is_any, &both, &outer, out));
        }
        Ok(all)
    }
}
