//! Host scalars: what the host can compute before any launch (semantics 4.2).

use super::length::Length;
use super::{Graph, NodeId, Op};
use rustc_hash::FxHashMap as HashMap;

/// What is known about the scalars of one graph, so that each is examined once, however many others are computed from
/// it. Nodes that are added to the graph later change no answer.
#[derive(Default, Debug)]
pub struct HostScalars {
    known: HashMap<NodeId, Known>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    /// Whether the host can compute the node.
    is_host: bool,
    /// Whether it changes from step to step of an iteration.
    turns: bool,
    /// Whether the node, or what it is computed from, may leave an error record.
    records: bool,
}

impl HostScalars {
    /// Returns whether the host can compute a node before any launch. The length of a computed array
    /// is one that it can if the scalars that determine it are.
    pub fn is_host(&mut self, g: &Graph, n: NodeId) -> bool {
        let Known { is_host, turns, .. } = self.learn(g, n);
        is_host && !turns
    }

    /// Returns whether the host computes a node before a launch: it must be able to, and the node must leave no error
    /// record, which only a kernel can do. What depends on the number of an iteration's step is computed before each
    /// launch of that step.
    pub fn runs_on_host(&mut self, g: &Graph, n: NodeId) -> bool {
        if !g.is_closed(n) || !g.ty(n).is_scalar() {
            return false;
        }
        let Known { is_host, records, .. } = self.learn(g, n);
        is_host && !records
    }

    fn learn(&mut self, g: &Graph, n: NodeId) -> Known {
        if let Some(known) = self.known.get(&n) {
            return *known;
        }
        let mut stack = vec![n];
        while let Some(&n) = stack.last() {
            if self.known.contains_key(&n) {
                stack.pop();
                continue;
            }
            let Some(needs) = needs(g, n) else {
                self.known.insert(n, Known { is_host: false, turns: false, records: false });
                continue;
            };
            let waiting = stack.len();
            stack.extend(needs.iter().filter(|n| !self.known.contains_key(n)));
            if stack.len() > waiting {
                continue;
            }
            let turns = matches!(g.op(n), Op::Turn);
            let mut found = Known { is_host: true, turns, records: records(g, n) };
            for need in needs {
                let of = self.known[&need];
                found.is_host &= of.is_host;
                found.records |= of.records;
                found.turns |= of.turns;
            }
            self.known.insert(n, found);
        }
        self.known[&n]
    }
}

/// Whether the host computes a scalar operation if it can compute its operands.
pub fn is_of_host(op: &Op) -> bool {
    use Op::{Binary, Cast, Checked, Const, Len, MulAdd, Param, Select, Stage, Turn, Unary};
    matches!(op, Const(_) | Param(_) | Turn | Checked | Len(..))
        || matches!(op, Unary(..) | Binary(..) | MulAdd(..) | Select(..) | Cast(..) | Stage(_))
}

/// Returns the scalars from which the host would compute a node, or nothing if it cannot.
fn needs(g: &Graph, n: NodeId) -> Option<Vec<NodeId>> {
    match g.op(n) {
        Op::Len(x, axis) => Some(length_needs(g, *x, *axis)),
        op => is_of_host(op).then(|| op.operands().collect()),
    }
}

/// Returns whether a node itself, or an array whose length it is, may leave an error record.
fn records(g: &Graph, n: NodeId) -> bool {
    match g.op(n) {
        Op::Len(x, _) if matches!(g.op(*x), Op::Param(_)) => false,
        Op::Len(x, _) => g.reachable([*x]).into_iter().any(|m| g.op(m).may_record(g)),
        op => op.may_record(g),
    }
}

/// Returns the scalars that determine an array's length.
fn length_needs(g: &Graph, mut x: NodeId, mut axis: u8) -> Vec<NodeId> {
    loop {
        match Length::of(g.op(x), axis) {
            Length::Of(array, of) => (x, axis) = (array, of),
            Length::Is(n) => return vec![n],
            Length::Span { start, stop, stride } => return vec![start, stop, stride],
            Length::Own => return vec![],
        }
    }
}
