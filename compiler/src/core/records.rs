//! Which nodes may leave an error record (semantics section 6).

use super::{Graph, NodeId};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Returns whether computing a value may leave an error record, apart from nodes that are computed
/// once for the call.
pub fn may_record(g: &Graph, n: NodeId) -> bool {
    if !g.has_records() {
        return false;
    }
    let (mut seen, mut stack) = (HashSet::default(), vec![n]);
    while let Some(m) = stack.pop() {
        let op = g.op(m);
        if g.node(m).once && g.is_closed(m) || !seen.insert(m) {
            continue;
        }
        if op.may_record(g) {
            return true;
        }
        stack.extend(op.operands().chain(op.lambda().map(|l| l.body)));
    }
    false
}

/// What is known about the nodes of one graph, so that many can be asked about in one walk. The marks
/// of the nodes must not change meanwhile.
#[derive(Default)]
pub struct Records(HashMap<NodeId, bool>);

impl Records {
    /// Returns what [`may_record`] returns.
    pub fn may(&mut self, g: &Graph, n: NodeId) -> bool {
        if !g.has_records() {
            return false;
        }
        let mut stack = vec![n];
        while let Some(&n) = stack.last() {
            if self.0.contains_key(&n) {
                stack.pop();
                continue;
            }
            let op = g.op(n);
            if g.node(n).once && g.is_closed(n) || op.may_record(g) {
                self.0.insert(n, !(g.node(n).once && g.is_closed(n)));
                continue;
            }
            let below = || op.operands().chain(op.lambda().map(|l| l.body));
            let waiting = stack.len();
            stack.extend(below().filter(|o| !self.0.contains_key(o)));
            if stack.len() == waiting {
                self.0.insert(n, below().any(|o| self.0[&o]));
            }
        }
        self.0[&n]
    }
}
