//! Segmented reductions whose neighbouring segments lie side by side (column sums): strips of 64 segments at a time, so that every read is of 64 neighbours and all loops
//! over them vectorise.
//!
//! A strip's 128 columns of a tile, 64 wide, are a local array; each row of the tile's elements is added to its column; then columns join as a tree of neighbours. The
//! tiles' results are the rows of the next level's array in the same way: two levels serve segments of up to 2^22 elements, longer ones go by themselves (`nested`).

use super::Stores;
use crate::core::{COLUMNS, NodeId, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::items::{Item, Pass};
use crate::schedule::lower::Lower;
use crate::schedule::reduction::{Reduction, tiles};
use crate::schedule::segments::{Along, Segments};

/// Segments of a strip.
pub const STRIP: u32 = 64;

/// Whether a pass goes by strips.
pub fn fits(s: &Segments) -> bool {
    s.along == Along::Columns
}

/// Segments of more elements than two levels of the tree have.
pub(super) fn too_long(l: &mut Lower, s: &Segments) -> Expr {
    let length = l.host(s.length);
    Expr::binary(BinaryOp::Gt, length, Expr::int(TILE * TILE))
}

pub(super) fn main(l: &mut Lower, pass: &Pass, s: &Segments, staged: bool) -> Result<Vec<Stmt>> {
    let items: Vec<&Item> = pass.items.iter().collect();
    let (n, length) = (l.count(), l.host(s.length));
    let stores = Stores::new(l, &items);
    let reductions: Vec<Reduction> = s.nested.iter().map(|n| Reduction::nested(l, *n)).collect();
    let [t, base, width] = ["t", "base", "width"].map(|name| l.k.reg(name, Ty::I64));
    let mut body = vec![
        Stmt::Let(base, Expr::Reg(t).times(strip()), Default::default()),
        Stmt::Let(width, n.minus(Expr::Reg(base)).min(strip()), Default::default()),
    ];
    let stores = if staged { stores.begin(l, &mut body) } else { stores };
    let level = |l: &mut Lower, name: &str, out: &mut Vec<Stmt>| -> Vec<Mem> {
        reductions.iter().map(|r| l.k.local(name, r.ty, COLUMNS as u32 * STRIP, out)).collect()
    };
    let columns = level(l, "columns", &mut body);
    let upper = level(l, "tiles", &mut body);
    let strip = Strip { s, reductions: &reductions, base: Expr::Reg(base), width: Expr::Reg(width) };
    strip.fill(l, &upper, &mut body);
    let tile = l.k.reg("tile", Ty::I64);
    let mut of_tile = Vec::new();
    strip.fill(l, &columns, &mut of_tile);
    strip.elements(l, &columns, Expr::Reg(tile).times(Expr::int(TILE)), &length, &mut of_tile)?;
    strip.tree(l, &columns, &mut of_tile)?;
    strip.carry(l, &columns, &upper, Expr::Reg(tile), &mut of_tile)?;
    body.push(Stmt::Seq(tile, Expr::int(0), tiles(length.clone()), of_tile));
    strip.tree(l, &upper, &mut body)?;
    let q = l.k.reg("q", Ty::I64);
    let mut last = Vec::new();
    let i = l.k.reg("i", Ty::I64);
    last.push(Stmt::Let(i, strip.base.clone().plus(Expr::Reg(q)), Default::default()));
    let totals: Vec<Expr> = upper.iter().map(|m| Expr::load(*m, Expr::Reg(q))).collect();
    let values = s.values(l, &reductions, &Expr::Reg(i), &totals, &length, &mut last)?;
    stores.store(l, values, &Expr::Reg(i), &Expr::Reg(q), &mut last);
    body.push(Stmt::For(q, Expr::int(0), strip.width.clone(), last));
    stores.flush(l, &strip.base, &strip.width, &mut body);
    Ok(vec![Stmt::For(t, Expr::TileBegin, Expr::TileEnd, body)])
}

fn strip() -> Expr {
    Expr::int(STRIP.into())
}

struct Strip<'a> {
    s: &'a Segments,
    reductions: &'a [Reduction],
    /// The first segment, and how many there are.
    base: Expr,
    width: Expr,
}

