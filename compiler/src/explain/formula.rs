//! Writes host scalars, and sums of products of them, as formulas in the lengths of parameters, and
//! computes their values where these lengths are known.

use super::model::Amount;
use super::names::Names;
use crate::core::linear::Linear;
use crate::core::simplify::extent;
use crate::core::{Function, Graph, NodeId, Op, Rule};
use crate::plan::{HostOp, Plan};
use crate::scalar::{BinaryOp, Lit, Ty, eval_binary, eval_cast, eval_mul_add, eval_unary};
use rustc_hash::FxHashMap as HashMap;

/// The names and the known sizes that the formulas of one function need.
pub struct Formulas {
    /// The function's graph, which grows by the bodies of its lambdas.
    pub g: Graph,
    /// Two names of each length of a parameter and of each scalar parameter. The first one is
    /// shared by lengths that must be equal; the second one is the length's own.
    names: HashMap<NodeId, [String; 2]>,
    /// The values of the known lengths and scalar parameters.
    pub known: HashMap<NodeId, Lit>,
    /// The names of long parts.
    pub parts: Names,
}

impl Formulas {
    /// Makes the formulas of a function, with no size known.
    pub fn new(f: &Function, plan: &Plan) -> Formulas {
        let mut out = Formulas {
            g: f.graph.clone(),
            names: HashMap::default(),
            known: HashMap::default(),
            parts: Names::new(f),
        };
        let same = equal_lengths(f);
        for (p, i) in f.params.iter().zip(0..) {
            let param = out.g.add(Op::Param(i));
            if p.ty.is_scalar() {
                out.names.insert(param, [p.name.clone(), p.name.clone()]);
            }
            for axis in 0..p.ty.rank {
                let length = out.g.add(Op::Len(param, axis));
                let own = plan.length(i, axis);
                let first = same.get(&length).and_then(|n| out.names.get(n)).map(|names| names[0].clone());
                out.names.insert(length, [first.unwrap_or_else(|| own.clone()), own]);
            }
        }
        out
    }

    /// Makes the formulas of a step that is called with these arguments, in terms of the caller.
    pub fn of_step(step: &Function, caller: &mut Formulas, args: &[NodeId]) -> Formulas {
        let mut out = Formulas {
            g: step.graph.clone(),
            names: HashMap::default(),
            known: HashMap::default(),
            parts: caller.parts.clone(),
        };
        for ((p, arg), i) in step.params.iter().zip(args).zip(0..) {
            let param = out.g.add(Op::Param(i));
            let mut same = vec![(param, *arg)];
            if !p.ty.is_scalar() {
                let extents = caller.extents(*arg).into_iter().zip(0..);
                same = extents.map(|(n, axis)| (out.g.add(Op::Len(param, axis)), n)).collect();
            }
            for (own, callers) in same {
                out.names.insert(own, [caller.text(callers), caller.exact(callers)]);
                out.known.extend(caller.value(callers).map(|value| (own, value)));
            }
        }
        for (later, first) in equal_lengths(step) {
            let shared = out.names.get(&first).map(|names| names[0].clone());
            if let Some((names, shared)) = out.names.get_mut(&later).zip(shared) {
                names[0] = shared;
            }
            let value = out.known.get(&first).copied();
            value.map(|value| out.known.entry(later).or_insert(value));
        }
        out
    }

    /// Returns the extents of a stored array.
    pub fn extents(&mut self, array: NodeId) -> Vec<NodeId> {
        (0..self.g.ty(array).rank).map(|axis| extent(&mut self.g, array, axis)).collect()
    }

