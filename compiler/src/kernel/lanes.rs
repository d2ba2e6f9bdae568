//! Splits a loop that reads memory at its counter with some low bits changed, as stages of a sorting network or of a
//! butterfly do: the new loop counts blocks of elements, and its body has a copy of the old one for each element of a
//! block. The places are then constant distances apart, so C compilers load a block as vectors and permute it; they
//! would gather the elements one by one.
//!
//! ```text
//! for %i = lo to hi { r[%i] = sub(x[%i], load_if(x[xor(%i, 1)], lt(xor(%i, 1), %n))) }
//!   ->
//! let %first = max(div(add(lo, 1), 2), 0)    let %last = max(min(div(hi, 2), div(%n, 2)), %first)
//! for %i = lo to min(hi, mul(%first, 2)) { .. }
//! for %q = %first to %last {
//!     let %i0 = mul(%q, 2)             r[%i0] = sub(x[%i0], x[add(mul(%q, 2), 1)])
//!     let %i1 = add(mul(%q, 2), 1)     r[%i1] = sub(x[%i1], x[mul(%q, 2)])
//! }
//! for %i = mul(%last, 2) to hi { .. }
//! ```
//!
//! Within a block the low bits are constants, and so are the conditions that ask about them.

use super::clone_body::{Renaming, copied};
use super::parts::{definitions, each_expression, operations, replace_statements};
use super::{Expr, Kernel, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp, eval_binary, eval_cast};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The greatest block, which is the number of copies of the body.
const MOST_COPIES: i64 = 16;
/// The maximum number of operations of all copies.
const MOST_OPERATIONS: usize = 2048;

/// Runs the pass on `main`.
pub fn run(k: &mut Kernel) {
    k.rewrite_main(|k, body| replace_statements(k, body, &split));
}

/// Returns what replaces a loop, if it is to be split.
fn split(k: &mut Kernel, s: &Stmt) -> Option<Vec<Stmt>> {
    let Stmt::For(counter, lo, hi, body) = s else { return None };
    if body.iter().any(|s| s.has_loop() || matches!(s, Stmt::Local(_))) {
        return None;
    }
    let lanes = Lanes { counter: *counter, set: definitions(body) };
    let by = lanes.block(body)?;
    let of_lane = |q, lane| Copy { lanes: &lanes, q, by, lane }.block(body);
    let first_lane = of_lane(*counter, 0);
    // loops whose records depend on data run only where one is left
    let has_records = first_lane.iter().any(|s| matches!(s, Stmt::Record(..)));
    if has_records || operations(&first_lane).saturating_mul(by as usize) > MOST_OPERATIONS {
        return None;
    }
    let [first, last, q] = ["first", "last", "q"].map(|name| k.reg(name, Ty::I64));
    let divided = |e: Expr| Expr::binary(BinaryOp::Div, e, Expr::int(by));
    let max = |a: Expr, b: Expr| Expr::binary(BinaryOp::Max, a, b);
    let number = |of: Reg| Expr::Reg(of).times(Expr::int(by));
    let mut copies = Vec::new();
    for lane in 0..by {
        let body = of_lane(q, lane);
        let mut renaming = Renaming::default();
        renaming.set(k, &body);
        let own = k.like(*counter);
        renaming.replace(*counter, own);
        copies.push(Stmt::Let(own, place(q, by, lane), Default::default()));
        copies.extend(renaming.block(&body));
    }
    let mut whole = |lo: Expr, hi: Expr| copied(k, &[Stmt::For(*counter, lo, hi, body.clone())]).remove(0);
    let bounds = lanes.bounds(body);
    let to = bounds.into_iter().fold(divided(hi.clone()), |to, bound| to.min(divided(bound)));
    Some(vec![
        Stmt::Let(first, max(divided(lo.clone().plus(Expr::int(by - 1))), Expr::int(0)), Default::default()),
        Stmt::Let(last, max(to, Expr::Reg(first)), Default::default()),
        whole(lo.clone(), hi.clone().min(number(first))),
        Stmt::For(q, Expr::Reg(first), Expr::Reg(last), copies),
        whole(max(lo.clone(), number(last)), hi.clone()),
    ])
}

