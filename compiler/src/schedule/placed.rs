//! Elements in other places ([`Op::Place`]) as a launch: a fused group has arrays whose elements go to the same places,
//! and nothing else.
//!
//! Elements may depend on a scan, each on the partial result at its own index. Then the launch is the scan's last part
//! ([`super::scans`]), which stores them in place of partial results.
//!
//! An element of the index space is one of the source. Because places differ, no thread waits for another one, and
//! because they are all indices of the result, nothing is stored beforehand. An output is never an input: another thread
//! may have stored an element before it is read.

use super::element::element;
use super::items::Item;
use crate::core::{Graph, NodeId, Op};
use crate::kernel::{Expr, Stmt};
use crate::schedule::element::canonical;
use crate::schedule::lower::{Lower, named as bind};

/// Elements in other places.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// The array of the places.
    at: NodeId,
}

impl Placed {
    /// Returns where the elements of an item go, if it is such an array.
    pub fn of_item(g: &Graph, it: &Item) -> Option<Placed> {
        let Op::Materialize(x) = *g.op(it.node) else { return None };
        let Op::Place { at, .. } = *g.op(x) else { return None };
        Some(Placed { at })
    }

    /// Returns where the elements of a fused group go, if it has such arrays.
    pub fn of(g: &Graph, items: &[Item]) -> Option<Placed> {
        items.first().and_then(|it| Placed::of_item(g, it))
    }

    /// Returns a component of the scan on which places depend, if they do.
    pub fn scan(g: &Graph, at: NodeId) -> Option<NodeId> {
        let body = g.op(at).lambda()?.body;
        let is_known = |n: NodeId| g.op(n).needs_launch() && g.is_closed(n);
        g.reachable_until([body], is_known).into_iter().find(|n| matches!(g.op(*n), Op::Scan { .. }))
    }

    /// Returns the place of the element at an index of the source, and behind it its value in each array.
    pub fn of_element(self, g: &mut Graph, items: &[Item], index: NodeId) -> Vec<NodeId> {
        let mut all = vec![element(g, self.at, index)];
        all.extend(items.iter().map(|it| element(g, it.node, index)));
        all
    }
}

/// Returns the stores of an element's values, of which the first is the place.
pub fn stores(l: &mut Lower, items: &[Item], values: Vec<Expr>, out: &mut Vec<Stmt>) -> Vec<Stmt> {
    let mut values = values.into_iter();
    let to = bind(l, "to", values.next().expect("the place"), out);
    let mut all = Vec::new();
    for (it, e) in items.iter().zip(values) {
        let (mem, ty) = (l.launch.output(it), l.launch.g.ty(it.node).elem);
        let e = bind(l, "value", e, out);
        all.push(Stmt::Store(mem, to.clone(), canonical(e, ty, &mut l.k.kernel, out)));
    }
    all
}
