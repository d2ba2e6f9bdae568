//! The products of a warpgroup, whose matrices lie in shared memory.
//!
//! The hardware may read a matrix at any time between the statement that begins a product and the wait for it. So
//! each matrix is read twice: where the product begins, so that a value that is not there yet is a fault, and where
//! it has been waited for, so that a write of another thread in between is a race. The sums get their values at the
//! wait. A warp has 16 of the 64 rows, and all columns, so that it needs no other warp.

use super::fault::{Check, FaultKind};
use super::machine::Machine;
use super::operators::element;
use super::warp::{StagedProduct, Warp};
use crate::kernel::{Expr, Mem, Reg, Stmt, WARP, WARPGROUP};
use crate::scalar::Ty;
use std::array;

/// The number of words of a line, and of a piece.
const LINE: usize = 32;
const PIECE: usize = 4;
/// The number of words of 8 lines, after which the permutation of pieces repeats.
const LINES: i64 = 8 * LINE as i64;
/// The number of rows of a warp.
const ROWS: usize = 16;

impl<'k> Machine<'k, '_> {
    pub(super) fn begin_product(
        &mut self,
        w: &mut Warp<'k>,
        from: Mem,
        [rows, columns]: [&'k Expr; 2],
        mask: u32,
        at: &'k Stmt,
    ) -> Check<()> {
        let (rows, columns) = (self.eval(w, rows, mask, at)?, self.eval(w, columns, mask, at)?);
        self.whole_warp(w, mask, at)?;
        for index in [&rows, &columns] {
            let first = index.index(0);
            if first % LINES != 0 || index.bits.iter().any(|bits| *bits != index.bits[0]) {
                let message = format!("a matrix begins at word {first} of {}", self.k.mem(from).0);
                return self.fault(FaultKind::Misaligned, w.thread(0), at, message);
            }
        }
        let product = StagedProduct { at, rows: rows.index(0), columns: columns.index(0) };
        self.read_matrices(w, &product)?;
        w.products.push_back(product);
        Ok(())
    }

    /// Waits for all products except the last `but`.
    pub(super) fn wait_for_products(
        &mut self,
        w: &mut Warp<'k>,
        but: u32,
        mask: u32,
        at: &'k Stmt,
    ) -> Check<()> {
        self.whole_warp(w, mask, at)?;
        while w.products.len() > but as usize
            && let Some(product) = w.products.pop_front()
        {
            let [rows, columns] = self.read_matrices(w, &product)?;
            if let Stmt::MultiplyStaged { ty, sums, across, .. } = product.at {
                add(w, (*ty, *across), sums, [&rows, &columns]);
            }
        }
        Ok(())
    }

    /// Returns the words of the lines of a warp's rows, and of all columns.
    fn read_matrices(&mut self, w: &Warp<'k>, p: &StagedProduct<'k>) -> Check<[Vec<u64>; 2]> {
        let Stmt::MultiplyStaged { sums, from, .. } = p.at else { return Ok([Vec::new(), Vec::new()]) };
        let warp = w.thread(0) % self.k.threads % WARPGROUP / WARP;
        let first = ROWS as i64 * i64::from(warp);
        Ok([
            self.lines(w, p.at, *from, (p.rows, first), ROWS)?,
            self.lines(w, p.at, *from, (p.columns, 0), 2 * sums.len())?,
        ])
    }

    /// Reads `count` lines of a matrix, from its line `first` on.
    fn lines(
        &mut self,
        w: &Warp<'k>,
        at: &'k Stmt,
        from: Mem,
        (matrix, first): (i64, i64),
        count: usize,
    ) -> Check<Vec<u64>> {
        let mut words = vec![0; count * LINE];
        for (number, piece) in words.chunks_mut(PIECE).enumerate() {
            let (line, place) = (first + (number / 8) as i64, (number % 8) as i64);
            let index = matrix + line * LINE as i64 + (place ^ (line % 8)) * PIECE as i64;
            self.load(w.who(number % WARP as usize, at), from, index, piece)?;
        }
        Ok(words)
    }
}

/// Adds the product of a warp's rows and all columns to the sums.
fn add(w: &mut Warp, (ty, across): (Ty, bool), sums: &[Reg], [rows, columns]: [&[u64]; 2]) {
    let each = 4 / ty.size();
    let depth = LINE * each;
    let of = |words: &[u64], line: usize, at: usize| element(ty, words[line * LINE + at / each], at);
    let of_columns = |k: usize, j: usize| match across {
        true => of(columns, j / depth * depth + k, j % depth),
        false => of(columns, j, k),
    };
    let a: Vec<f32> = (0..ROWS * depth).map(|n| of(rows, n / depth, n % depth)).collect();
    let b: Vec<f32> = (0..2 * sums.len() * depth).map(|n| of_columns(n % depth, n / depth)).collect();
    for (s, r) in sums.iter().enumerate() {
        let sum = |l: usize| {
            let (i, j) = (l / 4 + 8 * (s / 2 % 2), 8 * (s / 4) + 2 * (l % 4) + s % 2);
            let before = f32::from_bits(w.regs.get(*r).bits[l] as u32);
            let pairs = a[i * depth..][..depth].iter().zip(&b[j * depth..][..depth]);
            u64::from(pairs.fold(before, |sum, (a, b)| a.mul_add(*b, sum)).to_bits())
        };
        w.regs.get_mut(*r).bits = array::from_fn(sum);
    }
}
