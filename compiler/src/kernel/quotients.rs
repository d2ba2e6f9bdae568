//! Splits a loop that reads memory at quotients of its counter by a small constant, as an enlarged image reads each
//! element of a smaller one several times: the new loop counts the quotients, and its body has a copy of the old one
//! for each remainder. Its reads are of neighbours, which C compilers load as vectors; they would gather the elements
//! at quotients one by one (modulo unrolling: Barua, Lee, Amarasinghe, Agarwal, ISCA 1999).
//!
//! ```text
//! for %j = lo to hi { r[%j] = x[div(add(%j, 1), 2)] }
//!   ->
//! let %first = max(div(add(lo, 1), 2), 0)    let %last = max(div(hi, 2), %first)
//! for %j = lo to min(hi, mul(%first, 2)) { r[%j] = x[div(add(%j, 1), 2)] }
//! for %q = %first to %last {
//!     let %j0 = mul(%q, 2)             r[%j0] = x[%q]
//!     let %j1 = add(mul(%q, 2), 1)     r[%j1] = x[add(%q, 1)]
//! }
//! for %j = mul(%last, 2) to hi { r[%j] = x[div(add(%j, 1), 2)] }
//! ```
//!
//! Where a quotient is clamped to a bound, as at the edges of an image, the new loop has the quotients that are not.

use super::clone_body::{Renaming, copied};
use super::parts::{change_expressions, definitions, each_expression, operations, replace_statements};
use super::{Expr, Kernel, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty};
use rustc_hash::FxHashMap as HashMap;

/// The greatest divisor, which is the number of copies of the body.
const MOST_COPIES: i64 = 8;
/// The maximum number of operations of all copies.
const MOST_OPERATIONS: usize = 512;

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
    let of_counter = OfCounter { counter: *counter, set: definitions(body) };
    let divisions = of_counter.divisions(body);
    let by = divisions.iter().filter(|d| d.op == BinaryOp::Div).map(|d| d.by).max()?;
    let copies = operations(body).saturating_mul(by as usize);
    if copies > MOST_OPERATIONS || !of_counter.reads_at_quotients(body) {
        return None;
    }
    // a quotient below it may have a negative dividend, which is rounded up
    let least = divisions.iter().map(|d| -d.plus).max().unwrap_or(0).max(0) as u64;
    let least = least.div_ceil(by as u64) as i64;
    let clamps = of_counter.clamps(body, by);
    let [first, last, quotient] = ["first", "last", "q"].map(|name| k.reg(name, Ty::I64));
    let divided = |e: Expr| Expr::binary(BinaryOp::Div, e, Expr::int(by));
    let max = |a: Expr, b: Expr| Expr::binary(BinaryOp::Max, a, b);
    let number = |quotient: Reg| Expr::Reg(quotient).times(Expr::int(by));
    let mut copies = Vec::new();
    for left in 0..by {
        let body = of_counter.copy(body, quotient, by, left);
        let mut renaming = Renaming::default();
        renaming.set(k, &body);
        let own = k.like(*counter);
        renaming.replace(*counter, own);
        copies.push(Stmt::Let(own, linear(quotient, by, left), Default::default()));
        copies.extend(renaming.block(&body));
    }
    let mut whole = |lo: Expr, hi: Expr| copied(k, &[Stmt::For(*counter, lo, hi, body.clone())]).remove(0);
    let (mut from, mut to) = (divided(lo.clone().plus(Expr::int(by - 1))), divided(hi.clone()));
    from = max(from, Expr::int(least));
    for clamp in clamps {
        match clamp.op {
            BinaryOp::Max => from = max(from, clamp.end),
            _ => to = to.min(clamp.end),
        }
    }
    Some(vec![
        Stmt::Let(first, from, Default::default()),
        Stmt::Let(last, max(to, Expr::Reg(first)), Default::default()),
        whole(lo.clone(), hi.clone().min(number(first))),
        Stmt::For(quotient, Expr::Reg(first), Expr::Reg(last), copies),
        whole(number(last), hi.clone()),
    ])
}

/// Returns `r * times + plus`.
fn linear(r: Reg, times: i64, plus: i64) -> Expr {
    let product = if times == 1 { Expr::Reg(r) } else { Expr::Reg(r).times(Expr::int(times)) };
    if plus == 0 { product } else { product.plus(Expr::int(plus)) }
}

/// A quotient or remainder of `counter + plus` by a constant.
struct Division {
    op: BinaryOp,
    plus: i64,
    by: i64,
}

/// A quotient that is the greater or the less one of itself and a bound, as at the edges of an image. From `end` on,
/// or below it, it is itself.
struct Clamp {
    op: BinaryOp,
    end: Expr,
}

/// What the expressions of a loop's body make of its counter.
struct OfCounter<'a> {
    counter: Reg,
    /// The value of each `let`; `None` for registers that are assigned.
    set: HashMap<Reg, Option<&'a Expr>>,
}

