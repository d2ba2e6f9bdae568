//! Simplifies an element of a row under assumptions, which become the bounds of a range (`ranges.rs`): decides
//! conditions on indices, makes total reads plain ones, and collects what must hold for that.
//!
//! ```text
//! select(j >= w, at(b, j - w), 0)    under j >= w and j - w < len(b)    ->    b[j - w]    w <= j < len(b) + w
//! ```

use crate::core::arithmetic::with_zero;
use crate::core::linear::{self, Linear, is_i64};
use crate::core::simplify::simplify;
use crate::core::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use crate::schedule::boundary::decisions::{Answer, DECISIONS, Form};
use crate::schedule::boundary::interior::{BoundaryWidth, Facts, divisor, question};
use crate::schedule::element::error_records;
use crate::schedule::element::lower::LaunchContext;
use indexmap::IndexSet;
use rustc_hash::FxHashMap as HashMap;

/// The kernel tests that the terms of forms have magnitudes below this value, so that sums of 16 do not overflow.
const SMALL: i64 = 1 << 40;

/// Where in a row a range lies.
pub enum RangeLocation {
    /// From the maximum of the lower bounds to the minimum of the upper ones, and within all boundary widths.
    Within { widths: Vec<BoundaryWidth>, lower: Vec<NodeId>, upper: Vec<NodeId> },
    /// The first element.
    First,
    /// The last element.
    Last,
}

/// A row of an index space.
pub struct Row<'a> {
    /// The indices of an element, the row's own last.
    pub index: &'a [NodeId],
    pub extents: &'a [NodeId],
    pub widths: Vec<BoundaryWidth>,
}

impl Row<'_> {
    /// Returns the index along the row.
    pub fn own(&self) -> NodeId {
        self.index[self.index.len() - 1]
    }
}

/// What is assumed in a range.
#[derive(Clone, Default)]
pub struct Assumed {
    /// Forms that are not negative.
    pub forms: Vec<Linear>,
    /// Terms of forms that must be small, so that the forms are exact.
    pub terms: IndexSet<NodeId>,
}

/// A walk through the nodes of an element. It replaces what the assumptions decide, and may add assumptions.
pub struct Walk<'w, 'l, 's, 'a> {
    row: &'w Row<'w>,
    pub l: &'l mut LaunchContext<'s, 'a>,
    facts: Facts<'w>,
    pub assumed: Assumed,
    /// Whether the walk may add assumptions: that total reads are in bounds, and that clamps change nothing.
    reads: bool,
    /// See [`super::ranges::Range::given`].
    pub given: Vec<NodeId>,
    /// Conditions that are the same for the whole row. If one of them does not hold, the range is empty.
    tests: Vec<NodeId>,
    /// The replacement of each node, as an index and as another value.
    memo: HashMap<(NodeId, bool), NodeId>,
}

impl<'w, 'l, 's, 'a> Walk<'w, 'l, 's, 'a> {
    pub fn new(row: &'w Row<'w>, l: &'l mut LaunchContext<'s, 'a>, assumed: Assumed, reads: bool) -> Self {
        let facts = Facts::new(&l.g, row.index, row.extents, row.widths.clone());
        Walk { row, l, facts, assumed, reads, given: vec![], tests: vec![], memo: HashMap::default() }
    }

    /// Whether a node differs between the elements of a row.
    fn varies(&self, n: NodeId) -> bool {
        let Op::Var(own, _) = *self.l.g.op(self.row.own()) else { return true };
        self.l.g.node(n).free.contains(&own)
    }

    /// Returns the node that replaces a node. `is_index` says that the node is the index of a read, or a part of it.
    pub fn node(&mut self, n: NodeId, is_index: bool) -> NodeId {
        if !self.varies(n) {
            if self.memo.insert((n, false), n).is_none() {
                self.uniform(n);
            }
            return n;
        }
        if let Some(known) = self.memo.get(&(n, is_index)) {
            return *known;
        }
        let before = self.l.g.set_loc(self.l.g.node(n).loc.clone());
        let mut made = self.varying(n, is_index);
        // a read that no longer depends on an index would be moved out of the loop, and would run even if the range
        // has no element
        if matches!(self.l.g.op(n), Op::Elem(..) | Op::At(..)) && self.l.g.is_closed(made) {
            made = n;
        }
        self.l.g.set_loc(before);
        if made != n && self.l.g.node(n).bound {
            self.l.g.mark_bound(made);
        }
        self.memo.insert((n, is_index), made);
        made
    }

