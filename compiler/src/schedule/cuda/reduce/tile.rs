//! The code that reduces one tile: a full one by batches of rows, the last one row by row.

use crate::core::{COLUMNS, NodeId, Op, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::divided_number::{DividedNumber, Walk};
use crate::schedule::cuda::elements::{Elements, store_single};
use crate::schedule::cuda::expressions::{int32, to_i64};
use crate::schedule::cuda::tree::{Column, named_values};
use crate::schedule::element::element;
use crate::schedule::element::in_bounds::{self, Range};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::nested_loop::read;
use crate::schedule::element::reduction::{Reduction, by_reduction};
use crate::schedule::groups::Item;

/// The rows of a tile.
pub const ROWS: i64 = TILE / COLUMNS;
/// The bytes that one prefetch brings: a line of the cache.
const LINE: i64 = 128;
/// The maximum number of bytes of an element whose tiles are prefetched.
const NARROW: i64 = 2;

/// What the code that reduces one tile needs.
pub struct Tile<'a> {
    pub items: &'a [&'a Item],
    pub reductions: &'a [Reduction],
    /// The number of rows that are loaded together.
    pub batch: i64,
    /// Whether the batches are unrolled, so that the counts of a full tile are constants.
    pub is_straight: bool,
    pub column: &'a Column,
    pub n: Expr,
    /// The walk from row to row, by carries where an element's number is divided.
    pub walk: Walk<'a>,
    /// If elements are those of a matrix with rows that may be as long as a tile.
    pub matrix: Option<MatrixTile<'a>>,
}

/// What full tiles need whose elements are those of a matrix.
pub struct MatrixTile<'a> {
    pub divided: &'a DividedNumber,
    /// If some reads are tested: the condition, which the host computes, that all of them are in bounds.
    pub in_bounds: Option<Expr>,
}

/// The version of a full tile's code.
#[derive(Clone, Copy)]
struct Version<'v> {
    walk: &'v Walk<'v>,
    /// Whether no read is tested.
    is_untested: bool,
}