/// Returns the number of an element of a block.
fn place(q: Reg, by: i64, lane: i64) -> Expr {
    let first = Expr::Reg(q).times(Expr::int(by));
    if lane == 0 { first } else { first.plus(Expr::int(lane)) }
}

/// What the expressions of a loop's body make of its counter.
struct Lanes<'a> {
    counter: Reg,
    /// The value of each `let`; `None` for registers that are assigned.
    set: HashMap<Reg, Option<&'a Expr>>,
}

impl Lanes<'_> {
    /// If an expression is the counter with some low bits changed, returns these bits.
    fn changed(&self, e: &Expr) -> Option<i64> {
        match e {
            Expr::Reg(r) if *r == self.counter => Some(0),
            Expr::Reg(r) => self.changed((*self.set.get(r)?)?),
            Expr::Binary(BinaryOp::Xor, a, b) => {
                let (index, bits) = match (a.constant(), b.constant()) {
                    (None, Some(bits)) => (a, bits),
                    (Some(bits), None) => (b, bits),
                    _ => return None,
                };
                Some(self.changed(index)? ^ bits).filter(|bits| (0..MOST_COPIES).contains(bits))
            }
            _ => None,
        }
    }

    /// Returns the low bits of the counter that an expression asks about, and the bits that were changed before.
    fn masked(&self, e: &Expr) -> Option<(i64, i64)> {
        let Expr::Binary(BinaryOp::And, a, b) = e else { return None };
        let (index, mask) = match (a.constant(), b.constant()) {
            (None, Some(mask)) => (a, mask),
            (Some(mask), None) => (b, mask),
            _ => return None,
        };
        Some((mask, self.changed(index)?)).filter(|(mask, _)| (1..MOST_COPIES).contains(mask))
    }

    /// Returns the number of elements of a block, if the body reads an array at a changed counter.
    fn block(&self, body: &[Stmt]) -> Option<i64> {
        let (mut bits, mut reads) = (0, false);
        each_expression(body, &mut |e| match e {
            Expr::Load(Mem::Array(_), at) | Expr::LoadIf(Mem::Array(_), at, _) => {
                if let Some(changed) = self.changed(at).filter(|changed| *changed != 0) {
                    bits |= changed;
                    reads = true;
                }
            }
            e => bits |= self.masked(e).map_or(0, |(mask, changed)| mask | changed),
        });
        reads.then(|| (bits as u64 + 1).next_power_of_two() as i64)
    }

    /// Returns a comparison of a changed counter with 0 or with a number from outside of the loop, which is the
    /// second operand. It holds in whole blocks.
    fn in_bounds<'e>(&self, e: &'e Expr) -> Option<Option<&'e Expr>> {
        match e {
            Expr::Binary(BinaryOp::Ge, a, b) if b.constant() == Some(0) => self.changed(a).map(|_| None),
            Expr::Binary(BinaryOp::Lt, a, b) if self.is_outside(b) => self.changed(a).map(|_| Some(&**b)),
            _ => None,
        }
    }

    fn is_outside(&self, e: &Expr) -> bool {
        match e {
            Expr::Reg(r) => *r != self.counter && !self.set.contains_key(r),
            Expr::Lit(_) | Expr::In(_) => true,
            _ => false,
        }
    }

    /// Returns the bounds below which the places of whole blocks must be.
    fn bounds(&self, body: &[Stmt]) -> Vec<Expr> {
        let mut out: Vec<Expr> = Vec::new();
        each_expression(body, &mut |e| {
            if let Some(Some(bound)) = self.in_bounds(e)
                && !out.contains(bound)
            {
                out.push(bound.clone());
            }
        });
        out
    }
}

/// A copy of the body, for the element `q * by + lane`.
struct Copy<'a> {
    lanes: &'a Lanes<'a>,
    q: Reg,
    by: i64,
    lane: i64,
}

