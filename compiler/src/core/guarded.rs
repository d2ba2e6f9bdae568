//! Total reads (`at`) whose index is clamped, or which a condition keeps in bounds, become plain
//! reads (`elem`) at clamped indices.
//!
//! ```text
//! at x (max (i - 1) 0)                            ->   elem x (max (i - 1) 0)
//! select (i > 0) (at x (i - 1)) y                 ->   select (i > 0) (elem x (max (i - 1) 0)) y
//! ```
//!
//! The clamp makes the read safe where the condition does not hold: kernels compute the read there, too, and discard
//! the value. A clamped read needs an array that is not empty. It has elements, because its length follows from the
//! extents of an index space, and code of an element only runs if that space is not empty. In the schedule's interior
//! (`schedule/boundary`) both the condition and the clamp are gone.
//!
//! The proofs are about linear forms of indices and lengths: a form is not negative if it follows from the conditions
//! around the node, and from 0 <= index < extent. A condition is used if it compares sums of indices, lengths and
//! constants that cannot overflow (`guarded/sizes.rs`). An index may also be a quotient or a remainder of such a sum
//! (`guarded/quotients.rs`), or a number of a narrow type (`guarded/types.rs`). An integer division whose divisor is
//! proven to be positive leaves no error record.

mod known;
mod once;
mod quotients;
mod rules;
mod sizes;
mod steps;
mod types;

use super::equations::Equations;
use super::linear::{self, Linear, is_i64};
use super::simplify::{settle, simplify};
use super::{Function, Graph, Lambda, NodeId, Op, Var};
use crate::budget;
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use once::{Made, closed};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The maximum number of known conditions that are combined to prove one form.
const MAX_STEPS: u32 = 4;
/// The maximum number of visits, divided by the number of nodes of the function. A node is visited once for each set
/// of conditions around it that may matter to it.
const MAX_VISITS: usize = 8;

/// Proves reads in all results of a function, with the help of its shape rules.
pub fn prove_guarded(f: &mut Function, rules: &Equations) {
    let order = f.graph.reachable(f.results.iter().map(|r| r.value));
    let mut leads = HashSet::default();
    for n in &order {
        let op = f.graph.op(*n);
        let below = |o: &NodeId| leads.contains(o);
        if is_wanted(&f.graph, op)
            || op.operands().any(|o| below(&o))
            || op.lambda().is_some_and(|l| below(&l.body))
        {
            leads.insert(*n);
        }
    }
    if leads.is_empty() {
        return;
    }
    let visits = MAX_VISITS * order.len();
    let mut guards = Guards { leads, visits, ..Guards::of(rules, vec![]) };
    guards.learn_results(f);
    guards.learn_rules(f);
    for r in &mut f.results {
        r.value = guards.node(&mut f.graph, r.value);
    }
}

/// Whether all plain reads of an element are proven to be in bounds for the indices of `loops`, which are its
/// variables with the extents of their loops, and of the loops inside of it. If not, some read is perhaps in bounds
/// only because loops further out are not empty, and must not be moved out of these.
pub fn reads_in_bounds(g: &mut Graph, element: NodeId, loops: &[(Var, NodeId)], rules: &Equations) -> bool {
    let inside = g.reachable_until([element], |n| g.is_closed(n));
    let mut extents: HashMap<Var, (NodeId, usize)> = loops.iter().map(|(v, n)| (*v, (*n, 0))).collect();
    for n in &inside {
        if let Op::Generate(sizes, lambda) = g.op(*n) {
            let space = extents.len() + 1;
            extents.extend(lambda.params.iter().zip(sizes).map(|((v, _), n)| (*v, (*n, space))));
        }
    }
    let indices = inside.iter().filter_map(|n| match g.op(*n) {
        Op::Var(v, _) => extents.get(v).map(|(extent, space)| (*n, *extent, *space)),
        _ => None,
    });
    let indices = indices.collect();
    let mut guards = Guards::of(rules, indices);
    guards.learn_extents(g, 0);
    inside.into_iter().all(|n| match g.op(n).clone() {
        Op::Elem(x, index) => guards.clamped(g, x, &index).is_some_and(|made| made == index),
        _ => true,
    })
}

/// Whether it must be proven for an operation that it reads in bounds or does not divide by 0.
pub fn is_wanted(g: &Graph, op: &Op) -> bool {
    matches!(op, Op::At(..)) || may_divide_by_zero(g, op)
}