    fn varying(&mut self, n: NodeId, is_index: bool) -> NodeId {
        let op = self.l.g.op(n).clone();
        if op.lambda().is_some() {
            return n;
        }
        match op {
            Op::Var(..) => n,
            Op::Select(c, a, b) => {
                let c = self.node(c, false);
                match self.l.g.as_lit(c).map(Lit::as_bool) {
                    Some(true) => self.node(a, is_index),
                    Some(false) => self.node(b, is_index),
                    None => {
                        let (a, b) = (self.node(a, is_index), self.node(b, is_index));
                        simplify(&mut self.l.g, Op::Select(c, a, b))
                    }
                }
            }
            Op::At(x, at) => {
                let at: Vec<NodeId> = at.iter().map(|i| self.node(*i, true)).collect();
                let is_inside = self.reads && self.inside(x, &at);
                self.l.g.add(if is_inside { Op::Elem(x, at) } else { Op::At(x, at) })
            }
            Op::Elem(x, at) => {
                let at = at.iter().map(|i| self.node(*i, true)).collect();
                self.l.g.add(Op::Elem(x, at))
            }
            Op::Within(i, n, what) => {
                let (i, n) = (self.node(i, true), self.node(n, false));
                match self.reads && self.within(&[(i, n)]) {
                    true => self.l.g.lit(Lit::bool(true)),
                    false => simplify(&mut self.l.g, Op::Within(i, n, what)),
                }
            }
            op => {
                let is_index = is_index && is_i64(&self.l.g, n);
                let operands: Vec<NodeId> = op.operands().map(|o| self.node(o, is_index)).collect();
                let op = op.with(&operands, None);
                self.decided(&op, is_index).unwrap_or_else(|| simplify(&mut self.l.g, op))
            }
        }
    }

    /// Returns the simpler value of an operation on indices, if the assumptions prove one. For a clamp of an index it
    /// may also assume that the clamp changes nothing, as in most of the row.
    fn decided(&mut self, op: &Op, is_index: bool) -> Option<NodeId> {
        let (a, mut b) = question(&self.l.g, op)?;
        let Op::Binary(asked, ..) = *op else { return None };
        if asked == BinaryOp::Rem {
            b = divisor(&self.l.g, b, |n| self.l.domain().contains(&n));
        }
        let operands = [a, b].map(|n| Linear::of(&self.l.g, n));
        if !self.is_exact(&operands) {
            return None;
        }
        let [first, second] = &operands;
        let known = DECISIONS.iter().filter(|d| d.op == Some(asked)).find(|d| {
            let holds = |form: &Form| self.holds(&form.of(first, second));
            d.when.iter().all(holds)
        });
        let mut known = known.map(|d| d.is);
        if known.is_none() && self.reads && is_index {
            let (form, clamped, is) = match (asked, self.varies(a), self.varies(b)) {
                (BinaryOp::Max, true, false) => (Form::Ge, b, Answer::First),
                (BinaryOp::Min, true, false) => (Form::Le, b, Answer::First),
                (BinaryOp::Max, false, true) => (Form::Le, a, Answer::Second),
                (BinaryOp::Min, false, true) => (Form::Ge, a, Answer::Second),
                _ => return None,
            };
            // a minimum with a constant is no clamp at the end of an array
            let is_end = asked == BinaryOp::Max || self.l.g.as_lit(clamped).is_none();
            known = (is_end && self.assume(&[form.of(first, second)], &operands)).then_some(is);
        }
        let known = known?;
        self.note(&operands);
        Some(match known {
            Answer::First => a,
            Answer::Second => b,
            Answer::Difference => linear::sub(&mut self.l.g, a, b),
            Answer::Truth(b) => self.l.g.lit(Lit::bool(b)),
        })
    }

    /// Assumes that a read is in bounds. Returns false if linear forms cannot express that.
    fn inside(&mut self, x: NodeId, at: &[NodeId]) -> bool {
        let bounds: Vec<_> = at.iter().zip(0..).map(|(i, axis)| (*i, self.l.extent(x, axis))).collect();
        self.within(&bounds)
    }

    /// Assumes 0 <= i < n for each pair of i and n.
    fn within(&mut self, bounds: &[(NodeId, NodeId)]) -> bool {
        let (mut forms, mut operands) = (Vec::new(), Vec::new());
        for (i, n) in bounds {
            let pair = [i, n].map(|n| Linear::of(&self.l.g, *n));
            forms.extend([Form::First, Form::Lt].map(|form| form.of(&pair[0], &pair[1])));
            operands.extend(pair);
        }
        self.is_exact(&operands) && self.assume(&forms, &operands)
    }

