//! A warp reduces the elements of one tile, of one or several segments at once. A lane has 4 of the
//! 128 columns, in groups of `v` neighbours, as many as one access takes. The rows of 128 columns
//! are loaded in batches, all loads of a batch before the first use.

use super::job::{self, Job};
use crate::core::{COLUMNS, NodeId, linear};
use crate::error::{Error, Result};
use crate::kernel::{Expr, Gpu, Reg, Stmt, WARP};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::expressions::{int32, to_i64};
use crate::schedule::cuda::tree::join;
use crate::schedule::lower::{Lower, named as bind};
use crate::schedule::reduction::Reduction;
use crate::schedule::segments::{neighbours, scattered};

/// The columns of a lane.
const COLUMNS_PER_LANE: i64 = COLUMNS / WARP as i64;
/// Words of memory that a thread keeps in flight.
const WORDS_IN_FLIGHT: i64 = 32;
/// Words that a read apart from its neighbours keeps: its value, its address, and whether it is in
/// bounds.
const WORDS_OF_SCATTERED_READ: i64 = 4;

/// The accumulators of a lane, by segment, reduction and column.
type Accumulators = Vec<Vec<Vec<Reg>>>;

/// A tile of some segments.
pub(super) struct Tile<'a> {
    pub job: &'a Job<'a>,
    /// The segments (i64). Lanes of different groups may have different segments.
    pub segments: &'a [Expr],
    /// The first element, and the number of elements (both i64). With fewer than 32 lanes these are
    /// one row at most.
    pub base: Expr,
    pub count: Expr,
    /// The number of lanes that reduce a segment together: a power of two.
    pub lanes: u32,
    /// The number of this lane among them.
    pub lane: Expr,
}

/// A group of neighbouring elements of a lane: the index from which it counts, its offset, its
/// first column, and whether it is in bounds (`None` if it always is).
struct Group {
    base: (NodeId, Expr),
    offset: i64,
    column: usize,
    is_present: Option<Expr>,
}

/// Returns the number of this lane among `lanes` lanes.
pub fn lane(l: &mut Lower, lanes: u32, out: &mut Vec<Stmt>) -> Expr {
    let lane = Expr::binary(BinaryOp::And, Expr::Place(Gpu::Thread), int32(lanes as i32 - 1));
    bind(l, "lane", lane, out)
}

