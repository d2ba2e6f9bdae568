//! The elements of a thread in a few planes, line by line.

use super::lines::Order;
use crate::core::{NodeId, Op, linear};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::boundary::halo::{self, Halo};
use crate::schedule::boundary::interior::{Interior, interior_of};
use crate::schedule::cuda::access;
use crate::schedule::cuda::line_sums;
use crate::schedule::cuda::register_pressure::LineSchedule;
use crate::schedule::cuda::register_tiling::placement::{Line, PlaneTiling, ThreadPosition, plus};
use crate::schedule::element::lower::{LaunchContext, Loaded, Lower, bind};
use crate::schedule::element::{canonical, opened};
use crate::schedule::groups::FusedGroup;
use indexmap::IndexSet;
use rustc_hash::FxHashMap as HashMap;
use std::collections::BTreeSet;

/// A thread's elements in a few planes, while their code is written.
pub struct Part<'a> {
    pub fused: &'a FusedGroup,
    /// The arrays whose elements are computed.
    pub arrays: &'a [NodeId],
    /// The thread's first element.
    pub position: &'a ThreadPosition,
    pub tiling: PlaneTiling,
    /// The number of planes.
    pub planes: i64,
    /// The values beyond the edges, where all reads agree on them.
    pub halo: Option<&'a Halo>,
    /// The lines that are read, in this order.
    pub lines: &'a [Line],
    pub order: Order,
}

impl Part<'_> {
    /// Returns the offsets of a row along all axes but the last.
    fn row(&self, (plane, row): (i64, i64)) -> Vec<i64> {
        let mut at = vec![0; self.fused.domain.len() - 3];
        at.extend([plane, row]);
        at
    }

    /// Returns the plane and the row of each of the thread's rows.
    fn rows(&self) -> impl Iterator<Item = (i64, i64)> + use<> {
        let rows = self.tiling.thread_rows;
        (0..self.planes).flat_map(move |p| (0..rows).map(move |r| (p, r)))
    }
}

/// Whether the elements that a thread computes, and the lines that it loads, may be beyond an edge.
#[derive(Clone, Copy, PartialEq)]
pub enum Edges {
    /// Only columns beside the thread's own may be, and their elements are loaded from the halo.
    Beside,
    /// The lines may be, but not the thread's rows, and the elements' array has a halo.
    All,
}

/// Computes all elements, and stores each row as soon as it is complete; at the edges only the elements in bounds.
pub fn elements(l: &mut Lower, part: &Part, edges: Edges, out: &mut Vec<Stmt>) -> Result<()> {
    l.with_loaded(HashMap::default(), |l| {
        let index: Vec<NodeId> = part.position.vars.iter().map(|v| v.0).collect();
        let (roots, mut schedule) =
            scheduled(l.launch, part.arrays, &index, part.tiling, part.planes, (part.lines, part.order));
        let all: Vec<Vec<Single>> = part.lines.iter().map(|line| singles(l, line, part, edges)).collect();
        let known = shared(l, part, &all, out)?;
        let mut single = all.iter();
        let mut vars = part.position.vars.clone();
        let per_row = part.tiling.v as usize * part.fused.items.len();
        let mut waiting: Vec<_> = part.rows().zip(roots.chunks(per_row)).collect();
        for (now, lines) in (0..).zip(part.lines.chunk_by(|a, b| part.order.place(a) == part.order.place(b)))
        {
            for (line, single) in lines.iter().zip(single.by_ref()) {
                load(l, line, part, (single, &known), out)?;
            }
            schedule.advance(l, now, &mut vars, out)?;
            let complete = |row: &(_, &[NodeId])| row.1.iter().all(|n| schedule.line(*n) <= now);
            let (now_complete, later): (Vec<_>, Vec<_>) = waiting.into_iter().partition(complete);
            waiting = later;
            for (row, values) in now_complete {
                store(l, part, row, (values, &vars), edges == Edges::All, out)?;
            }
        }
        Ok(())
    })
}

