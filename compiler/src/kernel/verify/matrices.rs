//! Checks the statements of tensor cores, the counts of a warp and asynchronous copies.

use super::{Check, Check1, Scope};
use crate::kernel::{Array, COPY_BYTES, Mem, Reg, Stmt, WARPGROUP};
use crate::scalar::Ty;

impl Check<'_> {
    /// Checks one of these statements.
    pub(super) fn matrices(&self, s: &Stmt, scope: &mut Scope) -> Check1 {
        match s {
            Stmt::CopyAsync { bytes, to, at, from, index, given } => {
                let is_element = |a: &Array| matches!(bytes, 4 | 8) && a.ty.size() == *bytes as usize;
                let is_line = |a: &Array| *bytes as usize == COPY_BYTES && a.aligned && !a.strided;
                let readable = |a: &Array| !a.write && (is_element(a) || is_line(a));
                let array = match from {
                    Mem::Array(a) => self.k.arrays.get(*a as usize).is_some_and(readable),
                    // scratch arrays are aligned
                    Mem::Scratch(_) => *bytes as usize == COPY_BYTES,
                    _ => false,
                };
                self.mem(*from, scope)?;
                self.mem(*to, scope)?;
                self.index(at, scope)?;
                self.index(index, scope)?;
                given.iter().try_for_each(|e| self.want(e, Ty::Bool, scope))?;
                let found = array && matches!(to, Mem::Shared(_));
                if found { Ok(()) } else { Err(format!("a copy from {from:?} to {to:?}")) }
            }
            Stmt::Count { old, at, index, bits } => {
                if !matches!(at, Mem::Shared(_)) || self.mem(*at, scope)? != Ty::U32 {
                    return Err(format!("a count at {at:?}, which is no u32 of shared memory"));
                }
                if !(1..=31).contains(bits) {
                    return Err(format!("indices that differ in {bits} bits"));
                }
                self.want(index, Ty::I32, scope)?;
                let fresh = self.reg(*old)? == Ty::U32 && scope.define(*old, false);
                if fresh { Ok(()) } else { Err(format!("{old:?} is no fresh u32")) }
            }
            Stmt::Pack(r, values) => {
                let types: Vec<Ty> =
                    values.iter().map(|e| self.expr(e, scope)).collect::<std::result::Result<_, _>>()?;
                if !matches!(types[..], [Ty::F32] | [Ty::F16, Ty::F16] | [Ty::Bf16, Ty::Bf16]) {
                    return Err(format!("a word of {values:?}"));
                }
                let fresh = self.reg(*r)? == Ty::U32 && scope.define(*r, false);
                if fresh { Ok(()) } else { Err(format!("{r:?} is no fresh u32")) }
            }
            Stmt::LoadMatrices { regs, from, index, .. } => {
                self.words(*from, scope)?;
                self.index(index, scope)?;
                for r in regs {
                    if self.reg(*r)? != Ty::U32 || !scope.define(*r, false) {
                        return Err(format!("{r:?} is no fresh u32"));
                    }
                }
                if regs.len() == 4 { Ok(()) } else { Err(format!("{} matrices", regs.len())) }
            }
            Stmt::MultiplyMatrices { ty, sums, rows, columns } => {
                self.sums(sums, scope)?;
                rows.iter().chain(columns).try_for_each(|e| self.want(e, Ty::U32, scope))?;
                let sizes = [sums.len(), rows.len(), columns.len()] == [4, 4, 2];
                let fits = sizes && matches!(ty, Ty::F16 | Ty::Bf16 | Ty::F32);
                if fits { Ok(()) } else { Err(format!("a product of matrices of {ty}")) }
            }
            Stmt::MultiplyStaged { ty, sums, from, rows, columns, across } => {
                self.sums(sums, scope)?;
                self.words(*from, scope)?;
                self.index(rows, scope)?;
                self.index(columns, scope)?;
                let is_size = sums.len() % 32 == 0 && (1..=4).contains(&(sums.len() / 32));
                let fits =
                    is_size && matches!(ty, Ty::F16 | Ty::Bf16 | Ty::F32) && !(*across && *ty == Ty::F32);
                let whole = self.k.threads.is_multiple_of(WARPGROUP);
                if fits && whole { Ok(()) } else { Err(format!("a product of a warpgroup, of {ty}")) }
            }
            _ => Ok(()),
        }
    }

    /// Checks that registers are different variables of f32.
    fn sums(&self, sums: &[Reg], scope: &Scope) -> Check1 {
        for (i, r) in sums.iter().enumerate() {
            if self.reg(*r)? != Ty::F32 || !scope.is_var(*r) || sums[..i].contains(r) {
                return Err(format!("{r:?} is no sum"));
            }
        }
        Ok(())
    }

    /// Checks that a memory is shared and has words as elements.
    fn words(&self, m: Mem, scope: &Scope) -> Check1 {
        let is_shared = matches!(m, Mem::Shared(_));
        if is_shared && self.mem(m, scope)? == Ty::U32 { Ok(()) } else { Err(format!("{m:?} is no words")) }
    }
}
