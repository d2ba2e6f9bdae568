//! A warp reduces a tile in index order, for operators that are not commutative (`schedule/facts/in_order.rs`). Here
//! a column is 16 neighbouring elements:
//!
//! ```text
//! round q of 4:   lane x loads column 32 q + x, by vector accesses, and folds it
//!                 shuffles join the 32 columns in order; lane q keeps the result
//! at the end:     shuffles join the results of lanes 0 .. 4
//! ```
//!
//! The code of the operator is repeated for each of the 16 elements, or for fewer in a loop if it is long, and once
//! for each level of the tree. The columns of a warp's lanes are neighbours, so a lane's next loads hit the cache
//! lines that earlier loads have brought to the L1 cache. In whole tiles no code tests whether an element exists.

use super::job::{self, WORDS_IN_FLIGHT};
use crate::core::{COLUMNS, NodeId, TILE, linear};
use crate::error::{Error, Result};
use crate::kernel::{Expr, Stmt, WARP};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::expressions::to_i64;
use crate::schedule::cuda::tree::shuffled;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::nested_loop::read;
use crate::schedule::element::reduction::{Reduction, bound};
use crate::schedule::facts::in_order::{InOrder, joined, stepped};
use crate::schedule::facts::segments::{neighbours, scattered};

/// The number of elements of a column.
const ROWS: i64 = TILE / COLUMNS;
/// The number of rounds for a tile.
const ROUNDS: i64 = COLUMNS / WARP as i64;
/// The maximum number of nodes in the code that joins the elements of one batch.
const MAX_NODES: usize = 1024;

/// A tile that is reduced in index order.
pub(super) struct OrderedTile<'a> {
    pub r: &'a Reduction,
    pub order: &'a InOrder,
    /// The variable of the segment's index, and its value.
    pub segment: (NodeId, Expr),
    /// The index in the segment of the tile's first element, and the number of the lane.
    pub base: Expr,
    pub lane: Expr,
    /// Whether arrays may have any strides.
    pub strided: bool,
}

