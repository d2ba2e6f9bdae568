//! Reductions of the results of a whole scan, and of maps of these results at the same index. The launch of the scan
//! can compute them while it has the results in registers, so that they are not read again, and need not be stored.

use super::scans::Scan;
use crate::core::graph::replace::{Found, replaced_by};
use crate::core::{Graph, NodeId, Op, tuples};
use crate::schedule::groups::items::Item;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The reductions of what a whole scan gives.
#[derive(Clone)]
pub struct ScanReductions {
    /// The items of the scan's last part, whose values reductions may read. Some of them are stored.
    pub items: Vec<Item>,
    /// The nodes of the reductions.
    pub nodes: Vec<NodeId>,
    /// Estimated number of operations of an element.
    pub cost: u32,
    /// The arrays that elements of reductions read at their own index.
    pub arrays: Vec<NodeId>,
}

impl ScanReductions {
    /// Whether values read the items of the scan's last part at `index` only.
    pub fn are_at_own_index<'n>(
        &self,
        g: &Graph,
        values: impl Iterator<Item = &'n NodeId>,
        index: NodeId,
    ) -> bool {
        let items: HashSet<NodeId> = self.items.iter().map(|it| it.node).collect();
        let is_value = |n: NodeId| match g.op(n) {
            Op::Elem(x, at) => at[..] == [index] && items.contains(x),
            _ => false,
        };
        let is_known = |n: NodeId| g.is_closed(n) && g.op(n).needs_launch() && !items.contains(&n);
        let is_end = |n: NodeId| is_value(n) || is_known(n);
        !g.reachable_until(values.copied(), is_end).iter().any(|n| items.contains(n))
    }

    /// Returns nodes in which reads of the scan's items at `index` are replaced by the values that follow from the
    /// partial results `results` there.
    pub fn of_results(
        &self,
        g: &mut Graph,
        scan: &Scan,
        nodes: Vec<NodeId>,
        (index, results): (NodeId, &[NodeId]),
    ) -> Vec<NodeId> {
        // if elements are stored at their own places, the place comes first
        let placed = scan.of_element(g, &self.items, index, results);
        let component = |it: &Item| match *g.op(it.node) {
            Op::Materialize(x) => results[tuples::which(g, x)],
            _ => results[0],
        };
        let values: Vec<NodeId> = match placed.get(1..) {
            Some(values) => values.to_vec(),
            None => self.items.iter().map(component).collect(),
        };
        let values: HashMap<NodeId, NodeId> = self.items.iter().map(|it| it.node).zip(values).collect();
        let mut memo = HashMap::default();
        let mut replaced = |n| {
            let find = &mut |g: &mut Graph, n: NodeId| {
                let value = match g.op(n) {
                    Op::Elem(x, at) if at[..] == [index] => values.get(x).copied(),
                    _ => None,
                };
                Found::of(g, n, value)
            };
            replaced_by(g, n, find, &mut |g, op| g.add(op), &mut memo)
        };
        nodes.into_iter().map(&mut replaced).collect()
    }
}
