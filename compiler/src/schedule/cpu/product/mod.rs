//! Matrix product on a CPU: block tiles of 64 x 64 results, with vectorised loops over the columns
//! of a tile.
//!
//! The columns' values of 128 inner (k) indices are packed into a contiguous buffer, once for the 64 rows of a block
//! tile (`pack.rs`). Then four rows go through four inner indices at a time: each vector of results is loaded and
//! stored once for four indices, and each vector of packed values serves four rows. The launch counts units of work
//! in results in row-major order; a range of units is mapped to the same fraction of the block tiles, of all planes
//! of a batch. A matrix with few columns is computed element by element, because such short loops do not vectorise.

pub(super) mod block_tiles;
pub(super) mod pack;
pub(super) mod store;

use super::map;
use crate::core::{NodeId, PANEL};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::loop_nests::{Env, Order};
use crate::schedule::facts::products::Product;
use crate::schedule::groups::FusedGroup;
use block_tiles::{BlockTile, SIZE, block_tiles, up};
use pack::Columns;
use store::store;

/// Number of inner (k) indices that are packed at once. A panel of 512 inner indices consists of
/// four such parts.
const DEPTH: i64 = 128;
/// The number of rows, and of inner indices, that are unrolled.
pub(super) const ROWS: i64 = 4;
pub(super) const STEPS: i64 = 4;
/// The minimum number of columns for which block tiles are used.
pub(super) const LEAST: i64 = 8;

/// Emits the variant for contiguous arrays, or for any strides. In both no output may be an input, because the tiles
/// of a product are read several times.
pub(super) fn main(l: &mut Lower, fused: &FusedGroup, p: &Product) -> Result<Vec<Stmt>> {
    let elements = map::main(l, fused, l.k.strided)?;
    let tiles = block_tiles(l, fused, p, &mut |l, tile, body| {
        let inner = p.of.inner[0].ty;
        let mut local = |l: &mut Lower, name, ty, len: i64| l.k.local(name, ty, len as u32, body);
        let chains = local(l, "chains", inner, SIZE * SIZE);
        let sums = (p.of.order == Order::Panels).then(|| local(l, "sums", inner, SIZE * SIZE));
        let types: Vec<Ty> = p.sides[1].parts.iter().map(|n| l.launch.g.ty(*n).elem).collect();
        let packed = types.into_iter().map(|ty| local(l, "packed", ty, DEPTH * SIZE)).collect();
        let square = Square { p, tile, chains, sums, packed };
        square.compute(l, body)?;
        square.store(l, fused, body)
    })?;
    let cols = l.launch.host(fused.domain[fused.domain.len() - 1]);
    let wide = Expr::binary(BinaryOp::Ge, cols, Expr::int(LEAST));
    Ok(vec![Stmt::If(wide, tiles, elements)])
}

struct Square<'a> {
    p: &'a Product,
    tile: BlockTile,
    /// The results of the block tile, 64 for each row: the running sums (chains of multiply-adds), and the sums of
    /// the panels that are complete.
    chains: Mem,
    sums: Option<Mem>,
    /// The packed values of the columns' side, 64 per inner index.
    packed: Vec<Mem>,
}

