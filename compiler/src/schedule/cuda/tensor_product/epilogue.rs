//! The epilogue: results go through shared memory, one half of the block tile's rows after the other, and each thread
//! computes and stores what follows from eight neighbours of a row. If rows are not aligned, or if the code that
//! follows is long, a thread takes one result at a time, and the threads of a warp take neighbours.

use super::TensorBlock;
use super::layout::{COLUMNS, ROWS};
use super::params::Rows;
use crate::core::{NodeId, linear};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use crate::schedule::cuda::access;
use crate::schedule::cuda::elements::stored;
use crate::schedule::cuda::expressions::{int32, masked, shifted, thread, to_i64};
use crate::schedule::cuda::product::{address, load_vectors, store};
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::loop_nests::Env;
use crate::schedule::groups::{FusedGroup, Item};

/// The words by which a row of results is longer than its results: so four rows of a warp's pairs lie in different
/// banks.
const PADDING: i64 = 8;
/// The number of neighbours that a thread takes.
const NEIGHBOURS: i64 = 8;
/// The maximum number of operations of an epilogue that is written once for each neighbour.
const MAX_UNROLLED: usize = 768;

/// Returns the result that a word holds.
fn result(word: Expr) -> Expr {
    Expr::Unary(UnaryOp::FromBits, Box::new(word))
}

