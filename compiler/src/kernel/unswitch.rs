//! Loop unswitching: a kernel that chooses between values by a condition of the whole call, such as a bool parameter
//! or a comparison of lengths, becomes two versions, one for each value of that condition. A select computes both
//! values for every element; each version computes one (Allen, Cocke: A catalogue of optimizing transformations,
//! 1971).
//!
//! ```text
//! out[%i] = select(in_smooth, exp(%x), mul(%x, 3))
//!   ->
//! if in_smooth { out[%i] = exp(%x) } else { out[%j] = mul(%y, 3) }
//! ```
//!
//! The code grows, and on a GPU both versions have the registers of the larger one, so a kernel is only split if a
//! version saves a good part of the operations.

use super::clone_body::{Renaming, declared};
use super::parts::{operations, replace_statements};
use super::{Expr, Kernel, Reg, Stmt, dce};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use rustc_hash::FxHashMap as HashMap;

/// The maximum number of operations of all versions.
const MOST_OPERATIONS: usize = 8192;
/// The operations that a version must save, at least.
const LEAST_SAVED: usize = 8;
/// A version must also save this part of all operations: one in so many.
const PART_SAVED: usize = 4;

/// Runs the pass on `main`.
pub fn run(k: &mut Kernel) {
    if !k.ins.iter().any(|(_, ty)| *ty == Ty::Bool) {
        return;
    }
    k.rewrite_main(|k, body| {
        let size = operations(body);
        versions(k, body, MOST_OPERATIONS.saturating_sub(size));
    });
}

/// Splits a body as long as that pays. `room` is the number of operations by which it may grow. Returns by how many
/// it has grown.
fn versions(k: &mut Kernel, body: &mut Vec<Stmt>, room: usize) -> usize {
    let size = operations(body);
    let split = |input: &u32| {
        let by_selects = [true, false].map(|holds| operations(&assumed(k, body, *input, holds, true)));
        let saved = size.saturating_sub(by_selects[0].min(by_selects[1]));
        if saved < LEAST_SAVED || saved * PART_SAVED < size {
            return None;
        }
        let [yes, no] = [true, false].map(|holds| assumed(k, body, *input, holds, false));
        (operations(&yes) + operations(&no) <= size + room).then_some((saved, *input, yes, no))
    };
    let best =
        conditions(k, body).iter().filter_map(split).max_by_key(|(saved, input, ..)| (*saved, !*input));
    let Some((_, input, mut yes, mut no)) = best else { return 0 };
    no = with_own_registers(k, &no);
    let mut grown = (operations(&yes) + operations(&no)).saturating_sub(size);
    for version in [&mut yes, &mut no] {
        grown += versions(k, version, room.saturating_sub(grown));
    }
    *body = vec![Stmt::If(Expr::In(input), yes, no)];
    grown
}

/// Returns the bool parameters that a body reads, but not for its branches alone: these compute only one of their
/// blocks anyway.
fn conditions(k: &Kernel, body: &[Stmt]) -> Vec<u32> {
    fn of_expression(k: &Kernel, e: &Expr, found: &mut Vec<u32>) {
        if let Expr::In(i) = e
            && k.ins[*i as usize].1 == Ty::Bool
            && !found.contains(i)
        {
            found.push(*i);
        }
        e.children(|child| of_expression(k, child, found));
    }
    fn of_block(k: &Kernel, body: &[Stmt], found: &mut Vec<u32>) {
        for s in body {
            if !matches!(s, Stmt::If(..)) {
                s.expressions(&mut |e| of_expression(k, e, found));
            }
            s.blocks().into_iter().for_each(|b| of_block(k, b, found));
        }
    }
    let mut found = Vec::new();
    of_block(k, body, &mut found);
    found
}

/// Returns a body without what it does not need if a parameter has this value. If it `keeps_branches`, which compute
/// only one of their blocks anyway, what is left out is what the body's selects compute in vain.
fn assumed(k: &Kernel, body: &[Stmt], input: u32, holds: bool, keeps_branches: bool) -> Vec<Stmt> {
    let mut assumption = Assumption { k, input, holds, keeps_branches, known: HashMap::default() };
    let mut version =
        Kernel { main: Some(assumption.block(body)), finish: k.finish.clone(), ..k.clone_head() };
    dce::run(&mut version);
    // a fast and a slow path may do the same now, without what distinguished them
    version.rewrite_main(|k, body| {
        replace_statements(k, body, &|_, s| match s {
            Stmt::If(_, yes, no) if is_same(yes, no) => Some(no.clone()),
            _ => None,
        });
    });
    dce::run(&mut version);
    version.main.unwrap_or_default()
}

