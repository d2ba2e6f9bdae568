//! Streams: chains whose stages read one another in their own column only, such as sums along rows and then
//! along columns. What is between stages is then needed by one thread only, and stays in its registers.
//!
//! ```text
//! a lane has v neighbouring columns, a warp many rows, which it goes through from above:
//!     load a line of the arrays in memory, one ahead
//!     compute what becomes possible with it, in all stages: sums that it is a part of
//!     store the row that is complete
//! ```
//!
//! A line is loaded and its row computed once for all rows of the warp, and no barrier is needed. The rows are
//! gone through in steps; what a step leaves unfinished (the partial sums of later rows) it hands to the next
//! one. Blocks that are not in the interior have the code of tiles.

use crate::core::{NodeId, Op, linear};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{Lit, Ty};
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::access;
use crate::schedule::cuda::register_pressure::LineSchedule;
use crate::schedule::cuda::register_tiling;
use crate::schedule::cuda::register_tiling::placement::{
    InteriorBounds, Line, PlaneTiling, Reach, ThreadPosition,
};
use crate::schedule::element::{canonical, opened};
use crate::schedule::facts::{ChainStage, StencilChain};
use crate::schedule::groups::FusedGroup;
use crate::schedule::lower::{LaunchContext, Loaded, Lower, named as bind};
use crate::schedule::stencil;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Threads of a block.
pub const THREADS: u32 = 256;
/// The rows of a warp.
const ROWS: i64 = 128;
/// The rows of a step, whose code is written out.
const STEP: i64 = 16;
/// The most words of registers of a line, and of what a step hands to the next one.
const MAX_WORDS_OF_LINE: i64 = 28;
const MAX_WORDS_OF_STATE: i64 = 72;
/// The minimum number of blocks: with fewer, multiprocessors have nothing to do.
pub const MIN_BLOCKS: u32 = 256;

/// The parameters of a stream.
#[derive(Clone)]
pub struct Stream {
    /// The last stage's arrays as they are computed from arrays in memory, and their boundary.
    inner: Interior,
    /// The lines of a step and of the rows behind it that it begins, in the order of loading.
    lines: Vec<Line>,
    /// How the index space is cut into the parts of threads.
    pub tiling: PlaneTiling,
    /// The least and the greatest distance of a line.
    reach: (i64, i64),
}

impl Stream {
    /// Returns `None` if stages read other columns of one another, or if a row takes too many registers.
    pub fn of(l: &mut LaunchContext, chain: &StencilChain, v: i64) -> Option<Stream> {
        let inner = chain.inlined.clone()?;
        let last = chain.stages.last()?;
        let stencils = stencil::stencils(&mut l.g, &last.fused.domain, &inner.arrays);
        let lo = stencils.iter().map(|s| s.reach(0).0).min()?;
        let hi = stencils.iter().map(|s| s.reach(0).1).max()?;
        let words = |n: NodeId| (l.g.ty(n).elem.size() as i64).max(4) / 4;
        let of_row: i64 = last.fused.items.iter().map(|it| v * words(it.node)).sum();
        if hi - lo < 2 || (hi - lo) * of_row > MAX_WORDS_OF_STATE {
            return None;
        }
        let tiling = PlaneTiling::new(ROWS, v, true, THREADS);
        let of_step = PlaneTiling { thread_rows: STEP + hi - lo, ..tiling };
        let mut lines: Vec<Line> =
            stencils.iter().flat_map(|s| register_tiling::lines(l, s, of_step)).collect();
        lines.sort_by_key(Line::row);
        let of_line = |row: i64| {
            let mine = lines.iter().filter(|line| line.row() == row);
            mine.map(|line| line.pieces.iter().map(|p| p.1).sum::<i64>() * words(line.array)).sum::<i64>()
        };
        (of_line(hi) <= MAX_WORDS_OF_LINE).then_some(Stream { inner, lines, tiling, reach: (lo, hi) })
    }

