//! The loads of a step: lines of the planes that arrive, by vectors where the thread's own columns are read, and
//! with what lies beyond the edges.
//!
//! The row and the column of a load are the same in all steps. So what the edges make of them, such as the clamped
//! row, is computed once, before the walk; in a step one plane is clamped for all rows.

use super::plan::Element;
use crate::core::simplify::simplify;
use crate::core::{Graph, NodeId, Op, linear};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Lit};
use crate::schedule::boundary::halo::{self, Halo};
use crate::schedule::boundary::interior::interior_of;
use crate::schedule::cuda::access;
use crate::schedule::cuda::register_tiling::placement::{PlaneTiling, ThreadPosition, along};
use crate::schedule::cuda::register_window;
use crate::schedule::groups::FusedGroup;
use crate::schedule::lower::{Loaded, Lower, named as bind};
use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxHashMap as HashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Elements of a line that are loaded together, with their values in terms of elements that are in bounds.
struct Piece {
    elements: Vec<(Element, NodeId)>,
}

/// All loads of a step.
pub struct Loads {
    pieces: Vec<Piece>,
    /// The nodes whose values are known: the thread's indices, and what follows from them.
    known: Vec<(NodeId, Expr)>,
    /// The nodes that follow from the plane.
    of_plane: Vec<NodeId>,
    /// Where rows begin, but for the plane: for each array and row index.
    rows: HashMap<(NodeId, NodeId), Expr>,
    /// The variable of the plane that arrives.
    plane: NodeId,
}

impl Loads {
    /// Prepares the loads of these elements, whose planes are ages, and computes what all steps have in common.
    pub fn of(
        l: &mut Lower,
        (fused, halo): (&FusedGroup, &Halo),
        position: &ThreadPosition,
        tiling: PlaneTiling,
        elements: IndexSet<Element>,
        out: &mut Vec<Stmt>,
    ) -> Result<Loads> {
        let axis = fused.domain.len() - 3;
        let plane = l.launch.g.fresh_var(crate::scalar::Ty::I64).1;
        let mut index: Vec<NodeId> = position.vars.iter().map(|v| v.0).collect();
        index[axis] = plane;
        let mut lines: BTreeMap<Vec<i64>, IndexMap<NodeId, BTreeSet<i64>>> = BTreeMap::new();
        for e in elements {
            let [row, column] = e.in_plane();
            let mut line = e.at.clone();
            line.pop();
            // in the order of rows
            line.insert(0, row);
            lines.entry(line).or_default().entry(e.array).or_default().insert(column);
        }
        let mut pieces = Vec::new();
        for (mut line, arrays) in lines {
            line.remove(0);
            for (array, columns) in arrays {
                let all = pieces_of(l, array, (tiling, halo), &columns);
                for columns in all {
                    let at: Vec<Element> = columns
                        .iter()
                        .map(|c| Element { array, at: line.iter().copied().chain([*c]).collect() })
                        .collect();
                    match at.len() {
                        1 => pieces.push(single(l, halo, &index, at[0].clone())),
                        _ => pieces.extend(vector(l, fused, halo, &index, &at)),
                    }
                }
            }
        }
        let known = position.vars.iter().enumerate().filter(|(a, _)| *a != axis).map(|(_, v)| v.clone());
        let mut loads =
            Loads { pieces, known: known.collect(), of_plane: Vec::new(), rows: HashMap::default(), plane };
        loads.hoist(l, axis, out)?;
        Ok(loads)
    }