impl TensorBlock<'_> {
    pub fn epilogue(&self, l: &mut Lower, fused: &FusedGroup, out: &mut Vec<Stmt>) -> Result<()> {
        let [height, tile] = [0, 1].map(|side| self.shape.tile(side));
        let (part, threads) = (self.part(), i64::from(self.shape.threads()));
        let by_vectors = self.rows == Rows::Aligned;
        let is_short = self.operations(l) * NEIGHBOURS as usize <= MAX_UNROLLED;
        let neighbours = if by_vectors && is_short { NEIGHBOURS } else { 1 };
        let (half, mut body) = (l.k.reg("half", Ty::I32), Vec::new());
        let first = Expr::Reg(half).times(int32(part as i32));
        let mine = Expr::binary(BinaryOp::Eq, self.warp_origin[0].clone(), first);
        let leave = self.leave(l);
        match part == height {
            true => body.extend(leave),
            false => body.push(Stmt::If(mine, leave, vec![])),
        }
        body.push(Stmt::Barrier);
        let (u, mut inner) = (l.k.reg("number", Ty::I32), Vec::new());
        let number = thread().plus(Expr::Reg(u).times(int32(threads as i32)));
        let number = bind(l, "number", number, &mut inner);
        let row = bind(l, "row", shifted(number.clone(), tile / neighbours), &mut inner);
        let column = masked(number, tile / neighbours).times(int32(neighbours as i32));
        let column = bind(l, "column", column, &mut inner);
        let at = row.clone().times(int32((tile + PADDING) as i32)).plus(column.clone());
        let at = bind(l, "at", at, &mut inner);
        let row = Expr::Reg(half).times(int32(part as i32)).plus(row);
        let i = bind(l, "i", self.origin[0].clone().plus(to_i64(row)), &mut inner);
        let j = bind(l, "j", self.origin[1].clone().plus(to_i64(column)), &mut inner);
        let results = match neighbours {
            1 => self.one(l, &stored(l.launch, fused), at, [&i, &j])?,
            _ => self.several(l, &stored(l.launch, fused), at, [&i, &j])?,
        };
        let inside = Expr::binary(BinaryOp::Lt, i, self.extents[0].clone());
        inner.push(Stmt::If(inside, results, vec![]));
        let count = part * tile / neighbours / threads;
        body.push(Stmt::Seq(u, int32(0), int32(count as i32), inner));
        if part < height {
            body.push(Stmt::Barrier);
        }
        out.push(Stmt::Seq(half, int32(0), int32((height / part) as i32), body));
        Ok(())
    }

    /// Returns the number of rows that lie in shared memory at once: all of them, if the stages are large enough.
    fn part(&self) -> i64 {
        let [height, tile] = [0, 1].map(|side| self.shape.tile(side));
        if self.shape.is_by_warpgroups() && height * (tile + PADDING) <= self.shape.words() {
            height
        } else {
            self.shape.warp_tile[0]
        }
    }

    /// Returns the stores of a warp's sums to shared memory.
    fn leave(&self, l: &mut Lower) -> Vec<Stmt> {
        let mut out = Vec::new();
        let (pitch, across) = (self.shape.tile(1) + PADDING, self.shape.warp_tile[1] / COLUMNS);
        let mut row = shifted(self.lane.clone(), 4);
        if self.part() > self.shape.warp_tile[0] {
            row = row.plus(self.warp_origin[0].clone());
        }
        let row = row.times(int32(pitch as i32));
        let column = masked(self.lane.clone(), 4).times(int32(2));
        let at = bind(l, "at", row.plus(column).plus(self.warp_origin[1].clone()), &mut out);
        let bits = |r| Expr::Unary(UnaryOp::ToBits, Box::new(Expr::Reg(r)));
        for (tile, sums) in (0..).zip(self.sums.chunks(4)) {
            let (i, j) = (tile / across, tile % across);
            for (half, pair) in (0..).zip(sums.chunks(2)) {
                let offset = (i * ROWS + half * 8) * pitch + j * COLUMNS;
                let to = at.clone().plus(int32(offset as i32));
                out.push(Stmt::StoreVec(self.words, to, pair.iter().map(|r| bits(*r)).collect()));
            }
        }
        out
    }

    /// Returns the code that computes and stores the element of row `i` and column `j`, whose result lies in shared
    /// memory at `at`.
    fn one(&self, l: &mut Lower, items: &[&Item], at: Expr, [i, j]: [&Expr; 2]) -> Result<Vec<Stmt>> {
        let vars = [(); 2].map(|()| l.launch.g.fresh_var(Ty::I64).1);
        let mut known = self.known();
        known.extend([(vars[0], i.clone()), (vars[1], j.clone())]);
        let value = (result(Expr::load(self.words, at)), true);
        let mut out = Vec::new();
        store(l, self.p, self.strided, items, (vars, [i.clone(), j.clone()]), &known, value, &mut out)?;
        let inside = Expr::binary(BinaryOp::Lt, j.clone(), self.extents[1].clone());
        Ok(vec![Stmt::If(inside, out, vec![])])
    }

    /// Returns the same code for several neighbours, from column `j` on.
    fn several(&self, l: &mut Lower, items: &[&Item], at: Expr, [i, j]: [&Expr; 2]) -> Result<Vec<Stmt>> {
        let (e, mut each) = (l.k.reg("e", Ty::I32), Vec::new());
        let column = bind(l, "column", j.clone().plus(to_i64(Expr::Reg(e))), &mut each);
        each.append(&mut self.one(l, items, at.clone().plus(Expr::Reg(e)), [i, &column])?);
        let each = Stmt::Seq(e, int32(0), int32(NEIGHBOURS as i32), each);
        let [row, first] = [(); 2].map(|()| l.launch.g.fresh_var(Ty::I64).1);
        let mut known = self.known();
        known.extend([(row, i.clone()), (first, j.clone())]);
        let mut all = Vec::new();
        let regs: Vec<_> = (0..NEIGHBOURS).map(|_| l.k.reg("word", Ty::U32)).collect();
        access::load(l, self.words, regs.clone(), at, &mut all);
        let results: Vec<Expr> = regs.into_iter().map(|r| result(Expr::Reg(r))).collect();
        self.neighbours_of_row(l, items, known, ([row, first], [i, j]), results, &mut all)?;
        let last = j.clone().plus(Expr::int(NEIGHBOURS - 1));
        let whole = Expr::binary(BinaryOp::Lt, last, self.extents[1].clone());
        Ok(vec![Stmt::If(whole, all, vec![each])])
    }

    /// Returns the number of operations that follow from a result.
    fn operations(&self, l: &Lower) -> usize {
        let g = &l.launch.g;
        let result = self.p.of.inner[0].node;
        g.reachable_until(self.p.roots.iter().copied(), |n| g.is_closed(n) || n == result).len()
    }

    /// Computes and stores neighbours of a row, all of them in bounds, by vector accesses.
    fn neighbours_of_row(
        &self,
        l: &mut Lower,
        items: &[&Item],
        mut vars: Vec<(NodeId, Expr)>,
        ([row, first], [i, j]): ([NodeId; 2], [&Expr; 2]),
        results: Vec<Expr>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (inner, p) = (&self.p.of.inner[0], self.p);
        let env = |u: i64| {
            let offset = l.launch.g.lit(Lit::i64(u));
            let column = linear::add(&mut l.launch.g, first, offset);
            Env::default().with(&l.launch.g, p.outer[0], row).with(&l.launch.g, p.outer[1], column)
        };
        let envs: Vec<Env> = (0..NEIGHBOURS).map(env).collect();
        let g = &l.launch.g;
        let templates = p.roots.iter().copied().chain([inner.init]);
        let nodes = g.reachable_until(templates, |n| g.is_closed(n) || n == inner.node);
        let indices: Vec<NodeId> = [p.outer[1], p.outer[0]].into_iter().chain(p.plane).collect();
        load_vectors(l, nodes, &indices, &envs, &mut vars, out)?;
        let inits: Vec<NodeId> = envs.iter().map(|env| env.of(&mut l.launch.g, inner.init)).collect();
        let inits = l.region(&vars, &inits, &Expr::int(0), out)?;
        for ((env, init), value) in envs.iter().zip(inits).zip(results) {
            let value = bind(l, "result", init.plus(value), out);
            vars.push((env.of(&mut l.launch.g, inner.node), value));
        }
        let mut roots = Vec::new();
        for root in &p.roots {
            roots.extend(envs.iter().map(|env| env.of(&mut l.launch.g, *root)));
        }
        let values = l.region(&vars, &roots, &Expr::int(0), out)?;
        for (item, values) in items.iter().zip(values.chunks(NEIGHBOURS as usize)) {
            let (mem, ty) = (l.launch.output(item), l.launch.g.ty(item.node).elem);
            let plane = self.plane.iter().map(|(_, at)| at.clone());
            let to = address(l, false, mem, plane.chain([i.clone(), j.clone()]).collect());
            let to = bind(l, "to", to, out);
            let values = values.iter().map(|e| {
                let e = canonical(e.clone(), ty, &mut l.k.kernel, out);
                bind(l, "value", e, out)
            });
            let values = values.collect();
            access::store(l, mem, values, to, out);
        }
        Ok(())
    }
}
