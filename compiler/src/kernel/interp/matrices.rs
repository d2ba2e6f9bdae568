//! The operations of a warp on matrices.

use super::fault::{Check, FaultKind};
use super::lanes::{Lanes, lanes};
use super::machine::Machine;
use super::operators::element;
use super::warp::Warp;
use crate::kernel::{Expr, Mem, Reg, Stmt, WARP};
use crate::scalar::Ty;
use std::array;

/// The words of a row of a matrix.
const WORDS: usize = 4;

impl<'k> Machine<'k, '_> {
    pub(super) fn load_matrices(
        &mut self,
        w: &mut Warp<'k>,
        (regs, from): (&[Reg], Mem),
        (index, transposed): (&'k Expr, bool),
        mask: u32,
        at: &'k Stmt,
    ) -> Check<()> {
        let index = self.eval(w, index, mask, at)?;
        self.whole_warp(w, mask, at)?;
        let mut rows = [[0; WORDS]; WARP as usize];
        for l in lanes(mask) {
            self.load(w.who(l, at), from, index.index(l), &mut rows[l])?;
        }
        for (m, r) in regs.iter().enumerate() {
            // the element of 16 bits in a row and column of this matrix
            let element =
                |row: usize, column: usize| rows[8 * m + row][column / 2] >> (16 * (column % 2)) & 0xffff;
            w.regs.get_mut(*r).bits = array::from_fn(|l| match transposed {
                false => rows[8 * m + l / 4][l % 4],
                true => element(2 * (l % 4), l / 4) | element(2 * (l % 4) + 1, l / 4) << 16,
            });
        }
        Ok(())
    }

    pub(super) fn multiply_matrices(
        &mut self,
        w: &mut Warp<'k>,
        (ty, sums): (Ty, &[Reg]),
        [rows, columns]: [&'k [Expr]; 2],
        mask: u32,
        at: &'k Stmt,
    ) -> Check<()> {
        let mut words = |list: &'k [Expr]| -> Check<Vec<Lanes>> {
            list.iter().map(|e| self.eval(w, e, mask, at)).collect()
        };
        let (rows, columns) = (words(rows)?, words(columns)?);
        self.whole_warp(w, mask, at)?;
        // eight groups of 4 bytes of inner indices, each with one element or two
        let each = 4 / ty.size();
        let depth = 8 * each;
        let of_rows = |i: usize, k: usize| {
            let group = k / each;
            element(ty, rows[2 * (group / 4) + i / 8].bits[4 * (i % 8) + group % 4], k)
        };
        let of_columns = |k: usize, j: usize| {
            let group = k / each;
            element(ty, columns[group / 4].bits[4 * j + group % 4], k)
        };
        let a: Vec<f32> = (0..16 * depth).map(|at| of_rows(at / depth, at % depth)).collect();
        let b: Vec<f32> = (0..8 * depth).map(|at| of_columns(at % depth, at / depth)).collect();
        for (s, r) in sums.iter().enumerate() {
            let sum = |l: usize| {
                let (i, j) = (l / 4 + 8 * (s / 2), 2 * (l % 4) + s % 2);
                let before = f32::from_bits(w.regs.get(*r).bits[l] as u32);
                let pairs = a[i * depth..][..depth].iter().zip(&b[j * depth..][..depth]);
                u64::from(pairs.fold(before, |sum, (a, b)| a.mul_add(*b, sum)).to_bits())
            };
            w.regs.get_mut(*r).bits = array::from_fn(sum);
        }
        Ok(())
    }

    /// Checks that all lanes take part in an operation of the warp.
    pub(super) fn whole_warp(&self, w: &Warp<'k>, mask: u32, at: &'k Stmt) -> Check<()> {
        let Some(missing) = lanes(!mask).next() else { return Ok(()) };
        let here = lanes(mask).next().unwrap_or(0);
        let (count, missing) = (mask.count_ones(), self.thread(w.thread(missing)));
        let message = format!("{count} of the warp's 32 lanes take part; {missing} does not");
        self.fault(FaultKind::DivergentShuffle, w.thread(here), at, message)
    }
}
