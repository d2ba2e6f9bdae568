//! Staging: the loads from global memory into registers, and the stores to shared memory.

use super::block_tile::Layout;
use super::epilogue::address;
use super::{ProductBlock, and};
use crate::core::{NodeId, Op, linear};
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::access;
use crate::schedule::cuda::expressions::{int32, thread, to_i64};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::loop_nests::{self, Env};

/// The neighbouring values that a thread has loaded in a step, for each side, vector and part.
pub type GlobalLoads = [Vec<Vec<Vec<Expr>>>; 2];

/// Writes the code for a vector of a side, given its row (or column) and its inner index.
pub(super) type CodeOfVector<'a> = dyn FnMut(&mut Lower, [Expr; 2], &mut Vec<Stmt>) -> Result<()> + 'a;

/// The maximum number of a thread's vectors of a step whose code is unrolled, unless they are single elements.
const MAX_UNROLLED: i64 = 4;

impl ProductBlock<'_> {
    /// Returns the distances in shared memory from one row (or column) to the next, and from one inner
    /// index to the next.
    pub(super) fn pitches(&self, side: usize) -> [i64; 2] {
        self.tile.pitches(side, self.p.sides[side].along_k, self.layout(side))
    }

    /// Returns the number of elements of a buffer.
    pub(super) fn buffer_len(&self, side: usize) -> i64 {
        match (self.layout(side), self.pitches(side)) {
            (Layout::AlongK, [pitch, _]) => self.tile.sides[side].size * pitch,
            (Layout::AlongSide, [_, pitch]) => self.tile.depth * pitch,
        }
    }

    /// Returns the index in shared memory of a row (or column) and an inner index in a buffer.
    pub(super) fn place(&self, side: usize, buffer_index: &Expr, own: Expr, k: Expr) -> Expr {
        let buffer = buffer_index.clone().times(int32(self.buffer_len(side) as i32));
        match (self.layout(side), self.pitches(side)) {
            (Layout::AlongK, [pitch, _]) => buffer.plus(own.times(int32(pitch as i32))).plus(k),
            (Layout::AlongSide, [_, pitch]) => buffer.plus(k.times(int32(pitch as i32))).plus(own),
        }
    }

    /// Returns the index of the row (or column) with this offset (i32) in the block tile, as a thread loads it:
    /// clamped if the tile is.
    pub(super) fn side_index(&self, l: &mut Lower, s: usize, offset: Expr, out: &mut Vec<Stmt>) -> Expr {
        let own = self.origin[s].clone().plus(to_i64(offset));
        let width = if self.p.sides[s].along_k { 1 } else { self.tile.vector(s) };
        let last = self.extents[s].clone().minus(Expr::int(width));
        let clamped = self.tile.clamped && !self.tile.sides[s].skinny;
        bind(l, "own", if clamped { own.min(last) } else { own }, out)
    }

    /// Returns the first element of the thread's `u`-th vector of a side: its offset among rows (or
    /// columns), and among inner indices.
    pub(super) fn vector(&self, side: usize, u: i64) -> [Expr; 2] {
        let v = self.tile.vector(side);
        let along_k = self.p.sides[side].along_k;
        let run = if along_k { self.tile.depth } else { self.tile.sides[side].size } / v;
        let threads = self.tile.threads();
        let moved = |e: Expr, by: i64| if by > 0 { e.plus(int32(by as i32)) } else { e };
        let [major, minor] = if run > threads {
            let each = run / threads;
            [int32((u / each) as i32), moved(thread(), u % each * threads)]
        } else {
            let major = Expr::binary(BinaryOp::Shr, thread(), int32(run.ilog2() as i32));
            let minor = Expr::binary(BinaryOp::And, thread(), int32(run as i32 - 1));
            [moved(major, u * (threads / run)), minor]
        };
        let minor = minor.times(int32(v as i32));
        if along_k { [major, minor] } else { [minor, major] }
    }

    /// Returns the condition that the thread has a vector of that side, or `None` if all threads have one.
    pub(super) fn takes_part(&self, side: usize) -> Option<Expr> {
        let (per_thread, all) = self.tile.vectors(side);
        let count = per_thread * self.tile.sides[side].size * self.tile.depth / self.tile.vector(side);
        (!all).then(|| Expr::binary(BinaryOp::Lt, thread(), int32(count as i32)))
    }

    /// Loads the thread's share of the step that begins at the block's inner index `base`, except for what is copied.
    /// If `partial_k`, the step has fewer inner indices than the depth.
    pub(super) fn load_global(
        &self,
        l: &mut Lower,
        base: &Expr,
        full: bool,
        partial_k: bool,
        out: &mut Vec<Stmt>,
    ) -> Result<GlobalLoads> {
        let mut loads = [Vec::new(), Vec::new()];
        for (s, vectors) in loads.iter_mut().enumerate() {
            let copied = self.copied[s] && full && !partial_k;
            for u in 0..if copied { 0 } else { self.tile.vectors(s).0 } {
                let [own, k] = self.vector(s, u);
                let own = self.side_index(l, s, own, out);
                let k = bind(l, "k", base.clone().plus(to_i64(k)), out);
                let full = full && !self.tile.sides[s].skinny;
                vectors.push(self.load_vector(l, s, [own, k], full, partial_k, out)?);
            }
        }
        Ok(loads)
    }

    /// Loads one vector of a side, which begins at this row (or column) and this inner index: the values of each
    /// part.
    fn load_vector(
        &self,
        l: &mut Lower,
        s: usize,
        [own, k]: [Expr; 2],
        full: bool,
        partial_k: bool,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Vec<Expr>>> {
        let side = &self.p.sides[s];
        let (vars, envs) = self.neighbours(l, s, [own.clone(), self.k_begin.clone().plus(k.clone())]);
        if full && !partial_k {
            let mut vars = vars;
            if !self.strided {
                let along = if side.along_k { self.p.k } else { self.p.outer[s] };
                let nodes = l.launch.g.reachable(side.parts.iter().copied());
                load_vectors(l, nodes, &self.p.variables(along, s), &envs, &mut vars, out)?;
            }
            return self.values(l, &side.parts, &envs, &vars, out);
        }
        // a part that depends on the inner index alone is one node for all rows, including those out of bounds, so it
        // must have the same value for all of them
        let own_parts = |moves: bool| {
            let alone: Vec<NodeId> = [self.p.k].into_iter().chain(self.p.plane).collect();
            let depends = |n: &NodeId| !loop_nests::depends(&l.launch.g, *n, &alone);
            side.parts.iter().enumerate().filter(|(_, n)| depends(n) == moves).unzip()
        };
        let groups: [(Vec<usize>, Vec<NodeId>); 2] = [own_parts(true), own_parts(false)];
        let mut values = vec![Vec::new(); side.parts.len()];
        for ((places, parts), moves) in groups.iter().zip([true, false]).filter(|g| !g.0.0.is_empty()) {
            let by_own = !full && moves;
            // neighbours for which the condition is the same share it
            let one_by_one = by_own && !side.along_k || partial_k && side.along_k;
            for (u, envs) in (0..).zip(envs.chunks(if one_by_one { 1 } else { envs.len() })) {
                let at = |e: &Expr, moves: bool| if moves { e.clone().plus(Expr::int(u)) } else { e.clone() };
                let below = |e: Expr, end: &Expr| Expr::binary(BinaryOp::Lt, e, end.clone());
                let bounds = [
                    self.takes_part(s),
                    by_own.then(|| below(at(&own, !side.along_k), &self.extents[s])),
                    partial_k.then(|| below(at(&k, side.along_k), &self.k_count)),
                ];
                let mut body = Vec::new();
                for env in envs {
                    let roots: Vec<NodeId> = parts.iter().map(|n| env.of(&mut l.launch.g, *n)).collect();
                    let list = l.region(&vars, &roots, &Expr::int(0), &mut body)?;
                    for ((place, part), e) in places.iter().zip(parts).zip(list) {
                        let ty = l.launch.g.ty(*part).elem;
                        let r = l.k.reg("x", ty);
                        out.push(Stmt::Var(r, Expr::Lit(Lit::zero(ty))));
                        body.push(Stmt::Assign(r, e));
                        values[*place].push(Expr::Reg(r));
                    }
                }
                match and(bounds.into_iter().flatten()) {
                    Some(inside) => out.push(Stmt::If(inside, body, vec![])),
                    None => out.append(&mut body),
                }
            }
        }
        Ok(values)
    }

    /// Makes variables for the first element of a vector. Returns them with their values, and for each element of the
    /// vector the environment that has its indices.
    pub(super) fn neighbours(
        &self,
        l: &mut Lower,
        s: usize,
        at: [Expr; 2],
    ) -> (Vec<(NodeId, Expr)>, Vec<Env>) {
        let [own, k] = [l.launch.g.fresh_var(Ty::I64).1, l.launch.g.fresh_var(Ty::I64).1];
        let env = |l: &mut Lower, u: i64| {
            let offset = l.launch.g.lit(Lit::i64(u));
            let (mut own, mut k) = (own, k);
            let moved = if self.p.sides[s].along_k { &mut k } else { &mut own };
            *moved = linear::add(&mut l.launch.g, *moved, offset);
            Env::default().with(&l.launch.g, self.p.outer[s], own).with(&l.launch.g, self.p.k, k)
        };
        let envs = (0..self.tile.vector(s)).map(|u| env(l, u)).collect();
        let [at_own, at_k] = at;
        let mut vars = self.plane();
        vars.extend([(own, at_own), (k, at_k)]);
        (vars, envs)
    }

    /// Returns the values of the parts at some neighbours.
    fn values(
        &self,
        l: &mut Lower,
        parts: &[NodeId],
        envs: &[Env],
        vars: &[(NodeId, Expr)],
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Vec<Expr>>> {
        let mut all = vec![Vec::new(); parts.len()];
        for env in envs {
            let roots: Vec<NodeId> = parts.iter().map(|n| env.of(&mut l.launch.g, *n)).collect();
            let values = l.region(vars, &roots, &Expr::int(0), out)?;
            for (list, e) in all.iter_mut().zip(values) {
                list.push(bind(l, "x", e, out));
            }
        }
        Ok(all)
    }

    /// Calls `code` for each of the thread's vectors of a side, with its row (or column) and its inner index. Many
    /// vectors become a loop, because their values and addresses would take the registers.
    pub(super) fn each_vector(
        &self,
        l: &mut Lower,
        s: usize,
        out: &mut Vec<Stmt>,
        code: &mut CodeOfVector,
    ) -> Result<()> {
        let (count, along_k) = (self.tile.vectors(s).0, self.p.sides[s].along_k);
        let run = if along_k { self.tile.depth } else { self.tile.sides[s].size } / self.tile.vector(s);
        if count <= MAX_UNROLLED || self.tile.any_strides || run > self.tile.threads() {
            return (0..count).try_for_each(|u| code(l, self.vector(s, u), out));
        }
        let (turn, mut body) = (l.k.reg("turn", Ty::I32), Vec::new());
        let [own, k] = self.vector(s, 0);
        let lines = Expr::Reg(turn).times(int32((self.tile.threads() / run) as i32));
        let at = if along_k { [own.plus(lines), k] } else { [own, k.plus(lines)] };
        code(l, at, &mut body)?;
        out.push(Stmt::Seq(turn, int32(0), int32(count as i32), body));
        Ok(())
    }

    /// Loads the thread's share of a step and stores it to a buffer at once. This is for steps whose values would
    /// occupy too many registers until the step before is computed.
    pub(super) fn load_directly(
        &self,
        l: &mut Lower,
        (base, buffer_index): (&Expr, &Expr),
        full: bool,
        partial_k: bool,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        for s in 0..2 {
            let mut body = Vec::new();
            self.each_vector(l, s, &mut body, &mut |l, [own, k], out| {
                let first = self.side_index(l, s, own.clone(), out);
                let index = bind(l, "k", base.clone().plus(to_i64(k.clone())), out);
                let full = full && !self.tile.sides[s].skinny;
                let parts = self.load_vector(l, s, [first, index], full, partial_k, out)?;
                let mut store = Vec::new();
                self.store_vector(l, s, ([own, k], parts), buffer_index, &mut store);
                match self.takes_part(s) {
                    Some(some) => out.push(Stmt::If(some, store, vec![])),
                    None => out.append(&mut store),
                }
                Ok(())
            })?;
            out.append(&mut body);
        }
        Ok(())
    }

    /// Stores the values of a vector of a side, for each part, to a buffer in shared memory.
    fn store_vector(
        &self,
        l: &mut Lower,
        s: usize,
        ([own, k], parts): ([Expr; 2], Vec<Vec<Expr>>),
        buffer_index: &Expr,
        out: &mut Vec<Stmt>,
    ) {
        let pitch = self.pitches(s)[usize::from(self.p.sides[s].along_k)];
        let at = bind(l, "to", self.place(s, buffer_index, own, k), out);
        for (m, values) in self.shared[s].iter().zip(parts) {
            if pitch == 1 && values.len() > 1 {
                out.push(Stmt::StoreVec(*m, at.clone(), values));
                continue;
            }
            let each = values.into_iter().zip(0..);
            let each = each.map(|(e, u)| (at.clone().plus(int32(u * pitch as i32)), e));
            out.extend(each.map(|(at, e)| Stmt::Store(*m, at, e)));
        }
    }

    /// Stores the loaded values to a buffer in shared memory.
    pub(super) fn store_shared(
        &self,
        l: &mut Lower,
        loads: GlobalLoads,
        buffer_index: Expr,
        out: &mut Vec<Stmt>,
    ) {
        for (s, vectors) in loads.into_iter().enumerate() {
            let mut body = Vec::new();
            for (u, parts) in (0..).zip(vectors) {
                self.store_vector(l, s, (self.vector(s, u), parts), &buffer_index, &mut body);
            }
            match self.takes_part(s) {
                Some(some) if !body.is_empty() => out.push(Stmt::If(some, body, vec![])),
                _ => out.append(&mut body),
            }
        }
    }
}

/// Loads by vector accesses what neighbours read side by side: reads whose last index is the first of these
/// variables, and whose other indices do not depend on it. `envs` has the indices of each neighbour.
pub fn load_vectors(
    l: &mut Lower,
    nodes: Vec<NodeId>,
    indices: &[NodeId],
    envs: &[Env],
    vars: &mut Vec<(NodeId, Expr)>,
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let along = indices[0];
    for n in nodes {
        let Op::Elem(x, index) = l.launch.g.op(n).clone() else { continue };
        let (last, outer) = index.split_last().expect("an index an axis");
        let moves = |n: &NodeId| loop_nests::depends(&l.launch.g, *n, indices) || *n == along;
        if *last != along || outer.iter().any(moves) {
            continue;
        }
        let ty = l.launch.g.ty(x).elem;
        let mem = l.launch.input(x);
        let roots: Vec<NodeId> = index.iter().map(|n| envs[0].of(&mut l.launch.g, *n)).collect();
        let at = l.region(vars, &roots, &Expr::int(0), out)?;
        let at = address(l, false, mem, at);
        let at = bind(l, "from", at, out);
        let regs: Vec<Reg> = envs.iter().map(|_| l.k.reg("x", ty)).collect();
        vars.extend(envs.iter().zip(&regs).map(|(env, r)| (env.of(&mut l.launch.g, n), Expr::Reg(*r))));
        access::load(l, mem, regs, at, out);
    }
    Ok(())
}
