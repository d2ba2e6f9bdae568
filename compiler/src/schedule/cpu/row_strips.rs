//! Strips of a row: every element of a matrix is a reduction, for which neighbours in a row read the same or
//! neighbouring elements in memory (products that are written with dot products, convolutions). The elements of a
//! strip go through their reductions together, so that all loops vectorise (`segmented_columns.rs`).
//!
//! ```text
//! r[i][j] = sum of a[i][k] * b[k][j] for all k
//!     ->
//! for k { for j of the strip { column k of the tree [j] += a[i][k] * b[k][j] } }
//! ```
//!
//! If any total read of a row is out of bounds, the row is computed element by element.

use super::column_tree::load;
use super::rows::{self, Piece, Walk};
use super::segmented_columns::{have_room, most_and_block, too_long};
use super::stores::Stores;
use super::strip::Strip;
use crate::core::linear::Linear;
use crate::core::{Graph, NodeId, Op, Var};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Ty, UnaryOp};
use crate::schedule::element::in_bounds::{self, Range};
use crate::schedule::element::lower::{LaunchContext, Lower, Surroundings, bind};
use crate::schedule::element::opened;
use crate::schedule::element::reduction::{Reduction, each_accumulator, totals_of};
use crate::schedule::facts::InBounds;
use crate::schedule::facts::Segments;
use crate::schedule::facts::along::Along;
use crate::schedule::facts::segments;
use crate::schedule::groups::{FusedGroup, Item};

/// Rows with fewer elements are computed element by element: loops over them would be too short.
const FEWEST: i64 = 16;

/// A fused group that this strategy serves.
pub struct RowStrips {
    /// The indices of an element along all axes but the last.
    outer: Vec<NodeId>,
    /// The reductions of the elements of a row, and what follows from them.
    segments: Segments,
    /// The program's own elements.
    roots: Vec<NodeId>,
    /// The condition that all total reads of a row are in bounds.
    condition: NodeId,
}

/// Returns the fused group as one that this strategy serves.
pub fn of(l: &mut LaunchContext, fused: &FusedGroup) -> Option<RowStrips> {
    if !l.facts.nested || l.facts.strips.is_some() {
        return None;
    }
    let vars: Vec<(Var, NodeId)> = fused.domain.iter().map(|_| l.g.fresh_var(Ty::I64)).collect();
    let index: Vec<NodeId> = vars.iter().map(|v| v.1).collect();
    let (own, outer) = vars.split_last()?;
    let roots: Vec<NodeId> = fused.items.iter().map(|it| opened(&mut l.g, it.node, &index)).collect();
    let row = Range::below(l, own.0, *fused.domain.last()?);
    let InBounds { roots: bodies, condition } = in_bounds::without_records(l, &roots, &[row])?;
    let nested = segments::nested(l, &bodies)?;
    let length = segments::common_length(l, &nested)?;
    if !have_room(l, &nested) || !nested.iter().all(|n| reads_neighbours(l, *n, *own)) {
        return None;
    }
    let segments = Segments {
        index: own.1,
        bodies,
        nested,
        length,
        along: Along::Columns,
        are_parts: false,
        may_record: false,
    };
    Some(RowStrips { outer: outer.iter().map(|v| v.1).collect(), segments, roots, condition })
}

/// Whether neighbours along the row read neighbours in memory, or the same elements.
fn reads_neighbours(l: &mut LaunchContext, reduction: NodeId, (own, j): (Var, NodeId)) -> bool {
    let (_, k) = l.g.fresh_var(Ty::I64);
    let first = Reduction::nested(l, reduction).first(l, k);
    if segments::nested(l, &first).is_some() {
        return false;
    }
    let g = &l.g;
    let has = |n: &NodeId| g.node(*n).free.contains(&own);
    let mut reads = g.reachable(first).into_iter().filter_map(|n| match g.op(n) {
        Op::Elem(_, at) => Some((n, at)),
        _ => None,
    });
    reads.all(|(n, at)| {
        !has(&n) || at.split_last().is_some_and(|(last, outer)| !outer.iter().any(has) && by_one(g, *last, j))
    })
}

/// Whether an index increases by one with `j`, apart from clamps, or does not depend on it.
fn by_one(g: &Graph, index: NodeId, j: NodeId) -> bool {
    let Op::Var(own, _) = *g.op(j) else { return false };
    let varies = |n: &NodeId| g.node(*n).free.contains(&own);
    if let Op::Binary(BinaryOp::Max | BinaryOp::Min, a, b) = *g.op(index) {
        return match (varies(&a), varies(&b)) {
            (true, false) => by_one(g, a, j),
            (false, true) => by_one(g, b, j),
            _ => false,
        };
    }
    let form = Linear::of(g, index);
    let mut terms = form.terms.iter().filter(|t| varies(t.0));
    match (terms.next(), terms.next()) {
        (None, None) => true,
        (Some((term, 1)), None) => *term == j || *term != index && by_one(g, *term, j),
        _ => false,
    }
}