    /// Returns whether all elements of a block are in the interior, and all that they load is in bounds.
    pub fn inside(&self, l: &mut Lower, fused: &FusedGroup, position: &ThreadPosition) -> Expr {
        let sizes = [self.tiling.block_rows, self.tiling.block_columns];
        let mut reaches = Vec::new();
        for line in &self.lines {
            let array = line.array;
            let (first, end) = line.columns();
            let (row, below) = (line.row().min(self.reach.1), self.reach.1 + sizes[0]);
            reaches.push(Reach { array, axis: 0, first: row, end: below });
            reaches.push(Reach { array, axis: 1, first, end: end - self.tiling.v + sizes[1] });
        }
        let within = (fused, self.inner.widths.as_slice());
        let bounds = InteriorBounds::of(l, within, &position.block, &sizes, &reaches);
        bounds.contains(&position.block[1], sizes[1])
    }
}

/// The nodes of a step, and when their reads are loaded.
struct Step<'a> {
    stream: &'a Stream,
    roots: Vec<NodeId>,
    ready: HashMap<(NodeId, Vec<NodeId>), i64>,
}

impl Step<'_> {
    /// Returns the nodes that are known when lines up to `last` are loaded, and that later lines need.
    fn state(&self, l: &mut LaunchContext, schedule: &LineSchedule, last: i64) -> Vec<NodeId> {
        let (mut stack, mut seen, mut out) = (self.roots.clone(), HashSet::default(), Vec::new());
        while let Some(n) = stack.pop() {
            if !seen.insert(n) || schedule.line(n) == i64::MIN {
                continue;
            }
            if schedule.is_done(n) {
                out.push(n);
            } else if let Some(line) = self.line_of_read(l, n) {
                if line <= last {
                    out.push(n);
                }
            } else {
                l.g.op(n).for_operands(|o| stack.push(o));
            }
        }
        out
    }

    /// Returns the line with which a read is loaded, if a node is one.
    fn line_of_read(&self, l: &mut LaunchContext, n: NodeId) -> Option<i64> {
        let Op::Elem(x, at) = l.g.op(n).clone() else { return None };
        let key = (x, l.normal(&at));
        self.ready.get(&key).copied()
    }

    /// Loads a line into registers.
    fn load(&self, l: &mut Lower, row: i64, position: &ThreadPosition, out: &mut Vec<Stmt>) {
        for line in self.stream.lines.iter().filter(|line| line.row() == row) {
            let (mem, ty) = (l.launch.input(line.array), l.launch.g.ty(line.array).elem);
            let start = position.line(l, mem, &line.at);
            let start = bind(l, "line", start, out);
            for (first, count) in &line.pieces {
                let regs: Vec<_> = (0..*count).map(|_| l.k.reg("x", ty)).collect();
                for (column, r) in (*first..).zip(&regs) {
                    let key = (line.array, position.index(l, &[row, column]));
                    l.scope.loaded.get_or_insert_default().insert(key, Expr::Reg(*r));
                }
                let at = position.column(l, mem, &start, *first);
                access::load(l, mem, regs, at, out);
            }
        }
    }
}

/// Returns the value of a node that is known.
fn known(l: &mut Lower, vars: &[(NodeId, Expr)], n: NodeId) -> Option<Expr> {
    if let Op::Elem(x, at) = l.launch.g.op(n).clone() {
        let key = (x, l.launch.normal(&at));
        return l.scope.loaded.as_ref()?.get(&key).cloned();
    }
    vars.iter().rev().find(|v| v.0 == n).map(|v| v.1.clone())
}

