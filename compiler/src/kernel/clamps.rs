//! Splits a loop that reads memory at clamped or wrapped indices, as reductions over neighbours do, or only where
//! its counter is on one side of a bound: a new loop has the iterations in which every such index is the index
//! itself, and every such read is made. Its reads are of neighbours, which C compilers load as vectors; they would
//! gather the elements at clamped indices one by one (index-set splitting: Griebl, Feautrier, Lengauer, IJPP 28,
//! 2000). Of choices that read nothing beyond their bounds there is a third loop, of the iterations in which none of
//! them reads.
//!
//! ```text
//! for %j = lo to hi { s[%j] = add(x[max(sub(%j, 1), 0)], x[min(add(%j, 1), %last)]) }
//!   ->
//! let %first = min(max(lo, 1), hi)    let %end = max(min(hi, %last), %first)
//! var %at = lo
//! while lt(%at, hi) {
//!     if and(ge(%at, %first), lt(%at, %end)) {
//!         for %j = %at to %end { s[%j] = add(x[add(%j, -1)], x[add(%j, 1)]) }
//!         %at = %end
//!     } else {
//!         let %next = select(lt(%at, %first), %first, hi)
//!         for %j = %at to %next { s[%j] = add(x[max(sub(%j, 1), 0)], x[min(add(%j, 1), %last)]) }
//!         %at = %next
//!     }
//! }
//! ```
//!
//! Rows of stored elements are cut where the program is scheduled (`schedule/cpu/boundary.rs`), and stay as they are.

mod conditions;

use super::clone_body::copied;
use super::parts::{change_expressions, definitions, each_expression, operations};
use super::{Expr, Kernel, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty};
use conditions::{Choice, Clamps, Unread, difference, sum};
use rustc_hash::FxHashMap as HashMap;

/// The maximum number of operations of a loop's body, which is written two or three times.
const MOST_OPERATIONS: usize = 256;
/// The maximum number of iterations of loops that are not split.
const SHORT: i64 = 16;
/// The maximum number of conditions of a choice, roughly.
const MOST_CONDITIONS: usize = 4;
/// The greatest factor of the counter in a condition.
const MOST_TIMES: i64 = 1 << 12;

/// Runs the pass on `main`.
pub fn run(k: &mut Kernel) {
    k.rewrite_main(block);
}

fn block(k: &mut Kernel, body: &mut Vec<Stmt>) {
    let mut out = Vec::with_capacity(body.len());
    for mut s in std::mem::take(body) {
        match &mut s {
            Stmt::If(condition, inside, _) if is_range(condition, inside) => block(k, inside),
            Stmt::If(condition, _, others) if is_short(condition) => block(k, others),
            s => s.blocks_mut().for_each(|b| block(k, b)),
        }
        match split(k, &s) {
            Some(parts) => out.extend(parts),
            None => out.push(s),
        }
    }
    *body = out;
}

/// Whether `inside` computes a range of a row: the elements from a variable on, which then gets the range's end. The
/// others, which the second block of an `if` has, are few.
fn is_range(condition: &Expr, inside: &[Stmt]) -> bool {
    let Expr::Binary(BinaryOp::And, from, to) = condition else { return false };
    let (Expr::Binary(BinaryOp::Ge, a, _), Expr::Binary(BinaryOp::Lt, b, end)) = (&**from, &**to) else {
        return false;
    };
    matches!(inside.last(), Some(Stmt::Assign(at, to)) if **a == Expr::Reg(*at) && a == b && *to == **end)
}

/// Whether a condition says that a loop has few iterations, for which a split costs more than it saves.
fn is_short(condition: &Expr) -> bool {
    match condition {
        Expr::Binary(BinaryOp::And, a, b) => is_short(a) || is_short(b),
        Expr::Binary(BinaryOp::Le, _, most) => most.constant().is_some_and(|most| most <= SHORT),
        _ => false,
    }
}

