//! Resident columns on a CPU: all stages of a strip of neighbouring columns are computed before the next strip, so
//! that the strip is read from memory once and then from a cache. The reductions of a strip are those of
//! `segmented_columns.rs`; their results lie in local arrays, from which later stages read them.
//!
//! ```text
//! for each strip of columns:
//!     top[q] = max over k of x[k, j + q]    sum[q] = sum over k of exp (x[k, j + q] - top[q])
//!     r[k, j + q] = exp (..) / sum[q]
//! ```
//!
//! The longer columns are, the narrower a strip is; long columns are left to the launches that this one replaces. An
//! output may be an input as for rows (`resident_rows.rs`).

use super::column_tree::load;
use super::element_loop::each;
use super::rows::{self, Piece, Walk};
use super::segmented_columns::most_segments;
use super::strip::{Known, Strip};
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::lower::{LaunchContext, Lower, Surroundings, bind};
use crate::schedule::element::reduction::{Reduction, each_accumulator, totals_of};
use crate::schedule::element::{canonical, opened};
use crate::schedule::facts::along::Along;
use crate::schedule::facts::segments;
use crate::schedule::facts::{ResidentSegments, RowArray, RowValue, Segments, Stage};
use crate::schedule::groups::Item;

/// The number of columns of a unit of work, and the minimum width of a strip.
pub const STRIP: u32 = 32;
/// The maximum number of columns of a strip, whose accumulators are local arrays.
const WIDEST: u32 = 512;
/// The bytes that a strip may take of a cache. Its width is chosen by this.
const CACHE: i64 = 2 << 20;
/// The maximum length of a resident column. A strip of longer columns would consist of short pieces of many rows.
/// Such pieces lie in few sets of the cache if rows are a power of two apart, and in more pages than the TLB holds.
pub(super) const LONGEST: u32 = 256;

pub(super) fn main(l: &mut Lower, kept: &ResidentSegments) -> Result<Vec<Stmt>> {
    let domain = l.launch.domain().to_vec();
    let extents: Vec<Expr> = domain.iter().map(|n| l.launch.host(*n)).collect();
    let stages = stages(l.launch, kept);
    let most = stages.iter().map(|(_, reductions)| most_of(reductions)).min().unwrap_or(WIDEST);
    let (mut out, mut locals, mut body) = (Vec::new(), Vec::new(), Vec::new());
    let length = l.launch.host(kept.length);
    let width = bind(l, "fits", width(l.launch, kept, &length, most), &mut out);
    let columns = Columns { kept, stages, length, width, most };
    let (lo, hi) = rows::range(l, (Expr::TileBegin, Expr::TileEnd), &mut body);
    let walk = Walk { extents: &extents, lo, hi };
    walk.rows(l, &mut body, &mut |l, piece, out| columns.strips(l, piece, &mut locals, out))?;
    out.append(&mut locals);
    out.append(&mut body);
    Ok(out)
}

/// Returns each stage's reductions of a column.
fn stages(l: &mut LaunchContext, kept: &ResidentSegments) -> Vec<(Segments, Vec<Reduction>)> {
    let mut all = Vec::new();
    for stage in &kept.in_memory {
        let bodies: Vec<NodeId> = match stage {
            Stage::Reduce { values, .. } => values.iter().map(|v| v.value).collect(),
            Stage::Store { .. } => Vec::new(),
        };
        let nested = segments::nested(l, &bodies).unwrap_or_default();
        let reductions = Reduction::all_nested(l, &nested);
        let (index, length, along) = (kept.segment, kept.length, Along::Columns);
        all.push((
            Segments { index, bodies, nested, length, along, are_parts: false, may_record: false },
            reductions,
        ));
    }
    all
}

/// Returns the maximum width of a strip with these reductions.
fn most_of(reductions: &[Reduction]) -> u32 {
    if reductions.is_empty() { WIDEST } else { most_segments(reductions).min(WIDEST) }
}

/// Returns the width of a strip of columns of this length: as many whole units as fit into the cache.
fn width(l: &LaunchContext, kept: &ResidentSegments, length: &Expr, most: u32) -> Expr {
    let stored = kept.in_memory.iter().flat_map(|s| match s {
        Stage::Store { arrays } => arrays.as_slice(),
        Stage::Reduce { .. } => &[],
    });
    let arrays = stored.map(|a| a.computed).chain(l.facts.accesses.own.iter().copied());
    let of_unit: i64 = arrays.map(|x| l.g.ty(x).elem.size() as i64 * i64::from(STRIP)).sum();
    let most = Expr::int((most / STRIP).max(1).into());
    let at_least_one = |e: Expr| Expr::binary(BinaryOp::Max, e, Expr::int(1));
    let of_unit = at_least_one(length.clone()).times(Expr::int(of_unit.max(1)));
    let units = Expr::binary(BinaryOp::Div, Expr::int(CACHE), of_unit).min(most);
    at_least_one(units).times(Expr::int(STRIP.into()))
}

/// The columns of a launch.
struct Columns<'a> {
    kept: &'a ResidentSegments,
    /// Each stage's reductions of a column, and the values that follow from them.
    stages: Vec<(Segments, Vec<Reduction>)>,
    length: Expr,
    /// The width of a strip, and the most that it may be.
    width: Expr,
    most: u32,
}

/// A strip, the indices of its columns along the other axes, and an array for each known value of its columns.
struct StripState<'a> {
    piece: &'a Piece,
    around: Known,
    base: Expr,
    width: Expr,
    known: Vec<(NodeId, Mem)>,
}