impl Square<'_> {
    fn compute(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<()> {
        let inner = &self.p.of.inner[0];
        let count = l.region(&[], &[self.p.of.extent], &Expr::int(0), out)?.remove(0);
        let start = match self.sums {
            Some(_) => Expr::Lit(Lit::no_sum(inner.ty)),
            None => l.region(&[], &[inner.init], &Expr::int(0), out)?.remove(0),
        };
        self.each_result(l, out, &|at| {
            let both = [Some(self.chains), self.sums].into_iter().flatten();
            both.map(|m| Stmt::Store(m, at.clone(), start.clone())).collect()
        });
        let turn = l.k.reg("turn", Ty::I64);
        let mut body = Vec::new();
        let base = bind(l, "base", Expr::Reg(turn).times(Expr::int(DEPTH)), &mut body);
        let depth = bind(l, "depth", count.clone().minus(base.clone()).min(Expr::int(DEPTH)), &mut body);
        let columns = Columns { p: self.p, tile: &self.tile, packed: &self.packed, flag: None };
        body.extend(columns.pack(l, (&base, &depth), &|kk| kk)?);
        body.push(columns.fill(l, depth.clone()));
        let (r, mut rows) = (l.k.reg("r", Ty::I64), Vec::new());
        let row = bind(l, "row", Expr::Reg(r).times(Expr::int(ROWS)), &mut rows);
        self.rows(l, &row, ROWS, &base, &depth, &mut rows)?;
        let groups = Expr::binary(BinaryOp::Div, self.tile.counts[0].clone(), Expr::int(ROWS));
        let groups = bind(l, "groups", groups, &mut body);
        body.push(Stmt::Seq(r, Expr::int(0), groups.clone(), rows));
        let (r, mut rows) = (l.k.reg("r", Ty::I64), Vec::new());
        self.rows(l, &Expr::Reg(r), 1, &base, &depth, &mut rows)?;
        body.push(Stmt::Seq(r, groups.times(Expr::int(ROWS)), self.tile.counts[0].clone(), rows));
        if let Some(sums) = self.sums {
            // at the end of a panel its sum is added, and a new one begins
            let mut end = Vec::new();
            self.each_result(l, &mut end, &|at| {
                let sum = Expr::load(sums, at.clone()).plus(Expr::load(self.chains, at.clone()));
                vec![Stmt::Store(sums, at.clone(), sum), Stmt::Store(self.chains, at.clone(), start.clone())]
            });
            let next = Expr::Reg(turn).plus(Expr::int(1));
            let part = Expr::binary(BinaryOp::Rem, next.clone(), Expr::int(PANEL / DEPTH));
            let last = Expr::binary(BinaryOp::Ge, next.times(Expr::int(DEPTH)), count.clone());
            let full = Expr::binary(BinaryOp::Eq, part, Expr::int(0));
            body.push(Stmt::If(Expr::binary(BinaryOp::Or, full, last), end, vec![]));
        }
        out.push(Stmt::Seq(turn, Expr::int(0), up(&count, DEPTH), body));
        Ok(())
    }

    /// Emits a loop over all results of the block tile; `body` gets a result's position in the
    /// buffers.
    fn each_result(&self, l: &mut Lower, out: &mut Vec<Stmt>, body: &dyn Fn(&Expr) -> Vec<Stmt>) {
        let [r, c] = ["r", "c"].map(|name| l.k.reg(name, Ty::I64));
        let at = Expr::Reg(r).times(Expr::int(SIZE)).plus(Expr::Reg(c));
        let list = body(&at);
        let columns = Stmt::For(c, Expr::int(0), Expr::int(SIZE), list);
        out.push(Stmt::Seq(r, Expr::int(0), self.tile.counts[0].clone(), vec![columns]));
    }

    /// Emits the steps of `count` rows from `row` on through all packed inner indices.
    fn rows(
        &self,
        l: &mut Lower,
        row: &Expr,
        count: i64,
        base: &Expr,
        depth: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let turns = Expr::binary(BinaryOp::Div, depth.clone(), Expr::int(STEPS));
        let turns = bind(l, "turns", turns, out);
        for steps in [STEPS, 1] {
            let (kk, mut body) = (l.k.reg("kk", Ty::I64), Vec::new());
            let first = bind(l, "first", Expr::Reg(kk).times(Expr::int(steps)), &mut body);
            self.steps(l, (row, count), (&first, steps), base, &mut body)?;
            let range = match steps {
                1 => (turns.clone().times(Expr::int(STEPS)), depth.clone()),
                _ => (Expr::int(0), turns.clone()),
            };
            out.push(Stmt::Seq(kk, range.0, range.1, body));
        }
        Ok(())
    }

    /// Emits the steps of `rows` rows through `steps` inner indices, unrolled, in a loop over the columns.
    fn steps(
        &self,
        l: &mut Lower,
        (row, rows): (&Expr, i64),
        (first, steps): (&Expr, i64),
        base: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let inner = &self.p.of.inner[0];
        let c = l.k.reg("c", Ty::I64);
        let (_, j) = l.launch.g.fresh_var(Ty::I64);
        let at_column = Env::default().with(&l.launch.g, self.p.outer[1], j);
        let mut vars = self.tile.known(self.p);
        vars.push((j, self.tile.first[1].clone().plus(Expr::Reg(c))));
        let (mut body, mut steps_of, mut rows_of) = (Vec::new(), Vec::new(), Vec::new());
        for s in 0..steps {
            let (_, k) = l.launch.g.fresh_var(Ty::I64);
            let at = first.clone().plus(Expr::int(s));
            vars.push((k, base.clone().plus(at.clone())));
            let env = at_column.with(&l.launch.g, self.p.k, k);
            for (part, m) in self.p.sides[1].parts.iter().zip(&self.packed) {
                let e = Expr::load(*m, at.clone().times(Expr::int(SIZE)).plus(Expr::Reg(c)));
                let e = bind(l, "b", e, &mut body);
                vars.push((env.of(&mut l.launch.g, *part), e));
            }
            steps_of.push(k);
        }
        for r in 0..rows {
            let (_, i) = l.launch.g.fresh_var(Ty::I64);
            let at = self.tile.first[0].clone().plus(row.clone()).plus(Expr::int(r));
            vars.push((i, at.clone()));
            for k in &steps_of {
                let env =
                    Env::default().with(&l.launch.g, self.p.outer[0], i).with(&l.launch.g, self.p.k, *k);
                let nodes: Vec<NodeId> =
                    self.p.sides[0].parts.iter().map(|n| env.of(&mut l.launch.g, *n)).collect();
                let values = l.region(&vars, &nodes, &Expr::int(0), out)?;
                for (n, e) in nodes.into_iter().zip(values) {
                    let e = bind(l, "a", e, out);
                    vars.push((n, e));
                }
            }
            rows_of.push(i);
        }
        for (r, i) in (0..).zip(&rows_of) {
            let at = row.clone().plus(Expr::int(r)).times(Expr::int(SIZE)).plus(Expr::Reg(c));
            let mut value = bind(l, "chain", Expr::load(self.chains, at.clone()), &mut body);
            for k in &steps_of {
                let (_, before) = l.launch.g.fresh_var(inner.ty);
                vars.push((before, value));
                let env = at_column.with(&l.launch.g, self.p.outer[0], *i).with(&l.launch.g, self.p.k, *k);
                let root = env.with(&l.launch.g, inner.acc, before).of(&mut l.launch.g, inner.next);
                let next = l.region(&vars, &[root], &Expr::int(0), &mut body)?.remove(0);
                value = bind(l, "chain", next, &mut body);
            }
            body.push(Stmt::Store(self.chains, at, value));
        }
        // the loop takes all 64 columns, unless it reads values that only columns of the matrix have
        let whole = self.p.sides[1].invariants.is_empty();
        let end = if whole { Expr::int(SIZE) } else { self.tile.counts[1].clone() };
        out.push(Stmt::For(c, Expr::int(0), end, body));
        Ok(())
    }

    /// Emits the elements that follow from the results, and their stores.
    fn store(&self, l: &mut Lower, fused: &FusedGroup, out: &mut Vec<Stmt>) -> Result<()> {
        let results = self.sums.unwrap_or(self.chains);
        let stores = store(l, fused, (self.p, &self.tile), &mut |l, place, from, body| {
            let value = Expr::load(results, from);
            if self.sums.is_none() {
                return Ok(value);
            }
            let init = place.node(l, self.p.of.inner[0].init);
            Ok(l.region(&place.vars, &[init], &Expr::int(0), body)?.remove(0).plus(value))
        })?;
        out.extend(stores);
        Ok(())
    }
}