impl Tile<'_> {
    /// Returns the value of each reduction of each segment, in lane 0 of its group. All lanes of
    /// the warp must take part.
    pub fn reduce(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<Vec<Vec<Expr>>> {
        let accs = self.accumulators(l, out);
        let (v, width) = (self.job.v, self.width());
        let first = self.base.clone().plus(to_i64(self.lane.clone()).times(Expr::int(v)));
        let first = bind(l, "first", first, out);
        let end = bind(l, "end", self.base.clone().plus(self.count.clone()), out);
        let batch = if self.lanes == WARP { self.batch(l) } else { 1 };
        let mut start = first.clone();
        let mut rest = self.count.clone();
        if self.lanes == WARP {
            let batches = Expr::binary(BinaryOp::Shr, rest.clone(), shift(batch * width));
            let batches = bind(l, "batches", batches, out);
            let b = l.k.reg("b", Ty::I64);
            let mut body = Vec::new();
            let at = first.clone().plus(Expr::Reg(b).times(Expr::int(batch * width)));
            let at = bind(l, "at", at, &mut body);
            self.full(l, &at, batch, &accs, &mut body)?;
            out.push(Stmt::Seq(b, Expr::int(0), batches.clone(), body));
            let done = bind(l, "done", batches.times(Expr::int(batch * width)), out);
            rest = bind(l, "rest", rest.minus(done.clone()), out);
            start = bind(l, "start", first.clone().plus(done), out);
        }
        // the rest takes the smallest batch that holds it
        let mut left = Vec::new();
        let mut rows = 1;
        while rows <= batch {
            let mut body = Vec::new();
            self.clamped(l, &start, &end, rows, &accs, &mut body)?;
            let more = Expr::binary(BinaryOp::Gt, rest.clone(), Expr::int((rows / 2) * width));
            left = vec![Stmt::If(more, body, left)];
            rows *= 2;
        }
        if v > 1 {
            let whole = Expr::binary(BinaryOp::And, self.count.clone(), Expr::int(!(v - 1)));
            let some = Expr::binary(BinaryOp::Gt, whole, Expr::int(0));
            out.push(Stmt::If(some, left, vec![]));
            self.tail(l, &first, &end, &accs, out)?;
        } else {
            out.append(&mut left);
        }
        self.tree(l, &accs, out)
    }

    /// Returns the number of columns of a row.
    fn width(&self) -> i64 {
        i64::from(self.lanes) * COLUMNS_PER_LANE
    }

    fn accumulators(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Accumulators {
        let mut new_accumulators = || {
            let mut per_reduction = Vec::new();
            for r in &self.job.reductions {
                let start = r.absent(l.launch);
                let regs: Vec<Reg> = (0..COLUMNS_PER_LANE).map(|_| l.k.reg("acc", r.ty)).collect();
                out.extend(regs.iter().map(|a| Stmt::Var(*a, start.clone())));
                per_reduction.push(regs);
            }
            per_reduction
        };
        self.segments.iter().map(|_| new_accumulators()).collect()
    }

    /// Returns the number of rows that are loaded together: a power of two.
    fn batch(&self, l: &mut Lower) -> i64 {
        let (_, k) = l.launch.g.fresh_var(Ty::I64);
        let roots: Vec<NodeId> = self.job.reductions.iter().map(|r| r.first(l.launch, k)).collect();
        let reads = neighbours(l.launch, &roots, k);
        let words: i64 = reads
            .iter()
            .map(|(x, _)| COLUMNS_PER_LANE * (l.launch.g.ty(*x).elem.size() as i64).max(4) / 4)
            .sum();
        let scattered = scattered(l.launch, &roots, k) as i64;
        let words = words + scattered * COLUMNS_PER_LANE * WORDS_OF_SCATTERED_READ;
        let rows = WORDS_IN_FLIGHT / (words.max(1) * self.segments.len() as i64);
        1 << rows.clamp(1, 8).ilog2()
    }

    /// Returns the distance of a lane's groups of neighbours.
    fn group_stride(&self) -> i64 {
        i64::from(self.lanes) * self.job.v
    }

    /// Returns the offset and the first column of each group of `rows` rows.
    fn places(&self, rows: i64) -> Vec<(i64, usize)> {
        let groups = COLUMNS_PER_LANE / self.job.v;
        let place = |i: i64| {
            (i / groups * self.width() + i % groups * self.group_stride(), (i % groups * self.job.v) as usize)
        };
        (0..rows * groups).map(place).collect()
    }

    /// Folds `rows` rows that are in bounds. `at` is the lane's first element.
    fn full(
        &self,
        l: &mut Lower,
        at: &Expr,
        rows: i64,
        accs: &Accumulators,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let base = (l.launch.g.fresh_var(Ty::I64).1, at.clone());
        let group = |(offset, column)| Group { base: base.clone(), offset, column, is_present: None };
        let groups: Vec<Group> = self.places(rows).into_iter().map(group).collect();
        self.groups(l, &groups, self.job.v, accs, out)
    }

    /// Does the same as [`Self::groups`], with groups that may be out of bounds: these load the
    /// last group, and their values are not used.
    fn clamped(
        &self,
        l: &mut Lower,
        at: &Expr,
        end: &Expr,
        rows: i64,
        accs: &Accumulators,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let v = self.job.v;
        let whole = Expr::binary(BinaryOp::And, self.count.clone(), Expr::int(!(v - 1)));
        let last = bind(l, "last", self.base.clone().plus(whole).minus(Expr::int(v)), out);
        let mut groups = Vec::new();
        for (offset, column) in self.places(rows) {
            let index = bind(l, "k", at.clone().plus(Expr::int(offset)), out);
            let is_present = Expr::binary(BinaryOp::Le, index.clone().plus(Expr::int(v)), end.clone());
            let is_present = Some(bind(l, "there", is_present, out));
            let index = bind(l, "k", index.min(last.clone()), out);
            groups.push(Group {
                base: (l.launch.g.fresh_var(Ty::I64).1, index),
                offset: 0,
                column,
                is_present,
            });
        }
        self.groups(l, &groups, v, accs, out)
    }

    /// Folds the last elements, which are fewer than one vector access takes.
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
        let at = bind(l, "at", first.clone().plus(rows.times(Expr::int(self.width()))), &mut body);
        for (offset, column) in self.places(1) {
            let at = at.clone().plus(Expr::int(offset));
            let mut some = Vec::new();
            for q in 0..v - 1 {
                let mut one = Vec::new();
                let index = bind(l, "k", at.clone().plus(Expr::int(q)), &mut one);
                let base = (l.launch.g.fresh_var(Ty::I64).1, index);
                let group = Group { base, offset: 0, column: column + q as usize, is_present: None };
                self.groups(l, &[group], 1, accs, &mut one)?;
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

    /// Folds groups of `v` neighbours of all segments: all loads come before the first use.
    fn groups(
        &self,
        l: &mut Lower,
        groups: &[Group],
        v: i64,
        accs: &Accumulators,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let mut work = Vec::new();
        for (segment, accs) in self.segments.iter().zip(accs) {
            l.with_loaded(Default::default(), |l| {
                let mut vars = vec![(self.job.s.index, segment.clone())];
                vars.extend(groups.iter().map(|g| g.base.clone()));
                let mut elements = Vec::new();
                for g in groups {
                    let indices: Vec<NodeId> = (0..v)
                        .map(|q| {
                            let offset = l.launch.g.lit(Lit::i64(g.offset + q));
                            linear::add(&mut l.launch.g, g.base.0, offset)
                        })
                        .collect();
                    self.load(l, &vars, g, &indices, out)?;
                    elements.push((g, indices));
                }
                for (g, indices) in elements {
                    for (index, column) in indices.into_iter().zip(g.column..) {
                        self.step(
                            l,
                            (&vars, segment),
                            index,
                            column,
                            g.is_present.as_ref(),
                            accs,
                            &mut work,
                        )?;
                    }
                }
                Ok::<_, Error>(())
            })?;
        }
        out.append(&mut work);
        Ok(())
    }

    /// Loads by vector accesses what the elements at neighbouring indices read.
    fn load(
        &self,
        l: &mut Lower,
        vars: &[(NodeId, Expr)],
        g: &Group,
        indices: &[NodeId],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (_, k) = l.launch.g.fresh_var(Ty::I64);
        let roots: Vec<NodeId> = self.job.reductions.iter().map(|r| r.first(l.launch, k)).collect();
        let first = g.base.1.clone().plus(Expr::int(g.offset));
        job::load(l, &roots, (k, indices), &first, vars, out)
    }

    /// Folds the element of a segment at an index into its column.
    fn step(
        &self,
        l: &mut Lower,
        (vars, segment): (&[(NodeId, Expr)], &Expr),
        index: NodeId,
        column: usize,
        is_present: Option<&Expr>,
        accs: &[Vec<Reg>],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (mut vars, mut roots) = (vars.to_vec(), Vec::new());
        for (r, accs) in self.job.reductions.iter().zip(accs) {
            let (_, old) = l.launch.g.fresh_var(r.ty);
            vars.push((old, Expr::Reg(accs[column])));
            roots.push(r.step(l.launch, old, index));
        }
        let values = l.region(&vars, &roots, segment, out)?;
        // all new values are computed before any accumulator changes
        let values: Vec<Expr> = values.into_iter().map(|e| bind(l, "next", e, out)).collect();
        for (a, e) in accs.iter().zip(values) {
            let old = Expr::Reg(a[column]);
            let e = match is_present {
                Some(is_present) => Expr::Select(Box::new(is_present.clone()), Box::new(e), Box::new(old)),
                None => e,
            };
            out.push(Stmt::Assign(a[column], e));
        }
        Ok(())
    }

    /// Joins the columns of each segment by the tree.
    fn tree(&self, l: &mut Lower, accs: &Accumulators, out: &mut Vec<Stmt>) -> Result<Vec<Vec<Expr>>> {
        let mut all = Vec::new();
        for accs in accs {
            let mut per_reduction = Vec::new();
            for (r, accs) in self.job.reductions.iter().zip(accs) {
                per_reduction.push(join_columns(
                    l,
                    r,
                    accs,
                    (self.job.v, self.lanes),
                    Expr::ShuffleDown,
                    out,
                )?);
            }
            all.push(per_reduction);
        }
        Ok(all)
    }
}

/// Joins the columns of `lanes` lanes by the tree: those of a lane's group of `v` neighbours first,
/// then lanes, then groups. The result is in the first lane, and in every lane if the shuffle is
/// `ShuffleXor`: the operator is commutative, so that both lanes of a pair get its value.
pub fn join_columns(
    l: &mut Lower,
    r: &Reduction,
    columns: &[Reg],
    (v, lanes): (i64, u32),
    shuffle: fn(Box<Expr>, u32) -> Expr,
    out: &mut Vec<Stmt>,
) -> Result<Expr> {
    let mut groups = Vec::new();
    for group in columns.chunks(v as usize) {
        let regs = group.iter().map(|a| Expr::Reg(*a)).collect();
        let mut value = pairs(l, r, regs, out)?;
        for distance in [1, 2, 4, 8, 16].into_iter().filter(|distance| *distance < lanes) {
            let other = bind(l, "other", shuffle(Box::new(value.clone()), distance), out);
            let joined = join(l, r, &value, &other, out)?;
            value = bind(l, "joined", joined, out);
        }
        groups.push(value);
    }
    pairs(l, r, groups, out)
}

/// Returns log2 of a power of two.
fn shift(power: i64) -> Expr {
    Expr::int(power.trailing_zeros().into())
}

/// Joins neighbouring values pairwise; their number is a power of two.
pub fn pairs(l: &mut Lower, r: &Reduction, mut values: Vec<Expr>, out: &mut Vec<Stmt>) -> Result<Expr> {
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
