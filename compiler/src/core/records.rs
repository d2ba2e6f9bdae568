//! Which nodes may leave an error record (semantics section 6).

use super::{Graph, NodeId};
use rustc_hash::FxHashSet as HashSet;

/// Returns whether computing a value may leave an error record, apart from nodes that are computed
/// once for the call.
pub fn may_record(g: &Graph, n: NodeId) -> bool {
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