    /// Computes the indices and conditions that no plane changes, and where rows begin.
    fn hoist(&mut self, l: &mut Lower, axis: usize, out: &mut Vec<Stmt>) -> Result<()> {
        let mut parts: IndexSet<NodeId> = IndexSet::new();
        for piece in &self.pieces {
            for (_, value) in &piece.elements {
                parts.extend(indices_and_conditions(l, *value));
            }
        }
        parts.retain(|n| !l.launch.g.is_closed(*n) && !self.known.iter().any(|v| v.0 == *n));
        let (changing, fixed): (Vec<NodeId>, Vec<NodeId>) =
            parts.into_iter().partition(|n| l.launch.g.reachable([*n]).contains(&self.plane));
        let values =
            l.with_loaded(Loaded::default(), |l| l.region(&self.known, &fixed, &Expr::int(0), out))?;
        for (n, e) in fixed.into_iter().zip(values) {
            self.known.push((n, bind(l, "at", e, out)));
        }
        self.of_plane = changing;
        let known: HashMap<NodeId, Expr> = self.known.iter().cloned().collect();
        for piece in &self.pieces {
            for (_, value) in &piece.elements {
                for n in elements_of(l, *value) {
                    let Op::Elem(array, index) = l.launch.g.op(n).clone() else { continue };
                    let row = index[axis + 1];
                    if self.rows.contains_key(&(array, row)) {
                        continue;
                    }
                    let mem = l.launch.input(array);
                    // the axes before the planes have the element's own indices
                    let mut outer: Vec<Expr> =
                        index[..axis].iter().map(|n| value_of(l, &known, *n)).collect();
                    outer.push(Expr::int(0));
                    outer.push(value_of(l, &known, row));
                    let start = along(l, mem, &outer);
                    let start = bind(l, "row", start, out);
                    self.rows.insert((array, row), start);
                }
            }
        }
        Ok(())
    }

    /// Writes the loads of the step in which plane `now` arrives, of those for which `is_wanted` holds. Returns the
    /// values.
    pub fn emit(
        &self,
        l: &mut Lower,
        (axis, now): (usize, &Expr),
        is_wanted: &dyn Fn(&Element) -> bool,
        out: &mut Vec<Stmt>,
    ) -> Result<HashMap<Element, Expr>> {
        let mut known = self.known.clone();
        known.push((self.plane, now.clone()));
        let wanted = |piece: &&Piece| piece.elements.iter().any(|e| is_wanted(&e.0));
        let mut of_plane: IndexSet<NodeId> = IndexSet::new();
        for (_, value) in self.pieces.iter().filter(wanted).flat_map(|piece| &piece.elements) {
            let parts = indices_and_conditions(l, *value);
            of_plane.extend(parts.into_iter().filter(|n| self.of_plane.contains(n)));
        }
        let of_plane: Vec<NodeId> = of_plane.into_iter().collect();
        let values = l.with_loaded(Loaded::default(), |l| l.region(&known, &of_plane, &Expr::int(0), out))?;
        for (n, e) in of_plane.iter().zip(values) {
            known.push((*n, bind(l, "at", e, out)));
        }
        let of_node: HashMap<NodeId, Expr> = known.iter().cloned().collect();
        let mut planes: HashMap<(Mem, NodeId), Expr> = HashMap::default();
        let mut found = HashMap::default();
        for piece in self.pieces.iter().filter(wanted) {
            let nodes: Vec<Vec<NodeId>> =
                piece.elements.iter().map(|(_, value)| elements_of(l, *value)).collect();
            let is_vector = nodes.len() > 1;
            let mut groups: Vec<Vec<NodeId>> = Vec::new();
            match is_vector {
                true => groups.push(nodes.iter().map(|n| n[0]).collect()),
                false => groups.extend(nodes.into_iter().flatten().map(|n| vec![n])),
            }
            for group in groups {
                if known.iter().any(|v| v.0 == group[0]) {
                    continue;
                }
                let Op::Elem(array, index) = l.launch.g.op(group[0]).clone() else { continue };
                let (mem, ty) = (l.launch.input(array), l.launch.g.ty(array).elem);
                let start = planes.entry((mem, index[axis])).or_insert_with(|| {
                    let start = value_of(l, &of_node, index[axis]).times(l.launch.stride(mem, axis as u8));
                    bind(l, "start", start, out)
                });
                let start = start.clone();
                let row = self.rows[&(array, index[axis + 1])].clone();
                let at = start.plus(row).plus(value_of(l, &of_node, index[axis + 2]));
                let regs: Vec<_> = group.iter().map(|_| l.k.reg("x", ty)).collect();
                known.extend(group.iter().copied().zip(regs.iter().map(|r| Expr::Reg(*r))));
                access::load(l, mem, regs, at, out);
            }
        }
        for piece in self.pieces.iter().filter(wanted) {
            let values: Vec<NodeId> = piece.elements.iter().map(|e| e.1).collect();
            let values =
                l.with_loaded(Loaded::default(), |l| l.region(&known, &values, &Expr::int(0), out))?;
            for ((e, n), value) in piece.elements.iter().zip(values) {
                let is_load = matches!(l.launch.g.op(*n), Op::Elem(..));
                let value = if is_load { value } else { bind(l, "x", value, out) };
                found.insert(e.clone(), value);
            }
        }
        Ok(found)
    }
}

