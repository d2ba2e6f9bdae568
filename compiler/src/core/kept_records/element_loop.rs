//! The records of an element's loop (`Op::Loop`): further states of the loop, which collect the records of its steps.
//!
//! ```text
//! loop 0 (%k, %x) by %n from %a { %q = div %b, %x  %t = tuple true, %q  yield %t }
//!   ->  loop 0 (%k, %x, %left) by %n from %a, 0u32 {
//!           %none = eq %x, 0  ..  %t = tuple true, %q, (max %left, (select %none, 1, 0))  yield %t }
//! ```
//!
//! The condition of a loop is evaluated one time more than its step, and a state cannot take the record of that last
//! evaluation. So if conditions have records, the loop makes that evaluation a step of its own, which changes the
//! label only; a state says whether it was the last one.

use super::kept::Kept;
use super::quiet::Quiet;
use crate::core::records::may_record;
use crate::core::simplify::simplify;
use crate::core::{Graph, NodeId, Op, Var, element_loops, tuples};
use crate::scalar::{BinaryOp, Lit, Ty};

impl Quiet {
    /// Returns a value of a loop, or of a reduction, whose record is known: one loop computes both.
    pub(super) fn of_joint_loop(&mut self, g: &mut Graph, op: &Op) -> Option<NodeId> {
        let (Op::Loop { which, .. } | Op::Reduce { which, .. } | Op::Fold { which, .. }) = op else {
            return None;
        };
        if self.loops.is_empty() {
            return None;
        }
        let first = match op {
            Op::Loop { .. } => element_loops::value(op, 0),
            op => tuples::component(op, 0),
        };
        let first = g.find(&first)?;
        Some(self.loops.get(&first)?.0[*which as usize])
    }

    /// Returns the record of a loop: of its operands and of its steps.
    pub(super) fn of_element_loop(&mut self, g: &mut Graph, n: NodeId) -> Option<Kept> {
        let op = g.op(n).clone();
        let Op::Loop { step, .. } = &op else { return None };
        let all = self.first_of(g, op.operands())?;
        if !may_record(g, step.body) {
            return Some(all);
        }
        let first = element_loops::first(g, n);
        if !self.loops.contains_key(&first) {
            let made = self.with_records(g, &op)?;
            self.loops.insert(first, made);
        }
        let of_steps = self.loops[&first].1.clone();
        Some(Kept::first(g, &all, &of_steps))
    }

    /// Returns the values of a loop, without records, and the first record of its steps.
    fn with_records(&mut self, g: &mut Graph, op: &Op) -> Option<(Vec<NodeId>, Kept)> {
        let Op::Loop { step, count, init, .. } = op else { return None };
        let vars: Vec<((Var, NodeId), Ty)> = step.params.iter().map(|p| (g.fresh_var(p.1), p.1)).collect();
        let nodes: Vec<NodeId> = vars.iter().map(|v| v.0.1).collect();
        let body = g.open(step, &nodes);
        let (condition, next) = element_loops::parts(g, body);
        let of_condition = self.kept(g, condition)?;
        let of_next = self.first_of(g, next.iter().copied())?;
        let goes_on = self.value(g, condition);
        let mut next: Vec<NodeId> = next.iter().map(|n| self.value(g, *n)).collect();
        let mut init: Vec<NodeId> = init.iter().map(|n| self.value(g, *n)).collect();
        let states = init.len();
        let count = self.value(g, *count);
        let mut params: Vec<(Var, Ty)> = vars.iter().map(|v| (v.0.0, v.1)).collect();
        let mut state = |g: &mut Graph, start: Lit| {
            let (var, node) = g.fresh_var(start.ty);
            params.push((var, start.ty));
            init.push(g.lit(start));
            node
        };
        let (mut own, mut test) = (of_next, goes_on);
        if !of_condition.is_none() {
            own = Kept::select(g, goes_on, &own, &Kept::default());
            own = Kept::first(g, &of_condition, &own);
            let taken = state(g, Lit::i64(0));
            test = state(g, Lit::bool(true));
            let one = g.lit(Lit::i64(1));
            let more = simplify(g, Op::Binary(BinaryOp::Add, taken, one));
            let before: Vec<NodeId> = nodes[1..].iter().copied().chain([taken]).collect();
            let changed: Vec<NodeId> = next.into_iter().chain([more]).collect();
            next = changed
                .into_iter()
                .zip(before)
                .map(|(n, o)| simplify(g, Op::Select(goes_on, n, o)))
                .collect();
            next.push(goes_on);
        }
        let steps_at = if of_condition.is_none() { None } else { Some(states) };
        let own = own.label().map(|(label, labels)| {
            let before = state(g, Lit::zero(Ty::U32));
            next.push(simplify(g, Op::Binary(Kept::join(labels), before, *label)));
            (next.len() - 1, labels.clone())
        });
        let parts = g.add(Op::Tuple([test].into_iter().chain(next).collect()));
        let step = g.close(&params, parts);
        let all = init.len();
        let mut value = |which: usize| {
            g.add(Op::Loop { step: step.clone(), which: which as u32, count, init: init.clone() })
        };
        let mut values: Vec<NodeId> = (0..states).map(&mut value).collect();
        values.push(value(steps_at.unwrap_or(all)));
        let kept = own.map(|(at, labels)| Kept::of(value(at), labels)).unwrap_or_default();
        Some((values, kept))
    }
}
