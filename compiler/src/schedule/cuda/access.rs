//! Accesses to neighbouring elements, by as few instructions as their bytes need.

use super::expressions;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::schedule::element::lower::Lower;

/// The most bytes that one instruction loads.
const VECTOR: usize = 16;

/// Loads the elements of a memory from index `at` on into registers, which all have the element's
/// type. The index is a multiple of the number of registers. A strategy's vector width may suit a
/// narrower type than the one that it reads; so loads of more than 16 bytes are split.
pub fn load(l: &mut Lower, mem: Mem, regs: Vec<Reg>, at: Expr, out: &mut Vec<Stmt>) {
    let Some(first) = regs.first() else { return };
    let each = VECTOR / l.k.kernel.regs[first.0 as usize].1.size();
    if regs.len() > 1 {
        l.k.vector(mem);
    }
    for (part, offset) in regs.chunks(each).zip((0..).step_by(each)) {
        let at = if offset == 0 { at.clone() } else { at.clone().plus(int_like(l, &at, offset)) };
        out.push(match part {
            [one] => Stmt::Let(*one, Expr::load(mem, at), Default::default()),
            _ => Stmt::LoadVec(part.to_vec(), mem, at),
        });
    }
}

/// Stores the values of neighbouring elements from index `at` on, which is a multiple of their number.
pub fn store(l: &mut Lower, mem: Mem, values: Vec<Expr>, at: Expr, out: &mut Vec<Stmt>) {
    let Some(first) = values.first() else { return };
    let each = VECTOR / l.k_ty(first).size();
    if values.len() > 1 {
        l.k.vector(mem);
    }
    for (part, offset) in values.chunks(each).zip((0..).step_by(each)) {
        let at = if offset == 0 { at.clone() } else { at.clone().plus(int_like(l, &at, offset)) };
        out.push(match part {
            [one] => Stmt::Store(mem, at, one.clone()),
            _ => Stmt::StoreVec(mem, at, part.to_vec()),
        });
    }
}

/// Returns a constant of the index's type.
fn int_like(l: &Lower, index: &Expr, value: i64) -> Expr {
    match l.k_ty(index).size() {
        4 => expressions::int32(value as i32),
        _ => Expr::int(value),
    }
}
