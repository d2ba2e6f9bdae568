//! One row as a thread has it: which of its elements are in registers, which values are known of them, and the code
//! of a stage, that is loads, computed values and stores. `row/reduce.rs` has the reductions.

mod add;
mod common;
mod reduce;
mod staged;

use super::mapping::{Group, ResidentRowsParams};
use super::prefetch::later_row;
use super::span::Place;
use crate::core::{NodeId, Op};
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit};
use crate::schedule::cuda::access;
use crate::schedule::cuda::resident_segments::{self, Element, together, values_of};
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{Loaded, Lower, bind};
use crate::schedule::facts::segments::neighbours;
use crate::schedule::facts::{ResidentSegments, RowArray, Stage};
pub(super) use common::Common;
use rustc_hash::FxHashSet as HashSet;

/// An array that is read at elements of the row, with its indices along all axes before that of the elements.
type Array = (NodeId, Vec<NodeId>);

/// A row of this lane.
pub(super) struct Row<'a> {
    rows: &'a ResidentSegments,
    p: &'a ResidentRowsParams,
    lane: Expr,
    warp: Expr,
    /// The row's number, which may be beyond the last row.
    number: Expr,
    /// Whether the row exists.
    exists: Expr,
    /// The row's indices along all axes but that of its elements.
    outer: Vec<Expr>,
    /// The nodes whose values are known: the row's number, its scalars, and what is kept of its elements.
    vars: Vec<(NodeId, Expr)>,
    /// The elements in registers, and the arrays of which all elements of this lane are in registers.
    loaded: Loaded,
    arrays: HashSet<Array>,
    /// Present where the same warps take one row after another, in a loop.
    repeated: Option<Repeated>,
}

/// A block whose groups of warps take one row after another (`columns.rs`).
#[derive(Clone)]
pub(super) struct Repeated {
    /// The number in the block of the first warp of this row's group (i32).
    pub first_warp: Expr,
    /// The number of the block's warps.
    pub warps: u32,
}