/// Returns the columns that are loaded together: neighbours of one vector if they are in bounds.
fn pieces_of(
    l: &Lower,
    array: NodeId,
    (tiling, halo): (PlaneTiling, &Halo),
    columns: &BTreeSet<i64>,
) -> Vec<Vec<i64>> {
    let width =
        if tiling.column_stride == 1 { register_window::widest(l.launch, array, tiling.v) } else { 1 };
    let mut pieces = Vec::new();
    for (first, count) in register_window::pieces(columns, width) {
        let all: Vec<i64> = (first..first + count).collect();
        let is_own = (0..tiling.v).contains(&first) && first + count <= tiling.v;
        let is_needed = all.iter().all(|c| columns.contains(c));
        // between columns that are in bounds all are
        let is_between = (first >= 0 || columns.contains(&first)) && columns.contains(&(first + count - 1));
        if is_needed && is_own || is_between && !halo.has_values(array) {
            pieces.push(all);
        } else {
            pieces.extend(all.into_iter().filter(|c| columns.contains(c)).map(|c| vec![c]));
        }
    }
    pieces
}

/// Returns the value of an element at these indices; without a halo what is clamped is read by no element that is
/// inside.
fn value(l: &mut Lower, halo: &Halo, index: &[NodeId], e: &Element, is_column_inside: bool) -> NodeId {
    let axis = index.len() - 3;
    let mut at = Vec::new();
    for (a, (own, by)) in index.iter().zip(&e.at).enumerate() {
        let g = &mut l.launch.g;
        // a plane is an age
        let by = g.lit(Lit::i64(if a == axis { -by } else { *by }));
        at.push(linear::add(g, *own, by));
    }
    if let Some(value) = halo.value(l.launch, e.array, &at) {
        let value = with_one_condition(l, index[axis], value);
        return clamped_once(l, axis, value);
    }
    let clamped = at.len() - usize::from(is_column_inside);
    for (a, n) in (0..).zip(&mut at).take(clamped).skip(axis) {
        let extent = l.launch.extent(e.array, a);
        *n = halo::clamped(&mut l.launch.g, *n, extent);
    }
    l.launch.g.add(Op::Elem(e.array, at))
}

/// Returns a constant beyond the edges of several axes, `select(a, select(b, x, c), c)`, as `select(a and b, x, c)`,
/// where what does not follow from the plane is one condition.
fn with_one_condition(l: &mut Lower, plane: NodeId, value: NodeId) -> NodeId {
    let g = &mut l.launch.g;
    let (mut inside, mut conditions, mut beyond) = (value, Vec::new(), None);
    while let Op::Select(c, a, b) = *g.op(inside) {
        if beyond.is_some_and(|known| known != b) {
            break;
        }
        beyond = Some(b);
        conditions.push(c);
        inside = a;
    }
    let Some(beyond) = beyond else { return value };
    let (changing, fixed): (Vec<NodeId>, Vec<NodeId>) =
        conditions.into_iter().partition(|n| g.reachable([*n]).contains(&plane));
    let mut and =
        |all: Vec<NodeId>| all.into_iter().reduce(|a, b| simplify(g, Op::Binary(BinaryOp::And, a, b)));
    let all = [and(changing), and(fixed)].into_iter().flatten().collect();
    and(all).map_or(value, |c| l.launch.g.add(Op::Select(c, inside, beyond)))
}