impl Strip<'_> {
    /// All columns are absent.
    fn fill(&self, l: &mut Lower, columns: &[Mem], out: &mut Vec<Stmt>) {
        let c = l.k.reg("c", Ty::I64);
        let values: Vec<Expr> = self.reductions.iter().map(|r| r.absent(l)).collect();
        let fill = columns.iter().zip(values).map(|(m, e)| Stmt::Store(*m, Expr::Reg(c), e)).collect();
        out.push(Stmt::For(c, Expr::int(0), Expr::int(COLUMNS * i64::from(STRIP)), fill));
    }

    /// The elements from `first` on, up to the end of their tile or the segments.
    fn elements(
        &self,
        l: &mut Lower,
        columns: &[Mem],
        first: Expr,
        length: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let [e, start, count, k, q, at, i] =
            ["e", "start", "count", "k", "q", "at", "i"].map(|name| l.k.reg(name, Ty::I64));
        let (_, index) = l.g.fresh_var(Ty::I64);
        let mut body = vec![
            Stmt::Let(i, self.base.clone().plus(Expr::Reg(q)), Default::default()),
            Stmt::Let(at, column(&Expr::Reg(e)).times(strip()).plus(Expr::Reg(q)), Default::default()),
        ];
        let (mut vars, mut roots) = (vec![(self.s.index, Expr::Reg(i)), (index, Expr::Reg(k))], Vec::new());
        for (r, m) in self.reductions.iter().zip(columns) {
            let (_, old) = l.g.fresh_var(r.ty);
            let acc = l.k.reg("acc", r.ty);
            body.push(Stmt::Let(acc, Expr::load(*m, Expr::Reg(at)), Default::default()));
            vars.push((old, Expr::Reg(acc)));
            roots.push(r.step(l, old, index));
        }
        let values = l.region(&vars, &roots, None, &Expr::Reg(i), &mut body)?;
        body.extend(columns.iter().zip(values).map(|(m, e)| Stmt::Store(*m, Expr::Reg(at), e)));
        let of_element = vec![
            Stmt::Let(k, Expr::Reg(start).plus(Expr::Reg(e)), Default::default()),
            Stmt::For(q, Expr::int(0), self.width.clone(), body),
        ];
        out.push(Stmt::Let(start, first, Default::default()));
        let left = length.clone().minus(Expr::Reg(start)).min(Expr::int(TILE));
        out.push(Stmt::Let(count, left, Default::default()));
        out.push(Stmt::Seq(e, Expr::int(0), Expr::Reg(count), of_element));
        Ok(())
    }

    /// Columns join as a tree of neighbours; the result is column 0.
    fn tree(&self, l: &mut Lower, columns: &[Mem], out: &mut Vec<Stmt>) -> Result<()> {
        let (pairs, pair) = (l.k.reg("pairs", Ty::I64), l.k.reg("pair", Ty::I64));
        let mut body = Vec::new();
        let from = |k: i64| Expr::Reg(pair).times(Expr::int(2)).plus(Expr::int(k)).times(strip());
        self.join(l, columns, columns, [from(0), from(1), Expr::Reg(pair).times(strip())], &mut body)?;
        let halve = Expr::binary(BinaryOp::Shr, Expr::Reg(pairs), Expr::int(1));
        let level = vec![Stmt::Seq(pair, Expr::int(0), Expr::Reg(pairs), body), Stmt::Assign(pairs, halve)];
        out.push(Stmt::Var(pairs, Expr::int(COLUMNS / 2)));
        out.push(Stmt::While(Expr::binary(BinaryOp::Gt, Expr::Reg(pairs), Expr::int(0)), level));
        Ok(())
    }

    /// A tile's result, column 0, goes on in its column of the next level.
    fn carry(&self, l: &mut Lower, from: &[Mem], to: &[Mem], tile: Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let at = column(&tile).times(strip());
        self.join(l, to, from, [at.clone(), Expr::int(0), at], out)
    }

    /// `a[z..] = f(a[x..], b[y..])` of 64 neighbours.
    fn join(
        &self,
        l: &mut Lower,
        a: &[Mem],
        b: &[Mem],
        [x, y, z]: [Expr; 3],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        for ((r, a), b) in self.reductions.iter().zip(a).zip(b) {
            let q = l.k.reg("q", Ty::I64);
            let mut body = Vec::new();
            let mut value = |l: &mut Lower, m: Mem, at: &Expr, name: &str| -> (NodeId, Expr) {
                let reg: Reg = l.k.reg(name, r.ty);
                let load = Expr::load(m, at.clone().plus(Expr::Reg(q)));
                body.push(Stmt::Let(reg, load, Default::default()));
                (l.g.fresh_var(r.ty).1, Expr::Reg(reg))
            };
            let (low, high) = (value(l, *a, &x, "low"), value(l, *b, &y, "high"));
            let root = r.join(l, low.0, high.0);
            let joined = l.region(&[low, high], &[root], None, &Expr::int(0), &mut body)?.remove(0);
            body.push(Stmt::Store(*a, z.clone().plus(Expr::Reg(q)), joined));
            out.push(Stmt::For(q, Expr::int(0), self.width.clone(), body));
        }
        Ok(())
    }
}

/// The column of an element of a tile, or of a tile.
fn column(e: &Expr) -> Expr {
    Expr::binary(BinaryOp::And, e.clone(), Expr::int(COLUMNS - 1))
}