impl Copy<'_> {
    fn block(&self, body: &[Stmt]) -> Vec<Stmt> {
        let mut out = body.to_vec();
        // the values of the copy that are constants
        let mut known = HashMap::default();
        self.statements(&mut out, &mut known);
        let never = Expr::Lit(Lit::bool(false));
        out.retain(|s| !matches!(s, Stmt::Record(_, condition, _) if *condition == never));
        without_unused(out)
    }

    fn statements(&self, body: &mut [Stmt], known: &mut HashMap<Reg, Lit>) {
        for s in body {
            s.expressions_mut(&mut |e| self.expression(e, known));
            if let Stmt::Let(r, Expr::Lit(value), _) = s {
                known.insert(*r, *value);
            }
            s.blocks_mut().for_each(|b| self.statements(b, known));
        }
    }

    fn expression(&self, e: &mut Expr, known: &HashMap<Reg, Lit>) {
        if let Some((mask, changed)) = self.lanes.masked(e) {
            *e = Expr::int((self.lane ^ changed) & mask);
        } else if self.lanes.in_bounds(e).is_some() {
            *e = Expr::Lit(Lit::bool(true));
        } else if let Some(changed) = self.lanes.changed(e) {
            *e = place(self.q, self.by, self.lane ^ changed);
        } else {
            e.children_mut(|child| self.expression(child, known));
            if let Some(simpler) = simplified(e, known) {
                *e = simpler;
            }
        }
    }
}

/// Drops the values of a block that nothing behind them reads.
fn without_unused(body: Vec<Stmt>) -> Vec<Stmt> {
    let mut used = HashSet::default();
    let mut out: Vec<Stmt> = Vec::new();
    for s in body.into_iter().rev() {
        if matches!(&s, Stmt::Let(r, ..) if !used.contains(r)) {
            continue;
        }
        each_expression(std::slice::from_ref(&s), &mut |e| {
            if let Expr::Reg(r) = e {
                used.insert(*r);
            }
        });
        out.push(s);
    }
    out.reverse();
    out
}

/// Returns what an expression is whose operands are partly constants.
fn simplified(e: &Expr, known: &HashMap<Reg, Lit>) -> Option<Expr> {
    let literal = |e: &Expr| match e {
        Expr::Lit(l) => Some(*l),
        Expr::Reg(r) => known.get(r).copied(),
        _ => None,
    };
    let is = |e: &Expr, value: bool| literal(e).is_some_and(|l| l == Lit::bool(value));
    match e {
        Expr::Reg(r) => known.get(r).map(|value| Expr::Lit(*value)),
        Expr::Select(condition, a, _) if is(condition, true) => Some((**a).clone()),
        Expr::Select(condition, _, b) if is(condition, false) => Some((**b).clone()),
        Expr::LoadIf(m, at, condition) if is(condition, true) => Some(Expr::Load(*m, at.clone())),
        Expr::Binary(BinaryOp::And, a, b) if is(a, true) => Some((**b).clone()),
        Expr::Binary(BinaryOp::And, a, b) if is(b, true) => Some((**a).clone()),
        Expr::Binary(BinaryOp::And, a, b) if is(a, false) || is(b, false) => {
            Some(Expr::Lit(Lit::bool(false)))
        }
        Expr::Binary(BinaryOp::Or, a, b) if is(a, false) => Some((**b).clone()),
        Expr::Binary(BinaryOp::Or, a, b) if is(b, false) => Some((**a).clone()),
        Expr::Binary(BinaryOp::Or, a, b) if is(a, true) || is(b, true) => Some(Expr::Lit(Lit::bool(true))),
        Expr::Binary(op, a, b) => {
            let (a, b) = (literal(a)?, literal(b)?);
            let is_whole = a.ty == b.ty && (a.ty.is_int() || a.ty == Ty::Bool);
            is_whole.then(|| Expr::Lit(eval_binary(*op, a, b).0))
        }
        Expr::Unary(UnaryOp::Not, a) => {
            let a = literal(a).filter(|a| a.ty == Ty::Bool)?;
            Some(Expr::Lit(Lit::bool(!a.as_bool())))
        }
        Expr::Cast(to, a) => {
            let a = literal(a).filter(|a| a.ty == Ty::Bool && to.is_int())?;
            Some(Expr::Lit(eval_cast(*to, a)))
        }
        _ => None,
    }
}
