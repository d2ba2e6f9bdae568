//! A strip of columns as one thread has it: which elements are in registers, which values are known, and the code of
//! a stage, that is loads, computed values and stores. `reduce.rs` has the reductions.

use super::mapping::ResidentColumnsParams;
use crate::core::{COLUMNS, NodeId, Op, TILE, linear};
use crate::error::{Error, Result};
use crate::kernel::{Expr, Gpu, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::access;
use crate::schedule::cuda::expressions::{int32, masked, shifted, thread, to_i64};
use crate::schedule::cuda::levels::is_zero;
use crate::schedule::cuda::resident_segments::{self, Element, together, values_of};
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{Loaded, Lower, bind};
use crate::schedule::facts::segments::neighbours;
use crate::schedule::facts::{ResidentSegments, RowArray};
use rustc_hash::FxHashSet as HashSet;

/// A row of the matrix in which the thread has elements: one in each of its columns.
pub(super) struct ThreadRow {
    /// The variable of the row's number in computations, which is clamped to the last row.
    pub element: NodeId,
    /// The row's number in addresses, which may be beyond the last row.
    address: NodeId,
    /// The row's distance from the thread's first one.
    offset: i64,
    /// Whether the columns have this row.
    pub is_present: Expr,
}

/// A strip of columns, as one thread has it.
pub(super) struct Strip<'a> {
    pub kept: &'a ResidentSegments,
    pub p: &'a ResidentColumnsParams,
    /// The thread's number among those side by side (i32).
    pub x: Expr,
    /// The thread's number among those below each other (i32).
    pub row: Expr,
    /// The number of the thread's first column, which may be beyond the last one, and whether that column exists.
    pub number: Expr,
    pub exists: Expr,
    /// That column's index along the last axis, and its indices along the other axes except that of its elements.
    pub first: Expr,
    around: Vec<Expr>,
    /// The indices of the thread's columns. Threads whose columns do not exist compute the last columns, and store
    /// nothing.
    pub columns: Vec<NodeId>,
    pub places: Vec<ThreadRow>,
    /// The number of the thread's first row, which may be beyond the last row.
    start: Expr,
    /// The nodes whose values are known: indices, values of the columns, and what is kept of elements.
    pub vars: Vec<(NodeId, Expr)>,
    /// For each of the thread's columns, the nodes whose values are known if the variable of the column's index
    /// stands for that column.
    pub of_column: Vec<Vec<(NodeId, Expr)>>,
    /// The elements in registers, and the arrays of which all of the thread's elements are in registers.
    loaded: Loaded,
    arrays: HashSet<(NodeId, Vec<NodeId>)>,
}

