//! The placement of register tiling: which rows and columns a block and a thread have, and which of
//! them are in the interior.

use crate::core::{NodeId, linear};
use crate::kernel::{Expr, Gpu, Mem, Stmt, WARP};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::boundary::interior::BoundaryWidth;
use crate::schedule::cuda::expressions::{int32, thread, to_i64};
use crate::schedule::cuda::register_window;
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::groups::FusedGroup;

/// How the rows and columns are cut into the parts of threads and blocks: the rows and columns of a
/// thread, the distance of its columns, and the planes, rows and columns of a block.
#[derive(Clone, Copy)]
pub struct PlaneTiling {
    pub thread_rows: i64,
    pub v: i64,
    pub column_stride: i64,
    pub block_planes: i64,
    pub block_rows: i64,
    pub block_columns: i64,
}

impl PlaneTiling {
    /// Returns the tiling with `thread_rows` rows and `v` columns per thread. The columns of a lane
    /// are neighbours, or a warp's width apart.
    pub fn new(thread_rows: i64, v: i64, neighbours: bool, threads: u32) -> PlaneTiling {
        let (column_stride, warps) =
            (if neighbours { 1 } else { i64::from(WARP) }, i64::from(threads / WARP));
        PlaneTiling {
            thread_rows,
            v,
            column_stride,
            block_planes: 1,
            block_rows: warps * thread_rows,
            block_columns: i64::from(WARP) * v,
        }
    }

    /// Returns the minimum numbers of rows and of columns for which enough threads of a block have work. A part of
    /// less than an eighth of a block is better computed element by element.
    pub fn least(self) -> [u32; 2] {
        [self.block_rows, self.block_columns].map(|n| (n / 8 + 1) as u32)
    }

    /// Returns the offsets of the thread's columns from its first.
    pub fn thread_columns(self) -> impl Iterator<Item = i64> {
        (0..self.v).map(move |k| k * self.column_stride)
    }

    /// Returns the number of columns from a thread's first to past its last.
    pub fn span(self) -> i64 {
        (self.v - 1) * self.column_stride + 1
    }

    /// Returns the number of columns from a lane's first to the next lane's first.
    pub fn lane_stride(self) -> i64 {
        if self.column_stride == 1 { self.v } else { 1 }
    }
}

/// The position of a thread: for each axis the variable of its first index, and that index; and the
/// first index of its block.
pub struct ThreadPosition {
    pub vars: Vec<(NodeId, Expr)>,
    pub block: Vec<Expr>,
}

/// What is loaded of one array along one axis, as offsets from a first element: the least offset,
/// and one past the greatest.
pub struct Reach {
    pub array: NodeId,
    pub axis: usize,
    pub first: i64,
    pub end: i64,
}

impl ThreadPosition {
    /// Returns the nodes of the indices at these offsets from the first.
    pub fn index(&self, l: &mut Lower, at: &[i64]) -> Vec<NodeId> {
        let step = |l: &mut Lower, var: NodeId, by: i64| {
            let by = l.launch.g.lit(Lit::i64(by));
            linear::add(&mut l.launch.g, var, by)
        };
        self.vars.iter().zip(at).map(|(v, by)| step(l, v.0, *by)).collect()
    }

    /// Returns the index in memory of the line at these offsets from the first element, without the
    /// column.
    pub fn line(&self, l: &mut Lower, mem: Mem, at: &[i64]) -> Expr {
        let indices: Vec<Expr> = self.vars.iter().zip(at).map(|(v, by)| plus(v.1.clone(), *by)).collect();
        along(l, mem, &indices)
    }

    /// Returns the index in memory of the element at that column offset of a line.
    pub fn column(&self, l: &mut Lower, mem: Mem, line: &Expr, by: i64) -> Expr {
        let last = self.vars.len() - 1;
        let column = self.vars[last].1.clone();
        match l.k.strided {
            true => line.clone().plus(plus(column, by).times(l.launch.stride(mem, last as u8))),
            false => plus(line.clone().plus(column), by),
        }
    }
}

pub fn plus(e: Expr, by: i64) -> Expr {
    if by == 0 { e } else { e.plus(Expr::int(by)) }
}

