//! Tiled contraction on a CPU: a matrix whose element (i, j) reduces over k a function of values at (i, k) and values
//! at (k, j), in the tree of semantics 5.1, by block tiles of 64 x 64 results as matrix products are
//! (`product/`). Dot products of all pairs of rows, distances of all pairs of points and convolutions of channels are
//! examples. If a value would leave an error record, the elements of the block tile are computed one by one.
//!
//! ```text
//! part: 8 neighbouring columns of a tree's tile, with all of their rows         8 x up to 16 inner indices
//!   pack the values of the block tile's 64 columns j at these inner indices
//!   for 4 rows i:   for all j:  8 chains, joined by three levels of the tree
//!                               pushed on a pile, as a binary counter counts
//! ```
//!
//! All loops over j vectorise, whichever index is contiguous in memory, because the packed values of neighbouring j
//! are neighbours. One pairwise accumulator, the pile, joins the parts of all tiles: 16 parts are a tile, and up to
//! 128 tiles are neighbouring columns of the next level of the tree. Absent columns have the operator's identity. The
//! strategy is chosen for matrices of some rows and columns. If there are more inner indices than the pile has levels
//! for, the tree costs little, and the group runs the strategy that it would otherwise have.

use super::product::block_tiles::{BlockTile, SIZE, block_tiles};
use super::product::pack::Columns;
use super::product::store::{one_by_one, store};
use super::product::{LEAST, ROWS, STEPS};
use crate::core::{COLUMNS, NodeId, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::reduction::Reduction;
use crate::schedule::facts::loop_nests::Env;
use crate::schedule::facts::products::Product;
use crate::schedule::groups::FusedGroup;

mod part;

/// The number of columns of a tile of the tree in a part.
const PART: i64 = 8;
const TILE_ROWS: i64 = TILE / COLUMNS;
/// The number of levels of the pile: one more than the number of parts of the longest sequence has bits.
const LEVELS: i64 = 7;
/// The maximum number of inner indices: four tiles. The pile of a longer sequence would not stay in the second-level
/// cache.
const LONGEST: i64 = TILE << 2;
const _: () = assert!((LONGEST / (PART * TILE_ROWS)) >> (LEVELS - 1) == 1);

/// Emits one variant. `others` is the code for all other extents.
pub(super) fn main(l: &mut Lower, fused: &FusedGroup, p: &Product, others: Vec<Stmt>) -> Result<Vec<Stmt>> {
    let tiles = block_tiles(l, fused, p, &mut |l, tile, body| {
        let r = Reduction::nested(l.launch, p.of.inner[0].node);
        let ty = r.types[0];
        let mut local = |l: &mut Lower, name, ty, len: i64| l.k.local(name, ty, len as u32, body);
        let pile = local(l, "pile", ty, LEVELS * SIZE * SIZE);
        let totals = local(l, "totals", ty, SIZE * SIZE);
        let chains = local(l, "chains", ty, PART * ROWS * SIZE);
        let top = local(l, "top", ty, ROWS * SIZE);
        let types: Vec<Ty> = p.sides[1].parts.iter().map(|n| l.launch.g.ty(*n).elem).collect();
        let packed = types.into_iter().map(|ty| local(l, "packed", ty, PART * TILE_ROWS * SIZE)).collect();
        let count = l.launch.host(p.of.extent);
        let flag = p.may_record.then(|| l.k.reg("flag", Ty::Bool));
        body.extend(flag.map(|flag| Stmt::Var(flag, Expr::Lit(Lit::bool(false)))));
        let square = Square { p, r: &r, tile, count, pile, totals, chains, top, packed, flag };
        square.compute(l, body)?;
        let stores = store(l, fused, (p, &square.tile), &mut |l, element, from, body| {
            let init = element.node(l, p.of.inner[0].init);
            let init = l.region(&element.vars, &[init], &Expr::int(0), body)?.remove(0);
            square.joined(l, init, Expr::load(totals, from), body)
        })?;
        match flag {
            Some(flag) => {
                let one_by_one = one_by_one(l, fused, p, &square.tile)?;
                body.push(Stmt::If(Expr::Reg(flag), one_by_one, stores));
            }
            None => body.extend(stores),
        }
        Ok(())
    })?;
    let [rows, cols] = p.axes().0.map(|axis| l.launch.host(fused.domain[axis]));
    let wide = Expr::binary(BinaryOp::Ge, cols, Expr::int(LEAST));
    let high = Expr::binary(BinaryOp::Ge, rows, Expr::int(ROWS));
    let length = l.launch.host(p.of.extent);
    let some = Expr::binary(BinaryOp::Gt, length.clone(), Expr::int(0));
    let short = Expr::binary(BinaryOp::Le, length, Expr::int(LONGEST));
    let and = |a, b| Expr::binary(BinaryOp::And, a, b);
    let serves = and(and(wide, high), and(some, short));
    Ok(vec![Stmt::If(serves, tiles, others)])
}

/// A block tile.
struct Square<'a> {
    p: &'a Product,
    r: &'a Reduction,
    tile: BlockTile,
    /// The number of inner indices.
    count: Expr,
    /// For each level, 64 x 64 results of 2^level parts, and finally those of all parts.
    pile: Mem,
    totals: Mem,
    /// The columns of a part for four rows, 64 values each, and the results of joining them.
    chains: Mem,
    top: Mem,
    /// The packed values of the columns' side: 64 for each inner index, and the inner indices of a row of the tile
    /// one after another.
    packed: Vec<Mem>,
    /// A flag that is set where a value of a row or a column would leave an error record: then the elements are
    /// computed one by one, as the program has them.
    flag: Option<Reg>,
}

