//! Scans by sums of integers. Integer sums wrap, so they have one value in every order, and one running sum goes
//! through the elements of a tile, a block at a time:
//!
//! ```text
//! for all elements of a block:   own[j] = the element            vectorised
//! one element after the other:   own[j] = the running sum
//! for all elements of a block:   own[j] is stored                vectorised
//! ```

use super::{BLOCK, Tile};
use crate::core::SCAN_TILE;
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::groups::Item;

impl Tile<'_> {
    /// Writes the code of the tile, whose prefix is `outer`, or 0 if only the total is wanted. Returns its total.
    pub(super) fn sums(&self, l: &mut Lower, outer: Option<&Expr>, out: &mut Vec<Stmt>) -> Result<Expr> {
        let ty = self.scan.types[0];
        let first = outer.cloned().unwrap_or(Expr::Lit(Lit::zero(ty)));
        let n = self.scan.length(&mut l.launch.g);
        let n = l.launch.host(n);
        let begin = bind(l, "begin", self.tile.clone().times(Expr::int(SCAN_TILE)), out);
        let [b, j] = ["b", "j"].map(|name| l.k.reg(name, Ty::I64));
        let sum = l.k.reg("sum", ty);
        out.push(Stmt::Var(sum, first.clone()));
        let mut block = Vec::new();
        let base = bind(l, "base", begin.clone().plus(Expr::Reg(b).times(Expr::int(BLOCK))), &mut block);
        let count = bind(l, "count", n.clone().minus(base.clone()).min(Expr::int(BLOCK)), &mut block);
        let own = l.k.local("own", ty, BLOCK as u32, &mut block);
        self.load(l, own, (&base, &count), &mut block)?;
        let mut running = vec![Stmt::Assign(sum, Expr::Reg(sum).plus(Expr::load(own, Expr::Reg(j))))];
        if self.is_scan() {
            running.push(Stmt::Store(own, Expr::Reg(j), Expr::Reg(sum)));
        }
        block.push(Stmt::Seq(j, Expr::int(0), count.clone(), running));
        if self.is_scan() {
            self.store_sums(l, own, (&base, &count), &mut block)?;
        }
        let blocks = n.minus(begin).min(Expr::int(SCAN_TILE)).plus(Expr::int(BLOCK - 1));
        let blocks = Expr::binary(BinaryOp::Div, blocks, Expr::int(BLOCK));
        out.push(Stmt::Seq(b, Expr::int(0), blocks, block));
        Ok(bind(l, "total", Expr::Reg(sum).minus(first), out))
    }

    /// Loads the elements of a block.
    fn load(
        &self,
        l: &mut Lower,
        own: Mem,
        (base, count): (&Expr, &Expr),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let j = l.k.reg("j", Ty::I64);
        let mut body = Vec::new();
        let i = bind(l, "i", base.clone().plus(Expr::Reg(j)), &mut body);
        let (_, index) = l.launch.g.fresh_var(Ty::I64);
        let roots = self.scan.elements(&mut l.launch.g, index);
        let values = l.region(&[(index, i.clone())], &roots, &i, &mut body)?;
        body.extend(values.into_iter().map(|e| Stmt::Store(own, Expr::Reg(j), e)));
        out.push(Stmt::For(j, Expr::int(0), count.clone(), body));
        Ok(())
    }

    /// Stores the partial results of a block, or the values that items store for them.
    fn store_sums(
        &self,
        l: &mut Lower,
        own: Mem,
        (base, count): (&Expr, &Expr),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let [j, k] = ["j", "k"].map(|name| l.k.reg(name, Ty::I64));
        let (mut body, mut last) = (Vec::new(), Vec::new());
        let value = bind(l, "v", Expr::load(own, Expr::Reg(j)), &mut body);
        self.store_element(l, &[value], &base.clone().plus(Expr::Reg(j)), (&mut body, &mut last))?;
        let single = match self.scan.goes_elsewhere() {
            true => apart(l, [j, k], (&self.fused.items, &mut last), out),
            false => Vec::new(),
        };
        body.append(&mut last);
        out.push(Stmt::For(j, Expr::int(0), count.clone(), body));
        if !single.is_empty() {
            out.push(Stmt::Seq(k, Expr::int(0), count.clone(), single));
        }
        Ok(())
    }
}

/// Replaces the stores of an element at its place by stores to local arrays, and returns the stores from these to the
/// place. They have a loop of their own, one element after the other, because vector stores to different places take
/// longer on many CPUs than single stores.
fn apart(
    l: &mut Lower,
    counters: [Reg; 2],
    (items, stores): (&[Item], &mut Vec<Stmt>),
    out: &mut Vec<Stmt>,
) -> Vec<Stmt> {
    let (mut single, mut places) = (Vec::new(), Vec::<(Expr, Mem)>::new());
    let [j, k] = counters.map(Expr::Reg);
    for (s, it) in std::mem::take(stores).into_iter().zip(items) {
        let Stmt::Store(mem, place, value) = s else { unreachable!("{s:?} stores no element") };
        let ty = l.launch.g.ty(it.node).elem;
        let known = places.iter().find(|(known, _)| *known == place).map(|known| known.1);
        let at = known.unwrap_or_else(|| {
            let at = l.k.local("places", Ty::I64, BLOCK as u32, out);
            stores.push(Stmt::Store(at, j.clone(), place.clone()));
            places.push((place, at));
            at
        });
        let values = l.k.local("values", ty, BLOCK as u32, out);
        stores.push(Stmt::Store(values, j.clone(), value));
        single.push(Stmt::Store(mem, Expr::load(at, k.clone()), Expr::load(values, k.clone())));
    }
    single
}