/// Whether an operation divides indices and leaves an error record if the divisor is 0.
fn may_divide_by_zero(g: &Graph, op: &Op) -> bool {
    matches!(op, Op::Binary(BinaryOp::Div | BinaryOp::Rem, a, _) if is_i64(g, *a)) && op.may_record(g)
}

struct Guards<'a> {
    /// The equations between lengths that follow from the shape rules.
    rules: &'a Equations,
    /// The enclosing indices, each with its extent and the number of its index space.
    indices: Vec<(NodeId, NodeId, usize)>,
    /// The indices whose extents are at most a small sum of lengths. An index with another extent may be any number
    /// from 0 on, so that sums of it may overflow: nothing of that size need be stored.
    small: HashSet<NodeId>,
    /// The lengths of vectors that the function returns.
    stored: HashSet<NodeId>,
    /// The scalars that are not negative, as the rules say, and may be any number else.
    naturals: HashSet<NodeId>,
    /// The forms that are not negative anywhere, as the rules say.
    facts: Vec<Linear>,
    /// The forms that are not negative where the current node is needed.
    conditions: Vec<Linear>,
    /// The nodes from which a path leads to a total read, or to a division that may leave a record.
    leads: HashSet<NodeId>,
    /// The number of nodes that may still be visited.
    visits: usize,
    /// A cache of the nodes that were made, by the old node and the facts that were known around it.
    made: Made,
}

