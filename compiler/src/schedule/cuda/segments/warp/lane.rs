//! What a lane has of a tile: its columns and their accumulators, and the rows that it loads together.

use super::{Accumulators, COLUMNS_PER_LANE, Tile};
use crate::core::NodeId;
use crate::kernel::{Reg, Stmt};
use crate::scalar::Ty;
use crate::schedule::cuda::divided_number::Walk;
use crate::schedule::cuda::segments::job::WORDS_IN_FLIGHT;
use crate::schedule::element::lower::Lower;
use crate::schedule::element::reduction::{counts, each_accumulator};
use crate::schedule::facts::segments::{neighbours, scattered};

/// The words of registers for a scattered read, that is, one whose neighbours are not neighbours in memory: its
/// value, its address, and whether it is in bounds.
const WORDS_OF_SCATTERED_READ: i64 = 4;
/// The maximum number of operations of the elements that are loaded together, unless they are one row.
const MAX_OPERATIONS: i64 = 1024;
/// The maximum number of rows that are loaded together if segments may begin at any address.
const ROWS_OF_ANY_BEGIN: i64 = 4;

impl Tile<'_> {
    /// Returns the number of columns of a row.
    pub(super) fn width(&self) -> i64 {
        i64::from(self.lanes) * self.columns
    }

    pub(super) fn accumulators(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Accumulators {
        let mut new_accumulators = || {
            let mut per_reduction = Vec::new();
            for r in each_accumulator(&self.job.reductions) {
                let start = r.absent(l.launch);
                let regs: Vec<Reg> = (0..self.columns).map(|_| l.k.reg("acc", r.ty)).collect();
                out.extend(regs.iter().map(|a| Stmt::Var(*a, start.clone())));
                per_reduction.push(regs);
            }
            per_reduction
        };
        let mut all: Accumulators = self.segments.iter().map(|_| new_accumulators()).collect();
        if let Some((first, others)) = all.split_first_mut() {
            for (at, is_count) in counts(&self.job.reductions).enumerate() {
                for other in others.iter_mut().filter(|_| is_count) {
                    other[at] = first[at].clone();
                }
            }
        }
        all
    }

    /// Returns the number of rows that are loaded together: a power of two.
    pub(super) fn batch(&self, l: &mut Lower) -> i64 {
        let (_, k) = l.launch.g.fresh_var(Ty::I64);
        let roots: Vec<NodeId> = self.job.reductions.iter().flat_map(|r| r.first(l.launch, k)).collect();
        let reads = neighbours(l.launch, &roots, k);
        let words: i64 =
            reads.iter().map(|(x, _)| self.columns * (l.launch.g.ty(*x).elem.size() as i64).max(4) / 4).sum();
        let scattered = scattered(l.launch, &roots, k) as i64;
        let of_row = self.job.operations.max(1) as i64 * self.columns * self.segments.len() as i64;
        let affordable = (MAX_OPERATIONS / of_row).max(1);
        // if segments begin at any address, each element is a read of its own, most of them at a constant distance
        // from one address
        if !self.known.is_empty() {
            let words = (words + scattered * self.columns).max(1);
            return 1 << (WORDS_IN_FLIGHT / words).min(affordable).clamp(1, ROWS_OF_ANY_BEGIN).ilog2();
        }
        let words = words + scattered * self.columns * WORDS_OF_SCATTERED_READ;
        // addresses with strides and several accumulators leave registers for fewer loads
        let in_flight = if self.is_counted() && l.k.strided { WORDS_IN_FLIGHT / 2 } else { WORDS_IN_FLIGHT };
        let rows = in_flight / (words.max(1) * self.segments.len() as i64);
        1 << rows.min(affordable).clamp(1, 8).ilog2()
    }

    /// Returns the number of a lane's columns that are neighbours.
    pub(super) fn neighbours(&self) -> i64 {
        if self.columns > COLUMNS_PER_LANE { self.columns } else { self.job.v }
    }

    /// Returns the distance between a lane's groups in a row.
    pub(super) fn group_stride(&self) -> i64 {
        if self.columns > COLUMNS_PER_LANE { self.job.v } else { i64::from(self.lanes) * self.job.v }
    }

    /// Returns the lane's groups in `rows` rows: the offset, the first column and the row of each.
    pub(super) fn places(&self, rows: i64) -> Vec<(i64, usize, i64)> {
        let groups = self.columns / self.job.v;
        let place = |i: i64| {
            let row = i / groups;
            let offset = row * self.width() + i % groups * self.group_stride();
            (offset, (i % groups * self.job.v) as usize, row)
        };
        (0..rows * groups).map(place).collect()
    }

    /// Returns a walk from one group of a lane to the next.
    pub(super) fn walk(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Walk<'_> {
        self.job.walk(l, self.group_stride(), out)
    }
}
