//! Reduce: a warp a tile of the fixed tree (semantics 5.1), for any number of reductions and stored vectors over one domain.
//!
//! A row of 128 columns is one access of a warp: lane l holds columns 4 l .. 4 l + 3 (8-byte elements: 2 l, 2 l + 1 of each half; without vector
//! accesses: l of each quarter). Rows are loaded in batches, all of a batch before its first use. Columns join by [`super::tree`]; tiles'
//! results are completed in the same launch by [`super::levels`].

use super::elements::{Elements, store_single, stored, words};
use super::tree::{Columns, PER_LANE, offset};
use super::{MAX_UNROLLED, Shape, bind, int32, levels, thread, tiles, wide};
use crate::core::{COLUMNS, NodeId, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Reg, Stmt, WARP};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::element;
use crate::schedule::items::{Item, Pass};
use crate::schedule::lower::Lower;
use crate::schedule::reduction::Reduction;

/// Of a block: few, so that a short vector still spreads over all multiprocessors.
pub const THREADS: u32 = 128;
/// Blocks at once on a multiprocessor: registers for all loads in flight. Left alone, `ptxas` goes for more threads with fewer loads each, and spills.
pub const BLOCKS: u32 = 4;
/// Tiles that a warp takes of a long vector: the next one's loads hide the end of the one before.
pub const MOST_TILES: u32 = 2;
/// Words of memory that a thread keeps in flight.
const WORDS_IN_FLIGHT: i64 = 64;
/// The same where every element has an address of its own.
const STRIDED_WORDS_IN_FLIGHT: i64 = 16;
const ROWS: i64 = TILE / COLUMNS;

/// What the code of one tile is made of.
struct Tile<'a> {
    items: &'a [&'a Item],
    reductions: &'a [Reduction],
    shape: Shape,
    /// Rows loaded together.
    batch: i64,
    lane: Expr,
    n: Expr,
    t: Expr,
}

pub fn main(l: &mut Lower, pass: &Pass, scalars: &[u32], shape: Shape, cost: u32) -> Result<Vec<Stmt>> {
    let items = stored(l, pass);
    let n = l.count();
    let reductions = Reduction::all(l, pass);
    let mut out = Vec::new();
    let lane = Expr::binary(BinaryOp::And, thread(), int32(WARP as i32 - 1));
    let lane = bind(l, "lane", lane, &mut out);
    let in_block = Expr::binary(BinaryOp::Shr, thread(), int32(WARP.trailing_zeros() as i32));
    let warps = Expr::int(i64::from(shape.threads / WARP));
    let warp = wide(Expr::Place(Gpu::Block)).times(warps).plus(wide(in_block));
    let warp = bind(l, "warp", warp, &mut out);
    let count = bind(l, "tiles", tiles(n.clone()), &mut out);
    let span = wide(Expr::Place(Gpu::Span));
    let begin = bind(l, "begin", warp.times(span.clone()), &mut out);
    let end = bind(l, "end", begin.clone().plus(span).min(count.clone()), &mut out);

    let t = l.k.reg("t", Ty::I64);
    let per_row = words(l, shape) * PER_LANE as i64 / shape.v;
    let few = i64::from(MAX_UNROLLED) / (i64::from(cost.max(1)) * PER_LANE as i64);
    let room = if shape.strided { STRIDED_WORDS_IN_FLIGHT } else { WORDS_IN_FLIGHT };
    let batch = (room / per_row).min(few).clamp(1, ROWS);
    let tile = Tile {
        items: &items,
        reductions: &reductions,
        shape,
        batch: 1 << batch.ilog2(),
        lane: lane.clone(),
        n: n.clone(),
        t: Expr::Reg(t),
    };
    let mut body = Vec::new();
    let base = bind(l, "base", Expr::Reg(t).times(Expr::int(TILE)), &mut body);
    let full = tile.full(l, &base)?;
    let partial = tile.partial(l, &base)?;
    let is_full = Expr::binary(BinaryOp::Le, base.plus(Expr::int(TILE)), n);
    body.push(Stmt::If(is_full, full, partial));
    let work = Stmt::Seq(t, begin.clone(), end, body);
    levels::complete(l, &reductions, scalars, levels::Warp { lane, count, begin }, work, &mut out)?;
    Ok(out)
}