impl<'a> Guards<'a> {
    fn of(rules: &'a Equations, indices: Vec<(NodeId, NodeId, usize)>) -> Guards<'a> {
        let [small, stored, naturals, leads] = [(); 4].map(|()| HashSet::default());
        let (facts, conditions, made) = (vec![], vec![], Made::default());
        Guards { rules, indices, small, stored, naturals, facts, conditions, leads, visits: 0, made }
    }

    /// Returns the node with the reads in it proven as far as the facts around it allow.
    fn node(&mut self, g: &mut Graph, n: NodeId) -> NodeId {
        if !self.leads.contains(&n) || self.visits == 0 || budget::is_exceeded(&g.node(n).loc) {
            return n;
        }
        if g.is_closed(n) && !(self.indices.is_empty() && self.conditions.is_empty()) {
            // the node depends on no index, so the indices and conditions around it say nothing about it
            return self.within(vec![], vec![], |own| own.node(g, n));
        }
        if let Some(kept) = self.fewer_conditions(g, n) {
            return self.within(self.indices.clone(), kept, |own| own.node(g, n));
        }
        let key = (n, self.known());
        if let Some(known) = self.made.nodes.get(&key) {
            return *known;
        }
        if let Some(made) = self.without_conditions(g, n) {
            return made;
        }
        self.visits -= 1;
        let before = g.set_loc(g.node(n).loc.clone());
        let made = match g.op(n).clone() {
            Op::Generate(..) => self.inside(g, n),
            Op::Select(c, a, b) => {
                let made = self.node(g, c);
                let (a, b) = (self.arm(g, c, true, a), self.arm(g, c, false, b));
                settle(g, Op::Select(made, a, b))
            }
            op @ Op::Loop { .. } => {
                let operands: Vec<_> = op.operands().map(|o| self.node(g, o)).collect();
                let lambda = op.lambda().map(|step| self.steps(g, step, operands[0]));
                settle(g, op.with(&operands, lambda))
            }
            op => {
                let operands: Vec<_> = op.operands().map(|o| self.node(g, o)).collect();
                let lambda = op.lambda().map(|lambda| self.function(g, lambda));
                match op.with(&operands, lambda) {
                    Op::At(x, index) => match self.clamped(g, x, &index) {
                        Some(index) => g.add(Op::Elem(x, index)),
                        None => g.add(Op::At(x, index)),
                    },
                    Op::Binary(op @ (BinaryOp::Div | BinaryOp::Rem), a, b) => {
                        let b = self.divisor(g, op, a, b);
                        settle(g, Op::Binary(op, a, b))
                    }
                    op => settle(g, op),
                }
            }
        };
        g.set_loc(before);
        let (bound, once) = (g.node(n).bound, g.node(n).once);
        g.keep_marks(bound, once, made);
        self.made.nodes.insert(key, made);
        made
    }

    /// Proves reads in a `generate` inside the current scope.
    fn inside(&mut self, g: &mut Graph, generate: NodeId) -> NodeId {
        let Op::Generate(extents, lambda) = g.op(generate).clone() else { return generate };
        let (vars, body) = self.opened(g, &lambda, &extents);
        let outer = self.indices.len();
        self.indices.extend(vars.iter().zip(&extents).map(|(v, n)| (v.1, *n, outer)));
        self.learn_extents(g, outer);
        self.made.here = None;
        let body = self.node(g, body);
        self.forget(outer, self.conditions.len());
        let lambda = closed(g, &lambda, &vars, body);
        g.add(Op::Generate(extents, lambda))
    }

    /// Proves reads in a function of elements (an operator, for example). Nothing is known of its parameters.
    fn function(&mut self, g: &mut Graph, lambda: &Lambda) -> Lambda {
        if !self.leads.contains(&lambda.body) {
            return lambda.clone();
        }
        let (vars, body) = self.opened(g, lambda, &[]);
        vars.iter().for_each(|v| g.note_value(v.0));
        let body = self.node(g, body);
        closed(g, lambda, &vars, body)
    }

    /// Adds to `leads` the nodes of an opened body from which a path leads to something to be proven.
    fn lead(&mut self, g: &Graph, body: NodeId) {
        // nodes that depend on no index have been examined already, and so have nodes below a noted one
        for n in g.reachable_until([body], |n| g.is_closed(n) || self.leads.contains(&n)) {
            let op = g.op(n);
            let below = |o: NodeId| self.leads.contains(&o);
            if is_wanted(g, op) || op.operands().any(below) || op.lambda().is_some_and(|l| below(l.body)) {
                self.leads.insert(n);
            }
        }
    }

    /// Returns the arm of a `select` that is needed if the condition has the value `holds`.
    fn arm(&mut self, g: &mut Graph, condition: NodeId, holds: bool, arm: NodeId) -> NodeId {
        let before = self.conditions.len();
        if self.leads.contains(&arm) {
            self.learn(g, condition, holds);
        }
        let made = self.node(g, arm);
        self.forget(self.indices.len(), before);
        made
    }

    /// Adds to `conditions` the forms that are not negative if `condition` has the value `holds`.
    fn learn(&mut self, g: &Graph, condition: NodeId, holds: bool) {
        use BinaryOp::{And, Eq, Ge, Gt, Le, Lt, Ne, Or};
        let (op, a, b) = match *g.op(condition) {
            Op::Unary(UnaryOp::Not, a) => return self.learn(g, a, !holds),
            Op::Select(c, a, b) if holds && g.as_lit(b).is_some_and(|l| !l.as_bool()) => {
                self.learn(g, c, true);
                return self.learn(g, a, true);
            }
            Op::Binary(op, a, b) => (op, a, b),
            _ => return,
        };
        if matches!((op, holds), (And, true) | (Or, false)) && g.ty(a).elem == Ty::Bool {
            self.learn(g, a, holds);
            return self.learn(g, b, holds);
        }
        if !is_i64(g, a) {
            return;
        }
        self.made.here = None;
        let Some([a, b]) = self.exact(g, [a, b]) else { return };
        let less = |a: &Linear, b: &Linear, by: i64| {
            let form = b.minus(a);
            Linear { constant: form.constant.wrapping_sub(by), ..form }
        };
        match (op, holds) {
            (Lt, true) | (Ge, false) => self.conditions.push(less(&a, &b, 1)),
            (Le, true) | (Gt, false) => self.conditions.push(less(&a, &b, 0)),
            (Gt, true) | (Le, false) => self.conditions.push(less(&b, &a, 1)),
            (Ge, true) | (Lt, false) => self.conditions.push(less(&b, &a, 0)),
            (Eq, true) | (Ne, false) => self.conditions.extend([less(&a, &b, 0), less(&b, &a, 0)]),
            _ => {}
        }
    }

    /// Returns indices that are always in bounds, and that equal the given ones where the read is needed: those that
    /// are not always in bounds are clamped. Returns `None` if the conditions do not prove that the read is in bounds
    /// where it is needed.
    fn clamped(&self, g: &mut Graph, x: NodeId, index: &[NodeId]) -> Option<Vec<NodeId>> {
        let mut made = Vec::new();
        for (at, axis) in index.iter().zip(0..) {
            let len = simplify(g, Op::Len(x, axis));
            let [low, length] = self.exact(g, [*at, len])?;
            let one = Linear { constant: 1, ..Linear::default() };
            let last = length.minus(&one);
            let high = last.minus(&low);
            let mut at = *at;
            let [below, above] = [&low, &high].map(|form| self.holds(g, form, index, false));
            if !below || !above {
                let proven = self.holds(g, &low, index, true) && self.holds(g, &high, index, true);
                if !proven || !self.holds(g, &last, index, false) {
                    return None;
                }
                let zero = g.lit(Lit::i64(0));
                let one = g.lit(Lit::i64(1));
                if !below {
                    at = simplify(g, Op::Binary(BinaryOp::Max, at, zero));
                }
                if !above {
                    let last = linear::sub(g, len, one);
                    at = simplify(g, Op::Binary(BinaryOp::Min, at, last));
                }
            }
            made.push(at);
        }
        Some(made)
    }

    /// Whether a form is never negative where an element at `index` is read or, if `here`, never where the current
    /// node is needed.
    fn holds(&self, g: &Graph, form: &Linear, index: &[NodeId], here: bool) -> bool {
        let conditions = if here { &self.conditions[..] } else { &[] };
        let known: Vec<&Linear> = self.facts.iter().chain(conditions).collect();
        self.follows(g, form, index, &known, MAX_STEPS)
    }

    /// Whether a form is not negative by a proof of at most `steps` steps. A step replaces a clamp by one of its
    /// operands, an index or a number of a narrow type by its least or greatest value, or a quotient by its bounds; or
    /// it subtracts a condition.
    fn follows(
        &self,
        g: &Graph,
        form: &Linear,
        index: &[NodeId],
        conditions: &[&Linear],
        steps: u32,
    ) -> bool {
        if form.at_least(g, 0) {
            return true;
        }
        let Some(left) = steps.checked_sub(1) else { return false };
        let without = |term: NodeId, value: &Linear| self.rules.resolve(&form.replaced(term, value));
        if let Some((&term, k)) = form.terms.iter().find(|(t, _)| is_clamp(g, **t))
            && let Op::Binary(op, a, b) = *g.op(term)
        {
            // k > 0: max(a, b) is at least a and at least b, so one of the two replacements suffices; for min(a, b)
            // both must hold. k < 0: the other way round. An operand that is a sum must not overflow
            let side = |o: NodeId| {
                let value = Linear::of(g, o);
                (is_clamp(g, o) || self.is_exact(g, &value, MAX_STEPS))
                    && self.follows(g, &without(term, &value), index, conditions, left)
            };
            return if (op == BinaryOp::Max) == (*k > 0) { side(a) || side(b) } else { side(a) && side(b) };
        }
        let by_type = |t: NodeId, k: i64| {
            types::range(g, t).is_some_and(|range| {
                let bound =
                    Linear { constant: if k > 0 { range.least } else { range.most }, ..Linear::default() };
                self.follows(g, &without(t, &bound), index, conditions, left)
            })
        };
        let mut terms = form.terms.iter();
        if terms
            .any(|(t, k)| self.follows_by_quotient(g, (form, *t), index, conditions, left) || by_type(*t, *k))
        {
            return true;
        }
        if conditions.iter().any(|known| self.follows(g, &form.minus(known), index, &[], left)) {
            return true;
        }
        let one = Linear { constant: 1, ..Linear::default() };
        let last = |n: NodeId| self.rules.resolve(&Linear::of(g, n)).minus(&one);
        self.indices.iter().any(|(i, n, space)| match form.terms.get(i) {
            Some(k) if *k > 0 => self.follows(g, &without(*i, &Linear::default()), index, conditions, left),
            Some(_) => self.follows(g, &without(*i, &last(*n)), index, conditions, left),
            None => self.is_inside(g, index, *space) && form.minus(&last(*n)).at_least(g, 0),
        })
    }

    /// Whether a read at `index` depends on an index of this index space. Then it is computed inside the loop over
    /// the space, so the space is not empty.
    fn is_inside(&self, g: &Graph, index: &[NodeId], space: usize) -> bool {
        let own = self.indices.iter().filter(|known| known.2 == space);
        own.into_iter().any(|(i, ..)| match g.op(*i) {
            Op::Var(var, _) => index.iter().any(|at| g.node(*at).free.contains(var)),
            _ => false,
        })
    }
}

/// Whether a node is the minimum or maximum of two indices.
fn is_clamp(g: &Graph, n: NodeId) -> bool {
    matches!(*g.op(n), Op::Binary(BinaryOp::Max | BinaryOp::Min, a, _) if is_i64(g, a))
}
