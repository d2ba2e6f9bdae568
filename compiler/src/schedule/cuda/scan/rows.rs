//! The rows of a scan's tile: the scan of their totals, and the prefixes of the chunks in them.

use super::{Code, Value, chosen, load_all, shifted, store_all};
use crate::core::ScanPart;
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Lit};
use crate::schedule::cuda::expressions::int32;
use crate::schedule::element::lower::{Lower, bind};

impl Code<'_> {
    /// Writes the code of one warp that scans the totals of the tile's rows, or, in `ScanPart::Totals`, only stores
    /// their join, the total of the tile.
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
        // only the last tile may be partial, and no tile needs its total, but memory must not hold an undefined value
        let none: Value = self.types().map(|ty| Expr::Lit(Lit::zero(ty))).collect();
        let total = chosen(l, is_full, &total, &none, out);
        let (total, mut stores) = (self.widened(&total), Vec::new());
        self.store_one(l, &total, tile, &mut stores);
        out.push(Stmt::If(Expr::binary(BinaryOp::Eq, self.lane.clone(), int32(0)), stores, vec![]));
        Ok(())
    }

    /// Scans the totals of the tile's rows, with two rows for each lane, and stores the inclusive scan to `halved`.
    /// Returns the total of the tile.
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

    /// Returns the numbers of the lane's two rows, the total of the first, and the join of both.
    fn pairs(&self, l: &mut Lower, rows: &[Mem], out: &mut Vec<Stmt>) -> Result<([Expr; 2], [Value; 2])> {
        let at = bind(l, "at", self.lane.clone().times(int32(2)), out);
        let next = at.clone().plus(int32(1));
        let (even, odd) = (load_all(l, rows, &at, out), load_all(l, rows, &next, out));
        let both = self.operator.join(l, &even, &odd, out)?;
        Ok(([at, next], [even, both]))
    }

    /// Returns the prefix of the lane's chunk of a row within the tile, and whether there are rows before it. `chunk`
    /// is the join of the row's chunks up to the lane's. In the tile's first chunk the prefix has no meaning.
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

    /// Returns the prefix of the lane's chunk of each row.
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
