//! Makes a loop inside of an element take 0 steps where its value is not used. Kernels compute both arms of a
//! `select` and keep one value, so a loop in the arm that is not taken runs as well, and nothing bounds its number of
//! steps there. The pass puts the condition of the `select` into the number of steps:
//!
//! ```text
//! %c = lt %n, 64i64                                    %c = lt %n, 64i64
//! %s = loop 0 (%i: i64, ..) by %n from 1i64 { .. }     %m = select %c, %n, 0i64
//! %r = select %c, %s, -1i64                      ->    %s = loop 0 (%i: i64, ..) by %m from 1i64 { .. }
//!                                                      %r = select %c, %s, -1i64
//! ```
//!
//! A condition is used if every path from the results to the loop goes through the same arm of its `select`, and if
//! it depends on no index on which the number of steps does not depend. So if the number of steps is the same for all
//! elements, or for all of a row, it stays so, and the loop can still be computed for several elements at once or be
//! stored. A loop whose number of steps is a constant stays as it is.

use crate::core::records::{Records, may_record};
use crate::core::rewrite::rewrite_given;
use crate::core::simplify::simplify;
use crate::core::{Function, Graph, NodeId, Op, element_loops};
use crate::error::Result;
use crate::scalar::{BinaryOp, Lit, UnaryOp};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The maximum number of conditions that are noted for a node; only the innermost ones are.
const MOST: usize = 16;

/// A condition and the value that it has where the arm is taken: true for the first arm of a `select`, false for the
/// second one.
type Condition = (NodeId, bool);

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    let g = &f.graph;
    if !f.needs(|n| has_any_steps(g, n)) {
        return Ok(f);
    }
    let conditions = conditions(&f);
    if conditions.is_empty() {
        return Ok(f);
    }
    let given = conditions.iter().map(|(n, all)| (*n, all.iter().map(|c| c.0).collect())).collect();
    Ok(rewrite_given(&f, &given, &mut |g, op, old, given| match (op, conditions.get(&old)) {
        (Op::Loop { step, which, count, init }, Some(all)) => {
            let all: Vec<Condition> = given.iter().copied().zip(all.iter().map(|c| c.1)).collect();
            let needed = conjunction(g, &all);
            let none = g.lit(Lit::i64(0));
            let count = simplify(g, Op::Select(needed, count, none));
            g.add(Op::Loop { step, which, count, init })
        }
        (op, _) => g.add(op),
    }))
}

/// Whether a node is a loop whose number of steps is no constant.
fn has_any_steps(g: &Graph, n: NodeId) -> bool {
    matches!(g.op(n), Op::Loop { count, .. } if g.as_lit(*count).is_none())
}

/// Returns the node that is true where all conditions hold. A condition that may leave an error record is only
/// computed where those before it hold: a `select` does that, and an `and` would not.
fn conjunction(g: &mut Graph, all: &[Condition]) -> NodeId {
    let of = |g: &mut Graph, (n, holds): &Condition| match holds {
        true => *n,
        false => simplify(g, Op::Unary(UnaryOp::Not, *n)),
    };
    let (last, before) = all.split_last().expect("a condition");
    let last = of(g, last);
    before.iter().rev().fold(last, |inner, outer| {
        let outer = of(g, outer);
        if !may_record(g, inner) {
            return simplify(g, Op::Binary(BinaryOp::And, outer, inner));
        }
        let no = g.lit(Lit::bool(false));
        simplify(g, Op::Select(outer, inner, no))
    })
}