/// Returns the values of all elements from `index` on, and the lines that they wait for.
fn scheduled(
    l: &mut LaunchContext,
    arrays: &[NodeId],
    index: &[NodeId],
    tiling: PlaneTiling,
    planes: i64,
    (lines, order): (&[Line], Order),
) -> (Vec<NodeId>, LineSchedule) {
    let outer = index.len() - 3;
    let moved = |l: &mut LaunchContext, at: &[i64]| -> Vec<NodeId> {
        let step = |l: &mut LaunchContext, (own, by): (&NodeId, &i64)| {
            let by = l.g.lit(Lit::i64(*by));
            linear::add(&mut l.g, *own, by)
        };
        index.iter().zip(at).map(|pair| step(l, pair)).collect()
    };
    let mut roots = Vec::new();
    for (p, r) in (0..planes).flat_map(|p| (0..tiling.thread_rows).map(move |r| (p, r))) {
        for k in tiling.thread_columns() {
            let at: Vec<i64> = std::iter::repeat_n(0, outer).chain([p, r, k]).collect();
            let index = moved(l, &at);
            roots.extend(arrays.iter().map(|a| opened(&mut l.g, *a, &index)));
        }
    }
    let roots = l.shared(&roots);
    let mut ready = HashMap::default();
    for (number, lines) in (0..).zip(lines.chunk_by(|a, b| order.place(a) == order.place(b))) {
        for line in lines {
            for lane in line.pieces.iter().flat_map(|p| p.0..p.0 + p.1) {
                let at: Vec<i64> = line.at.iter().copied().chain([lane]).collect();
                ready.insert((line.array, moved(l, &at)), number);
            }
        }
    }
    let schedule = LineSchedule::of(l, &roots, &ready);
    match line_sums::by_lines(l, &roots, &schedule) {
        Some(ordered) => {
            let schedule = LineSchedule::of(l, &ordered, &ready);
            (ordered, schedule)
        }
        None => (roots, schedule),
    }
}

/// Returns the maximum number of words of registers that wait for later lines in a step of `planes` planes. Where
/// lines come row by row, the addresses of all planes wait, too.
pub fn most_words(
    l: &mut LaunchContext,
    inner: &Interior,
    tiling: PlaneTiling,
    planes: i64,
    lines: &[Line],
    order: Order,
) -> i64 {
    let index: Vec<NodeId> = inner.widths.iter().map(|_| l.g.fresh_var(Ty::I64).1).collect();
    let (_, schedule) = scheduled(l, &inner.arrays, &index, tiling, planes, (lines, order));
    let planes_read: BTreeSet<i64> = lines.iter().map(|line| line.at[line.at.len() - 2]).collect();
    let addresses = if order == Order::Rows { planes_read.len() as i64 } else { 0 };
    schedule.most_words(l) + addresses
}

/// Whether an access loads only columns beside those of the thread.
pub fn is_beside(tiling: PlaneTiling, (first, count): (i64, i64)) -> bool {
    !tiling.thread_columns().any(|k| (first..first + count).contains(&k))
}

/// Loads a line into registers: by vector accesses, and beyond the edges element by element. `known` are the values
/// of nodes that those elements need.
fn load(
    l: &mut Lower,
    line: &Line,
    part: &Part,
    (single, known): (&[Single], &[(NodeId, Expr)]),
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let values: Vec<NodeId> = single.iter().map(|s| s.value).collect();
    let values = l.with_loaded(Loaded::default(), |l| l.region(known, &values, &Expr::int(0), out))?;
    for (single, value) in single.iter().zip(values) {
        let value = bind(l, "x", value, out);
        note(l, line, part, single.lane, value);
    }
    let is_vector = |p: &(i64, i64)| !single.iter().any(|s| (p.0..p.0 + p.1).contains(&s.lane));
    let others: Vec<(i64, i64)> = line.pieces.iter().copied().filter(is_vector).collect();
    if others.is_empty() {
        return Ok(());
    }
    // the facts have this access already, so it need not be noted here
    let (mem, ty) = (l.launch.input(line.array), l.launch.g.ty(line.array).elem);
    let start = part.position.line(l, mem, &line.at);
    let start = bind(l, "line", start, out);
    for (first, count) in others {
        let at = part.position.column(l, mem, &start, first);
        let regs: Vec<_> = (0..count).map(|_| l.k.reg("x", ty)).collect();
        for (lane, r) in (first..).zip(&regs) {
            note(l, line, part, lane, Expr::Reg(*r));
        }
        access::load(l, mem, regs, at, out);
    }
    Ok(())
}

/// Notes in which register an element of a line is.
fn note(l: &mut Lower, line: &Line, part: &Part, lane: i64, value: Expr) {
    let at: Vec<i64> = line.at.iter().copied().chain([lane]).collect();
    let key = (line.array, part.position.index(l, &at));
    l.scope.loaded.get_or_insert_default().insert(key, value);
}

/// An element of a line that is loaded by itself, because it may be beyond an edge: its column, and its value there.
struct Single {
    lane: i64,
    value: NodeId,
}

