//! Scan: the parts of a scan (semantics 5.18), a tile after the other, in one pass over its elements.
//!
//! A tile is gone through by blocks of 16 rows. Chunks are scanned one by one into a buffer; their totals lie with
//! those of the same chunk of all rows side by side, so that halving them is a loop over rows, which vectorises. Of
//! the rows before a row, the totals of aligned blocks are kept that its number has bits for, as in a binary
//! counter: what they join to is what halving gives. So no array is longer than a block, and elements are written
//! behind the reads of their block, so that an output may be an input.
//!
//! What stands before each tile is computed by one thread, by such a counter of tiles.

use crate::core::{SCAN_CHUNK, SCAN_GROUP, SCAN_ROW, SCAN_TILE, ScanPart};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::canonical;
use crate::schedule::groups::{FusedGroup, Item, domain};
use crate::schedule::lower::{Lower, named as bind};
use crate::schedule::scans::{Operator, Scan};

/// The rows of a block.
const ROWS: i64 = 16;
const BLOCK: i64 = ROWS * SCAN_ROW;
const CHUNKS: i64 = SCAN_ROW / SCAN_CHUNK;

pub(super) fn main(l: &mut Lower, fused: &FusedGroup, scan: &Scan) -> Result<Vec<Stmt>> {
    let items = Scan::items(&l.launch.g, fused);
    let operator = scan.operator(l);
    let count = l.launch.count();
    let t = l.k.reg("t", Ty::I64);
    if scan.part == ScanPart::Before {
        return before_tiles(l, (scan, &operator), &items, t, count);
    }
    let code = Tile { scan, operator: &operator, items: &items, tile: Expr::Reg(t) };
    let body = code.body(l)?;
    Ok(vec![Stmt::For(t, Expr::TileBegin, Expr::TileEnd.min(count), body)])
}

/// Writes the loop over tiles that joins what stands before each of them.
fn before_tiles(
    l: &mut Lower,
    (scan, operator): (&Scan, &Operator),
    items: &[(usize, &Item)],
    t: Reg,
    count: Expr,
) -> Result<Vec<Stmt>> {
    let tiles = SCAN_GROUP / SCAN_TILE;
    let (mut out, mut body) = (Vec::new(), Vec::new());
    let (_, tile) = l.launch.g.fresh_var(Ty::I64);
    let init = scan.before(&mut l.launch.g, tile);
    let init = l.region(&[], &init, &Expr::int(0), &mut out)?;
    let groups: Vec<Reg> = scan.types.iter().map(|ty| l.k.reg("groups", *ty)).collect();
    out.extend(groups.iter().zip(init).map(|(r, e)| Stmt::Var(*r, e)));
    let counter = Counter::new(l, scan, tiles, &mut out);
    let place = bind(l, "place", rem(Expr::Reg(t), tiles), &mut body);
    let (is_there, inside) = counter.before(l, operator, &place, &mut body)?;
    let all = read(&groups);
    let joined = operator.join(l, &all, &inside, &mut body)?;
    let values = joined.into_iter().zip(&all).map(|(e, group)| is_there.clone().select(e, group.clone()));
    store(l, items, &values.collect::<Vec<_>>(), &Expr::Reg(t), &mut body);
    let roots = scan.elements(&mut l.launch.g, tile);
    let total = l.region(&[(tile, Expr::Reg(t))], &roots, &Expr::Reg(t), &mut body)?;
    counter.push(l, operator, (&place, &total), &mut body)?;
    let mut next = Vec::new();
    let group = counter.total(l, &mut next);
    let joined = operator.join(l, &all, &group, &mut next)?;
    next.extend(groups.iter().zip(joined).map(|(r, e)| Stmt::Assign(*r, e)));
    let is_last = Expr::binary(BinaryOp::Eq, place, Expr::int(tiles - 1));
    body.push(Stmt::If(is_last, next, vec![]));
    out.push(Stmt::Seq(t, Expr::int(0), count, body));
    Ok(out)
}

/// The code of a tile.
struct Tile<'a> {
    scan: &'a Scan,
    operator: &'a Operator,
    items: &'a [(usize, &'a Item)],
    tile: Expr,
}