/// Returns what replaces a loop, if it is to be split.
fn split(k: &mut Kernel, s: &Stmt) -> Option<Vec<Stmt>> {
    let Stmt::For(counter, lo, hi, body) = s else { return None };
    // loops that leave records run only where one is left
    let is_plain = |s: &Stmt| !s.has_loop() && !matches!(s, Stmt::Local(_) | Stmt::Record(..));
    if operations(body) > MOST_OPERATIONS || !body.iter().all(is_plain) {
        return None;
    }
    if matches!((lo.constant(), hi.constant()), (Some(lo), Some(hi)) if hi.saturating_sub(lo) <= SHORT) {
        return None;
    }
    let indices = Indices { counter: *counter, set: definitions(body) };
    let (inside, clamps) = indices.without_clamps(k, body)?;
    let unread = indices.without_reads(body);
    let [at, first, end, next] = ["at", "first", "last", "next"].map(|name| k.reg(name, Ty::I64));
    let binary = |op, a: &Expr, b: &Expr| Expr::binary(op, a.clone(), b.clone());
    let [at_now, first_one, end_of_range, next_one] = [at, first, end, next].map(Expr::Reg);
    let (from, to) = clamps.range(lo, hi);
    let to = binary(BinaryOp::Max, &to, &first_one);
    let to = clamps.condition().map_or(to.clone(), |condition| condition.select(to, first_one.clone()));
    let mut out = vec![
        Stmt::Let(first, from.min(hi.clone()), Default::default()),
        Stmt::Let(end, to, Default::default()),
        Stmt::Var(at, lo.clone()),
    ];
    let piece = |k: &mut Kernel, to: &Expr, body: &[Stmt]| {
        let mut out = copied(k, &[Stmt::For(*counter, at_now.clone(), to.clone(), body.to_vec())]);
        out.push(Stmt::Assign(at, to.clone()));
        out
    };
    let of_range = piece(k, &end_of_range, &inside);
    let is_in = |first: &Expr, end: &Expr| {
        Expr::binary(BinaryOp::And, binary(BinaryOp::Ge, &at_now, first), binary(BinaryOp::Lt, &at_now, end))
    };
    let next_of = |first: &Expr| binary(BinaryOp::Lt, &at_now, first).select(first.clone(), hi.clone());
    let mut to_next = next_of(&first_one);
    let of_unread = unread.map(|(body, choices)| {
        let (from, to) = conditions::range_of_others(&choices, lo, hi);
        let [first, end] = ["unread", "read"].map(|name| k.reg(name, Ty::I64));
        out.push(Stmt::Let(first, from.min(hi.clone()), Default::default()));
        out.push(Stmt::Let(end, binary(BinaryOp::Max, &to, &Expr::Reg(first)), Default::default()));
        to_next = to_next.clone().min(next_of(&Expr::Reg(first)));
        (is_in(&Expr::Reg(first), &Expr::Reg(end)), piece(k, &Expr::Reg(end), &body))
    });
    let mut of_others = vec![Stmt::Let(next, to_next, Default::default())];
    of_others.extend(piece(k, &next_one, body));
    if let Some((condition, of_unread)) = of_unread {
        of_others = vec![Stmt::If(condition, of_unread, of_others)];
    }
    let pieces = Stmt::If(is_in(&first_one, &end_of_range), of_range, of_others);
    out.push(Stmt::While(binary(BinaryOp::Lt, &at_now, hi), vec![pieces]));
    Some(out)
}

/// Returns the number of reads of arrays in an expression.
fn loads(e: &Expr) -> usize {
    let mut n = usize::from(matches!(e, Expr::Load(Mem::Array(_), _) | Expr::LoadIf(Mem::Array(_), ..)));
    e.children(|child| n += loads(child));
    n
}

/// What the expressions of a loop's body make of its counter.
struct Indices<'a> {
    counter: Reg,
    /// The value of each `let`; `None` for registers that are assigned.
    set: HashMap<Reg, Option<&'a Expr>>,
}