/// Returns for each value of a loop the conditions under which the loop is needed, outermost first. All values of a
/// loop have the same ones, because one loop computes them. Loops without conditions are left out.
fn conditions(f: &Function) -> HashMap<NodeId, Vec<Condition>> {
    let g = &f.graph;
    let roots: Vec<NodeId> = f.results.iter().map(|r| r.value).collect();
    let order = g.reachable(roots.iter().copied());
    // the nodes from which a path leads to a loop
    let mut leads = HashSet::default();
    for n in &order {
        let op = g.op(*n);
        let mut children = op.operands().chain(op.lambda().map(|l| l.body));
        if has_any_steps(g, *n) || children.any(|o| leads.contains(&o)) {
            leads.insert(*n);
        }
    }
    let mut ways = Ways { g, leads, records: Records::default(), all: HashMap::default() };
    roots.iter().for_each(|n| ways.need(*n, &[]));
    let mut loops: HashMap<Op, (Vec<NodeId>, Vec<Condition>)> = HashMap::default();
    for n in order.into_iter().rev() {
        let Some(here) = ways.all.remove(&n) else { continue };
        let op = g.op(n);
        let mut inside = ways.without_records(&here);
        match op {
            Op::Select(c, a, b) => {
                ways.need(*c, &here);
                for (arm, holds) in [(*a, true), (*b, false)] {
                    let mut then = here[(here.len() + 1).saturating_sub(MOST)..].to_vec();
                    then.push((*c, holds));
                    ways.need(arm, &then);
                }
                continue;
            }
            Op::Loop { count, .. } if has_any_steps(g, n) => {
                let known = limits(g, *count);
                let is_new = |c: Condition| !parts(g, c).iter().all(|part| known.contains(part));
                let counts = |c: &Condition| is_new(*c) && ways.counts(c.0, *count);
                let own: Vec<Condition> = here.iter().copied().filter(counts).collect();
                // if the loop takes no steps, loops inside of it do not run: its own conditions are not tested again
                inside.retain(|c| is_new(*c) && !own.contains(c));
                let of_loop = loops.entry(element_loops::value(op, 0));
                let (values, all) = of_loop.or_insert_with(|| (Vec::new(), own.clone()));
                all.retain(|c| own.contains(c));
                values.push(n);
            }
            _ => {}
        }
        op.for_operands(|o| ways.need(o, &here));
        if let Some(l) = op.lambda() {
            ways.need(l.body, &inside);
        }
    }
    let mut out = HashMap::default();
    for (values, all) in loops.into_values().filter(|(_, all)| !all.is_empty()) {
        out.extend(values.into_iter().map(|n| (n, all.clone())));
    }
    out
}

/// Returns the conditions that a number of steps contains already: it is 0 unless all of them hold.
fn limits(g: &Graph, mut count: NodeId) -> Vec<Condition> {
    let mut all = Vec::new();
    while let Op::Select(c, n, none) = *g.op(count)
        && g.as_lit(none) == Some(Lit::i64(0))
    {
        all.extend(parts(g, (c, true)));
        count = n;
    }
    all
}

/// Returns the conditions whose conjunction is this one: a and b for `a and b`, not a for `not a`.
fn parts(g: &Graph, condition: Condition) -> Vec<Condition> {
    let (mut all, mut stack) = (Vec::new(), vec![condition]);
    while let Some((n, holds)) = stack.pop() {
        match *g.op(n) {
            Op::Unary(UnaryOp::Not, a) => stack.push((a, !holds)),
            Op::Binary(BinaryOp::And, a, b) if holds => stack.extend([(a, true), (b, true)]),
            Op::Select(c, a, no) if holds && g.as_lit(no).is_some_and(|l| !l.as_bool()) => {
                stack.extend([(c, true), (a, true)]);
            }
            _ => all.push((n, holds)),
        }
    }
    all
}

/// The paths from the results to nodes.
struct Ways<'a> {
    g: &'a Graph,
    /// The nodes from which a path leads to a loop; others are not examined.
    leads: HashSet<NodeId>,
    records: Records,
    /// For each node that was reached, the conditions that all paths to it so far have in common.
    all: HashMap<NodeId, Vec<Condition>>,
}

impl Ways<'_> {
    /// Notes a path to a node on which these conditions hold.
    fn need(&mut self, n: NodeId, conditions: &[Condition]) {
        if !self.leads.contains(&n) {
            return;
        }
        let Some(mut known) = self.all.remove(&n) else {
            self.all.insert(n, conditions.to_vec());
            return;
        };
        known.retain(|c| conditions.contains(c));
        let known = self.without_records(&known);
        self.all.insert(n, known);
    }

    /// Returns the conditions that leave no error record. A condition that may leave one is kept only for a loop in
    /// the same element to which a single path leads: there the `select` leaves the same record anyway.
    fn without_records(&mut self, conditions: &[Condition]) -> Vec<Condition> {
        conditions.iter().copied().filter(|c| !self.records.may(self.g, c.0)).collect()
    }

    /// Whether a condition is used for a loop with this number of steps. A condition that tests an index and may
    /// leave a record is not: where such a test is made, `core/total_reads.rs` already limits the steps of loops
    /// behind it.
    fn counts(&mut self, condition: NodeId, steps: NodeId) -> bool {
        let g = self.g;
        let is_test = |n: &NodeId| matches!(g.op(*n), Op::Within(..) | Op::Leave(..));
        g.node(condition).free.iter().all(|v| g.node(steps).free.contains(v))
            && g.as_lit(condition).is_none()
            && !(self.records.may(g, condition) && g.reachable([condition]).iter().any(is_test))
    }
}