/// The arrays of a block, one for each component.
struct Block {
    /// The partial results of elements in their chunks; none if only totals are wanted.
    own: Vec<Mem>,
    /// What chunks have: chunk by chunk, that of each row.
    chunks: Vec<Mem>,
}

impl Tile<'_> {
    fn body(&self, l: &mut Lower) -> Result<Vec<Stmt>> {
        let (mut out, mut rows) = (Vec::new(), Vec::new());
        let n = self.scan.length(&mut l.launch.g);
        let n = l.launch.host(n);
        let counter = Counter::new(l, self.scan, SCAN_TILE / SCAN_ROW, &mut out);
        let outer = match self.scan.part {
            ScanPart::Tiles => {
                let (_, tile) = l.launch.g.fresh_var(Ty::I64);
                let roots = self.scan.before(&mut l.launch.g, tile);
                let values = l.region(&[(tile, self.tile.clone())], &roots, &Expr::int(0), &mut out)?;
                values.into_iter().map(|e| bind(l, "outer", e, &mut out)).collect()
            }
            _ => Vec::new(),
        };
        let b = l.k.reg("b", Ty::I64);
        let begin = self.tile.clone().times(Expr::int(SCAN_TILE));
        let base = bind(l, "base", begin.plus(Expr::Reg(b).times(Expr::int(BLOCK))), &mut rows);
        let arrays = |l: &mut Lower, name, len: i64, out: &mut Vec<Stmt>| -> Vec<Mem> {
            self.scan.types.iter().map(|ty| l.k.local(name, *ty, len as u32, out)).collect()
        };
        let own = if outer.is_empty() { Vec::new() } else { arrays(l, "own", BLOCK, &mut rows) };
        let block = Block { own, chunks: arrays(l, "chunks", ROWS * CHUNKS, &mut rows) };
        let is_full = Expr::binary(BinaryOp::Le, base.clone().plus(Expr::int(BLOCK)), n.clone());
        let full = self.chunks(l, &block, &base, None)?;
        let part = self.chunks(l, &block, &base, Some(&n))?;
        rows.push(Stmt::If(is_full.clone(), full, part));
        self.halve(l, &block, &mut rows)?;
        self.rows(l, (&block, &counter, &outer), (&base, &n, is_full), Expr::Reg(b), &mut rows)?;
        let is_inside = |base: Expr| Expr::binary(BinaryOp::Lt, base, n.clone());
        let first = self.tile.clone().times(Expr::int(SCAN_TILE)).plus(Expr::Reg(b).times(Expr::int(BLOCK)));
        let some = vec![Stmt::If(is_inside(first), rows, vec![])];
        out.push(Stmt::Seq(b, Expr::int(0), Expr::int(SCAN_TILE / BLOCK), some));
        if self.scan.part == ScanPart::Totals {
            let end = self.tile.clone().plus(Expr::int(1)).times(Expr::int(SCAN_TILE));
            let is_complete = Expr::binary(BinaryOp::Le, end, n);
            let mut complete = Vec::new();
            let total = counter.total(l, &mut complete);
            store(l, self.items, &total, &self.tile, &mut complete);
            // nothing reads it, but copies of it must be of something
            let any: Vec<Expr> = self.scan.types.iter().map(|ty| Expr::Lit(Lit::zero(*ty))).collect();
            let mut others = Vec::new();
            store(l, self.items, &any, &self.tile, &mut others);
            out.push(Stmt::If(is_complete, complete, others));
        }
        Ok(out)
    }

    /// Scans the chunks of a block. If an end is given, indices stay below it.
    fn chunks(&self, l: &mut Lower, block: &Block, base: &Expr, end: Option<&Expr>) -> Result<Vec<Stmt>> {
        let [r, c] = ["r", "c"].map(|name| l.k.reg(name, Ty::I64));
        let mut body = Vec::new();
        let chunk = Expr::Reg(r).times(Expr::int(CHUNKS)).plus(Expr::Reg(c));
        let first = bind(l, "first", chunk.times(Expr::int(SCAN_CHUNK)), &mut body);
        let mut x = Vec::new();
        for k in 0..SCAN_CHUNK {
            let i = base.clone().plus(first.clone()).plus(Expr::int(k));
            let i = match end {
                Some(end) => i.min(end.clone().minus(Expr::int(1))),
                None => i,
            };
            let i = bind(l, "i", i, &mut body);
            let (_, index) = l.launch.g.fresh_var(Ty::I64);
            let roots = self.scan.elements(&mut l.launch.g, index);
            let values = l.region(&[(index, i.clone())], &roots, &i, &mut body)?;
            x.push(values.into_iter().map(|e| bind(l, "x", e, &mut body)).collect::<Vec<Expr>>());
        }
        let low = self.operator.join(l, &x[0], &x[1], &mut body)?;
        let high = self.operator.join(l, &x[2], &x[3], &mut body)?;
        let total = self.operator.join(l, &low, &high, &mut body)?;
        if !block.own.is_empty() {
            let third = self.operator.join(l, &low, &x[2], &mut body)?;
            for (k, values) in (0..).zip([&x[0], &low, &third, &total]) {
                let at = first.clone().plus(Expr::int(k));
                body.extend(set(&block.own, &at, values));
            }
        }
        let at = Expr::Reg(c).times(Expr::int(ROWS)).plus(Expr::Reg(r));
        body.extend(set(&block.chunks, &at, &total));
        let of_row = vec![Stmt::For(c, Expr::int(0), Expr::int(CHUNKS), body)];
        Ok(vec![Stmt::For(r, Expr::int(0), Expr::int(ROWS), of_row)])
    }

    /// Halves the totals of the chunks of each row. Where only the last one is wanted, only that of blocks of
    /// chunks is computed.
    fn halve(&self, l: &mut Lower, block: &Block, out: &mut Vec<Stmt>) -> Result<()> {
        let [level, p, r] = ["level", "p", "r"].map(|name| l.k.reg(name, Ty::I64));
        let (mut of_level, mut of_pair, mut of_row) = (Vec::new(), Vec::new(), Vec::new());
        let half =
            bind(l, "half", Expr::binary(BinaryOp::Shl, Expr::int(1), Expr::Reg(level)), &mut of_level);
        let (pair, place, pairs) = match block.own.is_empty() {
            true => {
                let pairs = Expr::binary(BinaryOp::Shr, Expr::int(CHUNKS / 2), Expr::Reg(level));
                (Expr::Reg(p), half.clone().minus(Expr::int(1)), pairs)
            }
            false => {
                let pair = Expr::binary(BinaryOp::Shr, Expr::Reg(p), Expr::Reg(level));
                let place = Expr::binary(BinaryOp::And, Expr::Reg(p), half.clone().minus(Expr::int(1)));
                (pair, place, Expr::int(CHUNKS / 2))
            }
        };
        let begin = bind(l, "begin", pair.times(half.clone()).times(Expr::int(2)), &mut of_pair);
        let low = begin.clone().plus(half.clone()).minus(Expr::int(1)).times(Expr::int(ROWS));
        let low = bind(l, "low", low, &mut of_pair);
        let high = bind(l, "high", begin.plus(half).plus(place).times(Expr::int(ROWS)), &mut of_pair);
        let [low, high] = [low, high].map(|at| at.plus(Expr::Reg(r)));
        let (a, b) = (get(l, &block.chunks, &low, &mut of_row), get(l, &block.chunks, &high, &mut of_row));
        let joined = self.operator.join(l, &a, &b, &mut of_row)?;
        of_row.extend(set(&block.chunks, &high, &joined));
        of_pair.push(Stmt::For(r, Expr::int(0), Expr::int(ROWS), of_row));
        of_level.push(Stmt::Seq(p, Expr::int(0), pairs, of_pair));
        out.push(Stmt::Seq(level, Expr::int(0), Expr::int(CHUNKS.ilog2().into()), of_level));
        Ok(())
    }

    /// Goes through the rows of a block: stores their elements, and counts their totals.
    fn rows(
        &self,
        l: &mut Lower,
        (block, counter, outer): (&Block, &Counter, &[Expr]),
        (base, n, is_full): (&Expr, &Expr, Expr),
        b: Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let r = l.k.reg("r", Ty::I64);
        let mut body = Vec::new();
        let row = bind(l, "row", b.times(Expr::int(ROWS)).plus(Expr::Reg(r)), &mut body);
        if !outer.is_empty() {
            let rows = counter.before(l, self.operator, &row, &mut body)?;
            let parts = (block, &rows, outer);
            let full = self.elements(l, parts, Expr::Reg(r), (base, None))?;
            let part = self.elements(l, parts, Expr::Reg(r), (base, Some(n)))?;
            body.push(Stmt::If(is_full, full, part));
        }
        let last = Expr::Reg(r).plus(Expr::int((CHUNKS - 1) * ROWS));
        let total = get(l, &block.chunks, &last, &mut body);
        counter.push(l, self.operator, (&row, &total), &mut body)?;
        out.push(Stmt::Seq(r, Expr::int(0), Expr::int(ROWS), body));
        Ok(())
    }

    /// Stores the elements of a row: those before an end, if there is one.
    fn elements(
        &self,
        l: &mut Lower,
        (block, (is_there, rows), outer): (&Block, &(Expr, Vec<Expr>), &[Expr]),
        r: Expr,
        (base, end): (&Expr, Option<&Expr>),
    ) -> Result<Vec<Stmt>> {
        let c = l.k.reg("c", Ty::I64);
        let mut body = Vec::new();
        let before = Expr::binary(BinaryOp::Max, Expr::Reg(c).minus(Expr::int(1)), Expr::int(0));
        let before = before.times(Expr::int(ROWS)).plus(r.clone());
        let chunks = get(l, &block.chunks, &before, &mut body);
        let is_later = bind(l, "later", Expr::binary(BinaryOp::Gt, Expr::Reg(c), Expr::int(0)), &mut body);
        let inner = self.operator.join_if(l, (is_there, rows), &chunks, &mut body)?;
        let inner = chosen(l, &is_later, &inner, rows, &mut body);
        let all = self.operator.join(l, outer, &inner, &mut body)?;
        let is_any = Expr::binary(BinaryOp::Or, is_there.clone(), is_later);
        let all = chosen(l, &is_any, &all, outer, &mut body);
        let first = r.times(Expr::int(CHUNKS)).plus(Expr::Reg(c)).times(Expr::int(SCAN_CHUNK));
        let first = bind(l, "first", first, &mut body);
        let mut stores = Vec::new();
        for k in 0..SCAN_CHUNK {
            let at = first.clone().plus(Expr::int(k));
            let i = bind(l, "i", base.clone().plus(at.clone()), &mut body);
            let own = get(l, &block.own, &at, &mut body);
            let values = self.operator.join(l, &all, &own, &mut body)?;
            let mut one = Vec::new();
            match end {
                None => store(l, self.items, &values, &i, &mut stores),
                Some(end) => {
                    store(l, self.items, &values, &i, &mut one);
                    stores.push(Stmt::If(Expr::binary(BinaryOp::Lt, i, end.clone()), one, vec![]));
                }
            }
        }
        body.append(&mut stores);
        Ok(vec![Stmt::For(c, Expr::int(0), Expr::int(CHUNKS), body)])
    }
}

