//! Scan: the parts of a scan (semantics 5.18), one tile after the other, in one pass over its elements. The *prefix*
//! of an element, chunk, row or tile is the join of all elements before it.
//!
//! ```text
//! chunk: 4 neighbouring elements     row: 32 chunks     block: 16 rows     tile: 4 blocks
//! 1. for all chunks of a block:  the 4 partial results inside of the chunk; the last one is the chunk's total
//! 2. for all rows of a block:    scan of the totals of the row's chunks
//! 3. row by row:                 the row's prefix, from the totals of earlier rows (`counter.rs`)
//! 4. for all chunks:             prefix of the tile + of the row + of the chunk + partial result, stored
//! ```
//!
//! Between steps 1 and 2 the totals are transposed, so that the innermost loop of step 2 goes over the rows and
//! vectorises; step 4 reads them transposed. Step 2 joins by halving, as the semantics ask. The binary counter of
//! step 3 gives the same as halving. No array is longer than a block, and a block's elements are written after all of
//! them were read, so that an output may be an input.
//!
//! One thread computes the prefixes of tiles, by a counter of tiles. If the launch has a single thread, that scans
//! each tile as soon as it knows the prefix of the tile, and so reads the elements once.

mod counter;
mod elements;

use crate::core::{SCAN_CHUNK, SCAN_GROUP, SCAN_ROW, SCAN_TILE, ScanPart};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::scan_operator::Operator;
use crate::schedule::facts::scans::Scan;
use crate::schedule::groups::{FusedGroup, Item, domain};
use counter::{Counter, get, read, set};

/// The number of rows of a block.
const ROWS: i64 = 16;
const BLOCK: i64 = ROWS * SCAN_ROW;
const CHUNKS: i64 = SCAN_ROW / SCAN_CHUNK;
/// The number of chunks of a block.
const OF_BLOCK: i64 = BLOCK / SCAN_CHUNK;

pub(super) fn main(l: &mut Lower, fused: &FusedGroup, scan: &Scan) -> Result<Vec<Stmt>> {
    let items = Scan::items(&l.launch.g, &fused.items);
    let operator = Operator::of(l, scan);
    let count = l.launch.count();
    let t = l.k.reg("t", Ty::I64);
    let code = Tile { scan, operator: &operator, items: &items, fused, tile: Expr::Reg(t) };
    if matches!(scan.part, ScanPart::Before | ScanPart::Whole) {
        return code.in_order(l, t, count);
    }
    let mut body = Vec::new();
    let outer = match scan.part {
        ScanPart::Tiles => {
            let (_, tile) = l.launch.g.fresh_var(Ty::I64);
            let roots = scan.before(&mut l.launch.g, tile);
            let values = l.region(&[(tile, Expr::Reg(t))], &roots, &Expr::int(0), &mut body)?;
            values.into_iter().map(|e| bind(l, "outer", e, &mut body)).collect()
        }
        _ => Vec::new(),
    };
    let total = code.body(l, &outer, &mut body)?;
    if scan.part == ScanPart::Totals {
        code.store_total(l, &total, &mut body);
    }
    Ok(vec![Stmt::For(t, Expr::TileBegin, Expr::TileEnd.min(count), body)])
}

/// The code of a tile.
struct Tile<'a> {
    scan: &'a Scan,
    operator: &'a Operator,
    items: &'a [(usize, &'a Item)],
    fused: &'a FusedGroup,
    tile: Expr,
}

/// The arrays of a block, one for each component.
struct Block {
    /// The partial results of elements in their chunks: those of the first elements of all chunks, then those of the
    /// second ones, and so on. If only totals are wanted, just those of the last elements.
    own: Vec<Mem>,
    /// The totals of chunks, and later their prefixes: those of the first chunks of all rows, then those of the
    /// second ones, and so on.
    chunks: Vec<Mem>,
    /// The prefixes of rows in the tile.
    rows: Vec<Mem>,
}