    /// Returns the host scalars of the function's plan.
    pub fn host(&mut self, plan: &Plan) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = Vec::new();
        for (_, op) in &plan.host {
            let at = |h: crate::plan::HostId| nodes[h.0 as usize];
            let op = match *op {
                HostOp::Const(l) => Op::Const(l),
                HostOp::Len(p, axis) => Op::Len(self.g.add(Op::Param(p)), axis),
                HostOp::Arg(p) => Op::Param(p),
                HostOp::Turn(_) => Op::Turn,
                HostOp::Checked => Op::Checked,
                HostOp::Unary(op, a) => Op::Unary(op, at(a)),
                HostOp::Binary(op, a, b) => Op::Binary(op, at(a), at(b)),
                HostOp::MulAdd(a, b, c) => Op::MulAdd(at(a), at(b), at(c)),
                HostOp::Select(a, b, c) => Op::Select(at(a), at(b), at(c)),
                HostOp::Cast(ty, a) => Op::Cast(ty, at(a)),
            };
            nodes.push(self.g.add(op));
        }
        nodes
    }

    /// Writes a host scalar as a formula in which lengths that must be equal have one name.
    pub fn text(&self, n: NodeId) -> String {
        self.scalar(n, true)
    }

    /// Writes the formula with the names of the author's program.
    pub fn exact(&self, n: NodeId) -> String {
        self.scalar(n, false)
    }

    fn scalar(&self, n: NodeId, same: bool) -> String {
        if self.g.ty(n).elem != Ty::I64 || self.g.as_lit(n).is_some() {
            return self.atom(n, same);
        }
        let form = Linear::of(&self.g, n);
        let mut text = String::new();
        let mut terms: Vec<(NodeId, i64)> = form.terms.iter().map(|(t, k)| (*t, *k)).collect();
        // Positive terms come first: `len(x) - k`, and not `-k + len(x)`.
        terms.sort_by_key(|t| t.1 < 0);
        for (atom, k) in terms {
            let value = self.atom(atom, same);
            let value = if k.unsigned_abs() == 1 {
                value
            } else {
                format!("{} * {}", k.unsigned_abs(), enclosed(value))
            };
            text += if text.is_empty() && k < 0 { "-" } else { sign(&text, k) };
            text += &value;
        }
        if form.constant != 0 || text.is_empty() {
            text += sign(&text, form.constant);
            text += &if text.is_empty() {
                form.constant.to_string()
            } else {
                form.constant.unsigned_abs().to_string()
            };
        }
        text
    }

    /// Writes a host scalar that is no sum. A long size or condition is written by its name (`names.rs`).
    fn atom(&self, n: NodeId, same: bool) -> String {
        let text = self.operation(n, same);
        match self.g.ty(n).elem {
            Ty::I64 | Ty::Bool => self.parts.short(text, || self.value(n)),
            _ => text,
        }
    }

    fn operation(&self, n: NodeId, same: bool) -> String {
        let operand = |n: NodeId| self.scalar(n, same);
        let inner = |n: NodeId| enclosed(operand(n));
        let infix = |a, op, b| format!("{} {op} {}", inner(a), inner(b));
        match *self.g.op(n) {
            Op::Const(l) => {
                let text = l.to_string();
                text.strip_suffix(l.ty.name()).unwrap_or(&text).to_string()
            }
            Op::Param(_) | Op::Len(..) => {
                self.names.get(&n).map_or("?", |names| &names[usize::from(!same)]).to_string()
            }
            Op::Turn => "step".into(),
            Op::Checked => "checked".into(),
            Op::Binary(BinaryOp::Add, a, b) => infix(a, "+", b),
            Op::Binary(BinaryOp::Sub, a, b) => infix(a, "-", b),
            Op::Binary(BinaryOp::Mul, a, b) => infix(a, "*", b),
            Op::Binary(BinaryOp::Div, a, b) => infix(a, "/", b),
            Op::Binary(BinaryOp::Lt, a, b) => infix(a, "<", b),
            Op::Binary(BinaryOp::Le, a, b) => infix(a, "<=", b),
            Op::Binary(BinaryOp::Gt, a, b) => infix(a, ">", b),
            Op::Binary(BinaryOp::Ge, a, b) => infix(a, ">=", b),
            Op::Binary(BinaryOp::Eq, a, b) => infix(a, "==", b),
            Op::Binary(BinaryOp::Ne, a, b) => infix(a, "!=", b),
            Op::Binary(BinaryOp::And, a, b) if self.g.ty(n).elem == Ty::Bool => infix(a, "and", b),
            Op::Binary(BinaryOp::Or, a, b) if self.g.ty(n).elem == Ty::Bool => infix(a, "or", b),
            Op::Unary(op, a) => format!("{op}({})", operand(a)),
            Op::Binary(op, a, b) => format!("{op}({}, {})", operand(a), operand(b)),
            Op::MulAdd(a, b, c) => format!("mul_add({}, {}, {})", operand(a), operand(b), operand(c)),
            Op::Select(c, a, b) => format!("select({}, {}, {})", operand(c), operand(a), operand(b)),
            Op::Cast(ty, a) => format!("{ty}({})", operand(a)),
            _ => "?".into(),
        }
    }

    /// Returns the value of a host scalar, if the sizes that it needs are known.
    pub fn value(&self, n: NodeId) -> Option<Lit> {
        self.values(&[n])[0]
    }

    /// Returns the values of several host scalars, as [`Formulas::value`] does.
    pub fn values(&self, list: &[NodeId]) -> Vec<Option<Lit>> {
        let mut values: HashMap<NodeId, Lit> = HashMap::default();
        for m in self.g.reachable(list.iter().copied()) {
            let at = |n: NodeId| values.get(&n).copied();
            let value = match *self.g.op(m) {
                Op::Const(l) => Some(l),
                // the report assumes a call that does not check the author's promises
                Op::Checked => Some(Lit::i64(0)),
                Op::Len(..) | Op::Param(_) => self.known.get(&m).copied(),
                Op::Unary(op, a) => at(a).map(|a| eval_unary(op, a)),
                Op::Binary(op, a, b) => at(a).zip(at(b)).map(|(a, b)| eval_binary(op, a, b).0),
                Op::MulAdd(a, b, c) => at(a).zip(at(b)).zip(at(c)).map(|((a, b), c)| eval_mul_add(a, b, c)),
                Op::Select(c, a, b) => at(c).and_then(|c| at(if c.as_bool() { a } else { b })),
                Op::Cast(ty, a) => at(a).map(|a| eval_cast(ty, a)),
                _ => None,
            };
            if let Some(value) = value {
                values.insert(m, value);
            }
        }
        list.iter().map(|n| values.get(n).copied()).collect()
    }

    /// Returns a length or a count, which is not negative, as an amount.
    pub fn amount(&self, n: NodeId) -> Amount {
        let value = self.value(n).map(|l| l.as_i64().max(0) as u64);
        Amount { formula: self.text(n), value }
    }
}

