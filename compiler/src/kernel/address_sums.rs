//! Reassociates the sums of addresses in loops: what a loop does not change comes first, and what it changes is a sum
//! of its own. So the assembler computes the first part before the loop, and reads that differ only in it share the
//! rest.
//!
//! ```text
//! %i, %j, %n: known before the loop; %a, %b: of the loop
//!
//! x[add(mul(add(%i, %a), %n), add(%j, %b))]    ->    x[add(add(mul(%i, %n), %j), add(mul(%a, %n), %b))]
//! ```
//!
//! With loops in loops, the terms are ordered from the outermost loop to the innermost one. A product of a sum is
//! distributed if some terms of the sum change in another loop than others. Integers wrap, so no value changes.
//! Constants stay last, because an address adds them at no cost ([`super::index`]). The pass runs before common
//! subexpressions are eliminated.

use super::{Expr, Kernel, Mem, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};

/// Runs the pass on `main`.
pub fn run(k: &mut Kernel) {
    k.rewrite_main(|k, body| {
        let mut depths = vec![0; k.regs.len()];
        find_depths(body, 0, &mut depths);
        rewrite(k, body, 0, &depths);
    });
}

/// Notes for each register the number of loops around its innermost assignment.
fn find_depths(body: &mut [Stmt], depth: u32, depths: &mut [u32]) {
    for s in body {
        let inside = depth + u32::from(s.is_loop());
        s.registers_mut(&mut |r| depths[r.0 as usize] = depths[r.0 as usize].max(inside));
        s.blocks_mut().for_each(|b| find_depths(b, inside, depths));
    }
}

fn rewrite(k: &Kernel, body: &mut [Stmt], depth: u32, depths: &[u32]) {
    for s in body {
        let inside = depth + u32::from(s.is_loop());
        s.blocks_mut().for_each(|b| rewrite(k, b, inside, depths));
        if depth == 0 || s.is_loop() {
            continue;
        }
        let sums = Sums { k, depth, depths };
        match s {
            Stmt::Store(m, at, _) | Stmt::StoreVec(m, at, _) | Stmt::LoadVec(_, m, at) => {
                sums.address(*m, at)
            }
            Stmt::Update(_, m, at, _) => sums.address(*m, at),
            _ => {}
        }
        s.expressions_mut(&mut |e| sums.loads(e));
    }
}

/// The sums of addresses in the body of a loop.
struct Sums<'a> {
    k: &'a Kernel,
    /// The number of loops around it.
    depth: u32,
    depths: &'a [u32],
}

/// A term of a sum.
struct Term {
    value: Expr,
    is_negative: bool,
    /// The number of loops around what it depends on.
    depth: u32,
}

