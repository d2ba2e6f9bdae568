//! Counts of a warp at elements of shared memory.

use super::fault::{Check, FaultKind};
use super::lanes::lanes;
use super::machine::Machine;
use super::warp::Warp;
use crate::kernel::{Expr, Mem, Reg, Stmt, WARP};

impl<'k> Machine<'k, '_> {
    /// Lets the lanes count, one after the other. As on a device, all lanes that count at one element read it before
    /// the first of them writes what all have counted.
    pub(super) fn count(
        &mut self,
        w: &mut Warp<'k>,
        r: Reg,
        (m, index, bits): (Mem, &'k Expr, u32),
        mask: u32,
        at: &'k Stmt,
    ) -> Check<()> {
        let index = self.eval(w, index, mask, at)?;
        self.whole_warp(w, mask, at)?;
        if let Some(l) = lanes(mask).find(|l| index.index(*l) >> bits != index.index(0) >> bits) {
            let what = format!("indices that differ in more than {bits} bits");
            return self.fault(FaultKind::OutOfBounds, w.thread(l), at, what);
        }
        let first = w.thread(0) as usize;
        let warp = first..first + WARP as usize;
        self.clocks.meet(warp.clone());
        let mut counts = [0; WARP as usize];
        for l in lanes(mask) {
            let old = std::slice::from_mut(&mut counts[l]);
            self.load(w.who(l, at), m, index.index(l), old)?;
        }
        self.clocks.meet(warp);
        for l in lanes(mask) {
            let is_peer = |other: &usize| index.index(*other) == index.index(l);
            let rank = (0..l).filter(is_peer).count() as u64;
            if rank == 0 {
                let all = lanes(mask).filter(is_peer).count() as u64;
                self.store(w.who(l, at), m, index.index(l), &[u64::from((counts[l] + all) as u32)])?;
            }
            w.regs.get_mut(r).bits[l] = u64::from((counts[l] + rank) as u32);
        }
        Ok(())
    }
}