/// Returns an element of a plane that is clamped twice, because the program clamps it and the halo does, as one of a plane
/// that is clamped once.
fn clamped_once(l: &mut Lower, axis: usize, value: NodeId) -> NodeId {
    match l.launch.g.op(value).clone() {
        Op::Select(c, a, b) => {
            let a = clamped_once(l, axis, a);
            l.launch.g.add(Op::Select(c, a, b))
        }
        Op::Elem(array, mut index) => {
            let extent = l.launch.extent(array, axis as u8);
            let g = &mut l.launch.g;
            // what is clamped has this form, in any order of operands
            let operand = |g: &Graph, n: NodeId, op: BinaryOp, bound: NodeId| match *g.op(n) {
                Op::Binary(o, a, b) if o == op && b == bound => Some(a),
                Op::Binary(o, a, b) if o == op && a == bound => Some(b),
                _ => None,
            };
            let [zero, one] = [0, 1].map(|k| g.lit(Lit::i64(k)));
            let last = linear::sub(g, extent, one);
            let inside = |g: &Graph, n: NodeId| {
                operand(g, n, BinaryOp::Min, last).and_then(|n| operand(g, n, BinaryOp::Max, zero))
            };
            if let Some(once) = inside(g, index[axis]).filter(|n| inside(g, *n).is_some()) {
                index[axis] = once;
            }
            g.add(Op::Elem(array, index))
        }
        _ => value,
    }
}

fn single(l: &mut Lower, halo: &Halo, index: &[NodeId], e: Element) -> Piece {
    let value = value(l, halo, index, &e, false);
    Piece { elements: vec![(e, value)] }
}

/// Returns a piece of neighbours that are in bounds along the columns; pieces of one element each if their values
/// are not those of neighbours.
fn vector(
    l: &mut Lower,
    fused: &FusedGroup,
    halo: &Halo,
    index: &[NodeId],
    elements: &[Element],
) -> Vec<Piece> {
    let last = index.len() - 1;
    let values: Vec<NodeId> = elements.iter().map(|e| value(l, halo, index, e, true)).collect();
    let columns = [fused.domain[last]];
    let (values, widths) = interior_of(&mut l.launch.g, &index[last..], &columns, &values);
    let is_inside = widths[0].0 == 0 && widths[0].1 < elements.len() as i64;
    let first = elements_of(l, values[0]);
    let is_neighbour = |l: &mut Lower, (e, value): (&Element, &NodeId)| {
        let (Op::Elem(_, first), [own]) = (l.launch.g.op(first[0]).clone(), &elements_of(l, *value)[..])
        else {
            return false;
        };
        let Op::Elem(_, own) = l.launch.g.op(*own).clone() else { return false };
        let by = l.launch.g.lit(Lit::i64(e.in_plane()[1]));
        let column = linear::add(&mut l.launch.g, index[last], by);
        own[..last] == first[..last] && l.launch.normal(&own[last..]) == l.launch.normal(&[column])
    };
    let mut pairs = elements.iter().zip(&values);
    if is_inside && first.len() == 1 && pairs.all(|pair| is_neighbour(l, pair)) {
        return vec![Piece { elements: elements.iter().cloned().zip(values).collect() }];
    }
    elements.iter().map(|e| single(l, halo, index, e.clone())).collect()
}

/// Returns the elements of arrays that a value is made of.
fn elements_of(l: &Lower, value: NodeId) -> Vec<NodeId> {
    let nodes = l.launch.g.reachable([value]);
    nodes.into_iter().filter(|n| matches!(l.launch.g.op(*n), Op::Elem(..))).collect()
}

/// Returns the indices of these elements, and the conditions of the value.
fn indices_and_conditions(l: &Lower, value: NodeId) -> Vec<NodeId> {
    let (mut all, mut stack) = (Vec::new(), vec![value]);
    while let Some(n) = stack.pop() {
        match l.launch.g.op(n) {
            Op::Elem(_, index) => all.extend(index.iter().copied()),
            Op::Select(c, a, b) => {
                all.push(*c);
                stack.extend([*b, *a]);
            }
            _ => {}
        }
    }
    all
}

fn value_of(l: &mut Lower, known: &HashMap<NodeId, Expr>, n: NodeId) -> Expr {
    match known.get(&n) {
        Some(e) => e.clone(),
        None => l.launch.host(n),
    }
}
