//! A warp over the elements of one tile, of one segment or of several at once: lane l has the 4 columns `4 l` and its neighbours (with vector accesses of less, groups of
//! `v` neighbours, 128 / groups apart). Rows of 128 columns are read in batches, all before the first is used.

use super::Job;
use crate::core::linear;
use crate::core::{COLUMNS, NodeId};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Reg, Stmt, WARP};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::tree::join;
use crate::schedule::cuda::{bind, int32, wide};
use crate::schedule::lower::Lower;
use crate::schedule::segments::neighbours;

/// Columns of a lane.
const OF_LANE: i64 = COLUMNS / WARP as i64;
/// Words of memory that a thread keeps in flight.
const WORDS_IN_FLIGHT: i64 = 32;

/// The accumulators of a lane: of each segment, reduction and column.
type Accumulators = Vec<Vec<Vec<Reg>>>;

/// A tile of some segments.
pub(super) struct Tile<'a> {
    pub job: &'a Job<'a>,
    /// The segments (i64).
    pub segments: &'a [Expr],
    /// The first element (i64), and how many there are.
    pub base: Expr,
    pub count: Expr,
    pub lane: Expr,
}

/// The lane's number in its warp.
pub fn lane(l: &mut Lower, out: &mut Vec<Stmt>) -> Expr {
    let lane = Expr::binary(BinaryOp::And, Expr::Place(Gpu::Thread), int32(WARP as i32 - 1));
    bind(l, "lane", lane, out)
}

