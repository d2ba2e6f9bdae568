//! The code of a chain of stencils for a band of rows.

use super::buffers::{Buffers, StageRows};
use crate::core::{NodeId, linear};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cpu::element_loop::each;
use crate::schedule::cpu::rows::range;
use crate::schedule::element::lower::{Loaded, Lower, bind};
use crate::schedule::element::{canonical, opened};
use crate::schedule::facts::{ChainStage, StencilChain};
use rustc_hash::FxHashMap as HashMap;

/// The buffer of one array: the memory, and the rows and columns that its stage computes.
struct Buffer {
    mem: Mem,
    rows: StageRows,
}

/// What the code of all stages needs.
struct Band<'a> {
    chain: &'a StencilChain,
    buffers: &'a Buffers,
    of: HashMap<NodeId, Buffer>,
    /// The band's first row.
    first: Expr,
    /// The first column of the strip, and the one past its last.
    columns: (Expr, Expr),
    /// The band's first element and the one past its last, in row-major order.
    elements: (Expr, Expr),
}

fn less(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::Lt, a, b)
}

fn max(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::Max, a, b)
}

fn plus(e: Expr, by: i64) -> Expr {
    if by == 0 { e } else { e.plus(Expr::int(by)) }
}

/// Writes the body of the kernel.
pub fn main(l: &mut Lower, chain: &StencilChain, buffers: &Buffers) -> Result<Vec<Stmt>> {
    let mut out = Vec::new();
    let (last, before) = chain.stages.split_last().expect("a chain has stages");
    let mut of = HashMap::default();
    for (stage, rows) in before.iter().zip(&buffers.stages) {
        for it in &stage.fused.items {
            let len = (rows.held * rows.width(buffers.columns)) as u32;
            let mem = l.k.local("rows", l.launch.g.ty(it.node).elem, len, &mut out);
            of.insert(it.node, Buffer { mem, rows: rows.clone() });
        }
    }
    let (lo, hi) = range(l, (Expr::TileBegin, Expr::TileEnd), &mut out);
    let width = l.launch.host(last.fused.domain[1]);
    // each unit of work has elements
    let first = bind(l, "first", Expr::binary(BinaryOp::Div, lo.clone(), width.clone()), &mut out);
    let end = Expr::binary(BinaryOp::Div, hi.clone().minus(Expr::int(1)), width.clone());
    let end = bind(l, "end", end.plus(Expr::int(1)), &mut out);
    let strip = l.k.reg("strip", Ty::I64);
    let mut body = Vec::new();
    let left = bind(l, "left", Expr::Reg(strip).times(Expr::int(buffers.columns)), &mut body);
    let right = bind(l, "right", plus(left.clone(), buffers.columns).min(width.clone()), &mut body);
    let band = Band { chain, buffers, of, first, columns: (left, right), elements: (lo, hi) };
    let step = l.k.reg("step", Ty::I64);
    let mut of_step = Vec::new();
    for at in 0..chain.stages.len() {
        band.stage_row(l, at, &Expr::Reg(step), &mut of_step)?;
    }
    let begin = band.first.clone().minus(Expr::int(buffers.rows_before()));
    body.push(Stmt::Seq(step, begin, end, of_step));
    let strips = Expr::binary(BinaryOp::Div, width.minus(Expr::int(1)), Expr::int(buffers.columns));
    out.push(Stmt::Seq(strip, Expr::int(0), strips.plus(Expr::int(1)), body));
    Ok(out)
}

