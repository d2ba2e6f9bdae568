//! Packing: the values of the columns of a block tile at 128 inner indices are copied to a buffer in which the
//! columns are neighbours. The rows' values are read where they lie: each of them serves 64 columns (packing them,
//! too, was measured to be a third slower).
//!
//! The innermost loop goes along the axis that is contiguous in memory, because values whose distance is a power of
//! two share few sets of a cache. For arrays with any strides there is a loop for each direction, and the call
//! decides.

use super::block_tiles::{BlockTile, SIZE};
use crate::core::{NodeId, Op};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cpu::element_loop::each;
use crate::schedule::element::lower::Lower;
use crate::schedule::facts::loop_nests::Env;
use crate::schedule::facts::products::Product;

/// The values of the columns of a block tile, and the buffers that they are packed into.
pub struct Columns<'a> {
    pub p: &'a Product,
    pub tile: &'a BlockTile,
    pub packed: &'a [Mem],
    /// The flag that is set where a value would leave an error record, if one may.
    pub flag: Option<Reg>,
}

impl Columns<'_> {
    /// Returns the packing of `depth` inner indices from `base` on. `row` gives the row of the buffer of each.
    pub fn pack(
        &self,
        l: &mut Lower,
        (base, depth): (&Expr, &Expr),
        row: &dyn Fn(Expr) -> Expr,
    ) -> Result<Vec<Stmt>> {
        match is_along_k(l, self.p) {
            Some(condition) => {
                let [yes, no] = [true, false].map(|along_k| self.pack_along(l, along_k, (base, depth), row));
                Ok(vec![Stmt::If(condition, yes?, no?)])
            }
            None => self.pack_along(l, self.p.sides[1].along_k, (base, depth), row),
        }
    }

    /// Returns the packing with the innermost loop along the inner index, or along the columns.
    fn pack_along(
        &self,
        l: &mut Lower,
        along_k: bool,
        (base, depth): (&Expr, &Expr),
        row: &dyn Fn(Expr) -> Expr,
    ) -> Result<Vec<Stmt>> {
        let (outer_name, inner_name) = if along_k { ("c", "kk") } else { ("kk", "c") };
        let outer = l.k.reg(outer_name, Ty::I64);
        let (outer_count, inner_count) =
            if along_k { (&self.tile.counts[1], depth) } else { (depth, &self.tile.counts[1]) };
        let [j, k] = [(); 2].map(|()| l.launch.g.fresh_var(Ty::I64).1);
        let env = Env::default().with(&l.launch.g, self.p.outer[1], j).with(&l.launch.g, self.p.k, k);
        let parts = &self.p.sides[1].parts;
        let roots: Vec<NodeId> = parts.iter().map(|n| env.of(&mut l.launch.g, *n)).collect();
        let inner = each(l, inner_name, &Expr::int(0), inner_count, &mut |l, inner, conditions, body| {
            let outer = Expr::Reg(outer);
            let (kk, c) = if along_k { (inner.clone(), outer) } else { (outer, inner.clone()) };
            let mut vars = self.tile.known(self.p);
            vars.push((j, self.tile.first[1].clone().plus(c.clone())));
            vars.push((k, base.clone().plus(kk.clone())));
            if let Some(conditions) = conditions {
                return l.conditions(&vars, conditions, body);
            }
            let values = l.flagged(self.flag, &vars, &roots, body)?;
            let to = row(kk).times(Expr::int(SIZE)).plus(c);
            body.extend(self.packed.iter().zip(values).map(|(m, e)| Stmt::Store(*m, to.clone(), e)));
            Ok(vec![])
        })?;
        Ok(vec![Stmt::Seq(outer, Expr::int(0), outer_count.clone(), inner)])
    }

    /// Returns a loop that fills the columns past the edge of the matrix with 0 in this many rows of the buffer.
    pub fn fill(&self, l: &mut Lower, rows: Expr) -> Stmt {
        let [row, z] = ["kk", "z"].map(|name| l.k.reg(name, Ty::I64));
        let at = Expr::Reg(row).times(Expr::int(SIZE)).plus(Expr::Reg(z));
        let store = |m: &Mem| Stmt::Store(*m, at.clone(), Expr::Lit(Lit::zero(l.k.kernel.mem(*m).1)));
        let body = self.packed.iter().map(store).collect();
        let rest = Stmt::For(z, self.tile.counts[1].clone(), Expr::int(SIZE), body);
        Stmt::Seq(row, Expr::int(0), rows, vec![rest])
    }
}

/// Returns the condition that neighbouring inner indices of the columns' values are nearer in memory than
/// neighbouring columns. Returns `None` if it is known when the code is written.
fn is_along_k(l: &mut Lower, p: &Product) -> Option<Expr> {
    if !l.k.strided {
        return None;
    }
    let g = &l.launch.g;
    let [j, k] = [p.outer[1], p.k].map(|n| g.node(n).free[0]);
    let axes = |n: NodeId| {
        let Op::Elem(x, index) = g.op(n) else { return None };
        let axis = |v| index.iter().position(|i| g.node(*i).free.contains(&v));
        Some((*x, axis(j)?, axis(k)?))
    };
    let reads = g.reachable(p.sides[1].parts.iter().copied()).into_iter();
    let (x, j, k) = reads.filter_map(axes).find(|(_, j, k)| j != k)?;
    let mem = l.launch.input(x);
    let mut stride = |axis: usize| {
        let e = l.launch.stride(mem, axis as u8);
        Expr::binary(BinaryOp::Max, e.clone(), Expr::int(0).minus(e))
    };
    Some(Expr::binary(BinaryOp::Lt, stride(k), stride(j)))
}