impl Tile<'_> {
    /// The value of each reduction of each segment, in lane 0. All lanes take part.
    pub fn reduce(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<Vec<Vec<Expr>>> {
        let accs = self.accumulators(l, out);
        let first = self.base.clone().plus(wide(self.lane.clone()).times(Expr::int(self.job.v)));
        let first = bind(l, "first", first, out);
        let rows = |shift: u32| {
            let shift = Expr::int((COLUMNS.trailing_zeros() + shift).into());
            Expr::binary(BinaryOp::Shr, self.count.clone(), shift)
        };
        let batch = self.batch(l);
        let full = bind(l, "full", rows(0), out);
        let done = if batch > 1 {
            let batches = bind(l, "batches", rows(batch.trailing_zeros()), out);
            let b = l.k.reg("b", Ty::I64);
            let mut body = Vec::new();
            let at = first.clone().plus(Expr::Reg(b).times(Expr::int(batch * COLUMNS)));
            let at = bind(l, "at", at, &mut body);
            self.full(l, &at, batch, &accs, &mut body)?;
            out.push(Stmt::Seq(b, Expr::int(0), batches.clone(), body));
            bind(l, "done", batches.times(Expr::int(batch)), out)
        } else {
            Expr::int(0)
        };
        let row = l.k.reg("row", Ty::I64);
        let mut body = Vec::new();
        let at = first.clone().plus(Expr::Reg(row).times(Expr::int(COLUMNS)));
        let at = bind(l, "at", at, &mut body);
        self.full(l, &at, 1, &accs, &mut body)?;
        out.push(Stmt::Seq(row, done, full.clone(), body));
        let mut body = Vec::new();
        let at = bind(l, "at", first.plus(full.times(Expr::int(COLUMNS))), &mut body);
        self.partial(l, &at, &accs, &mut body)?;
        let rest = Expr::binary(BinaryOp::And, self.count.clone(), Expr::int(COLUMNS - 1));
        let some = Expr::binary(BinaryOp::Ne, rest, Expr::int(0));
        out.push(Stmt::If(some, body, vec![]));
        self.tree(l, &accs, out)
    }

    fn accumulators(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Accumulators {
        let mut of_segment = || {
            let mut of = Vec::new();
            for r in &self.job.reductions {
                let start = Expr::Lit(r.identity(l).unwrap_or(Lit::zero(r.ty)));
                let regs: Vec<Reg> = (0..OF_LANE).map(|_| l.k.reg("acc", r.ty)).collect();
                out.extend(regs.iter().map(|a| Stmt::Var(*a, start.clone())));
                of.push(regs);
            }
            of
        };
        self.segments.iter().map(|_| of_segment()).collect()
    }

    /// Rows that are read together: a power of two.
    fn batch(&self, l: &mut Lower) -> i64 {
        let (_, k) = l.g.fresh_var(Ty::I64);
        let roots: Vec<NodeId> = self.job.reductions.iter().map(|r| r.first(l, k)).collect();
        let reads = neighbours(l, &roots, k);
        let words: i64 =
            reads.iter().map(|(x, _)| OF_LANE * (l.g.ty(*x).elem.size() as i64).max(4) / 4).sum();
        let rows = WORDS_IN_FLIGHT / (words.max(1) * self.segments.len() as i64);
        1 << rows.clamp(1, 8).ilog2()
    }

    /// Distance of a lane's groups of neighbours.
    fn apart(&self) -> i64 {
        i64::from(WARP) * self.job.v
    }

    /// `rows` rows whose elements are all there; `at`: the lane's first.
    fn full(
        &self,
        l: &mut Lower,
        at: &Expr,
        rows: i64,
        accs: &Accumulators,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let offsets: Vec<i64> = (0..rows)
            .flat_map(|row| (0..OF_LANE / self.job.v).map(move |g| (row, g)))
            .map(|(row, g)| row * COLUMNS + g * self.apart())
            .collect();
        let groups: Vec<(i64, usize)> = offsets
            .iter()
            .enumerate()
            .map(|(i, o)| (*o, (i as i64 % (OF_LANE / self.job.v) * self.job.v) as usize))
            .collect();
        self.groups(l, at, &groups, self.job.v, accs, out)
    }

    /// The last row, whose elements may be missing.
    fn partial(&self, l: &mut Lower, at: &Expr, accs: &Accumulators, out: &mut Vec<Stmt>) -> Result<()> {
        let end = bind(l, "end", self.base.clone().plus(self.count.clone()), out);
        let below = |e: Expr| Expr::binary(BinaryOp::Le, e, end.clone());
        for g in 0..OF_LANE / self.job.v {
            let (offset, column) = (g * self.apart(), (g * self.job.v) as usize);
            let (mut all, mut some) = (Vec::new(), Vec::new());
            self.groups(l, at, &[(offset, column)], self.job.v, accs, &mut all)?;
            for q in 0..self.job.v - 1 {
                let mut one = Vec::new();
                self.groups(l, at, &[(offset + q, column + q as usize)], 1, accs, &mut one)?;
                some.push(Stmt::If(below(at.clone().plus(Expr::int(offset + q + 1))), one, vec![]));
            }
            out.push(Stmt::If(below(at.clone().plus(Expr::int(offset + self.job.v))), all, some));
        }
        Ok(())
    }

    /// Groups of `v` neighbours of all segments, each (offset, first column) from the index `at` on: loads, then steps.
    fn groups(
        &self,
        l: &mut Lower,
        at: &Expr,
        groups: &[(i64, usize)],
        v: i64,
        accs: &Accumulators,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (_, base) = l.g.fresh_var(Ty::I64);
        let before = l.loaded.take();
        let mut work = Vec::new();
        for (segment, accs) in self.segments.iter().zip(accs) {
            l.loaded = Some(Default::default());
            let vars = [(self.job.s.index, segment.clone()), (base, at.clone())];
            let mut indices = Vec::new();
            for (offset, column) in groups {
                let of_group: Vec<NodeId> = (0..v)
                    .map(|q| {
                        let offset = l.g.lit(Lit::i64(offset + q));
                        linear::add(&mut l.g, base, offset)
                    })
                    .collect();
                self.load(l, &vars, at, *offset, &of_group, out)?;
                indices.extend(of_group.into_iter().zip(*column..));
            }
            for (index, column) in indices {
                self.step(l, &vars, index, column, accs, &mut work)?;
            }
        }
        out.append(&mut work);
        l.loaded = before;
        Ok(())
    }

    /// Loads what the elements at neighbouring indices read side by side.
    fn load(
        &self,
        l: &mut Lower,
        vars: &[(NodeId, Expr)],
        at: &Expr,
        offset: i64,
        indices: &[NodeId],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (_, k) = l.g.fresh_var(Ty::I64);
        let roots: Vec<NodeId> = self.job.reductions.iter().map(|r| r.first(l, k)).collect();
        for (x, outer) in neighbours(l, &roots, k) {
            let (mem, ty) = (l.input(x, false), l.g.ty(x).elem);
            let regs: Vec<Reg> = indices.iter().map(|_| l.k.reg("x", ty)).collect();
            let index = at.clone().plus(Expr::int(offset));
            let place = l.element_address(mem, &outer, index, vars, out)?;
            for (i, r) in indices.iter().zip(&regs) {
                l.note_loaded(x, &outer, *i, Expr::Reg(*r));
            }
            match regs[..] {
                [one] => out.push(Stmt::Let(one, Expr::load(mem, place), Default::default())),
                _ => {
                    l.vector(mem);
                    out.push(Stmt::LoadVec(regs, mem, place));
                }
            }
        }
        Ok(())
    }

    /// The element at an index goes into its column.
    fn step(
        &self,
        l: &mut Lower,
        vars: &[(NodeId, Expr)],
        index: NodeId,
        column: usize,
        accs: &[Vec<Reg>],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (mut vars, mut roots) = (vars.to_vec(), Vec::new());
        for (r, accs) in self.job.reductions.iter().zip(accs) {
            let (_, old) = l.g.fresh_var(r.ty);
            vars.push((old, Expr::Reg(accs[column])));
            roots.push(r.step(l, old, index));
        }
        let values = l.region(&vars, &roots, None, &Expr::int(0), out)?;
        // all new values before any accumulator changes
        let values: Vec<Expr> = values.into_iter().map(|e| bind(l, "next", e, out)).collect();
        out.extend(accs.iter().zip(values).map(|(a, e)| Stmt::Assign(a[column], e)));
        Ok(())
    }

    /// Neighbours join: those of a lane, then lanes, then groups.
    fn tree(&self, l: &mut Lower, accs: &Accumulators, out: &mut Vec<Stmt>) -> Result<Vec<Vec<Expr>>> {
        let mut all = Vec::new();
        for accs in accs {
            let mut of = Vec::new();
            for (r, accs) in self.job.reductions.iter().zip(accs) {
                let mut groups = Vec::new();
                for group in accs.chunks(self.job.v as usize) {
                    let regs = group.iter().map(|a| Expr::Reg(*a)).collect();
                    let mut value = pairs(l, r, regs, out)?;
                    for apart in [1, 2, 4, 8, 16] {
                        let other = bind(l, "other", Expr::ShuffleDown(Box::new(value.clone()), apart), out);
                        let joined = join(l, r, &value, &other, out)?;
                        value = bind(l, "joined", joined, out);
                    }
                    groups.push(value);
                }
                of.push(pairs(l, r, groups, out)?);
            }
            all.push(of);
        }
        Ok(all)
    }
}

/// A power of two of neighbours, joined.
pub fn pairs(
    l: &mut Lower,
    r: &crate::schedule::reduction::Reduction,
    mut values: Vec<Expr>,
    out: &mut Vec<Stmt>,
) -> Result<Expr> {
    while values.len() > 1 {
        let mut next = Vec::new();
        for pair in values.chunks(2) {
            let joined = join(l, r, &pair[0], &pair[1], out)?;
            next.push(bind(l, "pair", joined, out));
        }
        values = next;
    }
    Ok(values.remove(0))
}