impl OrderedTile<'_> {
    /// Returns the tile's accumulators, in lane 0.
    pub fn reduce(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<Vec<Expr>> {
        let known = l.region(
            std::slice::from_ref(&self.segment),
            &[self.order.first, self.order.count],
            &Expr::int(0),
            out,
        )?;
        let first = bind(l, "first", known[0].clone().plus(self.base.clone()), out);
        let totals = self.r.registers(l, "total");
        let absent = self.r.absent(l.launch);
        out.extend(totals.iter().zip(absent).map(|(reg, absent)| Stmt::Var(*reg, absent)));
        let of = |l: &mut Lower, elements: &[NodeId], rows: i64| -> Result<Vec<Stmt>> {
            let mut body = Vec::new();
            let values = self.rounds(l, elements, rows, &first, &mut body)?;
            body.extend(totals.iter().zip(values).map(|(reg, e)| Stmt::Assign(*reg, e)));
            Ok(body)
        };
        let batch = self.batch(l);
        let whole = of(l, &self.order.present, batch)?;
        let some = of(l, &self.order.any, 1)?;
        let last = first.clone().plus(Expr::int(TILE - 1));
        out.push(Stmt::If(Expr::binary(BinaryOp::Lt, last, known[1].clone()), whole, some));
        Ok(read(&totals))
    }

    /// Returns the number of elements of a column that are loaded together: a power of two.
    fn batch(&self, l: &mut Lower) -> i64 {
        let roots = &self.order.present;
        let reads = neighbours(l.launch, roots, self.order.index);
        let words = reads.iter().map(|(x, _)| l.launch.g.ty(*x).elem.size().div_ceil(4) as i64);
        let words = words.sum::<i64>() + 4 * scattered(l.launch, roots, self.order.index) as i64;
        let variables = self.r.variables(l.launch);
        let joined = self.r.join(l.launch, &variables, &variables);
        let size = l.launch.g.reachable(joined.into_iter().chain(roots.iter().copied())).len().max(1);
        let rows = (WORDS_IN_FLIGHT / words.max(1)).min((MAX_NODES / size) as i64);
        1 << rows.clamp(1, ROWS).ilog2()
    }

    /// Folds and joins the tile's columns in rounds of 32. `elements` are the nodes of an element, of which `batch`
    /// are loaded together. Returns the accumulators, in lane 0.
    fn rounds(
        &self,
        l: &mut Lower,
        elements: &[NodeId],
        batch: i64,
        first: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let own = self.r.registers(l, "own");
        let absent = self.r.absent(l.launch);
        out.extend(own.iter().zip(absent).map(|(reg, absent)| Stmt::Var(*reg, absent)));
        let (round, mut body) = (l.k.reg("round", Ty::I64), Vec::new());
        let lane = self.lane.clone();
        let column = Expr::Reg(round).times(Expr::int(WARP.into())).plus(to_i64(lane.clone()));
        let at = bind(l, "at", first.clone().plus(column.times(Expr::int(ROWS))), &mut body);
        let column = self.column(l, elements, batch, &at, &mut body)?;
        let joined = self.lanes(l, column, WARP, &mut body)?;
        let is_mine = Expr::binary(BinaryOp::Eq, to_i64(lane), Expr::Reg(round));
        let is_mine = bind(l, "mine", is_mine, &mut body);
        for (reg, value) in own.iter().zip(&joined) {
            let value = match value {
                Expr::Lit(_) => value.clone(),
                value => bind(l, "part", Expr::Broadcast(Box::new(value.clone())), &mut body),
            };
            body.push(Stmt::Assign(*reg, is_mine.clone().select(value, Expr::Reg(*reg))));
        }
        out.push(Stmt::Seq(round, Expr::int(0), Expr::int(ROUNDS), body));
        // a value that is a constant in the loop, such as a count, is that constant after the loop, too
        let own = own.iter().zip(joined).map(|(reg, value)| match value {
            Expr::Lit(_) => value,
            _ => Expr::Reg(*reg),
        });
        let own = own.collect();
        self.lanes(l, own, ROUNDS as u32, out)
    }

    /// Folds the column that begins at element `at`.
    fn column(
        &self,
        l: &mut Lower,
        elements: &[NodeId],
        batch: i64,
        at: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        if batch == ROWS {
            return self.rows(l, elements, (at, batch), None, out);
        }
        let acc = self.r.registers(l, "acc");
        let absent = self.r.absent(l.launch);
        out.extend(acc.iter().zip(absent).map(|(reg, absent)| Stmt::Var(*reg, absent)));
        let (b, mut body) = (l.k.reg("b", Ty::I64), Vec::new());
        let at = at.clone().plus(Expr::Reg(b).times(Expr::int(batch)));
        let at = bind(l, "at", at, &mut body);
        let values = self.rows(l, elements, (&at, batch), Some(read(&acc)), &mut body)?;
        body.extend(acc.iter().zip(values).map(|(reg, e)| Stmt::Assign(*reg, e)));
        out.push(Stmt::Seq(b, Expr::int(0), Expr::int(ROWS / batch), body));
        Ok(read(&acc))
    }

    /// Folds `rows` neighbouring elements from `at` on into the accumulators `before`, if there are any. All loads
    /// come before the first use.
    fn rows(
        &self,
        l: &mut Lower,
        elements: &[NodeId],
        (at, rows): (&Expr, i64),
        before: Option<Vec<Expr>>,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let index = self.order.index;
        let vars = [self.segment.clone(), (index, at.clone())];
        let indices: Vec<NodeId> = (0..rows)
            .map(|row| {
                let row = l.launch.g.lit(Lit::i64(row));
                linear::add(&mut l.launch.g, index, row)
            })
            .collect();
        let v = self.vector_width(l).min(rows) as usize;
        l.with_loaded(Default::default(), |l| {
            for (some, offset) in indices.chunks(v).zip((0..).step_by(v)) {
                let first = at.clone().plus(Expr::int(offset));
                job::load(l, elements, (index, some), &first, &vars, out)?;
            }
            let mut acc = before;
            for i in indices {
                let element: Vec<NodeId> = elements.iter().map(|n| l.launch.replace(*n, index, i)).collect();
                let next = stepped(l, self.r, acc.as_deref(), &element, &vars, out)?;
                acc = Some(next.into_iter().map(|e| bound(l, "next", e, out)).collect());
            }
            Ok::<_, Error>(acc.unwrap_or_else(|| self.r.absent(l.launch)))
        })
    }

    /// Returns the vector width of loads: 1 if columns may be unaligned.
    fn vector_width(&self, l: &mut Lower) -> i64 {
        let first = linear::Linear::of(&l.launch.g, self.order.first);
        let is_aligned = first.terms.values().chain([&first.constant]).all(|by| by % ROWS == 0);
        let reads = neighbours(l.launch, &self.order.present, self.order.index);
        let widest = reads.iter().map(|(x, _)| l.launch.g.ty(*x).elem.size() as i64).max();
        widest.filter(|_| is_aligned && !self.strided).map_or(1, |size| (16 / size).min(4))
    }

    /// Joins the values of the first `lanes` lanes by the tree, in order. The result is in lane 0.
    fn lanes(&self, l: &mut Lower, mut own: Vec<Expr>, lanes: u32, out: &mut Vec<Stmt>) -> Result<Vec<Expr>> {
        let mut distance = 1;
        while distance < lanes {
            let other = shuffled(l, &own, |e| Expr::ShuffleDown(e, distance), out);
            own = joined(l, self.r, &own, &other, out)?;
            distance *= 2;
        }
        Ok(own)
    }
}