/// The totals of the aligned blocks of parts before a part of a larger one, by its number's bits.
struct Counter {
    blocks: Vec<Mem>,
    types: Vec<Ty>,
    bits: i64,
}

impl Counter {
    /// Begins with nothing, for so many parts.
    fn new(l: &mut Lower, scan: &Scan, parts: i64, out: &mut Vec<Stmt>) -> Counter {
        let bits = i64::from(parts.ilog2());
        let local = |ty: &Ty| l.k.local("blocks", *ty, bits as u32 + 1, out);
        let blocks: Vec<Mem> = scan.types.iter().map(local).collect();
        let b = l.k.reg("b", Ty::I64);
        let zeros = blocks.iter().zip(&scan.types);
        let zeros = zeros.map(|(m, ty)| Stmt::Store(*m, Expr::Reg(b), Expr::Lit(Lit::zero(*ty)))).collect();
        out.push(Stmt::For(b, Expr::int(0), Expr::int(bits + 1), zeros));
        Counter { blocks, types: scan.types.clone(), bits }
    }

    /// Writes what the parts before the one of this number join to: whether there are some, and the value.
    fn before(
        &self,
        l: &mut Lower,
        operator: &Operator,
        number: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<(Expr, Vec<Expr>)> {
        let regs: Vec<Reg> = self.types.iter().map(|ty| l.k.reg("before", *ty)).collect();
        out.extend(regs.iter().zip(&self.types).map(|(r, ty)| Stmt::Var(*r, Expr::Lit(Lit::zero(*ty)))));
        let [b, found] = [("b", Ty::I64), ("found", Ty::Bool)].map(|(name, ty)| l.k.reg(name, ty));
        out.push(Stmt::Var(found, Expr::Lit(Lit::bool(false))));
        let mut body = Vec::new();
        let block = get(l, &self.blocks, &Expr::Reg(b), &mut body);
        let joined = operator.join(l, &block, &read(&regs), &mut body)?;
        let joined = chosen(l, &Expr::Reg(found), &joined, &block, &mut body);
        body.extend(regs.iter().zip(joined).map(|(r, e)| Stmt::Assign(*r, e)));
        body.push(Stmt::Assign(found, Expr::Lit(Lit::bool(true))));
        let is_set = vec![Stmt::If(has_bit(number, Expr::Reg(b)), body, vec![])];
        out.push(Stmt::Seq(b, Expr::int(0), Expr::int(self.bits), is_set));
        Ok((Expr::Reg(found), read(&regs)))
    }

    /// Adds the total of the part of this number.
    fn push(
        &self,
        l: &mut Lower,
        operator: &Operator,
        (number, total): (&Expr, &[Expr]),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let regs: Vec<Reg> = self.types.iter().map(|ty| l.k.reg("total", *ty)).collect();
        out.extend(regs.iter().zip(total).map(|(r, e)| Stmt::Var(*r, e.clone())));
        let b = l.k.reg("b", Ty::I64);
        out.push(Stmt::Var(b, Expr::int(0)));
        let mut body = Vec::new();
        let block = get(l, &self.blocks, &Expr::Reg(b), &mut body);
        let joined = operator.join(l, &block, &read(&regs), &mut body)?;
        body.extend(regs.iter().zip(joined).map(|(r, e)| Stmt::Assign(*r, e)));
        body.push(Stmt::Assign(b, Expr::Reg(b).plus(Expr::int(1))));
        out.push(Stmt::While(has_bit(number, Expr::Reg(b)), body));
        out.extend(set(&self.blocks, &Expr::Reg(b), &read(&regs)));
        Ok(())
    }

    /// Returns the total of all parts, once the last one has been added.
    fn total(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Vec<Expr> {
        get(l, &self.blocks, &Expr::int(self.bits), out)
    }
}

fn has_bit(number: &Expr, bit: Expr) -> Expr {
    let shifted = Expr::binary(BinaryOp::Shr, number.clone(), bit);
    let own = Expr::binary(BinaryOp::And, shifted, Expr::int(1));
    Expr::binary(BinaryOp::Ne, own, Expr::int(0))
}

fn rem(a: Expr, power: i64) -> Expr {
    Expr::binary(BinaryOp::And, a, Expr::int(power - 1))
}

fn read(regs: &[Reg]) -> Vec<Expr> {
    regs.iter().map(|r| Expr::Reg(*r)).collect()
}

fn get(l: &mut Lower, from: &[Mem], at: &Expr, out: &mut Vec<Stmt>) -> Vec<Expr> {
    from.iter().map(|m| bind(l, "v", Expr::load(*m, at.clone()), out)).collect()
}

fn set<'a>(to: &'a [Mem], at: &'a Expr, values: &'a [Expr]) -> impl Iterator<Item = Stmt> {
    to.iter().zip(values).map(|(m, e)| Stmt::Store(*m, at.clone(), e.clone()))
}

fn chosen(l: &mut Lower, first: &Expr, a: &[Expr], b: &[Expr], out: &mut Vec<Stmt>) -> Vec<Expr> {
    let both = a.iter().zip(b).map(|(a, b)| first.clone().select(a.clone(), b.clone()));
    both.map(|e| bind(l, "chosen", e, out)).collect()
}

/// Stores the components of a value that are wanted.
fn store(l: &mut Lower, items: &[(usize, &Item)], values: &[Expr], at: &Expr, out: &mut Vec<Stmt>) {
    for (which, it) in items {
        let (mem, ty) = (l.launch.output(it), l.launch.g.ty(it.node).elem);
        let extents = domain(&l.launch.g, it.node);
        let at = l.place(mem, &extents, at);
        let e = canonical(values[*which].clone(), ty, &mut l.k.kernel, out);
        out.push(Stmt::Store(mem, at, e));
    }
}