impl OfCounter<'_> {
    /// Returns `e - counter`, if that is a constant.
    fn distance(&self, e: &Expr) -> Option<i64> {
        match e {
            Expr::Reg(r) if *r == self.counter => Some(0),
            Expr::Reg(r) => self.distance((*self.set.get(r)?)?),
            Expr::Binary(BinaryOp::Add, a, b) => match b.constant() {
                Some(b) => self.distance(a)?.checked_add(b),
                None => a.constant()?.checked_add(self.distance(b)?),
            },
            Expr::Binary(BinaryOp::Sub, a, b) => self.distance(a)?.checked_sub(b.constant()?),
            _ => None,
        }
    }

    fn division(&self, e: &Expr) -> Option<Division> {
        let Expr::Binary(op @ (BinaryOp::Div | BinaryOp::Rem), a, b) = e else { return None };
        let Expr::Lit(by) = **b else { return None };
        let by = Some(by.as_i64()).filter(|n| by.ty == Ty::I64 && (2..=MOST_COPIES).contains(n))?;
        let plus = self.distance(a).filter(|plus| plus.unsigned_abs() < 1 << 20)?;
        Some(Division { op: *op, plus, by })
    }

    /// Returns the quotient that an expression is where no clamp holds.
    fn quotient(&self, e: &Expr) -> Option<Division> {
        match e {
            Expr::Reg(r) => self.quotient((*self.set.get(r)?)?),
            Expr::Binary(BinaryOp::Div, ..) => self.division(e),
            _ => Some(self.clamped(e)?.0),
        }
    }

    /// If an expression is a quotient that is clamped to a bound from outside of the loop, returns both.
    fn clamped<'e>(&self, e: &'e Expr) -> Option<(Division, &'e Expr)> {
        let Expr::Binary(BinaryOp::Max | BinaryOp::Min, a, b) = e else { return None };
        let of = |a: &Expr, b: &'e Expr| Some((self.quotient(a)?, b)).filter(|_| self.is_outside(b));
        of(a, b).or_else(|| of(b, a))
    }

    fn is_outside(&self, e: &Expr) -> bool {
        match e {
            Expr::Reg(r) => *r != self.counter && !self.set.contains_key(r),
            Expr::Load(..) | Expr::LoadIf(..) => false,
            e => {
                let mut is_outside = true;
                e.children(|child| is_outside &= self.is_outside(child));
                is_outside
            }
        }
    }

    /// Returns the clamps of quotients by the divisor `by`.
    fn clamps(&self, body: &[Stmt], by: i64) -> Vec<Clamp> {
        let mut out: Vec<Clamp> = Vec::new();
        each_expression(body, &mut |e| {
            let Expr::Binary(op, ..) = e else { return };
            let Some((d, bound)) = self.clamped(e).filter(|(d, _)| d.by == by) else { return };
            // the quotients of the copies are the loop's counter and a constant, which is least for the first one
            let end = match op {
                BinaryOp::Max => bound.clone().minus(Expr::int(d.plus.div_euclid(by))),
                _ => bound.clone().minus(Expr::int((by - 1 + d.plus).div_euclid(by) - 1)),
            };
            if out.iter().all(|c| (c.op, &c.end) != (*op, &end)) {
                out.push(Clamp { op: *op, end });
            }
        });
        out
    }

    /// Returns the quotients and remainders in a body.
    fn divisions(&self, body: &[Stmt]) -> Vec<Division> {
        let mut out = Vec::new();
        each_expression(body, &mut |e| out.extend(self.division(e)));
        out
    }

    /// Whether a body reads arrays at quotients, at least as often as at places that move with the counter itself:
    /// the copies read those at every second, third .. element.
    fn reads_at_quotients(&self, body: &[Stmt]) -> bool {
        let (mut at_quotients, mut at_counter) = (0, 0);
        each_expression(body, &mut |e| {
            if let Expr::Load(Mem::Array(_), at) | Expr::LoadIf(Mem::Array(_), at, _) = e {
                let (quotient, counter) = self.depends(at);
                at_quotients += u32::from(quotient);
                at_counter += u32::from(counter);
            }
        });
        at_quotients > 0 && at_counter <= at_quotients
    }

    /// Returns whether an expression depends on a quotient, and whether on the counter itself.
    fn depends(&self, e: &Expr) -> (bool, bool) {
        if self.division(e).is_some() {
            return (true, false);
        }
        match e {
            Expr::Reg(r) if *r == self.counter => (false, true),
            Expr::Reg(r) => match self.set.get(r) {
                Some(Some(value)) => self.depends(value),
                Some(None) => (false, true),
                None => (false, false),
            },
            e => {
                let mut all = (false, false);
                e.children(|child| {
                    let of_child = self.depends(child);
                    all = (all.0 || of_child.0, all.1 || of_child.1);
                });
                all
            }
        }
    }

    /// Returns the body for the counter `quotient * by + left`, in which quotients and remainders have no division.
    fn copy(&self, body: &[Stmt], quotient: Reg, by: i64, left: i64) -> Vec<Stmt> {
        fn expression(e: &mut Expr, replaced: &dyn Fn(&Expr) -> Option<Expr>) {
            match replaced(e) {
                Some(new) => *e = new,
                None => e.children_mut(|child| expression(child, replaced)),
            }
        }
        let replaced = |e: &Expr| {
            let clamped = self.clamped(e).map(|c| c.0).filter(|d| d.by == by);
            let d = clamped.or_else(|| self.division(e)).filter(|d| by % d.by == 0)?;
            let (times, rest) = (by / d.by, left + d.plus);
            Some(match d.op {
                BinaryOp::Div => linear(quotient, times, rest.div_euclid(d.by)),
                _ => Expr::int(rest.rem_euclid(d.by)),
            })
        };
        let mut out = body.to_vec();
        change_expressions(&mut out, &mut |e| expression(e, &replaced));
        out
    }
}
