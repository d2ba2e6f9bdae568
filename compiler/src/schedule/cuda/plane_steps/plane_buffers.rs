//! The planes in shared memory that a step reads. For the first step these are input planes, copied asynchronously
//! two turns of the loop over planes ahead; for a later step, the step before it writes them one turn ahead.

use super::PlaneStepsParams;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::expressions::{int32, offset};
use crate::schedule::cuda::register_tiling::placement::{
    PlaneTiling, ThreadPosition, along, lane, plus, warp,
};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::groups::FusedGroup;

/// The planes that one step reads of each state.
pub struct PlaneBuffers {
    pub buffers: Vec<Mem>,
    /// The index in each buffer of the first element of the newest plane.
    pub newest: Reg,
}

impl PlaneBuffers {
    /// Declares `depth` planes of each state.
    pub fn of(l: &mut Lower, params: &PlaneStepsParams, depth: i64, out: &mut Vec<Stmt>) -> PlaneBuffers {
        let mut buffers = Vec::new();
        for (array, _) in &params.states {
            let ty = l.launch.g.ty(*array).elem;
            buffers.push(l.k.share("plane", ty, (depth * params.plane_len()) as u32));
        }
        let newest = l.k.reg("arrival", Ty::I32);
        out.push(Stmt::Var(newest, int32(0)));
        PlaneBuffers { buffers, newest }
    }
}

/// The copies that a thread makes of an input plane: its own rows and columns of each state.
pub struct Copies {
    pieces: Vec<Piece>,
    /// The number of planes of the volume.
    planes: Expr,
    is_wrapped: bool,
    /// The index of the thread's first element in a plane in shared memory.
    own: Expr,
}

struct Piece {
    from: Mem,
    /// The index in the array's first plane of the row's first element of the thread, and the number of the row among
    /// the thread's rows.
    at: Expr,
    row: i64,
    /// The distance from one plane of the array to the next.
    stride: Expr,
    /// The number of the state, and the bytes of the copy.
    state: usize,
    bytes: u32,
}

impl Copies {
    pub fn of(
        l: &mut Lower,
        (fused, params): (&FusedGroup, &PlaneStepsParams),
        position: &ThreadPosition,
        out: &mut Vec<Stmt>,
    ) -> Copies {
        let tiling = params.tiling;
        let [planes, rows] = [0, 1].map(|axis| l.launch.host(fused.domain[axis]));
        let mut pieces = Vec::new();
        for r in 0..tiling.thread_rows {
            let row = clamped_or_wrapped(plus(position.vars[1].1.clone(), r), &rows, params.wrapped[1]);
            let row = bind(l, "from", row, out);
            for (state, (array, _)) in params.states.iter().enumerate() {
                let (from, ty) = (l.launch.input(*array), l.launch.g.ty(*array).elem);
                if tiling.v > 1 {
                    l.k.vector(from);
                }
                let at = along(l, from, &[Expr::int(0), row.clone()]).plus(position.vars[2].1.clone());
                let at = bind(l, "from", at, out);
                let (stride, bytes) = (l.launch.stride(from, 0), ty.size() as u32 * tiling.v as u32);
                pieces.push(Piece { from, at, row: r, stride, state, bytes });
            }
        }
        let own = bind(l, "own", own_place(tiling), out);
        Copies { pieces, planes, is_wrapped: params.wrapped[0], own }
    }

    /// Begins to copy plane `plane` of each state into the plane of shared memory that begins at index `place` of
    /// each buffer.
    pub fn copy(
        &self,
        l: &mut Lower,
        to: &PlaneBuffers,
        (plane, place): (&Expr, &Expr),
        tiling: PlaneTiling,
        out: &mut Vec<Stmt>,
    ) {
        let plane = bind(l, "ahead", clamped_or_wrapped(plane.clone(), &self.planes, self.is_wrapped), out);
        let own = bind(l, "to", self.own.clone().plus(place.clone()), out);
        for piece in &self.pieces {
            let index = plane.clone().times(piece.stride.clone()).plus(piece.at.clone());
            out.push(Stmt::CopyAsync {
                bytes: piece.bytes,
                to: to.buffers[piece.state],
                at: offset(own.clone(), piece.row * tiling.block_columns),
                from: piece.from,
                index,
                given: None,
            });
        }
    }
}

/// The index of a thread's first element in a plane of its block.
pub fn own_place(tiling: PlaneTiling) -> Expr {
    let row = warp().times(int32(tiling.thread_rows as i32));
    row.times(int32(tiling.block_columns as i32)).plus(lane().times(int32(tiling.v as i32)))
}

/// Returns `i` if it is in bounds, else the nearest index at the edge or, on an axis that wraps, `i` modulo `n`.
fn clamped_or_wrapped(i: Expr, n: &Expr, is_wrapped: bool) -> Expr {
    let i = if is_wrapped { other_end(i, n) } else { i };
    Expr::binary(BinaryOp::Max, i.min(n.clone().minus(Expr::int(1))), Expr::int(0))
}

/// Returns `i` modulo `n`, for `-n <= i < 2 n`.
pub fn other_end(i: Expr, n: &Expr) -> Expr {
    let select = |c: Expr, a: Expr, b: Expr| Expr::Select(Box::new(c), Box::new(a), Box::new(b));
    let before = Expr::binary(BinaryOp::Lt, i.clone(), Expr::int(0));
    let behind = Expr::binary(BinaryOp::Ge, i.clone(), n.clone());
    select(before, i.clone().plus(n.clone()), select(behind, i.clone().minus(n.clone()), i))
}