impl Sums<'_> {
    /// Rewrites the addresses of the loads in an expression.
    fn loads(&self, e: &mut Expr) {
        e.children_mut(|child| self.loads(child));
        if let Expr::Load(m, at) | Expr::LoadIf(m, at, _) = e {
            self.address(*m, at);
        }
    }

    fn address(&self, memory: Mem, at: &mut Expr) {
        if !matches!(memory, Mem::Array(_)) || !matches!(self.k.ty(at), Ty::I32 | Ty::I64) {
            return;
        }
        let mut terms = Vec::new();
        let constant = self.terms(at, false, &mut terms);
        let before = terms.iter().filter(|t| t.depth < self.depth).count();
        if before > 1
            && before < terms.len()
            && let Some(sum) = sum(terms)
        {
            let ty = self.k.ty(at);
            *at = if constant == 0 { sum } else { sum.plus(literal(ty, constant)) };
        }
    }

    /// Adds the terms of a sum to `out`, and returns its constant.
    fn terms(&self, e: &Expr, is_negative: bool, out: &mut Vec<Term>) -> i64 {
        let signed = |c: i64| if is_negative { c.wrapping_neg() } else { c };
        match e {
            Expr::Lit(l) => return signed(l.as_int().unwrap_or(0)),
            Expr::Binary(BinaryOp::Add, a, b) => {
                return self.terms(a, is_negative, out).wrapping_add(self.terms(b, is_negative, out));
            }
            Expr::Binary(BinaryOp::Sub, a, b) => {
                return self.terms(a, is_negative, out).wrapping_add(self.terms(b, !is_negative, out));
            }
            Expr::Binary(BinaryOp::Mul, a, b) => {
                for (of, by) in [(a, b), (b, a)] {
                    if let Some(terms) = self.distributed(of, by) {
                        out.extend(
                            terms
                                .into_iter()
                                .map(|t| Term { is_negative: t.is_negative != is_negative, ..t }),
                        );
                        return 0;
                    }
                }
            }
            _ => {}
        }
        out.push(Term { value: e.clone(), is_negative, depth: self.depth_of(e) });
        0
    }

    /// Returns the terms of a product of a sum if these change in different loops: one term for each loop. The sum's
    /// constant stays with what changes most often.
    fn distributed(&self, sum_of: &Expr, by: &Expr) -> Option<Vec<Term>> {
        let is_sum = matches!(sum_of, Expr::Binary(BinaryOp::Add | BinaryOp::Sub, ..));
        if !is_sum {
            return None;
        }
        let mut terms = Vec::new();
        let constant = self.terms(sum_of, false, &mut terms);
        let (least, most) = (terms.iter().map(|t| t.depth).min()?, terms.iter().map(|t| t.depth).max()?);
        let of_factor = self.depth_of(by);
        if least == most || of_factor >= most {
            return None;
        }
        let ty = self.k.ty(sum_of);
        let mut products = Vec::new();
        for depth in least..=most {
            let (own, others) = terms.into_iter().partition(|t| t.depth == depth);
            terms = others;
            let Some((mut value, is_negative)) = signed_sum(own) else { continue };
            if depth == most && constant != 0 {
                let constant = if is_negative { constant.wrapping_neg() } else { constant };
                value = value.plus(literal(ty, constant));
            }
            let value = value.times(by.clone());
            products.push(Term { value, is_negative, depth: depth.max(of_factor) });
        }
        Some(products)
    }

    /// Returns the number of loops around what a value depends on.
    fn depth_of(&self, e: &Expr) -> u32 {
        match e {
            Expr::Lit(_) | Expr::In(_) | Expr::Place(_) => 0,
            Expr::Reg(r) => self.depths[r.0 as usize],
            Expr::Unary(..) | Expr::Binary(..) | Expr::MulAdd(..) | Expr::Select(..) | Expr::Cast(..) => {
                let mut depth = 0;
                e.children(|child| depth = depth.max(self.depth_of(child)));
                depth
            }
            // the value of a load or of a shuffle is that of its statement
            _ => self.depth,
        }
    }
}

/// Returns a constant of the type of an address.
fn literal(ty: Ty, constant: i64) -> Expr {
    match ty {
        Ty::I32 => Expr::Lit(Lit::i32(constant as i32)),
        _ => Expr::int(constant),
    }
}

/// Returns the sum of terms, those of outer loops first, and those of each loop as a sum of their own; `None` if the
/// first one would be negative.
fn sum(mut terms: Vec<Term>) -> Option<Expr> {
    terms.sort_by_key(|t| t.depth);
    let mut all: Option<Expr> = None;
    while let Some(first) = terms.first() {
        let depth = first.depth;
        let (own, others) = terms.into_iter().partition(|t| t.depth == depth);
        terms = others;
        let (value, is_negative) = signed_sum(own)?;
        all = Some(match (all, is_negative) {
            (Some(all), true) => all.minus(value),
            (Some(all), false) => all.plus(value),
            (None, true) => return None,
            (None, false) => value,
        });
    }
    all
}

/// Returns the absolute value of a sum, and whether it is negative. A sum with a term that is added is not.
fn signed_sum(terms: Vec<Term>) -> Option<(Expr, bool)> {
    let (subtracted, added): (Vec<Term>, Vec<Term>) = terms.into_iter().partition(|t| t.is_negative);
    let total = |terms: Vec<Term>| terms.into_iter().map(|t| t.value).reduce(Expr::plus);
    match (total(added), total(subtracted)) {
        (Some(a), Some(b)) => Some((a.minus(b), false)),
        (Some(a), None) => Some((a, false)),
        (None, Some(b)) => Some((b, true)),
        (None, None) => None,
    }
}