/// Whether two blocks differ only in the names of their registers.
fn is_same(a: &[Stmt], b: &[Stmt]) -> bool {
    let (of_a, of_b) = (declared(a), declared(b));
    let mut renaming = Renaming::default();
    of_a.iter().zip(&of_b).for_each(|(to, from)| renaming.replace(*from, *to));
    of_a.len() == of_b.len() && renaming.block(b) == a
}

/// Returns a copy of a body with registers of its own, of which the kernel knows what it knows of those of the body.
fn with_own_registers(k: &mut Kernel, body: &[Stmt]) -> Vec<Stmt> {
    let mut renaming = Renaming::default();
    renaming.set(k, body);
    let renamed = |r: Reg| match renaming.expr(&Expr::Reg(r)) {
        Expr::Reg(own) if own != r => Some(own),
        _ => None,
    };
    let of_space = k.in_space.iter().filter_map(|e| match e {
        Expr::Reg(r) => renamed(*r).map(Expr::Reg),
        _ => None,
    });
    let of_space: Vec<Expr> = of_space.collect();
    let bounded: Vec<(Reg, Expr)> =
        k.bounded.iter().filter_map(|(r, most)| Some((renamed(*r)?, renaming.expr(most)))).collect();
    k.in_space.extend(of_space);
    k.bounded.extend(bounded);
    renaming.block(body)
}

/// The assumption that a bool parameter has some value.
struct Assumption<'k> {
    k: &'k Kernel,
    input: u32,
    holds: bool,
    keeps_branches: bool,
    /// The registers that it makes constants.
    known: HashMap<Reg, bool>,
}

impl Assumption<'_> {
    fn block(&mut self, body: &[Stmt]) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(body.len());
        for s in body {
            if let Stmt::If(c, yes, no) = s {
                let mut folded = c.clone();
                self.fold(&mut folded);
                let c = if self.keeps_branches { c.clone() } else { folded };
                match constant(&c) {
                    Some(holds) => out.extend(self.block(if holds { yes } else { no })),
                    None => out.push(Stmt::If(c, self.block(yes), self.block(no))),
                }
                continue;
            }
            let mut s = s.clone();
            s.expressions_mut(&mut |e| self.fold(e));
            if let Stmt::Let(r, e, _) = &s
                && let Some(holds) = constant(e)
            {
                self.known.insert(*r, holds);
            }
            s.blocks_mut().for_each(|b| *b = self.block(b));
            out.push(s);
        }
        out
    }

    /// Replaces what the assumption makes constant, and choices by constants.
    fn fold(&self, e: &mut Expr) {
        e.children_mut(|child| self.fold(child));
        let lit = |holds: bool| Expr::Lit(Lit::bool(holds));
        let folded = match e {
            Expr::In(i) if *i == self.input => lit(self.holds),
            Expr::Reg(r) => match self.known.get(r) {
                Some(holds) => lit(*holds),
                None => return,
            },
            Expr::Select(c, a, b) => match constant(c) {
                Some(true) => take(a),
                Some(false) => take(b),
                None => return,
            },
            Expr::LoadIf(m, at, c) => match constant(c) {
                Some(true) => Expr::Load(*m, Box::new(take(at))),
                Some(false) => Expr::Lit(Lit::zero(self.k.mem(*m).1)),
                None => return,
            },
            Expr::Unary(UnaryOp::Not, a) => match constant(a) {
                Some(holds) => lit(!holds),
                None => return,
            },
            Expr::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                let (holds, other) = match (constant(a), constant(b)) {
                    (Some(holds), _) => (holds, b),
                    (None, Some(holds)) => (holds, a),
                    (None, None) => return,
                };
                if holds == (*op == BinaryOp::And) { take(other) } else { lit(holds) }
            }
            _ => return,
        };
        *e = folded;
    }
}

/// Returns the value of a bool constant.
fn constant(e: &Expr) -> Option<bool> {
    match e {
        Expr::Lit(l) if l.ty == Ty::Bool => Some(l.as_bool()),
        _ => None,
    }
}

fn take(e: &mut Expr) -> Expr {
    std::mem::replace(e, Expr::Lit(Lit::bool(false)))
}
