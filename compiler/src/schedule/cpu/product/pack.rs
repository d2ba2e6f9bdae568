//! Packing: the values of the columns of a block tile and 128 inner indices, in a buffer in which the columns are
//! neighbours. Rows are read where they lie: a value of theirs serves 64 columns (packing them, too, was measured as
//! a third slower).
//!
//! The innermost loop walks through what is contiguous in memory. Of arrays with any strides the call decides what that
//! is: there is a loop for either direction, because values that lie a power of two apart share few sets of a cache.

use super::Square;
use super::block_tiles::SIZE;
use crate::core::{NodeId, Op};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cpu::element_loop::each;
use crate::schedule::loop_nests::Env;
use crate::schedule::lower::Lower;
use crate::schedule::products::Product;

impl Square<'_> {
    /// Emits the packing of the columns' values of `depth` inner indices from `base` on. Columns
    /// behind the edge of the matrix are filled with 0.
    pub(super) fn pack(&self, l: &mut Lower, base: &Expr, depth: &Expr, out: &mut Vec<Stmt>) -> Result<()> {
        match is_along_k(l, self.p) {
            Some(condition) => {
                let [yes, no] = [true, false].map(|along_k| self.pack_along(l, along_k, base, depth));
                out.push(Stmt::If(condition, yes?, no?));
            }
            None => out.append(&mut self.pack_along(l, self.p.sides[1].along_k, base, depth)?),
        }
        let row = l.k.reg("kk", Ty::I64);
        let rest = self.zeros(l, Expr::Reg(row));
        out.push(Stmt::Seq(row, Expr::int(0), depth.clone(), vec![rest]));
        Ok(())
    }

    /// Emits the packing with the innermost loop along the inner index, or along the columns.
    fn pack_along(&self, l: &mut Lower, along_k: bool, base: &Expr, depth: &Expr) -> Result<Vec<Stmt>> {
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
            let vars = [(j, self.tile.first[1].clone().plus(c.clone())), (k, base.clone().plus(kk.clone()))];
            if let Some(conditions) = conditions {
                return l.conditions(&vars, conditions, body);
            }
            let values = l.region(&vars, &roots, &Expr::int(0), body)?;
            let to = kk.times(Expr::int(SIZE)).plus(c);
            body.extend(self.packed.iter().zip(values).map(|(m, e)| Stmt::Store(*m, to.clone(), e)));
            Ok(vec![])
        })?;
        Ok(vec![Stmt::Seq(outer, Expr::int(0), outer_count.clone(), inner)])
    }

    fn zeros(&self, l: &mut Lower, row: Expr) -> Stmt {
        let z = l.k.reg("z", Ty::I64);
        let at = row.times(Expr::int(SIZE)).plus(Expr::Reg(z));
        let store = |m: &Mem| Stmt::Store(*m, at.clone(), Expr::Lit(Lit::zero(l.k.kernel.mem(*m).1)));
        let body = self.packed.iter().map(store).collect();
        Stmt::For(z, self.tile.counts[1].clone(), Expr::int(SIZE), body)
    }
}

/// Returns the condition that neighbouring inner indices of the columns' values are nearer in memory than
/// neighbouring columns. Returns `None` if the code knows.
pub fn is_along_k(l: &mut Lower, p: &Product) -> Option<Expr> {
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