/// Returns the number of blocks of `each` indices that an axis of that extent has.
pub fn blocks_along(extent: Expr, each: i64) -> Expr {
    let sum = extent.plus(Expr::int(each - 1));
    match each.count_ones() == 1 {
        true => Expr::binary(BinaryOp::Shr, sum, Expr::int(each.ilog2().into())),
        false => Expr::binary(BinaryOp::Div, sum, Expr::int(each)),
    }
}

/// Returns the sum of indices times strides, for the leading axes.
pub fn along(l: &mut Lower, mem: Mem, indices: &[Expr]) -> Expr {
    let mut sum: Option<Expr> = None;
    for (i, axis) in indices.iter().zip(0..) {
        let e = i.clone().times(l.launch.stride(mem, axis));
        sum = Some(sum.map_or(e.clone(), |s| s.plus(e)));
    }
    sum.unwrap_or(Expr::int(0))
}

/// Computes the thread's first indices, from its number and its block's.
pub fn position(
    l: &mut Lower,
    fused: &FusedGroup,
    layout: ThreadLayout,
    tiling: PlaneTiling,
    out: &mut Vec<Stmt>,
) -> ThreadPosition {
    position_of(l, fused, layout, tiling, None, out)
}

/// How blocks share the planes, where only the launch knows it: the number of parts, and the number of planes of a
/// part.
pub struct PlaneParts {
    pub count: Expr,
    pub planes: Expr,
}

/// Does the same as [`position`], with the planes cut into these parts.
pub fn position_of(
    l: &mut Lower,
    fused: &FusedGroup,
    layout: ThreadLayout,
    tiling: PlaneTiling,
    parts: Option<PlaneParts>,
    out: &mut Vec<Stmt>,
) -> ThreadPosition {
    let mut number = Expr::Place(Gpu::Block);
    if layout.descending {
        number = Expr::Place(Gpu::Blocks).minus(int32(1)).minus(number);
    }
    let rank = fused.domain.len();
    let (mut vars, mut block) = (Vec::new(), Vec::new());
    // neighbouring blocks are neighbours along the columns
    for axis in (0..rank).rev() {
        let each =
            [tiling.block_columns, tiling.block_rows, tiling.block_planes, 1][(rank - 1 - axis).min(3)];
        let parts = parts.as_ref().filter(|_| rank - 1 - axis == 2);
        let mut own = number.clone();
        if axis > 0 {
            let blocks = blocks_along(l.launch.host(fused.domain[axis]), each);
            let blocks = parts.map_or(blocks, |p| p.count.clone());
            let blocks = bind(l, "blocks", Expr::Cast(Ty::U32, Box::new(blocks)), out);
            let unsigned = Expr::Cast(Ty::U32, Box::new(number.clone()));
            let before = Expr::Cast(Ty::I32, Box::new(Expr::binary(BinaryOp::Div, unsigned, blocks.clone())));
            let before = bind(l, "before", before, out);
            let blocks = Expr::Cast(Ty::I32, Box::new(blocks));
            own = bind(l, "own", number.minus(before.clone().times(blocks)), out);
            number = before;
        }
        if axis + 2 == rank {
            // the last rows come first, so that the launch does not end with boundary blocks, which take longer
            let blocks = blocks_along(l.launch.host(fused.domain[axis]), each);
            let is_first = Expr::binary(BinaryOp::Eq, own.clone(), int32(0));
            let blocks = Expr::Select(
                Box::new(is_first),
                Box::new(Expr::Cast(Ty::I32, Box::new(blocks))),
                Box::new(own),
            );
            own = bind(l, "turned", blocks.minus(int32(1)), out);
        }
        let each = parts.map_or(Expr::int(each), |p| p.planes.clone());
        let mut first = to_i64(own).times(each);
        if axis + 1 == rank {
            first = bind(l, "left", first, out);
        }
        let in_block = match rank - 1 - axis {
            0 => to_i64(lane()).times(Expr::int(tiling.lane_stride())),
            1 => to_i64(warp()).times(Expr::int(tiling.thread_rows)),
            _ => Expr::int(0),
        };
        block.push(first.clone());
        let name = ["column", "row", "outer"][(rank - 1 - axis).min(2)];
        let first = if in_block == Expr::int(0) { first } else { first.plus(in_block) };
        vars.push((l.launch.g.fresh_var(Ty::I64).1, bind(l, name, first, out)));
    }
    vars.reverse();
    block.reverse();
    ThreadPosition { vars, block }
}