impl Band<'_> {
    /// Writes the row of a stage that belongs to a step of the walk, unless the band does not need it.
    fn stage_row(&self, l: &mut Lower, at: usize, step: &Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let (stage, rows) = (&self.chain.stages[at], &self.buffers.stages[at]);
        let is_last = at + 1 == self.chain.stages.len();
        let [height, width] = [0, 1].map(|axis| l.launch.host(stage.fused.domain[axis]));
        let row = bind(l, "row", plus(step.clone(), rows.rows.1), out);
        let mut body = Vec::new();
        let mut begin = plus(self.columns.0.clone(), rows.columns.0);
        let mut end = plus(self.columns.1.clone(), rows.columns.1);
        let mut least = plus(self.first.clone(), rows.rows.0);
        let is_plain = !is_last && stage.is_plain();
        if is_last {
            // the first and the last row of a band may be parts of rows
            let number = bind(l, "number", row.clone().times(width.clone()), &mut body);
            begin = max(begin, self.elements.0.clone().minus(number.clone()));
            end = end.min(self.elements.1.clone().minus(number));
        } else if is_plain {
            (begin, end) = (max(begin, Expr::int(0)), end.min(width.clone()));
            least = max(least, Expr::int(0));
        }
        let begin = bind(l, "begin", begin, &mut body);
        let end = bind(l, "end", end, &mut body);
        let widths = if stage.has_edges { &stage.inner.widths[..] } else { &[(0, 0); 2] };
        let has_others = stage.has_edges && stage.inner.has_boundary() || !is_last && !is_plain;
        let (mut inner, mut behind) = (begin.clone(), end.clone());
        if has_others {
            let above = Expr::binary(BinaryOp::Ge, row.clone(), Expr::int(widths[0].0));
            let below = less(row.clone(), plus(height.clone(), -widths[0].1));
            let inside = bind(l, "inside", Expr::binary(BinaryOp::And, above, below), &mut body);
            let select = |a: Expr| Expr::Select(Box::new(inside.clone()), Box::new(a), Box::new(end.clone()));
            let from = max(begin.clone(), Expr::int(widths[1].0)).min(end.clone());
            inner = bind(l, "inner", select(from), &mut body);
            let to = max(plus(width.clone(), -widths[1].1).min(end.clone()), inner.clone());
            behind = bind(l, "behind", select(to), &mut body);
        }
        self.interior(l, at, &row, (&inner, &behind), &mut body)?;
        if has_others {
            // first the elements left of the interior, then those right of it
            let side = l.k.reg("side", Ty::I64);
            let is_left = Expr::binary(BinaryOp::Eq, Expr::Reg(side), Expr::int(0));
            let pick = |a: Expr, b: Expr| Expr::Select(Box::new(is_left.clone()), Box::new(a), Box::new(b));
            let mut both = Vec::new();
            let from = bind(l, "from", pick(begin, behind), &mut both);
            let to = bind(l, "to", pick(inner, end), &mut both);
            self.others(l, at, &row, (&from, &to), &mut both)?;
            body.push(Stmt::Seq(side, Expr::int(0), Expr::int(2), both));
        }
        let mut needed = Expr::binary(BinaryOp::Ge, row.clone(), least);
        if is_plain {
            needed = Expr::binary(BinaryOp::And, needed, less(row, height));
        }
        out.push(Stmt::If(needed, body, vec![]));
        Ok(())
    }

    /// Returns where a row of an array's buffer begins, less the column of its first element.
    fn line(&self, l: &mut Lower, buffer: &Buffer, row: Expr, out: &mut Vec<Stmt>) -> Expr {
        let width = buffer.rows.width(self.buffers.columns);
        let from_first = row.minus(plus(self.first.clone(), buffer.rows.rows.0));
        let slot = match buffer.rows.held {
            1 => Expr::int(0),
            held => Expr::binary(BinaryOp::Rem, from_first, Expr::int(held)),
        };
        let left = plus(self.columns.0.clone(), buffer.rows.columns.0);
        bind(l, "line", slot.times(Expr::int(width)).minus(left), out)
    }

    /// Writes the elements of a row in the stage's interior.
    fn interior(
        &self,
        l: &mut Lower,
        at: usize,
        row: &Expr,
        (begin, end): (&Expr, &Expr),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let stage = &self.chain.stages[at];
        let index: Vec<NodeId> = (0..2).map(|_| l.launch.g.fresh_var(Ty::I64).1).collect();
        let roots: Vec<NodeId> =
            stage.inner.arrays.iter().map(|a| opened(&mut l.launch.g, *a, &index)).collect();
        let roots = l.launch.shared(&roots);
        let mut reads = Vec::new();
        let mut lines: HashMap<(NodeId, i64), Expr> = HashMap::default();
        for s in &stage.stencils {
            let Some(buffer) = self.of.get(&s.array) else { continue };
            for tap in &s.taps {
                let line = match lines.get(&(s.array, tap[0])) {
                    Some(line) => line.clone(),
                    None => self.line(l, buffer, plus(row.clone(), tap[0]), out),
                };
                lines.insert((s.array, tap[0]), line.clone());
                let key: Vec<NodeId> = index
                    .iter()
                    .zip(tap)
                    .map(|(i, by)| {
                        let by = l.launch.g.lit(Lit::i64(*by));
                        linear::add(&mut l.launch.g, *i, by)
                    })
                    .collect();
                let key = l.launch.normal(&key);
                reads.push(((s.array, key), buffer.mem, plus(line, tap[1]), l.launch.g.ty(s.array).elem));
            }
        }
        let targets = self.targets(l, stage, row, out);
        let loops = each(l, "j", begin, end, &mut |l, j, conditions, out| {
            let mut loaded = Loaded::default();
            for (key, mem, line, ty) in &reads {
                let r = l.k.reg("x", *ty);
                let from = line.clone().plus(j.clone());
                out.push(Stmt::Let(r, Expr::load(*mem, from), Default::default()));
                loaded.insert(key.clone(), Expr::Reg(r));
            }
            let vars = [(index[0], row.clone()), (index[1], j.clone())];
            let values = l.with_loaded(loaded, |l| match conditions {
                Some(conditions) => l.conditions(&vars, conditions, out),
                None => l.region(&vars, &roots, &Expr::int(0), out),
            })?;
            if conditions.is_some() {
                return Ok(values);
            }
            self.store(l, stage, (&targets, row, j), values, out);
            Ok(vec![])
        })?;
        out.extend(loops);
        Ok(())
    }

    /// Writes elements of a row that are not in the interior, which read arrays in memory alone.
    fn others(
        &self,
        l: &mut Lower,
        at: usize,
        row: &Expr,
        (begin, end): (&Expr, &Expr),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let stage = &self.chain.stages[at];
        let is_in_bounds = at + 1 == self.chain.stages.len() || stage.is_plain();
        let targets = self.targets(l, stage, row, out);
        let j = l.k.reg("j", Ty::I64);
        let index = [row.clone(), Expr::Reg(j)];
        let (mut body, mut values) = (Vec::new(), Vec::new());
        for beyond in &stage.beyond {
            values.push(match is_in_bounds {
                true => beyond.value_at(l, &index, &mut body)?,
                false => beyond.guarded_value_at(l, &stage.fused, &index, &mut body)?,
            });
        }
        self.store(l, stage, (&targets, row, &Expr::Reg(j)), values, &mut body);
        out.push(Stmt::For(j, begin.clone(), end.clone(), body));
        Ok(())
    }

    /// Returns where the row lies in the buffers of the arrays that a stage stores; `None` for results.
    fn targets(
        &self,
        l: &mut Lower,
        stage: &ChainStage,
        row: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Vec<Option<Expr>> {
        let of_item = |it: &NodeId| self.of.get(it).map(|buffer| self.line(l, buffer, row.clone(), out));
        let items: Vec<NodeId> = stage.fused.items.iter().map(|it| it.node).collect();
        items.iter().map(of_item).collect()
    }

    /// Stores the values of an element.
    fn store(
        &self,
        l: &mut Lower,
        stage: &ChainStage,
        (targets, row, j): (&[Option<Expr>], &Expr, &Expr),
        values: Vec<Expr>,
        out: &mut Vec<Stmt>,
    ) {
        let mut stores = Vec::new();
        for ((it, line), value) in stage.fused.items.iter().zip(targets).zip(values) {
            let ty = l.launch.g.ty(it.node).elem;
            let value = canonical(value, ty, &mut l.k.kernel, out);
            stores.push(match (line, self.of.get(&it.node)) {
                (Some(line), Some(buffer)) => Stmt::Store(buffer.mem, line.clone().plus(j.clone()), value),
                _ => {
                    let mem = l.launch.output(it);
                    Stmt::Store(mem, l.place_at(mem, &[row.clone(), j.clone()]), value)
                }
            });
        }
        out.append(&mut stores);
    }
}
