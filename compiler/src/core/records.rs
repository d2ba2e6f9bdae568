//! Which nodes may leave an error record, and what the record says (semantics section 6). An error record is what a
//! kernel notes when an element reads out of bounds, divides an integer by zero or breaks a promise: the number of
//! the lowest such element, for each place in the program.

use super::{Form, Graph, NodeId, Op};
use crate::scalar::BinaryOp;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Returns whether computing a value may leave an error record. Nodes that are computed once for the call are not
/// examined: they leave their records whether the value is needed or not.
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

/// Returns whether removing a value may lose an error record. Records may be left by everything that the value is
/// computed from, including launches for the call and iterations, and by an element that a variable in it stands for.
pub fn loses_record(g: &Graph, n: NodeId) -> bool {
    if !g.has_records() && !g.steps_record {
        return false;
    }
    let (mut seen, mut stack) = (HashSet::default(), vec![n]);
    while let Some(m) = stack.pop() {
        if !seen.insert(m) {
            continue;
        }
        let op = g.op(m);
        match op {
            Op::Var(var, _) if g.is_of_value(*var) => return true,
            Op::Iterate { .. } if g.steps_record => return true,
            // no element of the array is needed
            Op::Len(..) => continue,
            op if op.may_record(g) => return true,
            _ => {}
        }
        stack.extend(op.operands().chain(op.lambda().map(|l| l.body)));
    }
    false
}

/// Returns whether the launch that computes these values may leave an error record for them. Elements of nested
/// operations count; values that another launch has computed do not, because that launch leaves their records.
pub fn may_record_here(g: &Graph, roots: impl IntoIterator<Item = NodeId>) -> bool {
    let is_known = |n: NodeId| g.is_closed(n) && g.op(n).needs_launch();
    g.reachable_until(roots, is_known).into_iter().any(|n| g.op(n).may_record(g))
}

/// Returns the text of a node's error record, if the record is left because a loop or an iteration reaches its limit
/// of steps.
pub fn words_of_limit(g: &Graph, n: NodeId) -> Option<&'static str> {
    let Op::Within(steps, ..) = *g.op(n) else { return None };
    match g.op(steps) {
        Op::Loop { .. } => Some("a loop takes more steps than its limit"),
        Op::At(array, _) | Op::Elem(array, _) => match g.op(*array) {
            Op::Iterate { which, form: Form::Until(_), args, .. } if *which as usize + 1 == args.len() => {
                Some("the condition of an iteration still holds at its limit of steps")
            }
            _ => None,
        },
        _ => None,
    }
}

/// If a node tests that a filter keeps as many elements as the author promised, returns the two numbers: how many it
/// keeps (`count`), and how many were promised (`n`). The test has a form that no test of an array's index has:
///
/// ```text
/// within (cast i64 (count < n)), (cast i64 (count <= n))
///     count = n: within 0, 1, which holds
///     count < n: within 1, 1, which leaves a record
///     count > n: within 0, 0, which leaves a record
/// ```
pub fn promised_number(g: &Graph, n: NodeId) -> Option<[NodeId; 2]> {
    let Op::Within(index, elements, _) = *g.op(n) else { return None };
    let compared = |n: NodeId| match *g.op(n) {
        Op::Cast(_, c) => match *g.op(c) {
            Op::Binary(op, a, b) => Some((op, [a, b])),
            _ => None,
        },
        _ => None,
    };
    let ((below, both), (most, same)) = (compared(index)?, compared(elements)?);
    (below == BinaryOp::Lt && most == BinaryOp::Le && both == same).then_some(both)
}

/// The text of the error record of a [`promised_number`]. The two numbers replace the braces.
pub const WORDS_OF_NUMBER: &str = "with_len: the number of elements that are kept is {}, not {}";

/// Returns the text of a node's error record, if the node tests something other than the index of a read.
pub fn words_of_test(g: &Graph, n: NodeId) -> Option<&'static str> {
    match g.op(n) {
        Op::Within(_, _, tested) if let Some(words) = tested.record() => Some(words),
        _ => words_of_limit(g, n).or_else(|| wrong_bounds(g, n)).or_else(|| broken_promise(g, n)),
    }
}

/// The text of the error record of a read, if the array that is read is computed.
pub const WORDS_OF_COMPUTED: &str = "a read of a computed vector is out of range";

/// The text of the error record of a read, where the text must not name the array.
pub const WORDS_OF_READ: &str = "an index is out of range";

/// Returns the text of a node's error record, without arrays and numbers.
pub fn words_of(g: &Graph, n: NodeId) -> &'static str {
    match g.op(n) {
        Op::Binary(..) => "an integer is divided by zero",
        _ if promised_number(g, n).is_some() => {
            "a filter keeps another number of elements than the author promises"
        }
        _ => words_of_test(g, n).unwrap_or(WORDS_OF_READ),
    }
}

/// A cache of the answers of [`may_record`] for the nodes of one graph, so that asking about many nodes visits each
/// node once. The answers depend on the nodes' marks, which must not change meanwhile.
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

/// Returns the text of a node's error record, if the node tests unique destinations (`destinations::are_unique`).
pub fn broken_promise(g: &Graph, n: NodeId) -> Option<&'static str> {
    let Op::Within(index, one, _) = *g.op(n) else { return None };
    let Op::Cast(_, is_second) = *g.op(index) else { return None };
    let differs = |n: NodeId| matches!(g.op(n), Op::Binary(BinaryOp::Ne, ..));
    let is_test = match *g.op(is_second) {
        Op::Binary(BinaryOp::And, a, b) => differs(a) || differs(b),
        Op::Select(_, a, _) => differs(a),
        _ => differs(is_second),
    };
    let is_one = g.as_lit(one).is_some_and(|n| n.as_i64() == 1);
    (is_test && is_one).then_some("scatter_unique: an earlier element has the same destination")
}

/// Returns the text of a node's error record, if the node tests the bounds of a segment (`segments::are_bounds`).
pub fn wrong_bounds(g: &Graph, n: NodeId) -> Option<&'static str> {
    let Op::Within(index, one, _) = *g.op(n) else { return None };
    let Op::Cast(_, is_wrong) = *g.op(index) else { return None };
    let Op::Binary(BinaryOp::Lt, a, b) = *g.op(is_wrong) else { return None };
    let is = |n: NodeId, value: i64| g.as_lit(n).is_some_and(|n| n.as_i64() == value);
    match (is(one, 1), is(b, 0), g.is_closed(a)) {
        (false, ..) => None,
        (_, true, _) => Some("the offsets of a segment are negative"),
        (_, _, true) => Some("the offsets of a segment end behind the last element"),
        _ => Some("the offsets of a segment descend"),
    }
}