/// Returns the elements of a line that are loaded one by one.
fn singles(l: &mut Lower, line: &Line, part: &Part, edges: Edges) -> Vec<Single> {
    let has_halo = part.halo.is_some_and(|halo| halo.has_values(line.array));
    let is_single = |p: &&(i64, i64)| edges == Edges::All || has_halo && is_beside(part.tiling, **p);
    let lanes: Vec<i64> = line.pieces.iter().filter(is_single).flat_map(|p| p.0..p.0 + p.1).collect();
    let mut values = Vec::new();
    for lane in &lanes {
        let at: Vec<i64> = line.at.iter().copied().chain([*lane]).collect();
        let index = part.position.index(l, &at);
        let value = match part.halo.and_then(|halo| halo.value(l.launch, line.array, &index)) {
            Some(value) => value,
            // no element in bounds reads beyond the edges, so the clamped index may give any value
            None => {
                let extents: Vec<NodeId> =
                    (0..index.len() as u8).map(|axis| l.launch.extent(line.array, axis)).collect();
                let g = &mut l.launch.g;
                let at = index.iter().zip(&extents).map(|(i, n)| halo::clamped(g, *i, *n)).collect();
                g.add(Op::Elem(line.array, at))
            }
        };
        values.push(value);
    }
    if edges == Edges::Beside {
        // along the other axes the thread is in the interior
        let index: Vec<NodeId> =
            part.position.vars.iter().map(|v| v.0).take(part.fused.domain.len() - 1).collect();
        let extents = &part.fused.domain[..index.len()];
        values = interior_of(&mut l.launch.g, &index, extents, &values).0;
    }
    lanes.into_iter().zip(values).map(|(lane, value)| Single { lane, value }).collect()
}

/// Computes the indices and the conditions that several elements loaded one by one need, and returns all nodes whose
/// values are known.
fn shared(
    l: &mut Lower,
    part: &Part,
    all: &[Vec<Single>],
    out: &mut Vec<Stmt>,
) -> Result<Vec<(NodeId, Expr)>> {
    let mut nodes: IndexSet<NodeId> = IndexSet::new();
    let mut stack: Vec<NodeId> = all.iter().flatten().map(|s| s.value).rev().collect();
    while let Some(n) = stack.pop() {
        match l.launch.g.op(n) {
            Op::Elem(_, index) => nodes.extend(index.iter().copied()),
            Op::Select(c, a, b) => {
                nodes.insert(*c);
                stack.extend([*b, *a]);
            }
            _ => {}
        }
    }
    let mut known = part.position.vars.clone();
    nodes.retain(|n| !l.launch.g.is_closed(*n) && !known.iter().any(|v| v.0 == *n));
    let nodes: Vec<NodeId> = nodes.into_iter().collect();
    for (n, e) in nodes.iter().zip(l.region(&known, &nodes, &Expr::int(0), out)?) {
        known.push((*n, bind(l, "at", e, out)));
    }
    Ok(known)
}

/// Computes the rest of a row's values, and stores them; at the edges those that are inside.
fn store(
    l: &mut Lower,
    part: &Part,
    row: (i64, i64),
    (roots, vars): (&[NodeId], &[(NodeId, Expr)]),
    at_edge: bool,
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let values = l.region(vars, roots, &Expr::int(0), out)?;
    let items = &part.fused.items;
    let at = part.row(row);
    let mut stores = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let (mem, ty) = (l.launch.output(item), l.launch.g.ty(item.node).elem);
        let line = part.position.line(l, mem, &at);
        let each = values.iter().skip(i).step_by(items.len());
        let list: Vec<Expr> = each.map(|e| canonical(e.clone(), ty, &mut l.k.kernel, out)).collect();
        if !at_edge && part.tiling.span() > 1 && part.tiling.column_stride == 1 {
            let to = part.position.column(l, mem, &line, 0);
            access::store(l, mem, list, to, out);
            continue;
        }
        for (k, e) in part.tiling.thread_columns().zip(list) {
            let store = Stmt::Store(mem, part.position.column(l, mem, &line, k), e);
            if at_edge { stores.push((k, store)) } else { out.push(store) }
        }
    }
    let last = part.fused.domain.len() - 1;
    let columns = l.launch.host(part.fused.domain[last]);
    for (k, store) in stores {
        let column = plus(part.position.vars[last].1.clone(), k);
        out.push(Stmt::If(Expr::binary(BinaryOp::Lt, column, columns.clone()), vec![store], vec![]));
    }
    Ok(())
}
