//! The elements behind a scan: what is computed of the partial result at an element's own index, and stored there.

use super::{Code, Value};
use crate::core::{NodeId, SCAN_CHUNK};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::access;
use crate::schedule::cuda::elements::Elements;
use crate::schedule::element::canonical;
use crate::schedule::lower::{Lower, named as bind};

impl Code<'_> {
    /// Stores what depends on the partial results of a thread's elements, and these, if they are stored as well. All
    /// values of a chunk are computed before it is stored, because an output may be an input.
    pub(super) fn behind(
        &self,
        l: &mut Lower,
        elements: &Elements,
        (before, own): (Vec<Value>, Vec<[Value; 4]>),
        (is_full, n): (Expr, &Expr),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (vars, results) = self.partial_results(l, (&before, &own), out)?;
        let known = self.known(&vars, &results);
        let (mut full, mut part) = (Vec::new(), Vec::new());
        if !self.layout.strided {
            l.in_block(|l| {
                elements.load(l, &[], &mut full);
                let roots = |l: &mut Lower, k: usize, index| self.roots(l, index, &vars[k]);
                let values = elements.values(l, &known, roots, &mut full)?;
                for (chunk, first) in values.chunks(SCAN_CHUNK as usize).zip(elements.firsts()) {
                    self.store_neighbours(l, chunk, elements.at(first), &mut full);
                }
                Ok::<_, crate::error::Error>(())
            })?;
        }
        for (k, vars) in vars.iter().enumerate() {
            let i = bind(l, "i", elements.at(k), &mut part);
            let (_, index) = l.launch.g.fresh_var(Ty::I64);
            let mut one = Vec::new();
            l.in_block(|l| {
                let roots = self.roots(l, index, vars);
                let known = [&known[..], &[(index, i.clone())]].concat();
                let values = l.region(&known, &roots, &i, &mut one)?;
                self.store_neighbours(l, &[values], i.clone(), &mut one);
                Ok::<_, crate::error::Error>(())
            })?;
            part.push(Stmt::If(Expr::binary(BinaryOp::Lt, i, n.clone()), one, vec![]));
        }
        match self.layout.strided {
            true => out.append(&mut part),
            false => out.push(Stmt::If(is_full, full, part)),
        }
        Ok(())
    }

    /// Returns the values of an element, of which nothing is stored elsewhere, so that its place is not needed.
    fn roots(&self, l: &mut Lower, index: NodeId, results: &[NodeId]) -> Vec<NodeId> {
        self.scan.of_element(&mut l.launch.g, &self.fused.items, index, results).split_off(1)
    }

    /// Stores the values of neighbours from an index on, each neighbour's in the order of the items.
    fn store_neighbours(&self, l: &mut Lower, values: &[Vec<Expr>], at: Expr, out: &mut Vec<Stmt>) {
        let mut stores = Vec::new();
        for (which, it) in self.fused.items.iter().enumerate() {
            let (mem, ty) = (l.launch.output(it), l.launch.g.ty(it.node).elem);
            let of_item = values.iter().map(|v| canonical(v[which].clone(), ty, &mut l.k.kernel, out));
            let of_item: Vec<Expr> = of_item.collect();
            let of_item = of_item.into_iter().map(|e| bind(l, "y", e, out)).collect();
            access::store(l, mem, of_item, at.clone(), &mut stores);
        }
        out.append(&mut stores);
    }
}