/// Maps each length that a shape rule says is equal to an earlier one to that earlier one.
fn equal_lengths(f: &Function) -> HashMap<NodeId, NodeId> {
    let mut same: HashMap<NodeId, NodeId> = HashMap::default();
    let is_length = |n: NodeId| matches!(f.graph.op(n), Op::Len(..));
    for r in f.requires.iter().filter(|r| r.rule == Rule::Same && is_length(r.a) && is_length(r.b)) {
        let first = |n: NodeId| same.get(&n).copied().unwrap_or(n);
        let (a, b) = (first(r.a), first(r.b));
        let key = |n: NodeId| if let Op::Len(x, axis) = *f.graph.op(n) { (x, axis) } else { (n, 0) };
        let (first, later) = if key(a) <= key(b) { (a, b) } else { (b, a) };
        if first != later {
            same.values_mut().filter(|n| **n == later).for_each(|n| *n = first);
            same.insert(later, first);
        }
    }
    same
}

/// Returns the text before a further term.
fn sign(text: &str, k: i64) -> &'static str {
    match (text.is_empty(), k < 0) {
        (true, _) => "",
        (_, true) => " - ",
        _ => " + ",
    }
}

/// Puts a formula in parentheses if it is more than one word or call.
pub fn enclosed(text: String) -> String {
    let mut depth = 0;
    let open = text.chars().any(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0 && c == ' '
    });
    if open { format!("({text})") } else { text }
}

