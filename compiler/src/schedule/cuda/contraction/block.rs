//! A thread of a contraction: its block's tile of the result, its register tile, and the values that do not depend on
//! the inner index k; and the end of the kernel, which computes the elements from their reductions and stores them.
//!
//! A *side* is what a value depends on besides k: side 0 the row i, side 1 the column j, side 2 neither.

use super::params::{ContractionParams, ROWS, SIDE_THREADS};
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::elements::stored;
use crate::schedule::cuda::expressions::{int32, masked, shifted, thread, to_i64};
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::groups::FusedGroup;

/// What the functions that write the kernel share.
pub(super) struct Block<'a> {
    pub params: &'a ContractionParams,
    /// The number of inner indices (i64).
    pub count: Expr,
    /// The index along the axis before rows and columns, if there is one.
    pub outer: Vec<(NodeId, Expr)>,
    /// The extent of that axis.
    pub planes: Expr,
    /// The block's first row and column (i64).
    pub origin: [Expr; 2],
    /// The number of rows and of columns (i64).
    pub extents: [Expr; 2],
    /// The offset of the thread's register tile in the block's tile, for each side (i32): in rows, in columns, and 0.
    pub offset: [Expr; 3],
    /// For each side, the nodes whose values are known: of each of the thread's rows, of each of its columns, and of
    /// all its elements.
    pub known: [Vec<Vec<(NodeId, Expr)>>; 3],
    /// For each side, the shared memory of its staged values.
    pub shared: [Vec<Mem>; 3],
    /// A flag that a thread sets where an element may have to leave an error record. `None` if no element can leave
    /// one.
    pub flag: Option<Reg>,
}

/// A function that emits the code of one element, given its number in the thread, and its row and column.
pub(super) type Element<'e> = dyn FnMut(&mut Lower, Expr, [Expr; 2], &mut Vec<Stmt>) -> Result<()> + 'e;

