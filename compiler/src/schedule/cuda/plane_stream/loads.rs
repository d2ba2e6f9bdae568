//! The loads of a step: the elements that a thread needs of the plane that arrives, and of older planes where the
//! plan says so. An element beyond an edge is loaded as what the program reads there, for example the one at the
//! edge. The thread's own columns are loaded by vector accesses.
//!
//! The row and the column of a load are the same in all steps. So what depends on them alone, such as a clamped row,
//! is computed once, before the loop over planes; a step only clamps one plane index for all rows.

use super::neighbour_lanes::NeighbourLanes;
use super::plan::Element;
use super::values::{Sources, Tile, value};
use crate::core::{NodeId, Op, linear};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{Lit, Ty};
use crate::schedule::boundary::halo::Halo;
use crate::schedule::boundary::interior::interior_of;
use crate::schedule::cuda::access;
use crate::schedule::cuda::expressions::int32;
use crate::schedule::cuda::register_tiling::placement::{PlaneTiling, ThreadPosition, along};
use crate::schedule::cuda::register_window;
use crate::schedule::element::lower::{Loaded, Lower, bind};
use crate::schedule::groups::FusedGroup;
use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxHashMap as HashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Elements of a line that are loaded together. Each comes with its value: an expression of elements in bounds.
struct Piece {
    elements: Vec<(Element, NodeId)>,
}

/// All loads of a step.
pub struct Loads {
    pieces: Vec<Piece>,
    /// The nodes whose values are known: the thread's indices, and what depends on them alone.
    known: Vec<(NodeId, Expr)>,
    /// The nodes that depend on the plane.
    of_plane: Vec<NodeId>,
    /// For each array and row index, the index in memory (or in its tile) at which the row begins in plane 0.
    rows: HashMap<(NodeId, NodeId), Expr>,
    /// The variable of the plane that arrives.
    plane: NodeId,
    tiles: HashMap<NodeId, Tile>,
    /// For each column index and number of elements of an access, the column of a tile at which the access begins.
    columns: HashMap<(NodeId, usize), Expr>,
    /// Exchanges columns of a tile's rows among the lanes of a warp.
    neighbours: NeighbourLanes,
}

impl Loads {
    /// Prepares the loads of `elements`, and computes what is the same in all steps. The plane offset of these
    /// elements is an age: 0 is the plane that arrives, 1 the plane before it.
    pub fn of(
        l: &mut Lower,
        (fused, halo): (&FusedGroup, &Halo),
        position: &ThreadPosition,
        tiling: PlaneTiling,
        (elements, sources): (IndexSet<Element>, &Sources),
        out: &mut Vec<Stmt>,
    ) -> Result<Loads> {
        let axis = fused.domain.len() - 3;
        let plane = l.launch.g.fresh_var(Ty::I64).1;
        let mut index: Vec<NodeId> = position.vars.iter().map(|v| v.0).collect();
        index[axis] = plane;
        let mut lines: BTreeMap<Vec<i64>, IndexMap<NodeId, BTreeSet<i64>>> = BTreeMap::new();
        for e in elements {
            let [row, column] = e.in_plane();
            let mut line = e.at.clone();
            line.pop();
            // the row comes first, so that lines are loaded in the order of rows
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
                        1 => pieces.push(single(l, (halo, sources), &index, at[0].clone())),
                        _ => pieces.extend(vector(l, fused, (halo, sources), &index, &at)),
                    }
                }
            }
        }
        let known = position.vars.iter().enumerate().filter(|(a, _)| *a != axis).map(|(_, v)| v.clone());
        let mut loads = Loads {
            pieces,
            known: known.collect(),
            of_plane: Vec::new(),
            rows: HashMap::default(),
            plane,
            tiles: sources.tiles.clone(),
            columns: HashMap::default(),
            neighbours: NeighbourLanes::of_memory(tiling.v),
        };
        if !loads.tiles.is_empty() {
            let column = (position.vars[axis + 2].1.clone(), fused.domain[axis + 2]);
            loads.neighbours = NeighbourLanes::of(l, column, (tiling.v, sources.wrapped[2]), out);
        }
        loads.hoist(l, axis, out)?;
        Ok(loads)
    }

    /// Computes, before the loop, the indices and conditions that do not depend on the plane, and where rows begin.
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
        let groups: Vec<Vec<NodeId>> = self.pieces.iter().flat_map(|piece| accesses(l, piece)).collect();
        for group in groups {
            let Op::Elem(array, index) = l.launch.g.op(group[0]).clone() else { continue };
            let (row, column) = (index[axis + 1], index[axis + 2]);
            if let Some(tile) = self.tiles.get(&array) {
                self.rows.entry((array, row)).or_insert_with(|| {
                    let place = tile.place(0, value_of(l, &known, row), 1);
                    bind(l, "row", place.times(int32(tile.extents[1] as i32)), out)
                });
                self.columns.entry((column, group.len())).or_insert_with(|| {
                    let place = tile.place(1, value_of(l, &known, column), group.len() as i64);
                    bind(l, "column", place, out)
                });
                continue;
            }
            if self.rows.contains_key(&(array, row)) {
                continue;
            }
            let mem = l.launch.input(array);
            // the axes before the planes have the element's own indices
            let mut outer: Vec<Expr> = index[..axis].iter().map(|n| value_of(l, &known, *n)).collect();
            outer.push(Expr::int(0));
            outer.push(value_of(l, &known, row));
            let start = along(l, mem, &outer);
            let start = bind(l, "row", start, out);
            self.rows.insert((array, row), start);
        }
        Ok(())
    }

    /// Whether a piece is a single element that a neighbouring lane loads from its tile, so that a shuffle can fetch
    /// it.
    fn is_beside(&self, piece: &Piece) -> bool {
        let [(e, _)] = &piece.elements[..] else { return false };
        self.tiles.contains_key(&e.array) && self.neighbours.has(e.in_plane()[1])
    }

    /// Writes the loads of the step in which plane `now` arrives, for the elements of which `is_wanted` holds.
    /// Returns their values.
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
        let mut pieces: Vec<&Piece> = self.pieces.iter().filter(wanted).collect();
        // lanes exchange columns after all of them have loaded their own
        pieces.sort_by_key(|piece| self.is_beside(piece));
        self.load(l, axis, &pieces, &mut known, out);
        let mut found = HashMap::default();
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

    /// Writes the loads of some pieces, and adds the elements that are then known to `known`.
    fn load(
        &self,
        l: &mut Lower,
        axis: usize,
        pieces: &[&Piece],
        known: &mut Vec<(NodeId, Expr)>,
        out: &mut Vec<Stmt>,
    ) {
        let of_node: HashMap<NodeId, Expr> = known.iter().cloned().collect();
        let mut planes: HashMap<(Mem, NodeId), Expr> = HashMap::default();
        let mut own: HashMap<(NodeId, NodeId), Vec<Reg>> = HashMap::default();
        for piece in pieces {
            for group in accesses(l, piece) {
                if known.iter().any(|v| v.0 == group[0]) {
                    continue;
                }
                let Op::Elem(array, index) = l.launch.g.op(group[0]).clone() else { continue };
                let (ty, of_row) = (l.launch.g.ty(array).elem, (array, index[axis + 1]));
                if let Some(own) = own.get(&of_row).filter(|_| self.is_beside(piece)) {
                    let value = self.neighbours.element(l, own, piece.elements[0].0.in_plane()[1], out);
                    let value = bind(l, "x", value, out);
                    known.push((group[0], value));
                    continue;
                }
                let row = self.rows[&of_row].clone();
                let (mem, at) = match self.tiles.get(&array) {
                    Some(tile) => {
                        let column = self.columns[&(index[axis + 2], group.len())].clone();
                        (tile.area, tile.base.clone().plus(row).plus(column))
                    }
                    None => {
                        let mem = l.launch.input(array);
                        let start = planes.entry((mem, index[axis])).or_insert_with(|| {
                            let stride = l.launch.stride(mem, axis as u8);
                            let start = value_of(l, &of_node, index[axis]).times(stride);
                            bind(l, "start", start, out)
                        });
                        let start = start.clone();
                        (mem, start.plus(row).plus(value_of(l, &of_node, index[axis + 2])))
                    }
                };
                let regs: Vec<_> = group.iter().map(|_| l.k.reg("x", ty)).collect();
                known.extend(group.iter().copied().zip(regs.iter().map(|r| Expr::Reg(*r))));
                if regs.len() as i64 == self.neighbours.v && piece.elements[0].0.in_plane()[1] == 0 {
                    own.insert(of_row, regs.clone());
                }
                access::load(l, mem, regs, at, out);
            }
        }
    }
}

