//! Elements that are stored at their destinations ([`Op::Put`]) as two launches. The first one stores the elements
//! that they replace, as any map does, in the place of the result. The second one goes over the elements and stores
//! each where it goes, by plain stores: the author promises that no two go to one place. If two do, one of them is
//! stored, for each store is of one element and in bounds.
//!
//! No output is an input: an element may be stored before another one is read.

use super::destinations::{Tests, in_short};
use super::element::{canonical, element};
use super::groups::{FusedGroup, domain};
use super::items::Item;
use super::lower::{Lower, named as bind};
use crate::core::simplify::extent;
use crate::core::{Graph, NodeId, Op};
use crate::kernel::{Expr, Stmt};

/// Elements that are stored at their destinations.
#[derive(Clone, Copy)]
pub struct Put {
    at: NodeId,
    base: NodeId,
}

impl Put {
    /// Returns where the elements of a fused group go, if they go to destinations.
    pub fn of(g: &Graph, group: &[Item]) -> Option<Put> {
        let Op::Materialize(x) = *g.op(group.first()?.node) else { return None };
        let Op::Put { at, base, .. } = *g.op(x) else { return None };
        Some(Put { at, base })
    }

    /// Returns the group that stores what the elements of a group replace.
    pub fn base(g: &Graph, fused: &FusedGroup) -> Option<FusedGroup> {
        let own = Put::of(g, &fused.items)?;
        let base = |it: &Item| match *g.op(it.node) {
            Op::Materialize(x) => match *g.op(x) {
                Op::Put { base, .. } => Some(Item { node: base, result: it.result, into: Some(it.node) }),
                _ => None,
            },
            _ => None,
        };
        let items = fused.items.iter().filter_map(base).collect();
        Some(FusedGroup { domain: domain(g, own.base), sequential: false, iteration: None, items })
    }

    /// Returns the number of elements of the result.
    pub fn count(self, g: &mut Graph) -> NodeId {
        extent(g, self.base, 0)
    }

    /// Returns the destination of an element, and its value in each array.
    pub fn element(self, g: &mut Graph, items: &[Item], index: NodeId) -> Vec<NodeId> {
        let at = element(g, self.at, index);
        let mut all = vec![in_short(g, at)];
        all.extend(items.iter().map(|it| element(g, it.node, index)));
        all
    }

    /// Adds the stores of an element's values, of which the first is its destination.
    pub fn stores(self, l: &mut Lower, items: &[Item], values: Vec<Expr>, out: &mut Vec<Stmt>) {
        let g = &mut l.launch.g;
        let index = g.sample_index(1)[0].1;
        let at = element(g, self.at, index);
        let (at, count) = (in_short(g, at), self.count(g));
        let tests = Tests::of(g, at, count);
        let count = l.launch.host(count);
        let mut values = values.into_iter();
        let to = bind(l, "to", values.next().expect("the destination"), out);
        let mut all = Vec::new();
        for (it, e) in items.iter().zip(values) {
            let (mem, ty) = (l.launch.output(it), l.launch.g.ty(it.node).elem);
            let e = bind(l, "value", e, out);
            let e = canonical(e, ty, &mut l.k.kernel, out);
            let place = l.place_at(mem, std::slice::from_ref(&to));
            all.push(Stmt::Store(mem, place, e));
        }
        tests.guarded(&to, &count, all, out);
    }
}