impl StripState<'_> {
    /// Returns the values that are known of column `q`, whose index along the last axis is `i`.
    fn vars(&self, segment: NodeId, q: &Expr, i: &Expr) -> Known {
        let known = self.known.iter().map(|(n, m)| (*n, Expr::load(*m, q.clone())));
        self.around.iter().cloned().chain([(segment, i.clone())]).chain(known).collect()
    }
}

impl Columns<'_> {
    /// Emits the columns of a piece of the index space, strip by strip.
    fn strips(
        &self,
        l: &mut Lower,
        piece: &Piece,
        locals: &mut Vec<Stmt>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let base = l.k.reg("base", Ty::I64);
        let mut body = Vec::new();
        let width = piece.end.clone().minus(Expr::Reg(base)).min(self.width.clone());
        let width = bind(l, "width", width, &mut body);
        let around = self.kept.outer.iter().copied().zip(piece.outer.iter().cloned()).collect();
        let mut place = StripState { piece, around, base: Expr::Reg(base), width, known: Vec::new() };
        for (stage, computed) in self.kept.in_memory.iter().zip(&self.stages) {
            match stage {
                Stage::Reduce { values, .. } => {
                    self.reduce(l, &mut place, (values, computed), locals, &mut body)?;
                }
                Stage::Store { arrays } => self.store(l, &place, arrays, &mut body)?,
            }
        }
        body.push(Stmt::Assign(base, place.base.plus(place.width)));
        out.push(Stmt::Var(base, piece.begin.clone()));
        out.push(Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(base), piece.end.clone()), body));
        Ok(())
    }

    /// Computes the values of a strip's columns, and stores those that are items of the launch.
    fn reduce(
        &self,
        l: &mut Lower,
        place: &mut StripState,
        (values, (s, reductions)): (&[RowValue], &(Segments, Vec<Reduction>)),
        locals: &mut Vec<Stmt>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let most = self.most;
        let block =
            each_accumulator(reductions).map(|r| l.k.local("block", r.ty, 4 * most, locals)).collect();
        let (base, width) = (place.base.clone(), place.width.clone());
        let (outer, known, length) = (&place.around[..], &place.known[..], self.length.clone());
        let strip = Strip { s, outer, reductions, base, width, length, block, most, stored: None, known };
        if !reductions.is_empty() {
            strip.totals(l, locals, out)?;
        }
        let (q, mut body) = (l.k.reg("q", Ty::I64), Vec::new());
        let j = bind(l, "j", place.base.clone().plus(Expr::Reg(q)), &mut body);
        let totals: Vec<Vec<Expr>> =
            totals_of(reductions, &strip.block).iter().map(|of| load(of, &Expr::Reg(q))).collect();
        let vars = place.vars(self.kept.segment, &Expr::Reg(q), &j);
        let at = Surroundings { vars: &vars, at: &place.piece.row.clone().plus(j.clone()) };
        let computed = s.values(l, reductions, &at, &totals, &self.length, &mut body)?;
        let mut found = Vec::new();
        for (v, e) in values.iter().zip(computed) {
            let ty = l.launch.g.ty(v.read).elem;
            // a value that is stored and read again must be the canonical NaN
            let e = canonical(e, ty, &mut l.k.kernel, &mut body);
            let e = bind(l, "result", e, &mut body);
            let of_column = l.k.local("values", ty, most, locals);
            body.push(Stmt::Store(of_column, Expr::Reg(q), e.clone()));
            found.push((v.read, of_column));
            if let Some(it) = &v.stored {
                let mem = l.launch.output(it);
                body.push(Stmt::Store(mem, l.place_at(mem, &place.piece.indices(&j)), e));
            }
        }
        place.known.extend(found);
        out.push(Stmt::For(q, Expr::int(0), place.width.clone(), body));
        Ok(())
    }

    /// Computes and stores the elements of a strip, row by row.
    fn store(
        &self,
        l: &mut Lower,
        place: &StripState,
        arrays: &[RowArray],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let index = self.kept.index();
        let roots: Vec<NodeId> = arrays.iter().map(|a| opened(&mut l.launch.g, a.computed, &index)).collect();
        let items: Vec<&Item> = arrays.iter().map(|a| &a.item).collect();
        let k = l.k.reg("k", Ty::I64);
        let row = each(l, "q", &Expr::int(0), &place.width, &mut |l, q, conditions, out| {
            let j = bind(l, "j", place.base.clone().plus(q.clone()), out);
            let mut vars = place.vars(self.kept.segment, q, &j);
            vars.push((self.kept.element, Expr::Reg(k)));
            if let Some(conditions) = conditions {
                return l.conditions(&vars, conditions, out);
            }
            let values = l.region(&vars, &roots, &Expr::int(0), out)?;
            let at = self.kept.along.index(&place.piece.indices(&j), Expr::Reg(k));
            let mut stores = Vec::new();
            for (it, e) in items.iter().zip(values) {
                let e = canonical(e, l.launch.g.ty(it.node).elem, &mut l.k.kernel, out);
                let e = bind(l, "value", e, out);
                let mem = l.launch.output(it);
                stores.push(Stmt::Store(mem, l.place_at(mem, &at), e));
            }
            out.append(&mut stores);
            Ok(vec![])
        })?;
        out.push(Stmt::Seq(k, Expr::int(0), self.length.clone(), row));
        Ok(())
    }
}