pub(super) fn main(l: &mut Lower, fused: &FusedGroup, rows: &RowStrips) -> Result<Vec<Stmt>> {
    let items: Vec<&Item> = fused.items.iter().collect();
    let stores = Stores::new(l, &items);
    let extents: Vec<Expr> = fused.domain.iter().map(|n| l.launch.host(*n)).collect();
    let mut body = Vec::new();
    let (lo, hi) = rows::range(l, (Expr::TileBegin, Expr::TileEnd), &mut body);
    let walk = Walk { extents: &extents, lo, hi };
    let too_long = too_long(l, &rows.segments);
    let mut locals = Vec::new();
    walk.rows(l, &mut body, &mut |l, piece, out| {
        let outer: Vec<(NodeId, Expr)> =
            rows.outer.iter().copied().zip(piece.outer.iter().cloned()).collect();
        let width = piece.end.clone().minus(piece.begin.clone());
        let is_short = Expr::binary(BinaryOp::Lt, width, Expr::int(FEWEST));
        let in_bounds = l.conditions(&outer, &[rows.condition], out)?.remove(0);
        let one_by_one = Expr::binary(BinaryOp::Or, is_short, too_long.clone());
        let one_by_one =
            Expr::binary(BinaryOp::Or, one_by_one, Expr::Unary(UnaryOp::Not, Box::new(in_bounds)));
        let (mut strips, mut elements) = (Vec::new(), Vec::new());
        rows.strips(l, (piece, &outer), &stores, &mut locals, &mut strips)?;
        rows.elements(l, (piece, &outer), &stores, &mut elements)?;
        out.push(Stmt::If(one_by_one, elements, strips));
        Ok(())
    })?;
    locals.append(&mut body);
    Ok(locals)
}

impl RowStrips {
    /// Emits the elements of a piece of a row, strip by strip.
    fn strips(
        &self,
        l: &mut Lower,
        (piece, outer): (&Piece, &[(NodeId, Expr)]),
        stores: &Stores,
        locals: &mut Vec<Stmt>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let s = &self.segments;
        let length = l.launch.host(s.length);
        let reductions: Vec<Reduction> = Reduction::all_nested(l.launch, &s.nested);
        let reductions = &reductions[..];
        let [most, in_block] = most_and_block(l.launch, reductions);
        let block =
            each_accumulator(reductions).map(|r| l.k.local("block", r.ty, in_block, locals)).collect();
        let [base, q] = ["base", "q"].map(|name| l.k.reg(name, Ty::I64));
        let mut body = Vec::new();
        let width = piece.end.clone().minus(Expr::Reg(base)).min(Expr::int(most.into()));
        let width = bind(l, "width", width, &mut body);
        let (stored, known, first) = (None, &[][..], Expr::Reg(base));
        let strip = Strip { s, outer, reductions, base: first, width, length, block, most, stored, known };
        strip.totals(l, locals, &mut body)?;
        let mut last = Vec::new();
        let j = bind(l, "j", strip.base.clone().plus(Expr::Reg(q)), &mut last);
        let at = Expr::Reg(q);
        let totals: Vec<Vec<Expr>> =
            totals_of(reductions, &strip.block).iter().map(|of| load(of, &at)).collect();
        let vars: Vec<(NodeId, Expr)> = outer.iter().cloned().chain([(s.index, j.clone())]).collect();
        let place = Surroundings { vars: &vars, at: &piece.row.clone().plus(j.clone()) };
        let values = s.values(l, reductions, &place, &totals, &strip.length, &mut last)?;
        stores.store_at(l, values, &piece.indices(&j), &Expr::int(0), &mut last);
        body.push(Stmt::For(q, Expr::int(0), strip.width.clone(), last));
        body.push(Stmt::Assign(base, strip.base.clone().plus(strip.width.clone())));
        out.push(Stmt::Var(base, piece.begin.clone()));
        out.push(Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(base), piece.end.clone()), body));
        Ok(())
    }

    /// Emits the elements of a piece of a row one by one, by the program's own code.
    fn elements(
        &self,
        l: &mut Lower,
        (piece, outer): (&Piece, &[(NodeId, Expr)]),
        stores: &Stores,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (j, mut body) = (l.k.reg("j", Ty::I64), Vec::new());
        let own = (self.segments.index, Expr::Reg(j));
        let vars: Vec<(NodeId, Expr)> = outer.iter().cloned().chain([own]).collect();
        let at = piece.row.clone().plus(Expr::Reg(j));
        let values = l.region(&vars, &self.roots, &at, &mut body)?;
        stores.store_at(l, values, &piece.indices(&Expr::Reg(j)), &Expr::int(0), &mut body);
        out.push(Stmt::For(j, piece.begin.clone(), piece.end.clone(), body));
        Ok(())
    }
}
