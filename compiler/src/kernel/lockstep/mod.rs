//! Vectorisation of an outer loop over elements that have inner loops of their own. A strip is 32 neighbouring
//! elements, its lanes. The lanes go through the inner loop in lockstep: a loop over the lanes becomes the innermost
//! loop, and C compilers vectorise it. If all elements make the same number of steps, this is loop interchange. If
//! each element leaves its loop by itself, the loop runs until no lane is active, and a lane that has left it keeps
//! its values.
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
//! Elements that are reduced may be joined to a local array in which each element of the tile has its own place.
//!
//! A loop that each element leaves by itself may gather, as a search does; lanes that have left it load nothing.
//! Whether a step leaves an error record is noted for each lane, and the record is left after the loop.
//!
//! This pass is for CPUs only. The elements after the last whole strip keep the original loop. A loop stays as it is
//! where vectors would not pay: if its steps have branches, or divide integers by anything but powers of two; or, if
//! all elements make the same number of steps, if these leave error records that depend on the element, or if
//! neighbouring elements do not load neighbours.

mod emit;
mod parts;

use super::clone_body::copied;
use super::parts::{find_variables, operations};
use super::{Expr, Kernel, Stmt};
use crate::scalar::{BinaryOp, Ty};
use emit::Strip;
use parts::Parts;

pub use emit::LANES;

/// The maximum number of operations of a body. The pass writes a body twice, so longer ones stay as they are.
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

/// Returns the loop over whole strips, and the loop over the elements after them.
fn strips(k: &mut Kernel, parts: &Parts, lo: &Expr, hi: &Expr, body: &[Stmt]) -> Vec<Stmt> {
    let at = k.reg("at", Ty::I64);
    let next = Expr::Reg(at).plus(Expr::int(LANES));
    let mut rest = copied(k, &[Stmt::For(parts.counter, Expr::Reg(at), hi.clone(), body.to_vec())]);
    let mut strip = Strip::of(k, parts, at);
    strip.push(Stmt::Assign(at, next.clone()));
    let mut out =
        vec![Stmt::Var(at, lo.clone()), Stmt::While(Expr::binary(BinaryOp::Le, next, hi.clone()), strip)];
    out.append(&mut rest);
    out
}