impl Indices<'_> {
    /// Returns the body without its clamps and choices, and the condition for that, if it reads an array at a clamped
    /// index or by such a choice.
    fn without_clamps(&self, k: &Kernel, body: &[Stmt]) -> Option<(Vec<Stmt>, Clamps)> {
        let mut clamps = Clamps::default();
        let mut inside = body.to_vec();
        let mut reads = false;
        each_expression(body, &mut |e| {
            if let Expr::Load(Mem::Array(_), at) | Expr::LoadIf(Mem::Array(_), at, _) = e {
                reads = reads || self.has_clamp(k, at);
            }
            reads = reads || self.choice(e).is_some();
        });
        if !reads {
            return None;
        }
        change_expressions(&mut inside, &mut |e| self.expression(k, e, &mut clamps));
        Some((inside, clamps))
    }

    fn expression(&self, k: &Kernel, e: &mut Expr, clamps: &mut Clamps) {
        if let Some(distance) = self.clamped(k, e, clamps) {
            *e = sum(Expr::Reg(self.counter), distance);
            return;
        }
        while let Some(choice) = self.choice(e) {
            clamps.join(choice.of_reads);
            *e = choice.reads.clone();
        }
        e.children_mut(|child| self.expression(k, child, clamps));
    }

    /// Returns the body with the arms of choices that read nothing, and the choices.
    fn without_reads(&self, body: &[Stmt]) -> Option<(Vec<Stmt>, Vec<Unread>)> {
        let (mut unread, mut choices) = (body.to_vec(), Vec::new());
        change_expressions(&mut unread, &mut |e| self.others(e, &mut choices));
        (!choices.is_empty() && choices.iter().all(|c: &Option<Unread>| c.is_some()))
            .then(|| (unread, choices.into_iter().flatten().collect()))
    }

    fn others(&self, e: &mut Expr, choices: &mut Vec<Option<Unread>>) {
        if let Some(choice) = self.choice(e) {
            let is_unread = loads(choice.others) == 0;
            choices.push(is_unread.then_some(choice.of_others));
            *e = choice.others.clone();
        }
        e.children_mut(|child| self.others(child, choices));
        // an extreme of one number, which several elements have
        if let Expr::Binary(BinaryOp::Min | BinaryOp::Max, a, b) = e
            && let (Expr::Lit(_), true) = (&**a, a == b)
        {
            *e = (**a).clone();
        }
    }

    /// Returns a choice by the counter, one of whose arms reads arrays. That arm may also need conditions that are
    /// the same in all iterations.
    fn choice<'e>(&self, e: &'e Expr) -> Option<Choice<'e>> {
        let Expr::Select(condition, a, b) = e else { return None };
        let [of_a, of_b] = [a, b].map(|arm| loads(arm));
        let mut parts = Vec::new();
        self.conjunction(condition, &mut parts)?;
        if of_a == of_b || of_a < of_b && parts.len() > 1 {
            return None;
        }
        let (mut of_reads, mut of_others) = (Clamps::default(), Unread::default());
        for part in parts {
            if let Some(same) = self.outside(part) {
                of_reads.same.push(same.clone());
                of_others.same.push(same);
                continue;
            }
            let (op, index, bound) = self.comparison(part)?;
            let (times, distance) = self.multiple(index)?;
            let op = if of_a > of_b { op } else { op.opposite() };
            of_others.clamps = Clamps::default();
            of_others.clamps.require(times, &distance, op.opposite(), bound.clone());
            of_reads.require(times, &distance, op, bound);
        }
        let (reads, others) = if of_a > of_b { (a, b) } else { (b, a) };
        (!of_reads.from.is_empty() || !of_reads.to.is_empty()).then_some(Choice {
            reads,
            of_reads,
            others,
            of_others,
        })
    }

    /// Returns the conditions that a condition is the conjunction of.
    fn conjunction<'e>(&'e self, e: &'e Expr, parts: &mut Vec<&'e Expr>) -> Option<()> {
        match e {
            Expr::Reg(r) if self.set.contains_key(r) => self.conjunction((*self.set.get(r)?)?, parts),
            Expr::Binary(BinaryOp::And, a, b) if parts.len() < MOST_CONDITIONS => {
                self.conjunction(a, parts)?;
                self.conjunction(b, parts)
            }
            e => {
                parts.push(e);
                Some(())
            }
        }
    }

    /// Returns a comparison as that of a number that depends on the iteration with a bound that does not.
    fn comparison<'e>(&self, e: &'e Expr) -> Option<(BinaryOp, &'e Expr, Expr)> {
        let Expr::Binary(op @ (BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge), p, q) = e else {
            return None;
        };
        match (self.outside(p), self.outside(q)) {
            (None, Some(bound)) => Some((*op, p, bound)),
            (Some(bound), None) => Some((op.swapped(), q, bound)),
            _ => None,
        }
    }

    /// Returns a factor and a distance: an index is the factor times the counter and the distance.
    fn multiple(&self, e: &Expr) -> Option<(i64, Expr)> {
        match e {
            Expr::Reg(r) if *r == self.counter => Some((1, Expr::int(0))),
            Expr::Reg(r) => self.multiple((*self.set.get(r)?)?),
            Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
                match (self.outside(a), self.outside(b)) {
                    (None, Some(b)) => {
                        let (times, a) = self.multiple(a)?;
                        Some((times, if *op == BinaryOp::Add { sum(a, b) } else { difference(a, b) }))
                    }
                    (Some(a), None) if *op == BinaryOp::Add => {
                        let (times, b) = self.multiple(b)?;
                        Some((times, sum(b, a)))
                    }
                    _ => None,
                }
            }
            Expr::Binary(BinaryOp::Mul, a, b) => {
                let (times, index) = match (a.constant(), b.constant()) {
                    (None, Some(times)) => (times, a),
                    (Some(times), None) => (times, b),
                    _ => return None,
                };
                match self.multiple(index)? {
                    (1, distance) if (1..=MOST_TIMES).contains(&times) && distance.constant() == Some(0) => {
                        Some((times, distance))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Whether an index is made of a clamped one.
    fn has_clamp(&self, k: &Kernel, e: &Expr) -> bool {
        if self.clamped(k, e, &mut Clamps::default()).is_some() {
            return true;
        }
        if let Expr::Reg(r) = e {
            return self.set.get(r).copied().flatten().is_some_and(|value| self.has_clamp(k, value));
        }
        // what an array holds is no index of the loop
        let mut has = false;
        if !matches!(e, Expr::Load(..) | Expr::LoadIf(..)) {
            e.children(|child| has = has || self.has_clamp(k, child));
        }
        has
    }

    /// If an expression is a clamped or wrapped index, returns its distance to the counter where no clamp holds.
    fn clamped(&self, k: &Kernel, e: &Expr, clamps: &mut Clamps) -> Option<Expr> {
        let is_clamp = matches!(e, Expr::Binary(BinaryOp::Max | BinaryOp::Min, ..) | Expr::Select(..));
        let mut own = Clamps::default();
        let distance =
            if is_clamp && k.ty(e) == Ty::I64 { self.distance(e, &mut own)? } else { return None };
        clamps.join(own);
        Some(distance)
    }

    /// Returns the distance of an index to the counter where no clamp holds, and adds the conditions for that.
    fn distance(&self, e: &Expr, clamps: &mut Clamps) -> Option<Expr> {
        match e {
            Expr::Reg(r) if *r == self.counter => Some(Expr::int(0)),
            Expr::Reg(r) => self.distance((*self.set.get(r)?)?, clamps),
            Expr::Binary(BinaryOp::Add, a, b) => match (self.outside(a), self.outside(b)) {
                (None, Some(b)) => Some(sum(self.distance(a, clamps)?, b)),
                (Some(a), None) => Some(sum(self.distance(b, clamps)?, a)),
                _ => None,
            },
            Expr::Binary(BinaryOp::Sub, a, b) => {
                let b = self.outside(b)?;
                Some(difference(self.distance(a, clamps)?, b))
            }
            Expr::Binary(op @ (BinaryOp::Max | BinaryOp::Min), a, b) => {
                let (index, bound) = match (self.outside(a), self.outside(b)) {
                    (None, Some(bound)) => (a, bound),
                    (Some(bound), None) => (b, bound),
                    _ => return None,
                };
                let distance = self.distance(index, clamps)?;
                let op = if *op == BinaryOp::Max { BinaryOp::Ge } else { BinaryOp::Le };
                clamps.require(1, &distance, op, bound);
                Some(distance)
            }
            Expr::Select(condition, a, b) => self.chosen(condition, a, b, clamps),
            _ => None,
        }
    }

    /// The same for an index that is compared with a bound, and is another one beyond it.
    fn chosen(&self, condition: &Expr, a: &Expr, b: &Expr, clamps: &mut Clamps) -> Option<Expr> {
        let (op, index, bound) = self.comparison(condition)?;
        let distance = self.distance(index, clamps)?;
        let is_same = |e: &Expr, clamps: &mut Clamps| self.distance(e, clamps).is_some_and(|d| d == distance);
        let mut of_arm = Clamps::default();
        let op = if is_same(b, &mut of_arm) {
            op.opposite()
        } else {
            of_arm = Clamps::default();
            if !is_same(a, &mut of_arm) {
                return None;
            }
            op
        };
        clamps.require(1, &distance, op, bound);
        clamps.join(of_arm);
        Some(distance)
    }

    /// Rewrites an expression in terms of registers from outside of the loop; `None` if it depends on the iteration.
    fn outside(&self, e: &Expr) -> Option<Expr> {
        match e {
            Expr::Reg(r) if *r == self.counter => None,
            Expr::Reg(r) => match self.set.get(r) {
                None => Some(e.clone()),
                Some(Some(value)) => self.outside(value),
                Some(None) => None,
            },
            Expr::Lit(_) | Expr::In(_) => Some(e.clone()),
            Expr::Binary(BinaryOp::Add, a, b) => Some(sum(self.outside(a)?, self.outside(b)?)),
            Expr::Binary(BinaryOp::Sub, a, b) => Some(difference(self.outside(a)?, self.outside(b)?)),
            Expr::Binary(op, a, b) => Some(Expr::binary(*op, self.outside(a)?, self.outside(b)?)),
            _ => None,
        }
    }
}
