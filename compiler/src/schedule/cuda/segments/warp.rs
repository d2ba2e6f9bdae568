//! The reduction of a tile by a warp, for one or several segments at once. A tile is up to 16 rows of 128 columns
//! (semantics 5.1). A lane has 4 of the columns, in groups of `v` neighbours that one access loads; or it has 8
//! columns, all of them neighbours. Rows are loaded in batches, all loads of a batch before the first use. Each lane
//! folds its columns in registers, and `lanes.rs` joins the columns.

mod groups;
mod lane;

use super::in_order::OrderedTile;
use super::job::{Job, LONG_ELEMENT};
use super::lanes::{Exchange, join_columns};
use crate::core::{COLUMNS, NodeId, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt, WARP};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::divided_number::Walk;
use crate::schedule::cuda::expressions::to_i64;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::nested_loop::read;
use crate::schedule::element::reduction::{Reduction, by_reduction, each_accumulator};

/// The number of columns of a lane if all lanes of a warp share a tile.
pub(super) const COLUMNS_PER_LANE: i64 = COLUMNS / WARP as i64;

/// The registers of a lane's accumulators: `[segment][accumulator][column]`. All segments have the same counts, so
/// they share the registers of these.
type Accumulators = Vec<Vec<Vec<Reg>>>;

/// The values of the accumulators in the first lane: `[segment][reduction][accumulator]`.
type Totals = Vec<Vec<Vec<Expr>>>;

/// A tile of each of some segments, at the same place in all of them.
#[derive(Clone)]
pub(super) struct Tile<'a> {
    pub job: &'a Job<'a>,
    /// The segments (i64). Lanes of different groups may have different segments.
    pub segments: &'a [Expr],
    /// The nodes whose values are known for the segment, if there is only one.
    pub known: &'a [(NodeId, Expr)],
    /// The parts of each segment's divided index, with their values; none if it is not divided.
    pub parts: &'a [Vec<(NodeId, Expr)>],
    /// The index in the segment of the tile's first element, and the number of its elements (both i64). If fewer than
    /// 32 lanes reduce a segment, it has at most one row.
    pub base: Expr,
    pub count: Expr,
    /// The number of lanes that reduce a segment together: a power of two.
    pub lanes: u32,
    /// The number of columns of a lane. If it is more than [`COLUMNS_PER_LANE`], all of them are neighbours, so that
    /// a lane joins more columns before the first exchange.
    pub columns: i64,
    /// The number of this lane among `lanes`.
    pub lane: Expr,
    /// Whether segments have several tiles, most of which are whole.
    pub is_of_long_segment: bool,
}

/// A group of neighbouring elements of a lane, which one access loads: the base from which its index counts (a
/// variable and its value), its offset from that base, its first column, and whether it is in bounds (`None` if it
/// always is).
struct Group {
    base: (NodeId, Expr),
    offset: i64,
    column: usize,
    /// The row, counted from the first row of the groups that are folded together.
    row: i64,
    is_present: Option<Expr>,
    /// The parts of its first element's divided index.
    parts: Vec<Expr>,
}

/// The rows that are left of a tile.
struct Clamped<'a> {
    /// The lane's first element in them.
    start: Expr,
    /// The number of rows before them.
    so_far: Expr,
    /// The end of the tile.
    end: Expr,
    walk: &'a Walk<'a>,
    /// The parts of the divided index of the first element, or of the last one if the lane has none.
    parts: Vec<Expr>,
}

