//! If only one arm of a selection needs a division, its divisor becomes 1 where the other arm is selected. In
//! vectorised code both arms are computed, and the quotient that nothing uses may be a denormal number: such a
//! quotient, or a product with it, takes some CPUs a hundred times as long as others.
//!
//! ```text
//! let %s: f32 = div(1f32, %r6)                               let %s: f32 = div(1f32, select(%near, %r6, 1f32))
//! .. select(%near, mul(%s, %s), 0f32)               ->       .. select(%near, mul(%s, %s), 0f32)
//! ```

use super::parts::operations;
use super::{Expr, Kernel, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, UnaryOp};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The maximum number of operations of a condition, which is computed a second time for the divisor.
const LONGEST: usize = 8;

/// Runs the pass on `main`.
pub fn run(k: &mut Kernel) {
    k.rewrite_main(|k, body| block(k, body));
}

fn block(k: &mut Kernel, body: &mut [Stmt]) {
    for s in body {
        s.blocks_mut().for_each(|b| block(k, b));
        let Stmt::For(.., inner) = s else { continue };
        if inner.iter().all(|s| s.blocks().into_iter().all(<[Stmt]>::is_empty)) {
            straight(k, inner);
        }
    }
}

/// When a value is needed: always, or where a condition holds, or where it does not hold.
#[derive(Clone, PartialEq)]
enum Needed {
    Always,
    If(Expr, bool),
}

fn straight(k: &Kernel, body: &mut [Stmt]) {
    let mut needed: HashMap<Reg, Needed> = HashMap::default();
    // variables count as defined behind everything, because they may have other values at the selection
    let mut defined: HashMap<Reg, usize> = HashMap::default();
    for (i, s) in body.iter().enumerate() {
        match s {
            Stmt::Let(r, ..) => drop(defined.insert(*r, i)),
            Stmt::Var(r, _) | Stmt::Assign(r, _) => drop(defined.insert(*r, usize::MAX)),
            _ => {}
        }
    }
    for i in (0..body.len()).rev() {
        let own = match &body[i] {
            Stmt::Let(r, ..) => needed.get(r).cloned().unwrap_or(Needed::Always),
            _ => Needed::Always,
        };
        if let (Needed::If(c, holds), Stmt::Let(_, e, _)) = (&own, &mut body[i])
            && is_known(c, i, &defined)
        {
            divide(k, e, c, *holds);
        }
        body[i].expressions(&mut |e| ask(e, &own, &mut needed));
    }
}

/// Notes when the registers of an expression are needed.
fn ask(e: &Expr, own: &Needed, needed: &mut HashMap<Reg, Needed>) {
    match e {
        Expr::Reg(r) => match needed.get(r) {
            Some(other) if other != own => drop(needed.insert(*r, Needed::Always)),
            Some(_) => {}
            None => drop(needed.insert(*r, own.clone())),
        },
        Expr::Select(c, a, b) if !matches!(**c, Expr::Unary(UnaryOp::Unlikely, _)) => {
            ask(c, own, needed);
            ask(a, &Needed::If((**c).clone(), true), needed);
            ask(b, &Needed::If((**c).clone(), false), needed);
        }
        e => e.children(|child| ask(child, own, needed)),
    }
}

/// Whether a condition is cheap, and depends only on what statements before `at` define.
fn is_known(c: &Expr, at: usize, defined: &HashMap<Reg, usize>) -> bool {
    fn registers(e: &Expr, out: &mut HashSet<Reg>) -> bool {
        if let Expr::Reg(r) = e {
            out.insert(*r);
        }
        let mut is_plain = !matches!(e, Expr::Load(..) | Expr::LoadIf(..));
        e.children(|child| is_plain &= registers(child, out));
        is_plain
    }
    let mut used = HashSet::default();
    let is_plain = registers(c, &mut used);
    let size = operations(&[Stmt::If(c.clone(), vec![], vec![])]);
    is_plain && size <= LONGEST && used.iter().all(|r| defined.get(r).is_none_or(|i| *i < at))
}

/// Lets the divisions of an expression divide by 1 where the expression is not needed.
fn divide(k: &Kernel, e: &mut Expr, c: &Expr, holds: bool) {
    if let Expr::Binary(BinaryOp::Div, a, b) = e
        && k.ty(a).is_float()
        && !matches!(**b, Expr::Lit(_))
    {
        let one = Expr::Lit(Lit::one(k.ty(b)));
        let divisor = std::mem::replace(&mut **b, one.clone());
        let (yes, no) = if holds { (divisor, one) } else { (one, divisor) };
        **b = Expr::Select(Box::new(c.clone()), Box::new(yes), Box::new(no));
        return divide(k, a, c, holds);
    }
    if !matches!(e, Expr::Select(..)) {
        e.children_mut(|child| divide(k, child, c, holds));
    }
}