/// Cuts the columns of a line into pieces that are loaded together: neighbours by one vector access, if the access is
/// in bounds whenever its elements are needed.
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
        // the first and last columns are needed, so in bounds, and so are all columns between them
        let is_between = (first >= 0 || columns.contains(&first)) && columns.contains(&(first + count - 1));
        if is_needed && is_own || is_between && !halo.has_values(array) {
            pieces.push(all);
        } else {
            pieces.extend(all.into_iter().filter(|c| columns.contains(c)).map(|c| vec![c]));
        }
    }
    pieces
}

fn single(l: &mut Lower, from: (&Halo, &Sources), index: &[NodeId], e: Element) -> Piece {
    let value = value(l, from, index, &e, false);
    Piece { elements: vec![(e, value)] }
}

/// Returns one piece of neighbouring columns; or pieces of one element each, if the elements' values are not
/// neighbours in memory, for instance because of an edge.
fn vector(
    l: &mut Lower,
    fused: &FusedGroup,
    from: (&Halo, &Sources),
    index: &[NodeId],
    elements: &[Element],
) -> Vec<Piece> {
    let last = index.len() - 1;
    let values: Vec<NodeId> = elements.iter().map(|e| value(l, from, index, e, true)).collect();
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
    elements.iter().map(|e| single(l, from, index, e.clone())).collect()
}

/// Returns the accesses of a piece, each as the array elements that it loads.
fn accesses(l: &Lower, piece: &Piece) -> Vec<Vec<NodeId>> {
    let nodes: Vec<Vec<NodeId>> = piece.elements.iter().map(|(_, value)| elements_of(l, *value)).collect();
    match nodes.len() {
        1 => nodes.into_iter().flatten().map(|n| vec![n]).collect(),
        _ => vec![nodes.iter().map(|n| n[0]).collect()],
    }
}

/// Returns the array elements that a value reads.
fn elements_of(l: &Lower, value: NodeId) -> Vec<NodeId> {
    let nodes = l.launch.g.reachable([value]);
    nodes.into_iter().filter(|n| matches!(l.launch.g.op(*n), Op::Elem(..))).collect()
}

/// Returns the indices of the array elements that a value reads, and the conditions by which it selects among them.
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
