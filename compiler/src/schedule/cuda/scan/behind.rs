//! Elements that are computed from a scan's partial result at their own index, and stored at that index: a map of a
//! scan, in the scan's last launch.

use super::{Code, bound};
use crate::core::{NodeId, SCAN_CHUNK};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::schedule::cuda::access;
use crate::schedule::cuda::elements::Elements;
use crate::schedule::element::lower::Lower;

impl Code<'_> {
    /// Computes and stores the elements of a full tile. `vars` are the nodes of each partial result, and `known` has
    /// their values. All values are computed before the first store, because an output may be an input.
    pub(super) fn store_in_order(
        &self,
        l: &mut Lower,
        elements: &Elements,
        (vars, known): (&[Vec<NodeId>], &[(NodeId, Expr)]),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        elements.load(l, &[], out);
        let roots = |l: &mut Lower, k: usize, index| self.roots(l, index, &vars[k]);
        let values = elements.values(l, known, roots, out)?;
        for (chunk, first) in values.chunks(SCAN_CHUNK as usize).zip(elements.firsts()) {
            self.store_neighbours(l, chunk, elements.at(first), out);
        }
        Ok(())
    }

    /// Returns the nodes of the items' values at an index. If elements are stored at other places, the node of that
    /// place comes first.
    pub(super) fn roots(&self, l: &mut Lower, index: NodeId, results: &[NodeId]) -> Vec<NodeId> {
        let mut all = self.scan.of_element(&mut l.launch.g, &self.fused.items, index, results);
        all.split_off(usize::from(!self.scan.goes_elsewhere()))
    }

    /// Stores the values of neighbouring elements, from an index on. `values` has them by element and item.
    pub(super) fn store_neighbours(
        &self,
        l: &mut Lower,
        values: &[Vec<Expr>],
        at: Expr,
        out: &mut Vec<Stmt>,
    ) {
        let mut stores = Vec::new();
        for (which, it) in self.fused.items.iter().enumerate() {
            let (mem, ty) = (l.launch.output(it), l.launch.g.ty(it.node).elem);
            let of_item = bound(l, ty, values.iter().map(|v| v[which].clone()), out);
            access::store(l, mem, of_item, at.clone(), &mut stores);
        }
        out.append(&mut stores);
    }
}
