//! What to compute as soon as which line of an array is there, so that few registers hold what
//! later lines need.
//!
//! A value is computed when the last of its reads has come, if it replaces two reads or more, or if
//! several values need it; others wait for the value that needs them. So of a sum over rows one
//! register an element stays, and of rows that are needed as they are, they themselves. The order
//! of the operations is that of the program: only the point in time is chosen.

use crate::core::{NodeId, Op};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::schedule::lower::{LaunchContext, Lower, named as bind};
use indexmap::IndexSet;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// An element that is loaded: array, indices in normal form.
type Key = (NodeId, Vec<NodeId>);

/// What is known of a node.
#[derive(Clone, Copy, Default)]
struct Facts {
    /// When the last of its reads comes; None: it has none.
    stage: Option<i64>,
    /// How many reads it has, up to two.
    reads: u32,
    /// How many nodes need it.
    users: u32,
}

/// The nodes of all elements of a thread.
pub struct Stages {
    roots: IndexSet<NodeId>,
    facts: HashMap<NodeId, Facts>,
    done: HashSet<NodeId>,
}

impl Stages {
    /// `ready`: in which stage an element is loaded.
    pub fn of(l: &mut LaunchContext, roots: &[NodeId], ready: &HashMap<Key, i64>) -> Stages {
        let mut facts: HashMap<NodeId, Facts> = HashMap::default();
        for n in l.g.reachable(roots.iter().copied()) {
            let op = l.g.op(n).clone();
            let mut mine = Facts::default();
            if let Op::Elem(x, index) | Op::At(x, index) = &op {
                let key = (*x, l.normal(index));
                if let Some(stage) = ready.get(&key) {
                    facts.insert(n, Facts { stage: Some(*stage), reads: 1, users: 0 });
                    continue;
                }
            }
            for o in op.operands().chain(op.lambda().map(|l| l.body)) {
                let of = facts.entry(o).or_default();
                of.users += 1;
                mine.stage = mine.stage.max(of.stage);
                mine.reads = (mine.reads + of.reads).min(2);
            }
            facts.insert(n, mine);
        }
        Stages { roots: roots.iter().copied().collect(), facts, done: HashSet::default() }
    }

    /// When a node can be computed.
    pub fn stage(&self, n: NodeId) -> i64 {
        self.facts.get(&n).and_then(|f| f.stage).unwrap_or(i64::MIN)
    }

    /// Computes what the reads up to this stage make possible, into `vars`.
    pub fn advance(
        &mut self,
        l: &mut Lower,
        stage: i64,
        vars: &mut Vec<(NodeId, Expr)>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        // what later stages need of this one stands right below what they compute
        let (mut stack, mut seen, mut now) =
            (self.roots.iter().copied().collect::<Vec<_>>(), HashSet::default(), Vec::new());
        while let Some(n) = stack.pop() {
            let facts = self.facts.get(&n).copied().unwrap_or_default();
            let read = matches!(l.launch.g.op(n), Op::Elem(..) | Op::At(..));
            if self.done.contains(&n) || read || facts.stage.is_none() || !seen.insert(n) {
                continue;
            }
            if facts.stage > Some(stage) {
                stack.extend(l.launch.g.op(n).operands());
            } else if (facts.reads > 1 || facts.users > 1) && !self.roots.contains(&n) {
                now.push(n);
            }
        }
        now.reverse();
        let values = l.region(vars, &now, &Expr::int(0), out)?;
        for (n, e) in now.into_iter().zip(values) {
            let e = bind(l, "part", e, out);
            self.done.insert(n);
            vars.push((n, e));
        }
        Ok(())
    }
}
