//! Staging: the threads of a block load, for a group of neighbouring tree columns of k, the values that the block's
//! rows and columns need into shared memory.
//!
//! ```text
//! inner index k = tile's first + 128 row + column    (row < 16, column < 128: its place in the tree's tile)
//! slot          = row * columns + (column - first column of the group)    holds the values of one k, for each i (or
//! j)
//! ```
//!
//! In a full tile a group has 16 rows and `params.staged` tree columns. A tile with fewer rows has larger groups,
//! which fill the same slots. For indices out of bounds the last value is loaded and not used, so that no load is
//! inside a branch.

use super::block::Block;
use super::params::{MAX_LENGTH, ROWS, THREADS};
use crate::core::COLUMNS;
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::expressions::{int32, masked, shifted, thread, to_i64};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::nested_loop::rows_of;

/// The number of rounds whose loads are in flight together in a partial tile.
const ROUNDS_IN_FLIGHT: i64 = 4;

/// A group of tree columns of k that are staged together.
#[derive(Clone)]
pub(super) struct Staged {
    /// The first inner index of the tile (i64).
    pub base: Expr,
    /// The number in the tile of the group's first tree column (i32).
    pub first: Expr,
    /// The tile, if it is not full.
    pub partial: Option<Partial>,
}

/// A tile that is not full.
#[derive(Clone)]
pub(super) struct Partial {
    /// The number of its inner indices (i64), of its tree columns, and of its rows (both i32).
    pub left: Expr,
    pub width: Expr,
    pub rows: Expr,
    /// The number of tree columns of a group (i32), and its logarithm.
    pub columns: Expr,
    pub shift: Expr,
}

/// The part of one side that a thread stages.
struct Share {
    /// The thread's row or column in the block's tile, and its first slot (both i32).
    own: Expr,
    slot: Expr,
    /// The distance from one of the thread's slots to its next one: all threads together fill that many in a round.
    slots: i64,
}