/// Computes and stores all elements of a thread. Returns `None` if a step leaves something else than the one
/// before it.
pub fn elements(
    l: &mut Lower,
    stage: &ChainStage,
    stream: &Stream,
    position: &ThreadPosition,
    out: &mut Vec<Stmt>,
) -> Result<Option<()>> {
    let (lo, hi) = stream.reach;
    l.with_loaded(HashMap::default(), |l| {
        let step = step(l, stream, position);
        let mut schedule = LineSchedule::of(l.launch, &step.roots, &step.ready);
        let mut vars = position.vars.clone();
        for line in lo..hi {
            step.load(l, line, position, out);
            schedule.advance(l, line, &mut vars, out)?;
        }
        let state = step.state(l.launch, &schedule, hi - 1);
        let (mut registers, mut loaded) = (Vec::new(), Loaded::default());
        let turn = l.k.reg("turn", Ty::I64);
        let mut body = Vec::new();
        let row = position.vars[0].1.clone().plus(Expr::Reg(turn).times(Expr::int(STEP)));
        let row = bind(l, "row", row, &mut body);
        let inner = vec![(position.vars[0].0, row), position.vars[1].clone()];
        let of_step = ThreadPosition { vars: inner.clone(), block: position.block.clone() };
        let mut inner_vars = inner;
        for n in &state {
            let Some(e) = known(l, &vars, *n) else { return Ok(None) };
            let r = l.k.reg("state", l.launch.g.ty(*n).elem);
            out.push(Stmt::Var(r, e));
            registers.push(r);
            match l.launch.g.op(*n).clone() {
                Op::Elem(x, at) => drop(loaded.insert((x, l.launch.normal(&at)), Expr::Reg(r))),
                _ => inner_vars.push((*n, Expr::Reg(r))),
            }
        }
        l.scope.loaded = Some(loaded);
        step.load(l, hi, &of_step, &mut body);
        let per_row = (stream.tiling.v as usize) * stage.fused.items.len();
        for line in hi..hi + STEP {
            if line + 1 < hi + STEP {
                step.load(l, line + 1, &of_step, &mut body);
            }
            schedule.advance(l, line, &mut inner_vars, &mut body)?;
            let row = line - hi;
            let roots = &step.roots[row as usize * per_row..][..per_row];
            store(l, stage, &of_step, row, (roots, &inner_vars), &mut body)?;
        }
        // all are read before the first is written
        let mut next = Vec::new();
        for n in &state {
            let moved = moved(l.launch, position.vars[0].0, *n);
            let Some(e) = known(l, &inner_vars, moved) else { return Ok(None) };
            next.push(bind(l, "next", e, &mut body));
        }
        body.extend(registers.into_iter().zip(next).map(|(r, e)| Stmt::Assign(r, e)));
        out.push(Stmt::Seq(turn, Expr::int(0), Expr::int(ROWS / STEP), body));
        Ok(Some(()))
    })
}

/// Returns the nodes of a step and of the rows behind it that it begins.
fn step<'a>(l: &mut Lower, stream: &'a Stream, position: &ThreadPosition) -> Step<'a> {
    let (lo, hi) = stream.reach;
    let mut roots = Vec::new();
    for (r, k) in (0..STEP + hi - lo).flat_map(|r| stream.tiling.thread_columns().map(move |k| (r, k))) {
        let index = position.index(l, &[r, k]);
        roots.extend(stream.inner.arrays.iter().map(|a| opened(&mut l.launch.g, *a, &index)));
    }
    let roots = l.launch.shared(&roots);
    let mut ready = HashMap::default();
    for line in &stream.lines {
        for column in line.pieces.iter().flat_map(|p| p.0..p.0 + p.1) {
            ready.insert((line.array, position.index(l, &[line.row(), column])), line.row());
        }
    }
    Step { stream, roots, ready }
}

/// Returns the node that is to the next step what a node is to this one.
fn moved(l: &mut LaunchContext, row: NodeId, n: NodeId) -> NodeId {
    let by = l.g.lit(Lit::i64(STEP));
    let to = linear::add(&mut l.g, row, by);
    let n = l.replace(n, row, to);
    l.shared(&[n])[0]
}

/// Computes the rest of a row's values, and stores them.
fn store(
    l: &mut Lower,
    stage: &ChainStage,
    position: &ThreadPosition,
    row: i64,
    (roots, vars): (&[NodeId], &[(NodeId, Expr)]),
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let values = l.region(vars, roots, &Expr::int(0), out)?;
    let items = &stage.fused.items;
    for (i, it) in items.iter().enumerate() {
        let (mem, ty) = (l.launch.output(it), l.launch.g.ty(it.node).elem);
        let each = values.iter().skip(i).step_by(items.len());
        let list: Vec<Expr> = each.map(|e| canonical(e.clone(), ty, &mut l.k.kernel, out)).collect();
        let line = position.line(l, mem, &[row]);
        let to = position.column(l, mem, &line, 0);
        access::store(l, mem, list, to, out);
    }
    Ok(())
}