impl<'a> Strip<'a> {
    /// Computes a thread's position in the strip, and its rows and columns in the matrix.
    pub fn begin(
        l: &mut Lower,
        kept: &'a ResidentSegments,
        p: &'a ResidentColumnsParams,
        out: &mut Vec<Stmt>,
    ) -> Strip<'a> {
        let (n, length) = (l.launch.count(), l.launch.host(kept.length));
        let x = bind(l, "lane", masked(thread(), p.lanes.into()), out);
        let row = bind(l, "row", shifted(thread(), p.lanes.into()), out);
        let strip = shifted(Expr::Place(Gpu::Block), p.blocks.into());
        let begin = to_i64(strip).times(Expr::int(p.width().into()));
        let number = bind(l, "first", begin.plus(to_i64(x.clone()).times(Expr::int(p.v))), out);
        let exists = Expr::binary(BinaryOp::Lt, number.clone(), n.clone());
        let exists = bind(l, "exists", exists, out);
        let inside = bind(l, "j", number.clone().min(n.minus(Expr::int(p.v))), out);
        l.k.kernel.in_space.extend([number.clone(), inside.clone()]);
        let (around, inside) = split(l, inside, out);
        // in a matrix, an access beyond the last column is predicated and needs no clamped index; with more axes,
        // the number is split into several indices, so it must be in bounds
        let first = if around.is_empty() { number.clone() } else { inside.clone() };
        let own = Expr::int(p.tree_columns.into());
        let k = match p.tiles {
            1 => to_i64(row.clone()).times(own),
            _ => {
                let rows = COLUMNS / i64::from(p.tree_columns);
                let tile = to_i64(shifted(row.clone(), rows)).times(Expr::int(TILE));
                tile.plus(to_i64(masked(row.clone(), rows)).times(own))
            }
        };
        let k = match p.blocks {
            1 => k,
            _ => {
                l.k.kernel.cluster = p.blocks;
                to_i64(p.rank()).times(Expr::int(p.rows().into())).plus(k)
            }
        };
        let k = bind(l, "k", k, out);
        l.k.kernel.in_space.push(k.clone());
        let [column, start] = [(); 2].map(|()| l.launch.g.fresh_var(Ty::I64).1);
        let of_others: Vec<(NodeId, Expr)> = kept.outer.iter().copied().zip(around.iter().cloned()).collect();
        let mut vars = of_others.clone();
        vars.extend([(column, inside.clone()), (start, k.clone())]);
        let last = bind(l, "last", length.clone().minus(Expr::int(1)), out);
        // a row exists if its constant offset is below `left`, so one register serves all rows
        let left = length.minus(k.clone()).min(Expr::int(TILE));
        let left = bind(l, "left", Expr::Cast(Ty::I32, Box::new(left)), out);
        let mut places = Vec::new();
        for offset in p.offsets() {
            let is_present = Expr::binary(BinaryOp::Lt, int32(offset as i32), left.clone());
            let inside = bind(l, "k", k.clone().plus(Expr::int(offset)).min(last.clone()), out);
            l.k.kernel.in_space.push(inside.clone());
            let (_, element) = l.launch.g.fresh_var(Ty::I64);
            let by = l.launch.g.lit(Lit::i64(offset));
            let address = linear::add(&mut l.launch.g, start, by);
            vars.push((element, inside));
            places.push(ThreadRow { element, address, offset, is_present });
        }
        let (mut columns, mut of_column) = (Vec::new(), Vec::new());
        for q in 0..p.v {
            let own = (kept.segment, bind(l, "j", inside.clone().plus(Expr::int(q)), out));
            of_column.push([vec![own], of_others.clone()].concat());
            let q = l.launch.g.lit(Lit::i64(q));
            columns.push(linear::add(&mut l.launch.g, column, q));
        }
        let (loaded, arrays) = (Loaded::default(), HashSet::default());
        let start = k;
        Strip {
            kept,
            p,
            x,
            row,
            number,
            exists,
            first,
            around,
            columns,
            places,
            start,
            vars,
            of_column,
            loaded,
            arrays,
        }
    }

    /// Returns the indices, along all axes except that of its elements, of the column whose index along the last axis
    /// is `last`.
    pub fn index(&self, last: Expr) -> Vec<Expr> {
        self.around.iter().cloned().chain([last]).collect()
    }

    /// Returns the condition that this thread has elements in a row.
    fn has(&self, place: &ThreadRow) -> Expr {
        Expr::binary(BinaryOp::And, self.exists.clone(), place.is_present.clone())
    }

    /// Loads the elements that a stage reads, unless they are in registers already.
    pub fn load(&mut self, l: &mut Lower, stage: usize, out: &mut Vec<Stmt>) -> Result<()> {
        let roots = resident_segments::roots(l.launch, self.kept, stage);
        let Op::Var(element, _) = *l.launch.g.op(self.kept.element) else { return Ok(()) };
        for (x, outer) in neighbours(l.launch, &roots, self.kept.segment) {
            let index = outer.iter().copied().chain([self.kept.segment]).collect();
            let read = l.launch.g.add(Op::Elem(x, index));
            let is_value = self.of_column[0].iter().any(|known| known.0 == read);
            if is_value || !self.arrays.insert((x, outer.clone())) {
                continue;
            }
            // an array that does not depend on the row is loaded once for all rows
            let moves = outer.iter().any(|n| l.launch.g.node(*n).free.contains(&element));
            let number = if moves { self.places.len() } else { 1 };
            let loaded = std::mem::take(&mut self.loaded);
            self.loaded = l.with_loaded(Loaded::default(), |l| {
                let mut regs_of = Vec::new();
                for place in &self.places[..number] {
                    let present = if moves { self.has(place) } else { self.exists.clone() };
                    regs_of.push(self.load_row(l, (x, &outer), place, present, out)?);
                }
                if moves {
                    self.prefetch(l, (x, &outer), out)?;
                }
                for (place, regs) in self.places.iter().zip(regs_of) {
                    let outer = self.at(l, &outer, place.element);
                    for (column, r) in self.columns.iter().zip(regs) {
                        l.note_loaded(x, &outer, *column, Expr::Reg(r));
                    }
                }
                Ok::<_, Error>(l.scope.loaded.take().unwrap_or_default())
            })?;
            self.loaded.extend(loaded);
        }
        self.load_values_of_rows(l, &roots, out)
    }

    /// Loads the thread's elements of one row of an array.
    fn load_row(
        &self,
        l: &mut Lower,
        (x, outer): (NodeId, &[NodeId]),
        place: &ThreadRow,
        present: Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Reg>> {
        let (mem, ty) = (l.launch.input(x), l.launch.g.ty(x).elem);
        // if the address depends on elements of arrays, these are read at a row that exists
        let g = &l.launch.g;
        let reads = g.reachable(outer.iter().copied()).into_iter().any(|n| matches!(g.op(n), Op::Elem(..)));
        let outer = self.at(l, outer, if reads { place.element } else { place.address });
        let at = l.element_address(mem, &outer, self.first.clone(), &self.vars, out)?;
        // an output may be this array: a thread must not read elements that another thread stores
        let (mut load, nothing) = (Vec::new(), Expr::Lit(Lit::zero(ty)));
        let [regs, own] =
            ["x", "own"].map(|name| self.columns.iter().map(|_| l.k.reg(name, ty)).collect::<Vec<Reg>>());
        out.extend(regs.iter().map(|x| Stmt::Var(*x, nothing.clone())));
        access::load(l, mem, own.clone(), at, &mut load);
        load.extend(regs.iter().zip(own).map(|(x, own)| Stmt::Assign(*x, Expr::Reg(own))));
        out.push(Stmt::If(present, load, vec![]));
        Ok(regs)
    }

    /// Loads the elements that depend on the row alone, such as those of a vector, so that their latency overlaps
    /// with that of other loads.
    fn load_values_of_rows(&mut self, l: &mut Lower, roots: &[NodeId], out: &mut Vec<Stmt>) -> Result<()> {
        let (Op::Var(element, _), Op::Var(segment, _)) =
            (l.launch.g.op(self.kept.element).clone(), l.launch.g.op(self.kept.segment).clone())
        else {
            return Ok(());
        };
        let g = &l.launch.g;
        let is_shared = |n: &NodeId| {
            let free = &g.node(*n).free;
            matches!(g.op(*n), Op::Elem(..)) && free.contains(&element) && !free.contains(&segment)
        };
        let shared: Vec<NodeId> = g.reachable(roots.iter().copied()).into_iter().filter(is_shared).collect();
        self.loaded = l.with_loaded(std::mem::take(&mut self.loaded), |l| {
            for place in &self.places {
                let reads = self.at(l, &shared, place.element);
                l.region(&self.vars, &reads, &Expr::int(0), out)?;
            }
            Ok::<_, Error>(l.scope.loaded.take().unwrap_or_default())
        })?;
        Ok(())
    }

    /// Returns these nodes with `row` in place of the variable of the row's number.
    pub fn at(&self, l: &mut Lower, nodes: &[NodeId], row: NodeId) -> Vec<NodeId> {
        nodes.iter().map(|n| l.launch.replace(*n, self.kept.element, row)).collect()
    }

    /// Returns the nodes that a stage computes of an element, and for each whether later stages keep it. The nodes
    /// that the stage itself needs come first.
    pub fn nodes(&self, l: &mut Lower, stage: usize) -> (Vec<NodeId>, Vec<bool>) {
        let known = self.of_column[0].iter().map(|v| v.0).collect();
        resident_segments::nodes(l, self.kept, stage, &known)
    }

    /// Cuts the rows into groups that are computed together.
    fn together(&self, l: &Lower, nodes: &[NodeId]) -> std::slice::Chunks<'_, ThreadRow> {
        self.places.chunks((together(l, nodes) / self.columns.len()).max(1))
    }

    /// Computes `nodes`, which are functions of the variables of row and column, for each of this thread's elements,
    /// row by row. Returns for each element the nodes with its row and column, and their values.
    pub fn compute(
        &self,
        l: &mut Lower,
        nodes: &[NodeId],
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Vec<(NodeId, Expr)>>> {
        let mut all = Vec::new();
        for places in self.together(l, nodes) {
            all.extend(self.compute_at(l, nodes, places, out)?);
        }
        Ok(all)
    }

    /// Does what [`Self::compute`] does, for some of the rows.
    fn compute_at(
        &self,
        l: &mut Lower,
        nodes: &[NodeId],
        places: &[ThreadRow],
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Vec<(NodeId, Expr)>>> {
        let mut elements = Vec::new();
        for place in places {
            let of_row = self.at(l, nodes, place.element);
            for column in &self.columns {
                let of = |n: &NodeId| l.launch.replace(*n, self.kept.segment, *column);
                let roots = of_row.iter().map(of).collect();
                elements.push(Element { roots, is_present: self.has(place), number: Expr::int(0) });
            }
        }
        let values =
            l.with_loaded(self.loaded.clone(), |l| values_of(l, &self.vars, &elements, false, out))?;
        let values: Vec<Expr> = values.into_iter().map(|e| bind(l, "value", e, out)).collect();
        let roots = elements.into_iter().flat_map(|e| e.roots);
        let known: Vec<(NodeId, Expr)> = roots.zip(values).collect();
        Ok(known.chunks(nodes.len()).map(<[_]>::to_vec).collect())
    }

    /// Makes the values that `kept` marks known to later stages.
    pub fn keep(&mut self, computed: Vec<Vec<(NodeId, Expr)>>, kept: &[bool]) {
        for of_element in computed {
            let known = of_element.into_iter().zip(kept);
            self.vars.extend(known.filter(|(_, is_kept)| **is_kept).map(|(v, _)| v));
        }
    }

    /// Computes and stores the elements of the last stage's arrays.
    pub fn store(&self, l: &mut Lower, stage: usize, arrays: &[RowArray], out: &mut Vec<Stmt>) -> Result<()> {
        let nodes = resident_segments::roots(l.launch, self.kept, stage);
        let mut starts = Vec::new();
        for a in arrays {
            let mem = l.launch.output(&a.item);
            let outer = self.index(self.first.clone());
            let start = l.place_at(mem, &self.kept.along.index(&outer, self.start.clone()));
            let step = l.launch.stride(mem, self.kept.along.axis(outer.len()) as u8);
            starts.push((bind(l, "place", start, out), step));
        }
        // a value's register is free once it is stored, so a few rows are computed and stored at a time
        for places in self.together(l, &nodes) {
            let computed = self.compute_at(l, &nodes, places, out)?;
            for (place, of_row) in places.iter().zip(computed.chunks(self.columns.len())) {
                let mut stores = Vec::new();
                for (i, a) in arrays.iter().enumerate() {
                    let (mem, ty) = (l.launch.output(&a.item), l.launch.g.ty(a.computed).elem);
                    let k = &mut l.k.kernel;
                    let of = |e: &Vec<(NodeId, Expr)>| canonical(e[i].1.clone(), ty, k, &mut stores);
                    let list: Vec<Expr> = of_row.iter().map(of).collect();
                    let (start, step) = &starts[i];
                    let at = start.clone().plus(step.clone().times(Expr::int(place.offset)));
                    access::store(l, mem, list, at, &mut stores);
                }
                out.push(Stmt::If(self.has(place), stores, vec![]));
            }
        }
        Ok(())
    }

    /// Returns the condition that this thread stores the values that follow from its columns' reductions.
    pub fn leads(&self) -> Expr {
        let mut is_first = is_zero(&self.row);
        if self.p.blocks > 1 {
            is_first = Expr::binary(BinaryOp::And, is_first, is_zero(&self.p.rank()));
        }
        Expr::binary(BinaryOp::And, is_first, self.exists.clone())
    }
}

/// Splits the number of a column into its indices along all axes except that of its elements: returns those before
/// the last axis, and that along the last.
pub(super) fn split(l: &mut Lower, number: Expr, out: &mut Vec<Stmt>) -> (Vec<Expr>, Expr) {
    let extents = l.launch.domain().to_vec();
    let (mut rest, mut index) = (number, Vec::new());
    for extent in extents[1..].iter().rev() {
        let n = l.launch.host(*extent);
        index.push(bind(l, "j", Expr::binary(BinaryOp::Rem, rest.clone(), n.clone()), out));
        rest = bind(l, "around", Expr::binary(BinaryOp::Div, rest, n), out);
    }
    index.push(rest);
    index.reverse();
    let last = index.pop().expect("columns have an index");
    (index, last)
}