    /// Assumes that forms are not negative. Returns false and assumes nothing if one of them cannot be a bound of a
    /// range, or contradicts the other assumptions. `operands` are the forms of which these were computed.
    fn assume(&mut self, forms: &[Linear], operands: &[Linear]) -> bool {
        let before = self.assumed.forms.len();
        for form in forms {
            if self.holds(form) {
                continue;
            }
            let negative = form.scaled(-1);
            let negative = Linear { constant: negative.constant.wrapping_sub(1), ..negative };
            if !self.is_bound(form) || self.holds(&negative) {
                self.assumed.forms.truncate(before);
                return false;
            }
            self.assumed.forms.push(form.clone());
        }
        self.note(operands);
        true
    }

    fn note(&mut self, operands: &[Linear]) {
        self.assumed.terms.extend(operands.iter().flat_map(|form| form.terms.keys()));
    }

    /// Whether the assumptions show that a form is not negative.
    fn holds(&self, form: &Linear) -> bool {
        let proves = |form: &Linear| match form.as_constant() {
            Some(c) => c >= 0,
            None => self.facts.proves(&self.l.g, form),
        };
        proves(form) || self.assumed.forms.iter().any(|known| proves(&form.minus(known)))
    }

    /// Whether each form can be a bound of a range.
    fn is_exact(&self, operands: &[Linear]) -> bool {
        operands.iter().all(|form| self.is_bound(form))
    }

    /// Whether a form can be a bound of a range: it is exact if its terms are small, and its terms are the row's
    /// index and values that are the same for the whole row.
    fn is_bound(&self, form: &Linear) -> bool {
        let g = &self.l.g;
        let small = |k: &i64| k.unsigned_abs() < 1 << 6;
        let is_value = |t: NodeId| {
            let nested = |n: NodeId| !g.is_closed(n) && g.op(n).lambda().is_some();
            !self.varies(t) && !g.reachable([t]).into_iter().any(nested)
        };
        form.constant.unsigned_abs() < SMALL as u64
            && form.terms.len() <= 16
            && form.terms.values().all(small)
            && form.terms.keys().all(|t| *t == self.row.own() || is_value(*t))
    }

    /// Examines a value that is the same for the whole row. If it may leave error records, it is computed before the
    /// row's elements, and a test makes the range empty where it would leave one.
    fn uniform(&mut self, n: NodeId) {
        let g = &mut self.l.g;
        let parts = g.reachable_until([n], |m| g.is_closed(m) && g.op(m).needs_launch());
        let records: Vec<NodeId> = parts.iter().copied().filter(|m| g.op(*m).may_record(g)).collect();
        let has_loops = parts.iter().any(|m| g.op(*m).lambda().is_some());
        if !self.reads || records.is_empty() || has_loops {
            return;
        }
        let needed = error_records::conditions(g, &[n]);
        for m in records {
            let Some(condition) = needed.get(&m) else { continue };
            let fine = self.leaves_none(m);
            let g = &mut self.l.g;
            let unneeded = simplify(g, Op::Unary(UnaryOp::Not, *condition));
            let test = simplify(g, Op::Binary(BinaryOp::Or, unneeded, fine));
            self.tests.push(test);
        }
        self.given.push(n);
    }

    /// Returns the condition that an operation, if it is computed, leaves no error record.
    fn leaves_none(&mut self, n: NodeId) -> NodeId {
        let mut bounds = match self.l.g.op(n).clone() {
            Op::At(x, at) => at.iter().zip(0..).map(|(i, axis)| (*i, self.l.extent(x, axis))).collect(),
            Op::Within(i, len, _) => vec![(i, len)],
            Op::Leave(label, _) => return with_zero(&mut self.l.g, BinaryOp::Eq, label),
            _ => Vec::new(),
        };
        let g = &mut self.l.g;
        if let Op::Binary(_, _, divisor) = *g.op(n) {
            return with_zero(g, BinaryOp::Ne, divisor);
        }
        let (zero, mut all) = (g.lit(Lit::i64(0)), g.lit(Lit::bool(!bounds.is_empty())));
        for (i, len) in bounds.drain(..) {
            let low = simplify(g, Op::Binary(BinaryOp::Ge, i, zero));
            let high = simplify(g, Op::Binary(BinaryOp::Lt, i, len));
            all = conjunction(g, [all, low, high]);
        }
        all
    }