impl Tile<'_> {
    /// Returns the accumulators of each reduction of each segment; they are right in the first of the lanes that
    /// share the segment. All lanes of the warp must run this code.
    pub fn reduce(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<Totals> {
        let types: Vec<Ty> = each_accumulator(&self.job.reductions).map(|r| r.ty).collect();
        let mut code = |l: &mut Lower, job: &Job, out: &mut Vec<Stmt>| {
            Ok(Tile { job, ..self.clone() }.version(l, out)?.concat().concat())
        };
        let totals = self.job.versions(l, None, &types.repeat(self.segments.len()), &mut code, out)?;
        let of_segment =
            |of: &[Expr]| by_reduction(&self.job.reductions, of).map(|(_, own)| own.to_vec()).collect();
        Ok(totals.chunks(types.len()).map(of_segment).collect())
    }

    /// Does what [`Self::reduce`] does, with one version of the elements' code.
    fn version(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<Totals> {
        if let (Some(order), [segment], [r]) = (&self.job.in_order, self.segments, &self.job.reductions[..]) {
            let segment = (self.job.s.index, segment.clone());
            let (base, lane, strided) = (self.base.clone(), self.lane.clone(), l.k.strided);
            let tile = OrderedTile { r, order, segment, base, lane, strided };
            return Ok(vec![vec![tile.reduce(l, out)?]]);
        }
        let Some(rows) = self.whole_rows().filter(|_| self.is_counted()) else {
            return self.some_rows(l, out);
        };
        let totals: Vec<Vec<Vec<Reg>>> = self
            .segments
            .iter()
            .map(|_| self.job.reductions.iter().map(|r| r.registers(l, "total")).collect())
            .collect();
        let all = totals.iter().flatten().zip(self.segments.iter().flat_map(|_| &self.job.reductions));
        for (regs, r) in all {
            let absent = r.absent(l.launch);
            out.extend(regs.iter().zip(absent).map(|(reg, absent)| Stmt::Var(*reg, absent)));
        }
        let assign = |values: Totals, out: &mut Vec<Stmt>| {
            let values = values.into_iter().flatten().flatten();
            let regs = totals.iter().flatten().flatten();
            out.extend(regs.zip(values).map(|(r, e)| Stmt::Assign(*r, e)));
        };
        let (mut whole, mut some) = (Vec::new(), Vec::new());
        let values = self.all_rows(l, rows, &mut whole)?;
        assign(values, &mut whole);
        let values = self.some_rows(l, &mut some)?;
        assign(values, &mut some);
        let is_whole = Expr::binary(BinaryOp::Eq, self.count.clone(), Expr::int(rows * self.width()));
        out.push(Stmt::If(is_whole, whole, some));
        Ok(totals.iter().map(|of| of.iter().map(|regs| read(regs)).collect()).collect())
    }

    /// Returns the number of rows of a whole tile, if separate code for whole tiles pays in reductions that count
    /// elements: there the counts are constants, hence the weights of means, too.
    fn whole_rows(&self) -> Option<i64> {
        match (self.lanes, self.is_of_long_segment) {
            (WARP, false) => None,
            (WARP, true) => Some(TILE / COLUMNS).filter(|_| self.job.operations < LONG_ELEMENT),
            _ => Some(1),
        }
    }

    fn is_counted(&self) -> bool {
        self.job.reductions.iter().any(Reduction::is_counted)
    }

    /// Reduces a tile of `rows` whole rows.
    fn all_rows(&self, l: &mut Lower, rows: i64, out: &mut Vec<Stmt>) -> Result<Totals> {
        let accs = self.accumulators(l, out);
        let first = self.first(l, out);
        let batch = self.batch(l).min(rows);
        let walk = self.walk(l, out);
        let mut parts = walk.first(l, &first, out);
        for row in (0..rows).step_by(batch as usize) {
            let at = bind(l, "at", first.clone().plus(Expr::int(row * self.width())), out);
            self.job.note_index(l, &at);
            self.full(l, (&at, &Expr::int(row)), (batch, &walk, &mut parts), &accs, out)?;
        }
        self.tree(l, &accs, Some(rows), out)
    }

    /// Returns the index in the segment of the lane's first element.
    fn first(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Expr {
        let first = self.base.clone().plus(to_i64(self.lane.clone()).times(Expr::int(self.neighbours())));
        bind(l, "first", first, out)
    }

    /// Reduces a tile of any number of elements.
    fn some_rows(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<Totals> {
        let accs = self.accumulators(l, out);
        let (v, width) = (self.job.v, self.width());
        let first = self.first(l, out);
        let end = bind(l, "end", self.base.clone().plus(self.count.clone()), out);
        let batch = if self.lanes == WARP { self.batch(l) } else { 1 };
        let mut start = first.clone();
        let (mut rest, mut so_far) = (self.count.clone(), Expr::int(0));
        let walk = self.walk(l, out);
        if self.lanes == WARP {
            let parts = walk.first(l, &first, out);
            let variables = walk.variables(l, parts, out);
            let mut parts = read(&variables);
            let batches = Expr::binary(BinaryOp::Shr, rest.clone(), shift(batch * width));
            let batches = bind(l, "batches", batches, out);
            let b = l.k.reg("b", Ty::I64);
            let mut body = Vec::new();
            let at = first.clone().plus(Expr::Reg(b).times(Expr::int(batch * width)));
            let at = bind(l, "at", at, &mut body);
            self.job.note_index(l, &at);
            let rows = Expr::Reg(b).times(Expr::int(batch));
            self.full(l, (&at, &rows), (batch, &walk, &mut parts), &accs, &mut body)?;
            walk.assign(&variables, parts, &mut body);
            out.push(Stmt::Seq(b, Expr::int(0), batches.clone(), body));
            so_far = batches.clone().times(Expr::int(batch));
            let done = bind(l, "done", batches.times(Expr::int(batch * width)), out);
            rest = bind(l, "rest", rest.minus(done.clone()), out);
            start = bind(l, "start", first.clone().plus(done), out);
            self.job.note_index(l, &start);
        }
        // the rows that are left take the smallest batch that can hold them
        let (mut left, mut begin) = (Vec::new(), Vec::new());
        let parts = match self.job.of_element {
            Some(_) => {
                let index = start.clone().min(self.last(l, &mut begin));
                let index = bind(l, "k", index, &mut begin);
                walk.first(l, &index, &mut begin)
            }
            None => vec![],
        };
        let is_divided = !parts.is_empty();
        let clamped = Clamped { start, so_far, end: end.clone(), walk: &walk, parts };
        let mut rows = 1;
        while rows <= batch {
            let mut body = Vec::new();
            self.clamped(l, &clamped, rows, &accs, &mut body)?;
            let more = Expr::binary(BinaryOp::Gt, rest.clone(), Expr::int((rows / 2) * width));
            left = vec![Stmt::If(more, body, left)];
            rows *= 2;
        }
        begin.append(&mut left);
        if v > 1 {
            let whole = Expr::binary(BinaryOp::And, self.count.clone(), Expr::int(!(v - 1)));
            let some = Expr::binary(BinaryOp::Gt, whole, Expr::int(0));
            out.push(Stmt::If(some, begin, vec![]));
            self.tail(l, &first, &end, &accs, out)?;
        } else if is_divided {
            out.push(Stmt::If(Expr::binary(BinaryOp::Gt, rest, Expr::int(0)), begin, vec![]));
        } else {
            out.append(&mut begin);
        }
        self.tree(l, &accs, None, out)
    }

    /// Folds `rows` rows that are in bounds. `at` is the lane's first element in them, and `parts` are those of its
    /// divided index, afterwards those of the next row; `so_far` rows were folded before.
    fn full(
        &self,
        l: &mut Lower,
        (at, so_far): (&Expr, &Expr),
        (rows, walk, parts): (i64, &Walk, &mut Vec<Expr>),
        accs: &Accumulators,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let base = (l.launch.g.fresh_var(Ty::I64).1, at.clone());
        let mut groups = Vec::new();
        for (offset, column, row) in self.places(rows) {
            let (base, parts_of_group) = (base.clone(), parts.clone());
            groups.push(Group { base, offset, column, row, is_present: None, parts: parts_of_group });
            walk.next(l, parts, None, out);
        }
        self.groups(l, (&groups, so_far), self.job.v, accs, out)
    }

    /// Does what [`Self::full`] does, for rows whose groups may be out of bounds: in place of such a group another
    /// one is loaded, and its values are not used. It is the last whole one; if the index is divided, it is the
    /// lane's last one, because that is what a walk leads to.
    fn clamped(
        &self,
        l: &mut Lower,
        of: &Clamped,
        rows: i64,
        accs: &Accumulators,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let v = self.job.v;
        let last = self.last(l, out);
        let (mut parts, mut before) = (of.parts.clone(), None);
        let mut groups = Vec::new();
        for (offset, column, row) in self.places(rows) {
            let index = bind(l, "k", of.start.clone().plus(Expr::int(offset)), out);
            let is_present = Expr::binary(BinaryOp::Le, index.clone().plus(Expr::int(v)), of.end.clone());
            let is_present = bind(l, "there", is_present, out);
            let index = match before.filter(|_| !parts.is_empty()) {
                Some(before) => {
                    of.walk.next(l, &mut parts, Some(&is_present), out);
                    is_present.clone().select(index, before)
                }
                None => index.min(last.clone()),
            };
            let index = bind(l, "k", index, out);
            if v == 1 {
                // with vector accesses there may be no whole group, and then this index is negative
                self.job.note_index(l, &index);
            }
            before = Some(index.clone());
            groups.push(Group {
                base: (l.launch.g.fresh_var(Ty::I64).1, index),
                offset: 0,
                column,
                row,
                is_present: Some(is_present),
                parts: parts.clone(),
            });
        }
        self.groups(l, (&groups, &of.so_far), v, accs, out)
    }

    /// Returns the index of the last group of `v` elements that are all in the tile.
    fn last(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Expr {
        let v = self.job.v;
        let whole = Expr::binary(BinaryOp::And, self.count.clone(), Expr::int(!(v - 1)));
        bind(l, "last", self.base.clone().plus(whole).minus(Expr::int(v)), out)
    }

    /// Folds the last `count % v` elements one by one.
    fn tail(
        &self,
        l: &mut Lower,
        first: &Expr,
        end: &Expr,
        accs: &Accumulators,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let v = self.job.v;
        let rows = Expr::binary(BinaryOp::Shr, self.count.clone(), shift(self.width()));
        let mut body = Vec::new();
        let at = bind(l, "at", first.clone().plus(rows.clone().times(Expr::int(self.width()))), &mut body);
        self.job.note_index(l, &at);
        for (offset, column, row) in self.places(1) {
            let at = at.clone().plus(Expr::int(offset));
            let mut some = Vec::new();
            for q in 0..v - 1 {
                let mut one = Vec::new();
                let index = bind(l, "k", at.clone().plus(Expr::int(q)), &mut one);
                let base = (l.launch.g.fresh_var(Ty::I64).1, index);
                let column = column + q as usize;
                let group = Group { base, offset: 0, column, row, is_present: None, parts: vec![] };
                self.groups(l, (&[group], &rows), 1, accs, &mut one)?;
                let is_present = Expr::binary(BinaryOp::Lt, at.clone().plus(Expr::int(q)), end.clone());
                some.push(Stmt::If(is_present, one, vec![]));
            }
            let partly = Expr::binary(BinaryOp::Gt, at.plus(Expr::int(v)), end.clone());
            body.push(Stmt::If(partly, some, vec![]));
        }
        let odd = Expr::binary(BinaryOp::And, self.count.clone(), Expr::int(v - 1));
        out.push(Stmt::If(Expr::binary(BinaryOp::Ne, odd, Expr::int(0)), body, vec![]));
        Ok(())
    }

    /// Joins the columns of each segment by the tree. `rows` is the number of elements of each column, if it is known
    /// and the same for all.
    fn tree(
        &self,
        l: &mut Lower,
        accs: &Accumulators,
        rows: Option<i64>,
        out: &mut Vec<Stmt>,
    ) -> Result<Totals> {
        let mut all: Totals = accs.iter().map(|_| Vec::new()).collect();
        let layout = (self.neighbours(), self.lanes);
        if self.is_counted() {
            // segments share the counts, and what is computed from these
            let mut at = 0;
            for r in &self.job.reductions {
                let own = at..at + r.accumulators();
                at = own.end;
                let columns: Vec<&[Vec<Reg>]> = accs.iter().map(|accs| &accs[own.clone()]).collect();
                let values = join_columns(l, r, (&columns, rows), layout, Exchange::Down, out)?;
                all.iter_mut().zip(values).for_each(|(all, value)| all.push(value));
            }
            return Ok(all);
        }
        for (accs, all) in accs.iter().zip(&mut all) {
            for (r, accs) in by_reduction(&self.job.reductions, accs) {
                all.append(&mut join_columns(l, r, (&[accs], rows), layout, Exchange::Down, out)?);
            }
        }
        Ok(all)
    }
}

/// Returns log2 of a power of two.
fn shift(power: i64) -> Expr {
    Expr::int(power.trailing_zeros().into())
}