impl Block<'_> {
    /// Describes a tile of `left` inner indices (i64).
    pub fn partial(&self, l: &mut Lower, left: &Expr, out: &mut Vec<Stmt>) -> Partial {
        let narrow = |e: Expr| Expr::Cast(Ty::I32, Box::new(e));
        let width = bind(l, "width", narrow(left.clone().min(Expr::int(COLUMNS))), out);
        let rows = bind(l, "rows", narrow(rows_of(left.clone())), out);
        // a group has as many tree columns as fit into the slots, with rows rounded up to a power of two
        let mut shift = int32((ROWS * self.params.staged).ilog2() as i32);
        for power in (0..ROWS.ilog2()).map(|power| 1 << power) {
            let more = Expr::binary(BinaryOp::Gt, rows.clone(), int32(power));
            shift = shift.minus(more.select(int32(1), int32(0)));
        }
        let shift = bind(l, "shift", shift, out);
        let columns = bind(l, "columns", Expr::binary(BinaryOp::Shl, int32(1), shift.clone()), out);
        Partial { left: left.clone(), width, rows, columns, shift }
    }

    /// Returns the part of a side that this thread stages. Where k is the contiguous index, neighbouring threads have
    /// neighbouring slots of one row or column of the result; else they have neighbouring rows or columns.
    fn share(&self, side: usize) -> Share {
        let (s, staged) = (&self.params.sides[side], self.params.staged);
        let slots = i64::from(THREADS) / s.size;
        if s.along_k && s.size > 1 {
            let others = shifted(thread(), staged * s.size).times(int32(staged as i32));
            let slot = others.plus(masked(thread(), staged));
            return Share { own: masked(shifted(thread(), staged), s.size), slot, slots };
        }
        Share { own: masked(thread(), s.size), slot: shifted(thread(), s.size), slots }
    }

    /// Stages a group of tree columns, between two barriers.
    pub fn stage(&self, l: &mut Lower, staged: &Staged, out: &mut Vec<Stmt>) -> Result<()> {
        out.push(Stmt::Barrier);
        // in a partial tile, slots from this number on hold nothing that is needed
        let needed = staged.partial.as_ref().map(|p| {
            let present = p.width.clone().minus(staged.first.clone()).min(p.columns.clone());
            let before = p.rows.clone().minus(int32(1)).times(p.columns.clone());
            bind(l, "needed", before.plus(present), out)
        });
        for side in (0..3).filter(|s| !self.params.sides[*s].parts.is_empty()) {
            let share = self.share(side);
            let rounds = (ROWS * self.params.staged / share.slots).max(1);
            let at_once = if needed.is_some() { ROUNDS_IN_FLIGHT.min(rounds) } else { rounds };
            for begin in (0..rounds).step_by(at_once as usize) {
                let mut body = Vec::new();
                self.rounds(l, staged, (side, &share), begin..begin + at_once, &mut body)?;
                let first = int32((begin * share.slots) as i32);
                match &needed {
                    Some(needed) if begin > 0 => {
                        out.push(Stmt::If(Expr::binary(BinaryOp::Lt, first, needed.clone()), body, vec![]));
                    }
                    _ => out.append(&mut body),
                }
            }
        }
        out.push(Stmt::Barrier);
        Ok(())
    }

    /// Stages a side in some rounds, in each of which every thread fills one slot: all loads come first, then all
    /// stores.
    fn rounds(
        &self,
        l: &mut Lower,
        staged: &Staged,
        (side, share): (usize, &Share),
        rounds: std::ops::Range<i64>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (s, pitch) = (&self.params.sides[side], self.params.pitch(side));
        let (mut body, mut stores) = (Vec::new(), Vec::new());
        let mut vars = self.outer.clone();
        if let Some(variable) = self.variable(side) {
            let last = self.extents[side].clone().minus(Expr::int(1));
            let own = bind(l, "own", self.index(side, share.own.clone()).min(last), &mut body);
            l.k.kernel.in_space.push(own.clone());
            vars.push((variable, own));
        }
        let slot = bind(l, "slot", share.slot.clone(), &mut body);
        let to = slot.clone().times(int32(pitch as i32)).plus(share.own.clone());
        let to = bind(l, "to", to, &mut body);
        let k = staged.base.clone().plus(to_i64(staged.first.clone()));
        let k = bind(l, "k", k, &mut body);
        for round in rounds {
            let at = k.clone().plus(to_i64(self.offset_of_slot(staged, &slot, round * share.slots)));
            let at = match &staged.partial {
                Some(_) => at.min(self.count.clone().minus(Expr::int(1))),
                None => at,
            };
            let mut vars = vars.clone();
            let at = bind(l, "k", at, &mut body);
            // so that divisions of k take 32 bits
            if let Expr::Reg(k) = at {
                l.k.kernel.bounded.push((k, Expr::int(i64::from(MAX_LENGTH) - 1)));
            }
            vars.push((self.params.k, at));
            let values = self.region(l, &vars, &s.parts, &mut body)?;
            for (m, e) in self.shared[side].iter().zip(values) {
                let e = bind(l, "x", e, &mut body);
                let to = to.clone().plus(int32((round * share.slots * pitch) as i32));
                stores.push(Stmt::Store(*m, to, e));
            }
        }
        body.append(&mut stores);
        let all = ROWS * self.params.staged;
        if share.slots > all {
            let some = Expr::binary(BinaryOp::Lt, share.slot.clone(), int32(all as i32));
            out.push(Stmt::If(some, body, vec![]));
        } else {
            out.append(&mut body);
        }
        Ok(())
    }

    /// Returns the inner index of the slot `slot + further`, counted from the group's first one (i32).
    fn offset_of_slot(&self, staged: &Staged, slot: &Expr, further: i64) -> Expr {
        let (columns, rows) = (self.params.staged, int32(COLUMNS as i32));
        match &staged.partial {
            // `further` is a multiple of a row's slots, because a round fills whole rows if there are several rounds
            None => {
                let own = shifted(slot.clone(), columns).times(rows).plus(masked(slot.clone(), columns));
                own.plus(int32((further / columns * COLUMNS) as i32))
            }
            Some(p) => {
                let slot = slot.clone().plus(int32(further as i32));
                let row = Expr::binary(BinaryOp::Shr, slot.clone(), p.shift.clone());
                let column = Expr::binary(BinaryOp::And, slot, p.columns.clone().minus(int32(1)));
                row.times(rows).plus(column)
            }
        }
    }
}