/// Returns the thread's lane.
pub fn lane() -> Expr {
    Expr::binary(BinaryOp::And, thread(), int32(31))
}

/// Returns the thread's warp in its block.
pub fn warp() -> Expr {
    Expr::binary(BinaryOp::Shr, thread(), int32(5))
}

/// The bounds of the interior: where all elements of a thread, or block, keep the boundary widths,
/// and all that they load is in bounds.
pub struct InteriorBounds {
    /// The condition that the position is in the interior along all axes but the last. `None` if it
    /// always holds.
    pub rows: Option<Expr>,
    /// The minimum of the first column.
    pub left: i64,
    /// One past the maximum of the last column.
    pub right: Expr,
}

impl InteriorBounds {
    /// Returns the bounds for `sizes` elements along each axis from `firsts` on, and for the loads
    /// `reaches` around them.
    pub fn of(
        l: &mut Lower,
        (fused, widths): (&FusedGroup, &[BoundaryWidth]),
        firsts: &[Expr],
        sizes: &[i64],
        reaches: &[Reach],
    ) -> InteriorBounds {
        let rank = firsts.len();
        let (mut rows, mut last) = (None, (0, Expr::int(0)));
        for (axis, (own, size)) in firsts.iter().zip(sizes).enumerate() {
            let mine = || reaches.iter().filter(|r| r.axis == axis);
            let width = widths[axis];
            let first = -mine().map(|r| r.first).min().unwrap_or(0).min(-width.0);
            let mut needs: Vec<(NodeId, i64)> = Vec::new();
            for r in mine() {
                let beyond = r.end - size;
                match needs.iter_mut().find(|n| n.0 == r.array) {
                    Some(n) => n.1 = n.1.max(beyond),
                    None => needs.push((r.array, beyond)),
                }
            }
            let n = l.launch.host(fused.domain[axis]);
            let end = register_window::end(l.launch, (fused.domain[axis], width.1), axis as u8, &needs);
            if axis + 1 == rank {
                last = (first, end);
                continue;
            }
            rows = and(rows, from(own, first));
            // along outer axes there is mostly one index, which is in bounds
            if axis + 2 == rank || *size > 1 || end != n {
                rows = and(rows, Some(Expr::binary(BinaryOp::Le, plus(own.clone(), *size), end)));
            }
        }
        InteriorBounds { rows, left: last.0, right: last.1 }
    }

    /// Returns whether `span` columns from `first` on are in the interior.
    pub fn contains(&self, first: &Expr, span: i64) -> Expr {
        let all = and(self.rows.clone(), from(first, self.left));
        let right = Expr::binary(BinaryOp::Le, plus(first.clone(), span), self.right.clone());
        and(all, Some(right)).unwrap_or(Expr::Lit(Lit::bool(true)))
    }
}

fn from(index: &Expr, least: i64) -> Option<Expr> {
    (least > 0).then(|| Expr::binary(BinaryOp::Ge, index.clone(), Expr::int(least)))
}

fn and(a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
    match (a, b) {
        (Some(a), Some(b)) => Some(Expr::binary(BinaryOp::And, a, b)),
        (a, b) => a.or(b),
    }
}

/// What is loaded of one line of an array, as offsets from the thread's first element.
#[derive(Clone)]
pub struct Line {
    /// The array.
    pub array: NodeId,
    /// The offsets along all axes but the last.
    pub at: Vec<i64>,
    /// The start and the number of elements of each access.
    pub pieces: Vec<(i64, i64)>,
}

impl Line {
    /// Returns the row, as an offset from the thread's first.
    pub fn row(&self) -> i64 {
        self.at.last().copied().unwrap_or(0)
    }

    /// Returns where its loads begin, and where they end.
    pub fn columns(&self) -> (i64, i64) {
        let first = self.pieces.first().map_or(0, |p| p.0);
        (first, self.pieces.last().map_or(first, |p| p.0 + p.1))
    }
}