impl Block<'_> {
    /// Computes the thread's position, and the values that do not depend on k.
    pub fn new<'a>(
        l: &mut Lower,
        fused: &FusedGroup,
        params: &'a ContractionParams,
        out: &mut Vec<Stmt>,
    ) -> Result<Block<'a>> {
        let count = l.region(&[], &[params.of.extent], &Expr::int(0), out)?.remove(0);
        let count = bind(l, "count", count, out);
        let (axes, outside) = params.axes();
        let extents = axes.map(|axis| l.launch.host(fused.domain[axis]));
        let tiles = [0, 1].map(|s| {
            let size = params.sides[s].size;
            let rounded_up = extents[s].clone().plus(Expr::int(size - 1));
            let tiles = Expr::binary(BinaryOp::Shr, rounded_up, Expr::int(size.ilog2().into()));
            bind(l, "tiles", Expr::Cast(Ty::I32, Box::new(tiles)), out)
        });
        let quotient = |a: Expr, b: &Expr| Expr::binary(BinaryOp::Div, a, b.clone());
        let [_, across] = tiles.clone();
        let row = bind(l, "down", quotient(Expr::Place(Gpu::Block), &across), out);
        let column = Expr::Place(Gpu::Block).minus(row.clone().times(across));
        let (mut outer, mut row_of_plane, mut planes) = (Vec::new(), row.clone(), Expr::int(1));
        if let Some(axis) = outside {
            // blocks are numbered along the axes from the last one on
            planes = l.launch.host(fused.domain[axis]);
            let inner = if params.rows_first { int32_of(&planes) } else { tiles[0].clone() };
            let first = bind(l, "plane", quotient(row.clone(), &inner), out);
            let second = row.minus(first.clone().times(inner));
            let (plane, of_plane) = if params.rows_first { (second, first) } else { (first, second) };
            row_of_plane = of_plane;
            outer.push((params.index[0], bind(l, "p", to_i64(plane), out)));
        }
        let origin = [row_of_plane, column].into_iter().zip(&params.sides);
        let mut origin = origin.map(|(at, s)| bind(l, "first", to_i64(at).times(Expr::int(s.size)), out));
        let origin = [origin.next(), origin.next()].map(|e| e.unwrap_or(Expr::int(0)));
        let [row, column] = [shifted(thread(), SIDE_THREADS), masked(thread(), SIDE_THREADS)];
        let offset = [(row, 0), (column, 1)]
            .map(|(at, s)| bind(l, "offset", at.times(int32(params.sides[s].per_thread as i32)), out));
        let [row, column] = offset;
        let shared = [0, 1, 2].map(|s| {
            let len = ROWS * params.staged * params.pitch(s);
            let types: Vec<_> = params.sides[s].parts.iter().map(|n| l.launch.g.ty(*n).elem).collect();
            types.into_iter().map(|ty| l.k.share("side", ty, len as u32)).collect()
        });
        let flag = declare_flag(l, params.may_record, out);
        let (offset, known) = ([row, column, int32(0)], Default::default());
        let mut block = Block { params, count, outer, planes, origin, extents, offset, known, shared, flag };
        block.known =
            [block.invariants(l, 0, out)?, block.invariants(l, 1, out)?, block.invariants(l, 2, out)?];
        Ok(block)
    }

    /// Returns the index of a row (side 0) or column (side 1) of the block's tile.
    pub fn index(&self, side: usize, offset: Expr) -> Expr {
        self.origin[side].clone().plus(to_i64(offset))
    }

    /// Returns the variable of a side's own index, if it has one.
    pub fn variable(&self, side: usize) -> Option<NodeId> {
        let own = self.params.index.len() - 2;
        (side < 2).then(|| self.params.index[own + side])
    }

    /// Returns the number, in row-major order, of the element in this row and column.
    pub fn number(&self, at: [Expr; 2]) -> Expr {
        let [row, column] = at;
        let line = match self.outer.first().map(|p| p.1.clone()) {
            Some(plane) if self.params.rows_first => row.times(self.planes.clone()).plus(plane),
            Some(plane) => plane.times(self.extents[0].clone()).plus(row),
            None => row,
        };
        line.times(self.extents[1].clone()).plus(column)
    }

    /// Whether there are inner indices.
    fn has_some(&self) -> Expr {
        Expr::binary(BinaryOp::Gt, self.count.clone(), Expr::int(0))
    }

    /// Emits the values of nodes. Code that would leave an error record sets the thread's flag instead.
    pub fn region(
        &self,
        l: &mut Lower,
        vars: &[(NodeId, Expr)],
        roots: &[NodeId],
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        l.flagged(self.flag, vars, roots, out)
    }

    /// Computes a side's values that do not depend on k, for each of the thread's rows or columns. Rows and columns
    /// out of bounds get the values of the last one, and nothing uses them.
    fn invariants(
        &self,
        l: &mut Lower,
        side: usize,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Vec<(NodeId, Expr)>>> {
        let s = &self.params.sides[side];
        let mut all = Vec::new();
        for r in 0..s.per_thread {
            let mut known = Vec::new();
            let mut vars = self.outer.clone();
            if let Some(variable) = self.variable(side) {
                let at = self.index(side, self.offset[side].clone().plus(int32(r as i32)));
                let at = bind(l, "at", at, out);
                known.push((variable, at.clone()));
                let last = self.extents[side].clone().minus(Expr::int(1));
                vars.push((variable, at.min(last)));
            }
            let values = self.region(l, &vars, &s.invariants, out)?;
            for (n, e) in s.invariants.iter().zip(values) {
                known.push((*n, bind(l, "own", e, out)));
            }
            all.push(known);
        }
        Ok(all)
    }

    /// Joins the reductions' initial values with the totals, computes the elements, and stores them. The totals pass
    /// through local memory, so that a loop can index them and the code is written once for all elements of a thread.
    pub fn store(
        &self,
        l: &mut Lower,
        fused: &FusedGroup,
        totals: &[Reg],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (inner, elements) = (&self.params.of.inner, self.params.elements());
        let memory: Vec<Mem> =
            inner.iter().map(|i| l.k.local("totals", i.ty, elements as u32, out)).collect();
        for (e, totals) in (0..).zip(totals.chunks(inner.len())) {
            out.extend(memory.iter().zip(totals).map(|(m, r)| Stmt::Store(*m, Expr::int(e), Expr::Reg(*r))));
        }
        let mut elements = self.numbered(l, &mut |l, number, at, out| {
            let totals = memory.iter().map(|m| Expr::load(*m, to_i64(number.clone())));
            let totals: Vec<Expr> = totals.collect();
            let totals = totals.into_iter().map(|e| bind(l, "total", e, out)).collect();
            self.element(l, fused, at, totals, out)
        })?;
        out.append(&mut elements);
        Ok(())
    }

    /// Emits a loop over those of the thread's elements that are in bounds. `each` gets an element's number in the
    /// thread, its row and its column.
    pub fn numbered(&self, l: &mut Lower, each: &mut Element) -> Result<Vec<Stmt>> {
        let (number, mut body) = (l.k.reg("number", Ty::I32), Vec::new());
        let columns = self.params.sides[1].per_thread;
        let numbers = [shifted(Expr::Reg(number), columns), masked(Expr::Reg(number), columns)];
        let at = [0, 1].map(|s| {
            let at = self.index(s, self.offset[s].clone().plus(numbers[s].clone()));
            bind(l, "at", at, &mut body)
        });
        let [row, column] =
            [0, 1].map(|s| Expr::binary(BinaryOp::Lt, at[s].clone(), self.extents[s].clone()));
        let mut element = Vec::new();
        each(l, Expr::Reg(number), at, &mut element)?;
        body.push(Stmt::If(Expr::binary(BinaryOp::And, row, column), element, vec![]));
        Ok(vec![Stmt::Seq(number, int32(0), int32(self.params.elements() as i32), body)])
    }

    /// Computes and stores one element, which is in bounds.
    fn element(
        &self,
        l: &mut Lower,
        fused: &FusedGroup,
        at: [Expr; 2],
        totals: Vec<Expr>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let mut vars = self.outer.clone();
        vars.extend((0..2).filter_map(|s| Some((self.variable(s)?, at[s].clone()))));
        let inner = &self.params.of.inner;
        let inits: Vec<NodeId> = inner.iter().map(|i| i.init).collect();
        let place = self.number(at.clone());
        let inits = l.region(&vars, &inits, &place, out)?;
        for (lane, (total, init)) in totals.into_iter().zip(inits).enumerate() {
            let value = l.k.reg("result", inner[lane].ty);
            out.push(Stmt::Var(value, init));
            let mut joining = Vec::new();
            let joined = self.join(l, lane, Expr::Reg(value), total, &mut joining)?;
            joining.push(Stmt::Assign(value, joined));
            out.push(Stmt::If(self.has_some(), joining, vec![]));
            vars.push((inner[lane].node, Expr::Reg(value)));
        }
        let values = l.region(&vars, &self.params.roots, &place, out)?;
        let values: Vec<Expr> = values.into_iter().map(|e| bind(l, "value", e, out)).collect();
        let mut index: Vec<Expr> = self.outer.iter().map(|v| v.1.clone()).chain(at).collect();
        if self.params.rows_first {
            index.swap(0, 1);
        }
        for (item, e) in stored(l.launch, fused).into_iter().zip(values) {
            let (mem, ty) = (l.launch.output(item), l.launch.g.ty(item.node).elem);
            let to = l.place_at(mem, &index);
            let e = canonical(e, ty, &mut l.k.kernel, out);
            out.push(Stmt::Store(mem, to, e));
        }
        Ok(())
    }

    /// Returns the join of two values of the reduction with the number `lane`.
    pub fn join(&self, l: &mut Lower, lane: usize, a: Expr, b: Expr, out: &mut Vec<Stmt>) -> Result<Expr> {
        let Some((_, [x, y], joined)) = self.params.of.inner[lane].tree else { unreachable!("a tree") };
        let vars = [(x, a), (y, b)];
        Ok(l.region(&vars, &[joined], &Expr::int(0), out)?.remove(0))
    }
}

/// Declares the flag of a thread, if elements may leave error records.
fn declare_flag(l: &mut Lower, may_record: bool, out: &mut Vec<Stmt>) -> Option<Reg> {
    may_record.then(|| {
        let flag = l.k.reg("flag", Ty::Bool);
        out.push(Stmt::Var(flag, Expr::Lit(Lit::bool(false))));
        flag
    })
}

/// Returns a number of blocks as i32.
fn int32_of(n: &Expr) -> Expr {
    Expr::Cast(Ty::I32, Box::new(n.clone()))
}