impl Tile<'_> {
    /// The rows from `first`, an index register of this lane, with the accumulators in `acc`, or none yet.
    fn rows(
        &self,
        l: &mut Lower,
        first: Expr,
        acc: &mut Option<Vec<Vec<Expr>>>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let v = self.shape.v;
        let columns = |row: i64| (0..PER_LANE).step_by(v as usize).map(move |j| row * COLUMNS + offset(j, v));
        let rows: Vec<Elements> =
            (0..self.batch).map(|row| Elements::new(l, first.clone(), columns(row).collect(), v)).collect();
        for row in &rows {
            row.load(l, out);
        }
        for row in &rows {
            let mut vars = Vec::new();
            let mut old: Option<Vec<Vec<NodeId>>> = None;
            for (values, r) in acc.iter().flatten().zip(self.reductions) {
                let first = vars.len();
                vars.extend(values.iter().map(|e| (l.g.fresh_var(r.ty).1, e.clone())));
                old.get_or_insert_default()
                    .push(vars[first..].iter().map(|v: &(NodeId, Expr)| v.0).collect());
            }
            let make = |l: &mut Lower, j: usize, i: NodeId| {
                let mut roots: Vec<NodeId> = self.items.iter().map(|it| element(l, it.node, i)).collect();
                for (which, r) in self.reductions.iter().enumerate() {
                    roots.push(match &old {
                        Some(old) => r.step(l, old[which][j], i),
                        None => r.first(l, i),
                    });
                }
                roots
            };
            let values = row.values(l, &vars, make, out)?;
            let stores: Vec<&[Expr]> = values.iter().map(|v| &v[..self.items.len()]).collect();
            row.store(l, self.items, &stores, out);
            let mut next = Vec::new();
            for which in 0..self.reductions.len() {
                let column = |j: usize| values[j][self.items.len() + which].clone();
                next.push((0..PER_LANE).map(|j| bind(l, "acc", column(j), out)).collect());
            }
            *acc = Some(next);
        }
        l.loaded = Some(Default::default());
        Ok(())
    }

    fn full(&self, l: &mut Lower, base: &Expr) -> Result<Vec<Stmt>> {
        let mut out = vec![Stmt::Note("a full tile: 16 rows of 128 columns".into())];
        let start = base.clone().plus(wide(self.lane.clone()).times(Expr::int(self.shape.v)));
        let start = bind(l, "start", start, &mut out);
        let mut acc = None;
        self.rows(l, start.clone(), &mut acc, &mut out)?;
        if self.batch < ROWS {
            let vars: Vec<Vec<Reg>> = self.vars(l, acc.as_deref(), &mut out);
            let b = l.k.reg("b", Ty::I64);
            let mut body = Vec::new();
            let apart = Expr::int(self.batch * COLUMNS);
            let first = bind(l, "first", start.plus(Expr::Reg(b).times(apart)), &mut body);
            let mut inner = Some(registers(&vars));
            self.rows(l, first, &mut inner, &mut body)?;
            assign(&vars, inner.unwrap_or_default(), &mut body);
            out.push(Stmt::Seq(b, Expr::int(1), Expr::int(ROWS / self.batch), body));
            acc = Some(registers(&vars));
        }
        l.loaded = None;
        for (r, values) in self.reductions.iter().zip(acc.unwrap_or_default()) {
            let columns = Columns { reduction: r, v: self.shape.v, lane: self.lane.clone(), width: None };
            let value = columns.join(l, values, &mut out)?;
            self.put(r, value, &mut out);
        }
        Ok(out)
    }

    /// The last tile, element by element.
    fn partial(&self, l: &mut Lower, base: &Expr) -> Result<Vec<Stmt>> {
        let mut out = vec![Stmt::Note("the last tile".into())];
        let identities: Vec<Option<Lit>> = self.reductions.iter().map(|r| r.identity(l)).collect();
        let known = identities.iter().all(Option::is_some);
        let start: Vec<Vec<Expr>> = identities
            .iter()
            .zip(self.reductions)
            .map(|(id, r)| vec![Expr::Lit(id.unwrap_or(Lit::zero(r.ty))); PER_LANE])
            .collect();
        let vars = self.vars(l, Some(&start), &mut out);
        let v = self.shape.v;
        let first = base.clone().plus(wide(self.lane.clone()).times(Expr::int(v)));
        let first = bind(l, "first", first, &mut out);
        if !known {
            for j in 0..PER_LANE {
                let at = first.clone().plus(Expr::int(offset(j, v)));
                self.one(l, at, j, &vars, true, &mut out)?;
            }
        }
        let row = l.k.reg("row", Ty::I64);
        let mut body = Vec::new();
        for j in 0..PER_LANE {
            let at = first.clone().plus(Expr::int(offset(j, v)));
            let at = at.plus(Expr::Reg(row).times(Expr::int(COLUMNS)));
            self.one(l, at, j, &vars, false, &mut body)?;
        }
        let up = self.n.clone().minus(base.clone()).plus(Expr::int(COLUMNS - 1));
        let rows = Expr::binary(BinaryOp::Shr, up, Expr::int(COLUMNS.trailing_zeros().into()));
        out.push(Stmt::Seq(row, Expr::int(i64::from(!known)), rows, body));
        let width = bind(l, "width", self.n.clone().minus(base.clone()), &mut out);
        for ((r, values), id) in self.reductions.iter().zip(registers(&vars)).zip(identities) {
            let width = id.is_none().then(|| width.clone());
            let value =
                Columns { reduction: r, v, lane: self.lane.clone(), width }.join(l, values, &mut out)?;
            self.put(r, value, &mut out);
        }
        Ok(out)
    }

    /// One element of the last tile, if it is there: value `j` of the lane.
    fn one(
        &self,
        l: &mut Lower,
        at: Expr,
        j: usize,
        vars: &[Vec<Reg>],
        first: bool,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let at = bind(l, "at", at, out);
        let (_, index) = l.g.fresh_var(Ty::I64);
        let mut known = vec![(index, at.clone())];
        let mut roots: Vec<NodeId> = self.items.iter().map(|it| element(l, it.node, index)).collect();
        for (r, vars) in self.reductions.iter().zip(vars) {
            roots.push(if first {
                r.first(l, index)
            } else {
                let (_, acc) = l.g.fresh_var(r.ty);
                known.push((acc, Expr::Reg(vars[j])));
                r.step(l, acc, index)
            });
        }
        let mut body = Vec::new();
        let mut values = l.region(&known, &roots, Some(index), &at, &mut body)?;
        let sums = values.split_off(self.items.len());
        // all new values before any accumulator changes
        let sums: Vec<Expr> = sums.into_iter().map(|e| bind(l, "next", e, &mut body)).collect();
        store_single(l, self.items, values, &at, &mut body);
        body.extend(vars.iter().zip(sums).map(|(vars, e)| Stmt::Assign(vars[j], e)));
        out.push(Stmt::If(Expr::binary(BinaryOp::Lt, at, self.n.clone()), body, vec![]));
        Ok(())
    }

    /// Accumulators that change, with these values.
    fn vars(&self, l: &mut Lower, start: Option<&[Vec<Expr>]>, out: &mut Vec<Stmt>) -> Vec<Vec<Reg>> {
        let mut all = Vec::new();
        for (r, values) in self.reductions.iter().zip(start.unwrap_or_default()) {
            let mut var = |e: &Expr| {
                let reg = l.k.reg("acc", r.ty);
                out.push(Stmt::Var(reg, e.clone()));
                reg
            };
            all.push(values.iter().map(&mut var).collect());
        }
        all
    }

    /// Lane 0 stores the tile's result.
    fn put(&self, r: &Reduction, value: Expr, out: &mut Vec<Stmt>) {
        let store = Stmt::Store(r.scratch, self.t.clone(), value);
        out.push(Stmt::If(levels::first(&self.lane), vec![store], vec![]));
    }
}

fn registers(vars: &[Vec<Reg>]) -> Vec<Vec<Expr>> {
    vars.iter().map(|v| v.iter().map(|r| Expr::Reg(*r)).collect()).collect()
}

fn assign(vars: &[Vec<Reg>], values: Vec<Vec<Expr>>, out: &mut Vec<Stmt>) {
    let pairs = vars.iter().flatten().zip(values.into_iter().flatten());
    out.extend(pairs.map(|(r, e)| Stmt::Assign(*r, e)));
}
