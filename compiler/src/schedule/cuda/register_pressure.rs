//! The order of computing in register tiling, which keeps register pressure low: which values to compute as soon as
//! which line of an array is loaded.
//!
//! A value is computed as soon as the last of its reads is loaded, if it replaces two or more reads, or if several
//! values need it. Any other value is computed with the value that needs it. So a sum over rows keeps one register
//! for each element, while rows that are needed as they are stay in registers themselves. The operations keep the
//! program's order: only the time at which they are computed is chosen.

use crate::core::{NodeId, Op};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use indexmap::IndexSet;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::collections::BTreeMap;

/// An element that is loaded: its array, and its indices in normal form.
type Key = (NodeId, Vec<NodeId>);

/// The reads and uses of a node.
#[derive(Clone, Copy, Default)]
struct NodeUses {
    /// The line with the last of its reads; `None` if it has none.
    line: Option<i64>,
    /// The number of its reads, up to two.
    reads: u32,
    /// The number of nodes that use it.
    users: u32,
}

/// The nodes of all elements of a thread, with the lines that they wait for.
pub struct LineSchedule {
    roots: IndexSet<NodeId>,
    uses: HashMap<NodeId, NodeUses>,
    done: HashSet<NodeId>,
}

impl LineSchedule {
    /// Finds the lines that the nodes of `roots` wait for. `ready` says with which line an element is loaded.
    pub fn of(l: &mut LaunchContext, roots: &[NodeId], ready: &HashMap<Key, i64>) -> LineSchedule {
        let mut uses: HashMap<NodeId, NodeUses> = HashMap::default();
        for n in l.g.reachable(roots.iter().copied()) {
            let op = l.g.op(n).clone();
            let mut mine = NodeUses::default();
            if let Op::Elem(x, index) | Op::At(x, index) = &op {
                let key = (*x, l.normal(index));
                if let Some(line) = ready.get(&key) {
                    uses.insert(n, NodeUses { line: Some(*line), reads: 1, users: 0 });
                    continue;
                }
            }
            for o in op.operands().chain(op.lambda().map(|l| l.body)) {
                let of = uses.entry(o).or_default();
                of.users += 1;
                mine.line = mine.line.max(of.line);
                mine.reads = (mine.reads + of.reads).min(2);
            }
            uses.insert(n, mine);
        }
        LineSchedule { roots: roots.iter().copied().collect(), uses, done: HashSet::default() }
    }

    /// Returns the line with which a node can be computed.
    pub fn line(&self, n: NodeId) -> i64 {
        self.uses.get(&n).and_then(|f| f.line).unwrap_or(i64::MIN)
    }

    /// Returns the maximum number of words of registers of values that wait for later lines, over all lines.
    pub fn most_words(&self, l: &LaunchContext) -> i64 {
        // users come before what they use
        let nodes: Vec<NodeId> = l.g.reachable(self.roots.iter().copied()).into_iter().rev().collect();
        let mut last_use: HashMap<NodeId, i64> = HashMap::default();
        let mut changes: BTreeMap<i64, i64> = BTreeMap::new();
        for n in nodes {
            let uses = self.uses.get(&n).copied().unwrap_or_default();
            let Some(line) = uses.line else { continue };
            let read = matches!(l.g.op(n), Op::Elem(..) | Op::At(..));
            let last = last_use.get(&n).copied().unwrap_or(line).max(line);
            let is_kept = read || uses.reads > 1 || uses.users > 1 || self.roots.contains(&n);
            // what is needed with its own line only does not wait: the values of a line are computed one after
            // another
            if read || is_kept && last > line {
                let words = (l.g.ty(n).elem.size() as i64 + 3) / 4;
                *changes.entry(line).or_default() += words;
                // a value is released when the value that it is needed for is computed, which takes its register
                *changes.entry(last + i64::from(read)).or_default() -= words;
            }
            let at = if is_kept && !read { line } else { last };
            for o in l.g.op(n).operands() {
                let of = last_use.entry(o).or_insert(at);
                *of = (*of).max(at);
            }
        }
        let mut now = 0;
        changes
            .values()
            .map(|by| {
                now += by;
                now
            })
            .max()
            .unwrap_or(0)
    }

    /// Computes into `vars` what the lines up to this one make possible.
    pub fn advance(
        &mut self,
        l: &mut Lower,
        line: i64,
        vars: &mut Vec<(NodeId, Expr)>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let now = self.take_due(l.launch, line);
        let values = l.region(vars, &now, &Expr::int(0), out)?;
        for (n, e) in now.into_iter().zip(values) {
            let e = bind(l, "part", e, out);
            vars.push((n, e));
        }
        Ok(())
    }

    /// Returns the nodes that the lines up to this one make possible and that were not returned before, each after
    /// those that it needs.
    pub fn take_due(&mut self, l: &LaunchContext, line: i64) -> Vec<NodeId> {
        // a node of this line that later lines need is a direct operand of nodes of later lines
        let (mut stack, mut seen, mut now) =
            (self.roots.iter().copied().collect::<Vec<_>>(), HashSet::default(), Vec::new());
        while let Some(n) = stack.pop() {
            let uses = self.uses.get(&n).copied().unwrap_or_default();
            let read = matches!(l.g.op(n), Op::Elem(..) | Op::At(..));
            if self.done.contains(&n) || read || uses.line.is_none() || !seen.insert(n) {
                continue;
            }
            if uses.line > Some(line) {
                stack.extend(l.g.op(n).operands());
            } else if (uses.reads > 1 || uses.users > 1) && !self.roots.contains(&n) {
                now.push(n);
            }
        }
        now.reverse();
        self.done.extend(now.iter().copied());
        now
    }
}
