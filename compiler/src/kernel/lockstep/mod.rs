//! Loop interchange for elements that have loops of their own, as lanes of a SIMD machine take them: in lockstep. A
//! strip is 32 neighbouring elements, its lanes. Each step of the loop is taken by all lanes of the strip, so that
//! the loop over the lanes is the innermost one and the C compiler vectorises it. If the number of steps is the same
//! for all elements, that is a plain interchange. If each element leaves the loop by its own condition, the loop goes
//! on until no lane is active, and an inactive lane keeps its values (predication).
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
//! If the elements are reduced, each lane joins its element to a column of the tile, which has its own place in a
//! local array.
//!
//! A loop that each element leaves by itself may read anywhere, as a search does; inactive lanes read nothing. If a
//! step leaves an error record, the lane notes that, and the record is left after the loop.
//!
//! The pass is for CPUs only. Elements after the last whole strip keep the original loop. So do loops for which
//! vectors would not pay:
//!
//! - loops whose steps have branches, or divide integers by anything but a power of two;
//! - loops with the same number of steps for all elements, if the steps leave error records that depend on the
//!   element, or if neighbouring elements do not read neighbouring places.

mod emit;
mod parts;

use super::clone_body::Renaming;
use super::parts::{find_variables, operations};
use super::{Expr, Kernel, Stmt};
use crate::scalar::{BinaryOp, Ty};
use emit::{LANES, Strip};
use parts::Parts;

/// The maximum number of operations of a body. The body is written twice, for strips and for the elements after them.
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
