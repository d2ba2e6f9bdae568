//! Elements with loops of their own go through them in lockstep: the lanes of a strip, 32 neighbouring elements, take
//! each step together, so that the loop over the lanes is the innermost one and becomes vectors. A loop that all
//! elements leave after as many steps goes around the lanes. A loop that each element leaves by itself goes on until
//! no lane needs it, and a lane that has left it keeps its values.
//!
//! ```text
//! for %i { var %x = a[%i]  while lt(%x, 4f32) { %x = mul(%x, %x) }  out[%i] = %x }
//! ->
//! for %q to 32 { let %x = a[add(%at, %q)]  x[%q] = %x  active[%q] = lt(%x, 4f32)  %any = or(%any, active[%q]) }
//! while %any { %any = false  for %q to 32 {
//!     let %next = mul(x[%q], x[%q])  x[%q] = select(active[%q], %next, x[%q])
//!     active[%q] = and(active[%q], lt(%next, 4f32))  %any = or(%any, active[%q]) } }
//! for %q to 32 { out[add(%at, %q)] = x[%q] }
//! ```
//!
//! Elements that are reduced are joined with their columns of a tile, in a local array, where each has a place of
//! its own.
//!
//! Such a loop may read anywhere, as a search does: a lane that has left it reads nothing. Whether a step leaves a
//! record is kept for each lane, and left behind the loop.
//!
//! CPUs only. The elements behind the last whole strip keep the loop as it was. Loops stay as they are where vectors
//! would not pay: their steps divide integers by other numbers than powers of two or have branches, or, where all
//! elements make as many steps, leave records that depend on the element, or read what does not lie side by side for
//! neighbours.

mod emit;
mod parts;

use super::clone_body::Renaming;
use super::parts::{find_variables, operations};
use super::{Expr, Kernel, Stmt};
use crate::scalar::{BinaryOp, Ty};
use emit::{LANES, Strip};
use parts::Parts;

/// Longer bodies stay as they are, because they are written twice.
const LONGEST: usize = 16384;

/// Runs the pass on `main`.
pub fn run(k: &mut Kernel) {
    k.rewrite_main(|k, body| {
        let mut variables = vec![false; k.regs.len()];
        find_variables(body, &mut variables);
        block(k, body, &variables);
    });
}

fn block(k: &mut Kernel, body: &mut Vec<Stmt>, variables: &[bool]) {
    for s in std::mem::take(body) {
        let strips = match &s {
            Stmt::For(c, lo, hi, inner)
                if inner.iter().any(Stmt::has_loop) && operations(inner) <= LONGEST =>
            {
                Parts::of(k, *c, inner, variables).map(|parts| strips(k, &parts, lo, hi, inner))
            }
            _ => None,
        };
        match strips {
            Some(mut strips) => body.append(&mut strips),
            None => {
                body.push(s);
                if let Some(s) = body.last_mut() {
                    s.blocks_mut().for_each(|b| block(k, b, variables));
                }
            }
        }
    }
}

/// Returns the loop over whole strips, and the loop over the elements behind them.
fn strips(k: &mut Kernel, parts: &Parts, lo: &Expr, hi: &Expr, body: &[Stmt]) -> Vec<Stmt> {
    let at = k.reg("at", Ty::I64);
    let next = Expr::Reg(at).plus(Expr::int(LANES));
    let rest = [Stmt::For(parts.counter, Expr::Reg(at), hi.clone(), body.to_vec())];
    let mut renaming = Renaming::default();
    renaming.set(k, &rest);
    let mut rest = renaming.block(&rest);
    let mut strip = Strip::of(k, parts, at);
    strip.push(Stmt::Assign(at, next.clone()));
    let mut out =
        vec![Stmt::Var(at, lo.clone()), Stmt::While(Expr::binary(BinaryOp::Le, next, hi.clone()), strip)];
    out.append(&mut rest);
    out
}