impl<'a> Row<'a> {
    pub fn begin(
        l: &mut Lower,
        rows: &'a ResidentSegments,
        p: &'a ResidentRowsParams,
        (number, n): (Expr, &Expr),
        (lane, warp): (&Expr, &Expr),
        out: &mut Vec<Stmt>,
    ) -> Result<Row<'a>> {
        let exists = Expr::binary(BinaryOp::Lt, number.clone(), n.clone());
        let exists = bind(l, "exists", exists, out);
        // lanes whose row does not exist compute the last row, and store nothing
        let row = bind(l, "row", number.clone().min(n.clone().minus(Expr::int(1))), out);
        l.k.kernel.in_space.push(row.clone());
        let vars = vec![(rows.segment, row.clone())];
        let mut outer = Vec::new();
        for e in l.region(&vars, &rows.outer, &row, out)? {
            outer.push(bind(l, "outer", e, out));
        }
        let (loaded, arrays, repeated) = (Loaded::default(), HashSet::default(), None);
        let (lane, warp) = (lane.clone(), warp.clone());
        Ok(Row { rows, p, lane, warp, number, exists, outer, vars, loaded, arrays, repeated })
    }

    /// Returns the row as one of several that the same warps take one after another.
    pub fn repeated(self, repeated: Repeated) -> Row<'a> {
        Row { repeated: Some(repeated), ..self }
    }

    /// Returns the condition that this lane's row exists and has this group of elements.
    fn has(&self, g: &Group) -> Expr {
        match &self.exists {
            Expr::Lit(_) => g.is_present.clone(),
            exists => Expr::binary(BinaryOp::And, exists.clone(), g.is_present.clone()),
        }
    }

    /// Loads the elements of this lane that a stage reads and that are not in registers yet.
    pub fn load(&mut self, l: &mut Lower, stage: usize, groups: &[Group], out: &mut Vec<Stmt>) -> Result<()> {
        let roots = resident_segments::roots(l.launch, self.rows, stage);
        self.load_all(l, &roots, groups, out)
    }

    /// Whether all rows of a loop read the same elements of an array, which then stay in cache.
    fn is_shared(&self, l: &Lower, outer: &[NodeId]) -> bool {
        let Op::Var(row, _) = *l.launch.g.op(self.rows.segment) else { return false };
        self.repeated.is_some() && !outer.iter().any(|n| l.launch.g.node(*n).free.contains(&row))
    }

    /// Loads the elements of this lane that these nodes read and that are not in registers yet.
    pub fn load_all(
        &mut self,
        l: &mut Lower,
        roots: &[NodeId],
        groups: &[Group],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let loaded = std::mem::take(&mut self.loaded);
        for (x, outer) in neighbours(l.launch, roots, self.rows.element) {
            if self.is_shared(l, &outer) || !self.arrays.insert((x, outer.clone())) {
                continue;
            }
            l.with_loaded(Loaded::default(), |l| {
                let (mem, ty) = (l.launch.input(x), l.launch.g.ty(x).elem);
                let mut regs_of = Vec::new();
                let start = l.element_address(mem, &outer, groups[0].start.clone(), &self.vars, out)?;
                let start = bind(l, "place", start, out);
                l.k.kernel.in_space.push(start.clone());
                for g in groups {
                    // an output may be this array: a lane must not read elements that another lane stores
                    let (mut load, nothing) = (Vec::new(), Expr::Lit(Lit::zero(ty)));
                    let at = start.clone().plus(Expr::int(g.offset));
                    let [regs, own] = ["x", "own"]
                        .map(|name| g.indices.iter().map(|_| l.k.reg(name, ty)).collect::<Vec<Reg>>());
                    out.extend(regs.iter().map(|x| Stmt::Var(*x, nothing.clone())));
                    access::load(l, mem, own.clone(), at, &mut load);
                    load.extend(regs.iter().zip(own).map(|(x, own)| Stmt::Assign(*x, Expr::Reg(own))));
                    out.push(Stmt::If(self.has(g), load, vec![]));
                    regs_of.push(regs);
                }
                for (g, regs) in groups.iter().zip(regs_of) {
                    for (index, r) in g.indices.iter().zip(regs) {
                        l.note_loaded(x, &outer, *index, Expr::Reg(r));
                    }
                }
                self.loaded.extend(l.scope.loaded.take().unwrap_or_default());
                Ok::<_, crate::error::Error>(())
            })?;
        }
        self.loaded.extend(loaded);
        Ok(())
    }

    /// Prefetches a later row of the arrays that are loaded for this row, except those that all rows read alike.
    pub fn prefetch(&self, l: &mut Lower, n: &Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let of_row = self.arrays.iter().filter(|(_, outer)| outer.iter().any(|i| !l.launch.g.is_closed(*i)));
        let mut arrays: Vec<_> = of_row.cloned().collect();
        arrays.sort_unstable();
        later_row(l, self.rows, self.p, &arrays, (&self.number, n, &self.lane), out)
    }

    /// Returns the nodes that a stage computes of an element, and for each whether later stages keep it. The nodes
    /// that the stage itself needs come first.
    fn nodes(&self, l: &mut Lower, stage: usize) -> (Vec<NodeId>, Vec<bool>) {
        let known = self.vars.iter().map(|v| v.0).collect();
        resident_segments::nodes(l, self.rows, stage, &known)
    }

    /// Makes the values that `kept` marks known to later stages. `known` has the nodes of all elements, one element
    /// after the other; `kept` has the marks of the nodes of one element.
    fn keep(&mut self, known: impl IntoIterator<Item = (NodeId, Expr)>, kept: &[bool]) {
        let known = known.into_iter().zip(kept.iter().cycle());
        self.vars.extend(known.filter(|(_, is_kept)| **is_kept).map(|(v, _)| v));
    }

    /// Computes `nodes`, which are functions of the variable of the element's index, for each of this lane's
    /// elements. Returns the nodes with that element's index, for each element, and all their values in the same
    /// order.
    fn compute(
        &mut self,
        l: &mut Lower,
        stage: usize,
        nodes: &[NodeId],
        groups: &[Group],
        out: &mut Vec<Stmt>,
    ) -> Result<(Vec<Vec<NodeId>>, Vec<Expr>)> {
        let (mut each, mut values) = (Vec::new(), Vec::new());
        let together = (together(l, nodes) / groups[0].indices.len()).max(1);
        for groups in groups.chunks(together) {
            let mut vars = self.vars.clone();
            vars.extend(groups.iter().map(|g| g.first.clone()));
            let mut elements = Vec::new();
            for g in groups {
                for (index, q) in g.indices.iter().zip(0..) {
                    let of = |n: &NodeId| l.launch.replace(*n, self.rows.element, *index);
                    each.push(nodes.iter().map(of).collect::<Vec<NodeId>>());
                    let (roots, is_present) = (each.last().expect("pushed").clone(), self.has(g));
                    elements.push(Element { roots, is_present, number: self.number_of(l, stage, (g, q)) });
                }
            }
            let records = self.rows.recording == Some(stage);
            let of_groups = self
                .with_groups(l, nodes, groups, out, |l, out| values_of(l, &vars, &elements, records, out))?;
            for e in of_groups {
                values.push(bind(l, "value", e, out));
            }
        }
        Ok((each, values))
    }

    /// Returns the number that an error record of a stage has for an element of a group: the row's number in a
    /// reduction, the element's number in a store.
    fn number_of(&self, l: &mut Lower, stage: usize, (group, q): (&Group, i64)) -> Expr {
        let row = self.vars[0].1.clone();
        match self.rows.stages[stage] {
            Stage::Reduce { .. } => row,
            Stage::Store { .. } => {
                let first = row.times(l.launch.host(self.rows.length)).plus(group.first.1.clone());
                first.plus(Expr::int(q))
            }
        }
    }

    /// Runs `code`, which writes statements, while the elements that `nodes` read for these groups are in registers.
    /// Elements that all rows read are loaded for this code alone, unless `Common` keeps them in registers for all
    /// rows.
    fn with_groups<T>(
        &self,
        l: &mut Lower,
        nodes: &[NodeId],
        groups: &[Group],
        out: &mut Vec<Stmt>,
        code: impl FnOnce(&mut Lower, &mut Vec<Stmt>) -> Result<T>,
    ) -> Result<T> {
        l.with_loaded(self.loaded.clone(), |l| {
            for (x, outer) in neighbours(l.launch, nodes, self.rows.element) {
                if self.is_shared(l, &outer) && !self.arrays.contains(&(x, outer.clone())) {
                    load_groups(l, (x, &outer), groups, &self.vars, out)?;
                }
            }
            code(l, out)
        })
    }

    /// Computes and stores the elements of a stage's arrays: in shared memory if the array has a place there, else in
    /// global memory.
    pub fn store(
        &mut self,
        l: &mut Lower,
        stage: usize,
        arrays: &[RowArray],
        (groups, places): (&[Group], &[Place]),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (nodes, kept) = self.nodes(l, stage);
        let (each, computed) = self.compute(l, stage, &nodes, groups, out)?;
        let of_element: Vec<&[Expr]> = computed.chunks(nodes.len()).collect();
        let index: Vec<Expr> = self.outer.iter().cloned().chain([groups[0].start.clone()]).collect();
        let mut starts = Vec::new();
        for a in arrays {
            let mem = l.launch.output(&a.item);
            let start = l.place_at(mem, &index);
            starts.push(bind(l, "place", start, out));
        }
        l.k.kernel.in_space.extend(starts.iter().cloned());
        let mut at = 0;
        for g in groups {
            let mut stores = Vec::new();
            for (i, a) in arrays.iter().enumerate() {
                let (mem, ty) = (l.launch.output(&a.item), l.launch.g.ty(a.computed).elem);
                let of_group = &of_element[at..at + g.indices.len()];
                let list: Vec<Expr> = of_group
                    .iter()
                    .map(|e| canonical(e[i].clone(), ty, &mut l.k.kernel, &mut stores))
                    .collect();
                let to = starts[i].clone().plus(Expr::int(g.offset));
                match (<[Expr; 1]>::try_from(list), &places[i]) {
                    (Ok([one]), Some((shared, span))) => {
                        stores.push(Stmt::Store(*shared, span.place(g), one));
                    }
                    (Ok([one]), None) => stores.push(Stmt::Store(mem, to, one)),
                    (Err(list), _) => {
                        l.k.vector(mem);
                        stores.push(Stmt::StoreVec(mem, to, list));
                    }
                }
            }
            at += g.indices.len();
            out.push(Stmt::If(self.has(g), stores, vec![]));
        }
        self.keep(each.concat().into_iter().zip(computed), &kept);
        Ok(())
    }
}

/// Loads an array's elements of some groups. Lanes beyond the row load the row's last elements.
fn load_groups(
    l: &mut Lower,
    (x, outer): (NodeId, &[NodeId]),
    groups: &[Group],
    vars: &[(NodeId, Expr)],
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let (mem, ty) = (l.launch.input(x), l.launch.g.ty(x).elem);
    for g in groups {
        let at = l.element_address(mem, outer, g.first.1.clone(), vars, out)?;
        let regs: Vec<Reg> = g.indices.iter().map(|_| l.k.reg("x", ty)).collect();
        access::load(l, mem, regs.clone(), at, out);
        for (index, r) in g.indices.iter().zip(regs) {
            l.note_loaded(x, outer, *index, Expr::Reg(r));
        }
    }
    Ok(())
}