/// The inner indices of a part.
struct Part {
    /// Its number among all parts.
    number: Expr,
    /// The first inner index.
    base: Expr,
    /// The number of rows in which some of the part's columns are present, and in which all are.
    rows: Expr,
    full: Expr,
    /// The number of columns that are present in the last row, if not all are.
    last: Expr,
}

impl Square<'_> {
    fn compute(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<()> {
        let shr = |e: Expr, by: i64| Expr::binary(BinaryOp::Shr, e, Expr::int(by.trailing_zeros().into()));
        let and = |e: Expr, of: i64| Expr::binary(BinaryOp::And, e, Expr::int(of - 1));
        let of_tile = COLUMNS / PART;
        let width = and(self.count.clone(), TILE).min(Expr::int(COLUMNS));
        let rest = shr(width.plus(Expr::int(PART - 1)), PART);
        let parts = shr(self.count.clone(), TILE).times(Expr::int(of_tile)).plus(rest);
        let parts = bind(l, "parts", parts, out);
        let (t, mut body) = (l.k.reg("part", Ty::I64), Vec::new());
        let tile = bind(l, "tile", shr(Expr::Reg(t), of_tile).times(Expr::int(TILE)), &mut body);
        let column = and(Expr::Reg(t), of_tile).times(Expr::int(PART));
        let base = bind(l, "base", tile.clone().plus(column), &mut body);
        let end = self.count.clone().min(tile.plus(Expr::int(TILE)));
        let left = bind(l, "left", end.minus(base.clone()), &mut body);
        let rows = shr(left.clone().plus(Expr::int(COLUMNS - 1)), COLUMNS);
        let rows = bind(l, "rows", rows, &mut body);
        let full = shr(left.clone().plus(Expr::int(COLUMNS - PART)), COLUMNS);
        let full = bind(l, "full", full, &mut body);
        let last = left.minus(full.clone().times(Expr::int(COLUMNS)));
        let last = last.min(Expr::int(PART)).times(rows.clone().minus(full.clone()));
        let last = bind(l, "last", last, &mut body);
        let part = Part { number: Expr::Reg(t), base, rows, full, last };
        self.pack(l, &part, &mut body)?;
        let (r, mut four) = (l.k.reg("r", Ty::I64), Vec::new());
        let row = bind(l, "row", Expr::Reg(r).times(Expr::int(ROWS)), &mut four);
        self.rows(l, &part, (&row, ROWS), &mut four)?;
        let groups = Expr::binary(BinaryOp::Div, self.tile.counts[0].clone(), Expr::int(ROWS));
        let groups = bind(l, "groups", groups, &mut body);
        body.push(Stmt::Seq(r, Expr::int(0), groups.clone(), four));
        let (r, mut one) = (l.k.reg("r", Ty::I64), Vec::new());
        self.rows(l, &part, (&Expr::Reg(r), 1), &mut one)?;
        body.push(Stmt::Seq(r, groups.times(Expr::int(ROWS)), self.tile.counts[0].clone(), one));
        out.push(Stmt::Seq(t, Expr::int(0), parts.clone(), body));
        self.total(l, &parts, out)
    }

    /// Emits the join of the values on the pile. The bits of the number of parts say which levels have one.
    fn total(&self, l: &mut Lower, parts: &Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let [level, have] = ["level", "have"].map(|name| l.k.reg(name, Ty::I64));
        let mut body = Vec::new();
        let there = bind(l, "there", Expr::Reg(level).times(Expr::int(SIZE * SIZE)), &mut body);
        let all = self.tile.counts[0].clone().times(Expr::int(SIZE));
        let (x, y) = (l.k.reg("x", Ty::I64), l.k.reg("x", Ty::I64));
        let from = |x| Expr::load(self.pile, there.clone().plus(Expr::Reg(x)));
        let copy = Stmt::Store(self.totals, Expr::Reg(x), from(x));
        let first =
            vec![Stmt::For(x, Expr::int(0), all.clone(), vec![copy]), Stmt::Assign(have, Expr::int(1))];
        let mut join = Vec::new();
        let higher = Expr::load(self.totals, Expr::Reg(y));
        let joined = self.joined(l, from(y), higher, &mut join)?;
        join.push(Stmt::Store(self.totals, Expr::Reg(y), joined));
        let later = vec![Stmt::For(y, Expr::int(0), all, join)];
        body.push(Stmt::If(Expr::binary(BinaryOp::Eq, Expr::Reg(have), Expr::int(0)), first, later));
        out.push(Stmt::Var(have, Expr::int(0)));
        let body = vec![Stmt::If(is_set(parts, Expr::Reg(level)), body, vec![])];
        out.push(Stmt::Seq(level, Expr::int(0), Expr::int(LEVELS), body));
        Ok(())
    }

    /// Emits the join of two values, the lower one first.
    fn joined(&self, l: &mut Lower, lower: Expr, higher: Expr, out: &mut Vec<Stmt>) -> Result<Expr> {
        let [a, b] = [(); 2].map(|()| l.launch.g.fresh_var(self.r.types[0]).1);
        let vars = [(a, bind(l, "lower", lower, out)), (b, bind(l, "higher", higher, out))];
        let joined = self.r.join(l.launch, &[a], &[b]);
        let e = l.region(&vars, &joined, &Expr::int(0), out)?.remove(0);
        Ok(bind(l, "joined", e, out))
    }
}

fn is_set(x: &Expr, bit: Expr) -> Expr {
    let moved = Expr::binary(BinaryOp::Shr, x.clone(), bit);
    Expr::binary(BinaryOp::Ne, Expr::binary(BinaryOp::And, moved, Expr::int(1)), Expr::int(0))
}
