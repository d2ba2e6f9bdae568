//! The exchange of columns between neighbouring lanes by shuffles. It replaces loads from a shared-memory tile, which
//! would have bank conflicts: the lanes' columns are `v` elements apart.

use crate::core::NodeId;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::BinaryOp;
use crate::schedule::element::lower::{Lower, bind};

/// How a thread gets the columns beside its own from the neighbouring lanes. As loads these would be served for only
/// four lanes at a time, because of bank conflicts.
pub struct NeighbourLanes {
    /// The number of columns of a thread.
    pub v: i64,
    /// Whether the thread has the row's first column, and whether it has the last: beyond these, the element at the
    /// edge is read. `None` if reads wrap around to the other end.
    edges: Option<[Expr; 2]>,
}

impl NeighbourLanes {
    /// Returns the value for loads from global memory, where lanes exchange nothing.
    pub fn of_memory(v: i64) -> NeighbourLanes {
        NeighbourLanes { v, edges: None }
    }

    pub fn of(
        l: &mut Lower,
        (column, columns): (Expr, NodeId),
        (v, wrapped): (i64, bool),
        out: &mut Vec<Stmt>,
    ) -> NeighbourLanes {
        let mut edges = None;
        if !wrapped {
            let last = l.launch.host(columns).minus(Expr::int(v));
            let is_first = Expr::binary(BinaryOp::Le, column.clone(), Expr::int(0));
            let is_first = bind(l, "isfirst", is_first, out);
            edges = Some([is_first, bind(l, "islast", Expr::binary(BinaryOp::Ge, column, last), out)]);
        }
        NeighbourLanes { v, edges }
    }

    /// Whether a neighbouring lane has the column at this distance from the thread's first one.
    pub fn has(&self, column: i64) -> bool {
        (-self.v..2 * self.v).contains(&column) && !(0..self.v).contains(&column)
    }

    /// Returns the element of a neighbouring lane's column. `own` are the thread's own elements of this row.
    pub fn element(&self, l: &mut Lower, own: &[Reg], column: i64, out: &mut Vec<Stmt>) -> Expr {
        let other = Box::new(Expr::Reg(own[column.rem_euclid(self.v) as usize]));
        let (side, other, edge) = match column < 0 {
            true => (0, Expr::ShuffleUp(other, 1), own.first()),
            false => (1, Expr::ShuffleDown(other, 1), own.last()),
        };
        let other = bind(l, "beside", other, out);
        match (&self.edges, edge) {
            (Some(edges), Some(edge)) => edges[side].clone().select(Expr::Reg(*edge), other),
            _ => other,
        }
    }
}