    /// Finds the first comparison that guards a total read and that the assumptions leave open. Returns for each of
    /// its two sides the form that is not negative there, and the terms that must be small.
    pub fn guard(&self, roots: &[NodeId]) -> Option<([Linear; 2], IndexSet<NodeId>)> {
        let is_total = |g: &Graph, n: NodeId| matches!(g.op(n), Op::At(..) | Op::Within(..));
        let g = &self.l.g;
        // the conditions of loops inside of the element depend on other indices
        let is_loop = |n: NodeId| g.op(n).lambda().is_some();
        for n in g.reachable_until(roots.iter().copied(), is_loop).into_iter().rev() {
            let Op::Select(c, a, b) = *g.op(n) else { continue };
            if !self.varies(n) || !g.reachable([a, b]).into_iter().any(|m| is_total(g, m) && self.varies(m)) {
                continue;
            }
            let mut conditions = vec![c];
            while let Some(c) = conditions.pop() {
                match *g.op(c) {
                    Op::Binary(BinaryOp::And | BinaryOp::Or, a, b) if g.ty(c).elem == Ty::Bool => {
                        conditions.extend([b, a]);
                    }
                    Op::Unary(UnaryOp::Not, a) => conditions.push(a),
                    Op::Binary(op, a, b) if is_i64(g, a) => {
                        let sides = match op {
                            BinaryOp::Ge | BinaryOp::Lt => [Form::Ge, Form::Lt],
                            BinaryOp::Gt | BinaryOp::Le => [Form::Gt, Form::Le],
                            _ => continue,
                        };
                        let operands = [a, b].map(|n| Linear::of(g, n));
                        let sides = sides.map(|form| form.of(&operands[0], &operands[1]));
                        let is_open = |form: &Linear| self.is_bound(form) && !self.holds(form);
                        if self.is_exact(&operands) && sides.iter().all(is_open) {
                            return Some((
                                sides,
                                operands.iter().flat_map(|f| f.terms.keys().copied()).collect(),
                            ));
                        }
                    }
                    _ => {}
                }
            }
        }
        None
    }

    /// Returns where the range lies, and the condition under which it has elements (`None`: always). Returns `None`
    /// if the range is always empty. A form k j + r of the row's index j gives a bound: j >= (k - 1 - r) / k if k >
    /// 0, and j < (r + |k|) / |k| if k < 0. If k = 0, it gives a test.
    pub fn place(&mut self) -> Option<(RangeLocation, Option<NodeId>)> {
        let own = self.row.own();
        let g = &mut self.l.g;
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        let (zero, mut tests) = (g.lit(Lit::i64(0)), std::mem::take(&mut self.tests));
        let assumed = std::mem::take(&mut self.assumed);
        tests.extend(assumed.terms.iter().filter_map(|t| small(g, *t, self.row.index)));
        for mut rest in assumed.forms {
            let k = rest.terms.remove(&own).unwrap_or(0);
            let step = k.abs();
            let whole = match k.signum() {
                1 => Linear { constant: step - 1, ..Linear::default() }.minus(&rest),
                -1 => rest.minus(&Linear { constant: -step, ..Linear::default() }),
                _ => rest,
            };
            let bound = whole.node(g);
            let divisor = g.lit(Lit::i64(step));
            let bound = if step > 1 { simplify(g, Op::Binary(BinaryOp::Div, bound, divisor)) } else { bound };
            match k.signum() {
                1 => lower.push(bound),
                -1 => upper.push(bound),
                _ => tests.push(simplify(g, Op::Binary(BinaryOp::Ge, bound, zero))),
            }
        }
        let test = conjunction(g, tests);
        let place = RangeLocation::Within { widths: self.row.widths.clone(), lower, upper };
        match g.as_lit(test).map(Lit::as_bool) {
            Some(true) => Some((place, None)),
            Some(false) => None,
            None => Some((place, Some(test))),
        }
    }
}

/// Returns the test that a term of a form is small, unless that is known.
fn small(g: &mut Graph, term: NodeId, index: &[NodeId]) -> Option<NodeId> {
    if index.contains(&term) || matches!(g.op(term), Op::Len(..)) {
        return None;
    }
    let [low, high] = [-SMALL, SMALL].map(|k| g.lit(Lit::i64(k)));
    let above = simplify(g, Op::Binary(BinaryOp::Gt, term, low));
    let below = simplify(g, Op::Binary(BinaryOp::Lt, term, high));
    Some(conjunction(g, [above, below]))
}

fn conjunction(g: &mut Graph, all: impl IntoIterator<Item = NodeId>) -> NodeId {
    let yes = g.lit(Lit::bool(true));
    all.into_iter().fold(yes, |a, b| simplify(g, Op::Binary(BinaryOp::And, a, b)))
}