impl Tile<'_> {
    /// Whether elements are stored, rather than only totals.
    fn is_scan(&self) -> bool {
        matches!(self.scan.part, ScanPart::Tiles | ScanPart::Whole)
    }

    /// Writes the loop over tiles in order, which computes the prefix of each tile. A launch of prefixes stores it; a
    /// launch of the whole scan scans the tile with it.
    fn in_order(&self, l: &mut Lower, t: Reg, count: Expr) -> Result<Vec<Stmt>> {
        let (scan, operator, tiles) = (self.scan, self.operator, SCAN_GROUP / SCAN_TILE);
        let (mut out, mut body) = (Vec::new(), Vec::new());
        let (_, tile) = l.launch.g.fresh_var(Ty::I64);
        let init = scan.before(&mut l.launch.g, tile);
        let init = l.region(&[], &init, &Expr::int(0), &mut out)?;
        let groups: Vec<Reg> = scan.types.iter().map(|ty| l.k.reg("groups", *ty)).collect();
        out.extend(groups.iter().zip(init).map(|(r, e)| Stmt::Var(*r, e)));
        let counter = Counter::new(l, scan, tiles, &mut out);
        let place = bind(l, "place", rem(self.tile.clone(), tiles), &mut body);
        let (is_there, inside) = counter.before(l, operator, &place, &mut body)?;
        let all = read(&groups);
        let joined = operator.join(l, &all, &inside, &mut body)?;
        let outer = joined.into_iter().zip(&all).map(|(e, group)| is_there.clone().select(e, group.clone()));
        let outer: Vec<Expr> = outer.map(|e| bind(l, "outer", e, &mut body)).collect();
        let total = match self.is_scan() {
            true => self.body(l, &outer, &mut body)?,
            false => {
                store(l, self.items, &outer, &self.tile, &mut body);
                let roots = scan.elements(&mut l.launch.g, tile);
                l.region(&[(tile, self.tile.clone())], &roots, &self.tile, &mut body)?
            }
        };
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

    /// Writes the code of the tile, whose prefix is `outer`. Returns its total, which is right if the tile is
    /// complete.
    fn body(&self, l: &mut Lower, outer: &[Expr], out: &mut Vec<Stmt>) -> Result<Vec<Expr>> {
        let mut block = Vec::new();
        let n = self.scan.length(&mut l.launch.g);
        let n = l.launch.host(n);
        let counter = Counter::new(l, self.scan, SCAN_TILE / SCAN_ROW, out);
        let begin = bind(l, "begin", self.tile.clone().times(Expr::int(SCAN_TILE)), out);
        let b = l.k.reg("b", Ty::I64);
        let base = bind(l, "base", begin.clone().plus(Expr::Reg(b).times(Expr::int(BLOCK))), &mut block);
        let count = bind(l, "count", n.clone().minus(base.clone()).min(Expr::int(BLOCK)), &mut block);
        self.block(l, (&counter, outer), (Expr::Reg(b), &base, &count), &mut block)?;
        let blocks = n.minus(begin).min(Expr::int(SCAN_TILE)).plus(Expr::int(BLOCK - 1));
        let blocks = Expr::binary(BinaryOp::Div, blocks, Expr::int(BLOCK));
        out.push(Stmt::Seq(b, Expr::int(0), blocks, block));
        Ok(counter.total(l, out))
    }

    /// Stores the total of the tile. A tile that is not complete is the last one: no prefix has its total, which is
    /// nevertheless read, so 0 is stored.
    fn store_total(&self, l: &mut Lower, total: &[Expr], out: &mut Vec<Stmt>) {
        let n = self.scan.length(&mut l.launch.g);
        let n = l.launch.host(n);
        let end = self.tile.clone().plus(Expr::int(1)).times(Expr::int(SCAN_TILE));
        let is_complete = bind(l, "complete", Expr::binary(BinaryOp::Le, end, n), out);
        let zeros = self.scan.types.iter().map(|ty| Expr::Lit(Lit::zero(*ty)));
        let total = total.iter().zip(zeros).map(|(e, zero)| is_complete.clone().select(e.clone(), zero));
        let total: Vec<Expr> = total.collect();
        store(l, self.items, &total, &self.tile, out);
    }

    /// Writes the code of block `b`, which has `count` elements from `base` on.
    fn block(
        &self,
        l: &mut Lower,
        (counter, outer): (&Counter, &[Expr]),
        (b, base, count): (Expr, &Expr, &Expr),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let arrays = |l: &mut Lower, name, len: i64, out: &mut Vec<Stmt>| -> Vec<Mem> {
            self.scan.types.iter().map(|ty| l.k.local(name, *ty, len as u32, out)).collect()
        };
        let places = if self.is_scan() { SCAN_CHUNK } else { 1 };
        let block = Block {
            own: arrays(l, "own", places * OF_BLOCK, out),
            chunks: arrays(l, "chunks", OF_BLOCK, out),
            rows: arrays(l, "rows", ROWS, out),
        };
        let is_full = bind(l, "full", Expr::binary(BinaryOp::Eq, count.clone(), Expr::int(BLOCK)), out);
        let full = self.chunks(l, &block, base, None)?;
        let part = self.chunks(l, &block, base, Some(count))?;
        out.push(Stmt::If(is_full.clone(), full, part));
        let totals = &block.own;
        transposed(l, out, |l, by_row, by_chunk, out| {
            let at = Expr::int((places - 1) * OF_BLOCK).plus(by_row);
            let values = get(l, totals, &at, out);
            out.extend(set(&block.chunks, &by_chunk, &values));
        });
        self.halve(l, &block, out)?;
        self.rows(l, &block, counter, &b, out)?;
        if self.is_scan() {
            self.before_chunks(l, &block, outer, &b, out)?;
            let full = self.elements(l, &block, base)?;
            let part = self.some_elements(l, &block, (base, count))?;
            out.push(Stmt::If(is_full, full, part));
        }
        Ok(())
    }

    /// Scans the chunks of a block. If `count` is given, the block has only so many elements, and the last one is
    /// read in place of missing ones.
    fn chunks(&self, l: &mut Lower, block: &Block, base: &Expr, count: Option<&Expr>) -> Result<Vec<Stmt>> {
        let c = l.k.reg("c", Ty::I64);
        let (mut body, mut x) = (Vec::new(), Vec::new());
        for k in 0..SCAN_CHUNK {
            let at = Expr::Reg(c).times(Expr::int(SCAN_CHUNK)).plus(Expr::int(k));
            let at = match count {
                Some(count) => at.min(count.clone().minus(Expr::int(1))),
                None => at,
            };
            let i = bind(l, "i", base.clone().plus(at), &mut body);
            let (_, index) = l.launch.g.fresh_var(Ty::I64);
            let roots = self.scan.elements(&mut l.launch.g, index);
            let values = l.region(&[(index, i.clone())], &roots, &i, &mut body)?;
            x.push(values.into_iter().map(|e| bind(l, "x", e, &mut body)).collect::<Vec<Expr>>());
        }
        let low = self.operator.join(l, &x[0], &x[1], &mut body)?;
        let high = self.operator.join(l, &x[2], &x[3], &mut body)?;
        let total = self.operator.join(l, &low, &high, &mut body)?;
        let mut wanted = Vec::new();
        if self.is_scan() {
            let third = self.operator.join(l, &low, &x[2], &mut body)?;
            wanted.extend([x.swap_remove(0), low, third]);
        }
        wanted.push(total);
        for (k, values) in (0..).zip(&wanted) {
            body.extend(set(&block.own, &Expr::Reg(c).plus(Expr::int(k * OF_BLOCK)), values));
        }
        Ok(vec![Stmt::For(c, Expr::int(0), Expr::int(OF_BLOCK), body)])
    }

    /// Scans the totals of the chunks of each row by halving: at each level, the total of the first half of an
    /// aligned block of chunks is joined to each chunk of its second half. If only totals of rows are wanted, it is
    /// joined to the last chunk alone.
    fn halve(&self, l: &mut Lower, block: &Block, out: &mut Vec<Stmt>) -> Result<()> {
        let [level, p, r] = ["level", "p", "r"].map(|name| l.k.reg(name, Ty::I64));
        let (mut of_level, mut of_pair, mut of_row) = (Vec::new(), Vec::new(), Vec::new());
        let half =
            bind(l, "half", Expr::binary(BinaryOp::Shl, Expr::int(1), Expr::Reg(level)), &mut of_level);
        let last = half.clone().minus(Expr::int(1));
        let (pair, place, pairs) = match self.is_scan() {
            true => {
                let pair = Expr::binary(BinaryOp::Shr, Expr::Reg(p), Expr::Reg(level));
                (pair, Expr::binary(BinaryOp::And, Expr::Reg(p), last.clone()), Expr::int(CHUNKS / 2))
            }
            false => {
                let pairs = Expr::binary(BinaryOp::Shr, Expr::int(CHUNKS / 2), Expr::Reg(level));
                (Expr::Reg(p), last.clone(), pairs)
            }
        };
        let begin = bind(l, "begin", pair.times(half.clone()).times(Expr::int(2)), &mut of_pair);
        let low = bind(l, "low", begin.clone().plus(last).times(Expr::int(ROWS)), &mut of_pair);
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

    /// Goes through the rows of block `b` in order: stores the prefix of each row in the tile, and adds the row's
    /// total to the counter.
    fn rows(
        &self,
        l: &mut Lower,
        block: &Block,
        counter: &Counter,
        b: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let r = l.k.reg("r", Ty::I64);
        let mut body = Vec::new();
        let row = bind(l, "row", b.clone().times(Expr::int(ROWS)).plus(Expr::Reg(r)), &mut body);
        if self.is_scan() {
            let (_, before) = counter.before(l, self.operator, &row, &mut body)?;
            body.extend(set(&block.rows, &Expr::Reg(r), &before));
        }
        let last = Expr::Reg(r).plus(Expr::int((CHUNKS - 1) * ROWS));
        let total = get(l, &block.chunks, &last, &mut body);
        counter.push(l, self.operator, (&row, &total), &mut body)?;
        out.push(Stmt::Seq(r, Expr::int(0), Expr::int(ROWS), body));
        Ok(())
    }

    /// Replaces the scanned totals of chunks by the prefixes of chunks: that of a chunk is the scanned total of the
    /// chunk before it, joined to the prefixes of the row and of the tile. The last chunks come first, because the
    /// prefixes are written over the totals. The first row of a tile has no prefix of its own.
    fn before_chunks(
        &self,
        l: &mut Lower,
        block: &Block,
        outer: &[Expr],
        b: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let [later, r] = ["later", "r"].map(|name| l.k.reg(name, Ty::I64));
        let (mut of_chunk, mut body) = (Vec::new(), Vec::new());
        let c = Expr::int(CHUNKS - 1).minus(Expr::Reg(later));
        let at = bind(l, "at", c.times(Expr::int(ROWS)), &mut of_chunk);
        let before = bind(l, "before", at.clone().minus(Expr::int(ROWS)), &mut of_chunk);
        // the first row of the tile is computed alone
        let first = Expr::binary(BinaryOp::Eq, b.clone(), Expr::int(0));
        let first = bind(l, "first", first.select(Expr::int(1), Expr::int(0)), out);
        let chunk = get(l, &block.chunks, &before, &mut of_chunk);
        let of_first = self.operator.join(l, outer, &chunk, &mut of_chunk)?;
        let chunk = get(l, &block.chunks, &before.plus(Expr::Reg(r)), &mut body);
        let rows = get(l, &block.rows, &Expr::Reg(r), &mut body);
        let inner = self.operator.join(l, &rows, &chunk, &mut body)?;
        let all = self.operator.join(l, outer, &inner, &mut body)?;
        body.extend(set(&block.chunks, &at.clone().plus(Expr::Reg(r)), &all));
        of_chunk.push(Stmt::For(r, Expr::int(0), Expr::int(ROWS), body));
        let is_first = Expr::binary(BinaryOp::Gt, first.clone(), Expr::int(0));
        of_chunk.push(Stmt::If(is_first.clone(), set(&block.chunks, &at, &of_first).collect(), vec![]));
        out.push(Stmt::Seq(later, Expr::int(0), Expr::int(CHUNKS - 1), of_chunk));
        let r = l.k.reg("r", Ty::I64);
        let mut body = Vec::new();
        let rows = get(l, &block.rows, &Expr::Reg(r), &mut body);
        let all = self.operator.join(l, outer, &rows, &mut body)?;
        body.extend(set(&block.chunks, &Expr::Reg(r), &all));
        out.push(Stmt::For(r, first, Expr::int(ROWS), body));
        out.push(Stmt::If(is_first, set(&block.chunks, &Expr::int(0), outer).collect(), vec![]));
        Ok(())
    }
}

/// Writes a loop over the chunks of a block. `code` gets the place of each chunk in row-major and in column-major
/// order.
fn transposed(l: &mut Lower, out: &mut Vec<Stmt>, code: impl FnOnce(&mut Lower, Expr, Expr, &mut Vec<Stmt>)) {
    let [r, c] = ["r", "c"].map(|name| l.k.reg(name, Ty::I64));
    let by_row = Expr::Reg(r).times(Expr::int(CHUNKS)).plus(Expr::Reg(c));
    let by_chunk = Expr::Reg(c).times(Expr::int(ROWS)).plus(Expr::Reg(r));
    let mut body = Vec::new();
    code(l, by_row, by_chunk, &mut body);
    let of_row = vec![Stmt::For(c, Expr::int(0), Expr::int(CHUNKS), body)];
    out.push(Stmt::For(r, Expr::int(0), Expr::int(ROWS), of_row));
}

fn rem(a: Expr, power: i64) -> Expr {
    Expr::binary(BinaryOp::And, a, Expr::int(power - 1))
}

/// Stores those components of a value that items want.
fn store(l: &mut Lower, items: &[(usize, &Item)], values: &[Expr], at: &Expr, out: &mut Vec<Stmt>) {
    for (which, it) in items {
        let (mem, ty) = (l.launch.output(it), l.launch.g.ty(it.node).elem);
        let extents = domain(&l.launch.g, it.node);
        let at = l.place(mem, &extents, at);
        let e = canonical(values[*which].clone(), ty, &mut l.k.kernel, out);
        out.push(Stmt::Store(mem, at, e));
    }
}