impl Tile<'_> {
    /// Prefetches the elements of the tile that begins at `first`, if there is a `next` one and elements are narrow.
    /// Without it, a thread has at most half as many bytes of narrow elements in flight as of words. For words, it
    /// loses 3 to 7 %.
    pub fn prefetch(&self, l: &mut Lower, (next, first): (Expr, Expr), out: &mut Vec<Stmt>) {
        let arrays: Vec<NodeId> = l.launch.facts.accesses.pointwise().copied().collect();
        let mut hints = Vec::new();
        for x in arrays {
            let (mem, size) = (l.launch.input(x), l.launch.g.ty(x).elem.size() as i64);
            if size > NARROW {
                continue;
            }
            let line = self.column.column.clone().times(int32((LINE / size) as i32));
            let index = bind(l, "line", first.clone().plus(to_i64(line)), &mut hints);
            let mine =
                Expr::binary(BinaryOp::Lt, self.column.column.clone(), int32((TILE * size / LINE) as i32));
            let exists =
                Expr::binary(BinaryOp::And, mine, Expr::binary(BinaryOp::Lt, index.clone(), self.n.clone()));
            hints.push(Stmt::If(exists, vec![Stmt::Prefetch { array: mem, index, wide: false }], vec![]));
        }
        if !hints.is_empty() {
            out.push(Stmt::If(next, hints, vec![]));
        }
    }

    /// Folds `batch` rows of this column from element `first` on, which has these indices if its number is divided.
    /// `acc` holds the column's values so far, after `so_far` rows (i64), or is `None` before the first row.
    fn rows(
        &self,
        l: &mut Lower,
        version: Version,
        (first, so_far): (Expr, Expr),
        indices: &mut Vec<Expr>,
        acc: &mut Option<Vec<Expr>>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let offsets = |row: i64| vec![row * COLUMNS];
        let rows: Vec<Elements> =
            (0..self.batch).map(|row| Elements::new(l, first.clone(), offsets(row), 1)).collect();
        for row in &rows {
            row.load(l, &[], out);
        }
        for (row, number) in rows.iter().zip(0..) {
            let mut vars = version.walk.known(l, row.indices[0], indices);
            version.walk.next(l, indices, None, out);
            let mut old: Vec<Vec<NodeId>> = Vec::new();
            for (r, own) in acc.iter().flat_map(|acc| by_reduction(self.reductions, acc)) {
                let own = r.after_rows(own.to_vec(), plus(&so_far, number));
                old.push(r.nodes(l.launch, &own, &mut vars));
            }
            let make = |l: &mut Lower, _, i: NodeId| {
                let mut roots: Vec<NodeId> =
                    self.items.iter().map(|it| element(&mut l.launch.g, it.node, i)).collect();
                for (number, r) in self.reductions.iter().enumerate() {
                    roots.extend(match old.get(number) {
                        Some(old) => r.step(l.launch, old, i),
                        None => r.first(l.launch, i),
                    });
                }
                if version.is_untested { untested(l, row.base().0, roots) } else { roots }
            };
            let values = row.values(l, &vars, make, out)?.remove(0);
            let (stores, sums) = values.split_at(self.items.len());
            row.store(l, self.items, &[stores], None, out);
            let named = by_reduction(self.reductions, sums)
                .flat_map(|(r, own)| named_values(l, r, "acc", own.to_vec(), out));
            *acc = Some(named.collect());
        }
        l.scope.loaded = Some(Default::default());
        Ok(())
    }

    /// Reduces a full tile. If it lies in one row of a matrix, all its elements have one row index, and neighbouring
    /// column indices.
    pub fn full(&self, l: &mut Lower, base: &Expr, accs: &[Reg]) -> Result<Vec<Stmt>> {
        let any = Version { walk: &self.walk, is_untested: false };
        let Some(matrix) = &self.matrix else { return self.full_tile(l, base, any, None, accs) };
        let mut out = Vec::new();
        let mut indices = self.walk.first(l, base, &mut out);
        let column = indices.pop().expect("an index in the row");
        let is_in_row = matrix.divided.is_in_row(&column, TILE);
        let is_fast =
            matrix.in_bounds.iter().cloned().fold(is_in_row, |a, b| Expr::binary(BinaryOp::And, a, b));
        let mut fast = vec![Stmt::Note("a tile in one row of the matrix".into())];
        let column = column.plus(to_i64(self.column.column.clone()));
        indices.push(bind(l, "index", column, &mut fast));
        let walk = Walk::within_row(matrix.divided, COLUMNS);
        let in_row = Version { walk: &walk, is_untested: matrix.in_bounds.is_some() };
        fast.append(&mut self.full_tile(l, base, in_row, Some(indices), accs)?);
        let general = self.full_tile(l, base, any, None, accs)?;
        out.push(Stmt::If(is_fast, fast, general));
        Ok(out)
    }

    /// Does what [`Self::full`] does, by one version. If the indices of a thread's first element are not given, they
    /// are computed from its number.
    fn full_tile(
        &self,
        l: &mut Lower,
        base: &Expr,
        version: Version,
        indices: Option<Vec<Expr>>,
        accs: &[Reg],
    ) -> Result<Vec<Stmt>> {
        let mut out = vec![Stmt::Note("a full tile: 16 rows of 128 columns".into())];
        let first = base.clone().plus(to_i64(self.column.column.clone()));
        let start = bind(l, "start", first, &mut out);
        let mut acc = None;
        let mut indices = indices.unwrap_or_else(|| version.walk.first(l, &start, &mut out));
        self.rows(l, version, (start.clone(), Expr::int(0)), &mut indices, &mut acc, &mut out)?;
        for b in (1..ROWS / self.batch).filter(|_| self.is_straight) {
            let first = bind(l, "first", start.clone().plus(Expr::int(b * self.batch * COLUMNS)), &mut out);
            let place = (first, Expr::int(b * self.batch));
            self.rows(l, version, place, &mut indices, &mut acc, &mut out)?;
        }
        assign(accs, acc.unwrap_or_default(), &mut out);
        if self.batch < ROWS && !self.is_straight {
            let variables = version.walk.variables(l, indices, &mut out);
            let mut indices = read(&variables);
            let b = l.k.reg("b", Ty::I64);
            let mut body = Vec::new();
            let stride = Expr::int(self.batch * COLUMNS);
            let first = bind(l, "first", start.plus(Expr::Reg(b).times(stride)), &mut body);
            let so_far = Expr::Reg(b).times(Expr::int(self.batch));
            let mut inner = Some(accs.iter().map(|r| Expr::Reg(*r)).collect());
            self.rows(l, version, (first, so_far), &mut indices, &mut inner, &mut body)?;
            assign(accs, inner.unwrap_or_default(), &mut body);
            version.walk.assign(&variables, indices, &mut body);
            out.push(Stmt::Seq(b, Expr::int(1), Expr::int(ROWS / self.batch), body));
        }
        l.scope.loaded = None;
        self.join_counted(l, accs, |r, accs| r.after_rows(accs, Expr::int(ROWS)), &mut out)?;
        Ok(out)
    }

    /// Joins the columns of a warp for reductions that count their elements; in a full tile the counts are constants.
    fn join_counted(
        &self,
        l: &mut Lower,
        accs: &[Reg],
        known: impl Fn(&Reduction, Vec<Expr>) -> Vec<Expr>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        for (r, accs) in by_reduction(self.reductions, accs).filter(|(r, _)| r.is_counted()) {
            let values = self.column.join_warp(l, r, known(r, read(accs)), None, out)?;
            assign(accs, values, out);
        }
        Ok(())
    }

    /// Folds the last, partial tile row by row.
    pub fn partial(&self, l: &mut Lower, base: &Expr, accs: &[Reg]) -> Result<Vec<Stmt>> {
        let mut out = vec![Stmt::Note("the last tile".into())];
        let known = self.reductions.iter().all(|r| r.has_identity(l.launch));
        let first = base.clone().plus(to_i64(self.column.column.clone()));
        let first = bind(l, "first", first, &mut out);
        if !known {
            self.single_element(l, first.clone(), accs, true, &mut out)?;
        }
        let row = l.k.reg("row", Ty::I64);
        let mut body = Vec::new();
        let at = first.plus(Expr::Reg(row).times(Expr::int(COLUMNS)));
        self.single_element(l, at, accs, false, &mut body)?;
        let rounded_up = self.n.clone().minus(base.clone()).plus(Expr::int(COLUMNS - 1));
        let rows = Expr::binary(BinaryOp::Shr, rounded_up, Expr::int(COLUMNS.trailing_zeros().into()));
        out.push(Stmt::Seq(row, Expr::int(i64::from(!known)), rows, body));
        self.join_counted(l, accs, |_, accs| accs, &mut out)?;
        Ok(out)
    }

    /// Folds one element of the last tile, if it is in bounds.
    fn single_element(
        &self,
        l: &mut Lower,
        at: Expr,
        accs: &[Reg],
        first: bool,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let at = bind(l, "at", at, out);
        let (_, index) = l.launch.g.fresh_var(Ty::I64);
        let mut known = vec![(index, at.clone())];
        let mut roots: Vec<NodeId> =
            self.items.iter().map(|it| element(&mut l.launch.g, it.node, index)).collect();
        for (r, accs) in by_reduction(self.reductions, accs) {
            roots.extend(if first {
                r.first(l.launch, index)
            } else {
                let old = r.nodes(l.launch, &read(accs), &mut known);
                r.step(l.launch, &old, index)
            });
        }
        let mut body = Vec::new();
        let mut values = l.region(&known, &roots, &at, &mut body)?;
        let sums = values.split_off(self.items.len());
        // all new values are computed before any accumulator changes
        let sums: Vec<Expr> = sums.into_iter().map(|e| bind(l, "next", e, &mut body)).collect();
        store_single(l, self.items, values, &at, &mut body);
        assign(accs, sums, &mut body);
        out.push(Stmt::If(Expr::binary(BinaryOp::Lt, at, self.n.clone()), body, vec![]));
        Ok(())
    }
}

/// Returns these values of an element, whose index is `base` plus a constant, without tests of reads.
fn untested(l: &mut Lower, base: NodeId, roots: Vec<NodeId>) -> Vec<NodeId> {
    let Op::Var(var, _) = *l.launch.g.op(base) else { return roots };
    let count = l.launch.count_node();
    let all = Range::below(l.launch, var, count);
    in_bounds::of(l.launch, &roots, &[all]).map_or(roots, |found| found.roots)
}

/// Returns the number of a row, given that of the first one of its batch.
fn plus(first: &Expr, row: i64) -> Expr {
    match first {
        Expr::Lit(first) => Expr::int(first.as_i64() + row),
        first => first.clone().plus(Expr::int(row)),
    }
}

fn assign(accs: &[Reg], values: Vec<Expr>, out: &mut Vec<Stmt>) {
    out.extend(accs.iter().zip(values).map(|(r, e)| Stmt::Assign(*r, e)));
}