/// The text that stands in formulas for the number of steps of a loop that a condition on data ends.
pub const STEPS: &str = "steps(data)";

/// A sum of products of host scalars.
#[derive(Clone, Default, Debug)]
pub struct Sum(Vec<Term>);

#[derive(Clone, Debug)]
struct Term {
    factor: u64,
    /// The factors: their texts, which distinguish terms, and their values.
    of: Vec<(String, Option<u64>)>,
}

impl Term {
    fn new(f: &Formulas, factor: u64, of: &[NodeId]) -> Term {
        let (mut factor, mut list) = (factor, Vec::new());
        let mut stack: Vec<NodeId> = of.iter().rev().copied().collect();
        while let Some(n) = stack.pop() {
            match *f.g.op(n) {
                Op::Const(l) => factor = factor.saturating_mul(l.as_i64().max(0) as u64),
                Op::Binary(BinaryOp::Mul, a, b) => stack.extend([b, a]),
                _ => {
                    let Amount { formula, value } = f.amount(n);
                    list.push((formula, value));
                }
            }
        }
        Term { factor, of: list }
    }

    fn like(&self, other: &Term) -> bool {
        let key = |t: &Term| {
            let mut texts: Vec<String> = t.of.iter().map(|f| f.0.clone()).collect();
            texts.sort_unstable();
            texts
        };
        key(self) == key(other)
    }
}

impl Sum {
    /// Adds a product to the sum.
    pub fn add(&mut self, f: &Formulas, factor: u64, of: &[NodeId]) {
        self.join(Term::new(f, factor, of));
    }

    /// Adds a product with `by_data` more factors: numbers of steps of loops that a condition on data ends.
    pub fn add_steps(&mut self, f: &Formulas, factor: u64, of: &[NodeId], by_data: usize) {
        let mut term = Term::new(f, factor, of);
        term.of.extend(std::iter::repeat_n((STEPS.to_string(), None), by_data));
        self.join(term);
    }

    /// Adds another sum to this one.
    pub fn extend(&mut self, other: &Sum) {
        other.0.iter().for_each(|t| self.join(t.clone()));
    }

    /// Multiplies the amount.
    pub fn times(&mut self, n: &Amount) {
        for t in &mut self.0 {
            match n.formula.parse::<u64>() {
                Ok(n) => t.factor = t.factor.saturating_mul(n),
                Err(_) => t.of.insert(0, (n.formula.clone(), n.value)),
            }
        }
    }

    fn join(&mut self, new: Term) {
        match self.0.iter_mut().find(|t| t.like(&new)) {
            Some(t) => t.factor = t.factor.saturating_add(new.factor),
            None if new.factor > 0 => self.0.push(new),
            None => {}
        }
    }

    /// Returns the sum divided by a product, if the quotient is a number.
    pub fn per(&self, f: &Formulas, of: &[NodeId]) -> Option<u64> {
        let whole = Term::new(f, 1, of);
        match &self.0[..] {
            [] => Some(0),
            [t] if t.like(&whole) && whole.factor > 0 => Some(t.factor / whole.factor),
            _ => None,
        }
    }

    /// Returns the sum as a formula and, if the sizes are known, as a number.
    pub fn amount(&self) -> Amount {
        let text = |t: &Term| {
            let mut words: Vec<String> = t.of.iter().map(|x| enclosed(x.0.clone())).collect();
            if t.factor != 1 || words.is_empty() {
                words.insert(0, t.factor.to_string());
            }
            words.join(" * ")
        };
        let value =
            |t: &Term| t.of.iter().try_fold(t.factor, |product, (_, n)| Some(product.saturating_mul((*n)?)));
        let formula = self.0.iter().map(text).collect::<Vec<_>>().join(" + ");
        Amount {
            formula: if formula.is_empty() { "0".into() } else { formula },
            value: self.0.iter().try_fold(0u64, |sum, t| Some(sum.saturating_add(value(t)?))),
        }
    }
}
