//! The elements of a scan's tile that are stored in other places than their own.

use super::{Code, Value};
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::elements::Elements;
use crate::schedule::lower::{Lower, named as bind};
use crate::schedule::placed_stores::stores;

impl Code<'_> {
    /// Stores what depends on the partial results of a thread's elements where it goes. All of it is computed before the
    /// first store, if the tile is full.
    pub(super) fn place(
        &self,
        l: &mut Lower,
        elements: &Elements,
        (before, own): (Vec<Value>, Vec<[Value; 4]>),
        (is_full, n): (Expr, &Expr),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let items = &self.fused.items;
        let (mut vars, mut known): (Vec<Vec<NodeId>>, Vec<(NodeId, Expr)>) = (Vec::new(), Vec::new());
        for (before, own) in before.iter().zip(&own) {
            for own in own {
                let values = self.operator.join(l, before, own, out)?;
                let nodes: Vec<NodeId> =
                    self.scan.types.iter().map(|ty| l.launch.g.fresh_var(*ty).1).collect();
                known.extend(nodes.iter().copied().zip(values));
                vars.push(nodes);
            }
        }
        let (mut full, mut part) = (Vec::new(), Vec::new());
        if !self.layout.strided {
            l.in_block(|l| {
                elements.load(l, &[], &mut full);
                let roots = |l: &mut Lower, k: usize, index| {
                    self.scan.of_element(&mut l.launch.g, items, index, &vars[k])
                };
                let all = elements.values(l, &known, roots, &mut full)?;
                let all: Vec<_> = all.into_iter().map(|values| stores(l, items, values, &mut full)).collect();
                full.extend(all.concat());
                Ok::<_, crate::error::Error>(())
            })?;
        }
        for (k, vars) in vars.iter().enumerate() {
            let i = bind(l, "i", elements.at(k), &mut part);
            let (_, index) = l.launch.g.fresh_var(Ty::I64);
            let mut one = Vec::new();
            l.in_block(|l| {
                let roots = self.scan.of_element(&mut l.launch.g, items, index, vars);
                let known = [&known[..], &[(index, i.clone())]].concat();
                let values = l.region(&known, &roots, &i, &mut one)?;
                let stores = stores(l, items, values, &mut one);
                one.extend(stores);
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
}
