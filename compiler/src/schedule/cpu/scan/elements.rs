//! The stores of a block's elements: the partial results of the scan or, if the launch stores places, the values of
//! its items at these.

use super::counter::{get, set};
use super::{Block, CHUNKS, OF_BLOCK, ROWS, Tile, rem, store, transposed};
use crate::core::{NodeId, SCAN_CHUNK};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::placed_stores::stores;

impl Tile<'_> {
    /// Stores the elements of a block.
    pub(super) fn elements(&self, l: &mut Lower, block: &Block, base: &Expr) -> Result<Vec<Stmt>> {
        let (mut out, mut body, mut last) = (Vec::new(), Vec::new(), Vec::new());
        let by_row = self.scan.types.iter().map(|ty| l.k.local("before", *ty, OF_BLOCK as u32, &mut out));
        let by_row: Vec<Mem> = by_row.collect();
        transposed(l, &mut out, |l, row, chunk, out| {
            let values = get(l, &block.chunks, &chunk, out);
            out.extend(set(&by_row, &row, &values));
        });
        let c = l.k.reg("c", Ty::I64);
        let before = get(l, &by_row, &Expr::Reg(c), &mut body);
        for k in 0..SCAN_CHUNK {
            let i = base.clone().plus(Expr::Reg(c).times(Expr::int(SCAN_CHUNK))).plus(Expr::int(k));
            let own = get(l, &block.own, &Expr::Reg(c).plus(Expr::int(k * OF_BLOCK)), &mut body);
            let values = self.operator.join(l, &before, &own, &mut body)?;
            self.store_element(l, &values, &i, (&mut body, &mut last))?;
        }
        body.append(&mut last);
        out.push(Stmt::For(c, Expr::int(0), Expr::int(OF_BLOCK), body));
        Ok(out)
    }

    /// Writes the stores of an element's partial results, or of the values that items store for it.
    fn store_element(
        &self,
        l: &mut Lower,
        values: &[Expr],
        i: &Expr,
        (out, to): (&mut Vec<Stmt>, &mut Vec<Stmt>),
    ) -> Result<()> {
        if self.scan.placed.is_none() {
            store(l, self.items, values, i, to);
            return Ok(());
        }
        let i = bind(l, "i", i.clone(), out);
        let (_, index) = l.launch.g.fresh_var(Ty::I64);
        let vars: Vec<NodeId> = self.scan.types.iter().map(|ty| l.launch.g.fresh_var(*ty).1).collect();
        let roots = self.scan.of_element(&mut l.launch.g, &self.fused.items, index, &vars);
        let known = vars.into_iter().zip(values.iter().cloned()).chain([(index, i.clone())]);
        let values = l.region(&known.collect::<Vec<_>>(), &roots, &i, out)?;
        to.extend(stores(l, &self.fused.items, values, out));
        Ok(())
    }

    /// Stores some elements of a block, one by one.
    pub(super) fn some_elements(
        &self,
        l: &mut Lower,
        block: &Block,
        (base, count): (&Expr, &Expr),
    ) -> Result<Vec<Stmt>> {
        let e = l.k.reg("e", Ty::I64);
        let mut body = Vec::new();
        let c = bind(l, "c", Expr::binary(BinaryOp::Div, Expr::Reg(e), Expr::int(SCAN_CHUNK)), &mut body);
        let at = rem(Expr::Reg(e), SCAN_CHUNK).times(Expr::int(OF_BLOCK)).plus(c.clone());
        let own = get(l, &block.own, &at, &mut body);
        let row = Expr::binary(BinaryOp::Div, c.clone(), Expr::int(CHUNKS));
        let before = get(l, &block.chunks, &rem(c, CHUNKS).times(Expr::int(ROWS)).plus(row), &mut body);
        let values = self.operator.join(l, &before, &own, &mut body)?;
        let mut last = Vec::new();
        self.store_element(l, &values, &base.clone().plus(Expr::Reg(e)), (&mut body, &mut last))?;
        body.append(&mut last);
        Ok(vec![Stmt::For(e, Expr::int(0), count.clone(), body)])
    }
}
