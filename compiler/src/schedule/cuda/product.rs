//! Product: a matrix whose element (i, j) goes through values of (i, k) and values of (k, j): matrix products, distances of all pairs of points.
//!
//! A block has a square of results. Step by step of the inner index its threads read the rows' and the columns' values into shared memory, the next step's while they
//! compute with this one's (two buffers); rows lie there by columns, so that a thread reads four neighbours of both at once. Each thread has 8 x 8 results in
//! registers (4 x 4 of 8-byte elements and in small squares), in groups of four that are 64 apart: no two lanes meet in a bank. Which operand is transposed only
//! changes the direction in which it is read. Panels (semantics 5.7) are summed up every 512 indices.

use super::elements::stored;
use super::{bind, int32, thread, wide};
use crate::core::{NodeId, Op, PANEL, linear};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::canonical;
use crate::schedule::element::named;
use crate::schedule::items::{Item, Pass, domain};
use crate::schedule::lower::Lower;
use crate::schedule::nested::read;
use crate::schedule::nests::{self, Env, Order};
use crate::schedule::products::{Product, Side};

/// Of a block: 16 x 16.
pub const THREADS: u32 = 256;
const SIDE: i64 = 16;

/// How large a block's square is.
#[derive(Clone, Copy)]
pub struct Square {
    /// Rows and columns.
    pub size: i64,
    /// Inner indices of a step.
    depth: i64,
    /// Neighbours of one access.
    v: i64,
}

impl Square {
    /// Threads of a block read one vector each for every part: size * depth = 256 * v.
    fn new(size: i64, v: i64) -> Square {
        Square { size, depth: i64::from(THREADS) * v / size, v }
    }

    /// Rows, or columns, of a thread.
    fn each(self) -> i64 {
        self.size / SIDE
    }

    /// Elements from one inner index to the next in shared memory: a shift that keeps vectors aligned and transposed stores off each other's banks.
    fn pitch(self) -> i64 {
        self.size + self.v
    }
}

/// The squares that blocks may have, the largest first.
pub fn squares(l: &Lower, p: &Product) -> Vec<Square> {
    let parts = p.sides.iter().flat_map(|s| &s.parts).map(|n| l.g.ty(*n).elem.size());
    let widest = parts.chain([l.g.ty(p.of.inner[0].node).elem.size()]).max().unwrap_or(4);
    match (widest, p.sides.iter().map(|s| s.parts.len()).sum()) {
        (8, _) => vec![Square::new(64, 2)],
        (_, 2) => vec![Square::new(128, 4), Square::new(64, 4)],
        _ => vec![Square::new(64, 4)],
    }
}

/// What the code of a block is made of.
struct Block<'a> {
    p: &'a Product,
    square: Square,
    strided: bool,
    /// Two buffers for each part of each side.
    shared: [Vec<Mem>; 2],
    /// First row and column of the block.
    first: [Expr; 2],
    /// How many rows and columns there are.
    extents: [Expr; 2],
    count: Expr,
    /// The thread's place in the block's square: of rows and columns.
    place: [Expr; 2],
    /// The variables of the thread's rows and columns, and known values.
    vars: [Vec<NodeId>; 2],
    known: Vec<(NodeId, Expr)>,
}

/// A thread's results: sums and the chains that are being computed.
struct Results {
    sums: Vec<Reg>,
    chains: Vec<Reg>,
}

pub fn main(l: &mut Lower, pass: &Pass, p: &Product, square: Square, strided: bool) -> Result<Vec<Stmt>> {
    let items = stored(l, pass);
    l.loaded = None;
    let mut out = Vec::new();
    let extents = [pass.domain[0], pass.domain[1]].map(|n| l.host(n));
    let size = Expr::int(square.size);
    let up = |n: Expr| {
        let up = n.plus(Expr::int(square.size - 1));
        Expr::binary(BinaryOp::Shr, up, Expr::int(square.size.ilog2().into()))
    };
    let across = Expr::Cast(Ty::I32, Box::new(up(extents[1].clone())));
    let across = bind(l, "across", across, &mut out);
    let down =
        bind(l, "down", Expr::binary(BinaryOp::Div, Expr::Place(Gpu::Block), across.clone()), &mut out);
    let right = Expr::Place(Gpu::Block).minus(down.clone().times(across));
    let first = [down, right].map(|at| bind(l, "first", wide(at).times(size.clone()), &mut out));
    let place = [
        Expr::binary(BinaryOp::Shr, thread(), int32(SIDE.ilog2() as i32)),
        Expr::binary(BinaryOp::And, thread(), int32(SIDE as i32 - 1)),
    ]
    .map(|at| bind(l, "place", at.times(int32(square.v as i32)), &mut out));
    let count = l.region(&[], &[p.of.extent], None, &Expr::int(0), &mut out)?.remove(0);
    let buffers = |l: &mut Lower, side: &Side| {
        let types: Vec<Ty> = side.parts.iter().map(|n| l.g.ty(*n).elem).collect();
        let len = (2 * square.depth * square.pitch()) as u32;
        types.into_iter().map(|ty| l.k.share("side", ty, len)).collect::<Vec<Mem>>()
    };
    let shared = [buffers(l, &p.sides[0]), buffers(l, &p.sides[1])];
    let mut b = Block {
        p,
        square,
        strided,
        shared,
        first,
        extents,
        count,
        place,
        vars: [Vec::new(), Vec::new()],
        known: Vec::new(),
    };
    b.own(l, &mut out)?;
    let results = b.begin(l, &mut out)?;
    let full = (0..2).map(|s| {
        let end = b.first[s].clone().plus(size.clone());
        Expr::binary(BinaryOp::Le, end, b.extents[s].clone())
    });
    let full = full.reduce(|x, y| Expr::binary(BinaryOp::And, x, y)).expect("two sides");
    let full = bind(l, "full", full, &mut out);
    let (mut inside, mut border) = (Vec::new(), Vec::new());
    b.walk(l, &results, true, &mut inside)?;
    b.walk(l, &results, false, &mut border)?;
    out.push(Stmt::If(full.clone(), inside, border));
    // in place: all have read before any stores
    out.push(Stmt::Barrier);
    b.end(l, &results, &items, &full, &mut out)?;
    Ok(out)
}

fn and(list: impl Iterator<Item = Expr>) -> Option<Expr> {
    list.reduce(|a, b| Expr::binary(BinaryOp::And, a, b))
}

impl Block<'_> {
    /// Where in the block's square the thread's `r`-th row or column lies, beside its place.
    fn offset(&self, r: i64) -> i64 {
        r / self.square.v * SIDE * self.square.v + r % self.square.v
    }

    /// The index of the thread's `r`-th row (side 0) or column.
    fn index(&self, side: usize, r: i64) -> Expr {
        self.first[side].clone().plus(wide(self.place[side].clone())).plus(Expr::int(self.offset(r)))
    }

    /// Variables of the thread's rows and columns; what depends on them only.
    fn own(&mut self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<()> {
        for side in 0..2 {
            for r in 0..self.square.each() {
                let (_, var) = l.g.fresh_var(Ty::I64);
                let last = self.extents[side].clone().minus(Expr::int(1));
                let at = self.index(side, r);
                self.known.push((var, at.clone()));
                self.vars[side].push(var);
                let env = Env::default().with(&l.g, self.p.outer[side], var);
                let parts = &self.p.sides[side].invariants;
                if !parts.is_empty() {
                    let nodes: Vec<NodeId> = parts.iter().map(|n| env.of(&mut l.g, *n)).collect();
                    // behind the border: the last one's, in vain
                    let at = named(l, "inner", at.min(last), out);
                    let values = l.region(&[(var, at)], &nodes, None, &Expr::int(0), out)?;
                    for (n, e) in nodes.into_iter().zip(values) {
                        let e = named(l, "own", e, out);
                        self.known.push((n, e));
                    }
                }
            }
        }
        Ok(())
    }

    /// Declares the results.
    fn begin(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<Results> {
        let inner = &self.p.of.inner[0];
        let panels = self.p.of.order == Order::Panels;
        let start = match panels {
            true => Expr::Lit(Lit::no_sum(inner.ty)),
            false => l.region(&[], &[inner.init], None, &Expr::int(0), out)?.remove(0),
        };
        let mut declare = |name: &str| -> Vec<Reg> {
            let regs: Vec<Reg> = (0..self.square.each().pow(2)).map(|_| l.k.reg(name, inner.ty)).collect();
            out.extend(regs.iter().map(|r| Stmt::Var(*r, start.clone())));
            regs
        };
        Ok(Results { chains: declare("chain"), sums: if panels { declare("sum") } else { Vec::new() } })
    }

    /// Through all inner indices. `full`: the square is inside of the matrix.
    fn walk(&self, l: &mut Lower, results: &Results, full: bool, out: &mut Vec<Stmt>) -> Result<()> {
        let depth = self.square.depth;
        let shift = Expr::int(depth.ilog2().into());
        let steps = bind(l, "steps", Expr::binary(BinaryOp::Shr, self.count.clone(), shift), out);
        let any = Expr::binary(BinaryOp::Gt, steps.clone(), Expr::int(0));
        let mut first = Vec::new();
        let fetched = self.fetch(l, &Expr::int(0), full, false, &mut first)?;
        self.put(l, fetched, int32(0), &mut first);
        first.push(Stmt::Barrier);
        let (step, mut body) = (l.k.reg("step", Ty::I64), Vec::new());
        let next = Expr::Reg(step).plus(Expr::int(1));
        // behind the last step it is read once more, in vain
        let last = steps.clone().minus(Expr::int(1));
        let k = bind(l, "k", next.clone().min(last).times(Expr::int(depth)), &mut body);
        let fetched = self.fetch(l, &k, full, false, &mut body)?;
        let low = Expr::Cast(Ty::I32, Box::new(Expr::Reg(step)));
        let which = Expr::binary(BinaryOp::And, low, int32(1));
        let which = bind(l, "which", which, &mut body);
        let base = Expr::Reg(step).times(Expr::int(depth));
        if full && !self.strided {
            let places = self.places(l, &which, &mut body);
            for kk in 0..depth {
                self.step(
                    l,
                    results,
                    &places,
                    kk * self.square.pitch(),
                    base.clone().plus(Expr::int(kk)),
                    &mut body,
                )?;
            }
        } else {
            self.rolled(l, results, &which, &base, int32(depth as i32), &mut body)?;
        }
        self.close_panel(l, results, &next, &mut body);
        let other = int32(1).minus(which);
        self.put(l, fetched, other, &mut body);
        body.push(Stmt::Barrier);
        first.push(Stmt::Seq(step, Expr::int(0), steps.clone(), body));
        out.push(Stmt::If(any, first, vec![]));
        // what is left is less than a step
        let done = bind(l, "done", steps.times(Expr::int(depth)), out);
        let left = self.count.clone().minus(done.clone());
        let left = bind(l, "left", Expr::Cast(Ty::I32, Box::new(left)), out);
        let mut rest = Vec::new();
        let fetched = self.fetch(l, &done, full, true, &mut rest)?;
        self.put(l, fetched, int32(0), &mut rest);
        rest.push(Stmt::Barrier);
        self.rolled(l, results, &int32(0), &done, left.clone(), &mut rest)?;
        out.push(Stmt::If(Expr::binary(BinaryOp::Gt, left, int32(0)), rest, vec![]));
        Ok(())
    }

    /// At the end of each panel its chains join the sums.
    fn close_panel(&self, l: &mut Lower, results: &Results, next: &Expr, out: &mut Vec<Stmt>) {
        let steps = PANEL / self.square.depth;
        let part = Expr::binary(BinaryOp::And, next.clone(), Expr::int(steps - 1));
        let body = self.join(l, results);
        if !body.is_empty() {
            out.push(Stmt::If(Expr::binary(BinaryOp::Eq, part, Expr::int(0)), body, vec![]));
        }
    }

    fn join(&self, _: &mut Lower, results: &Results) -> Vec<Stmt> {
        let nothing = Expr::Lit(Lit::no_sum(self.p.of.inner[0].ty));
        let pairs = results.sums.iter().zip(&results.chains);
        let join = |(s, c): (&Reg, &Reg)| {
            let sum = Expr::Reg(*s).plus(Expr::Reg(*c));
            [Stmt::Assign(*s, sum), Stmt::Assign(*c, nothing.clone())]
        };
        pairs.flat_map(join).collect()
    }

    /// Where the thread's first row and column of a buffer begin.
    fn places(&self, l: &mut Lower, which: &Expr, out: &mut Vec<Stmt>) -> [Expr; 2] {
        let len = int32((self.square.depth * self.square.pitch()) as i32);
        [0, 1].map(|s| bind(l, "at", which.clone().times(len.clone()).plus(self.place[s].clone()), out))
    }

    /// `count` inner indices, one after another in a loop.
    fn rolled(
        &self,
        l: &mut Lower,
        results: &Results,
        which: &Expr,
        base: &Expr,
        count: Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (kk, mut body) = (l.k.reg("kk", Ty::I32), Vec::new());
        let places = self.places(l, which, out);
        let row = Expr::Reg(kk).times(int32(self.square.pitch() as i32));
        let places = places.map(|p| bind(l, "at", p.plus(row.clone()), &mut body));
        self.step(l, results, &places, 0, base.clone().plus(wide(Expr::Reg(kk))), &mut body)?;
        out.push(Stmt::Seq(kk, int32(0), count, body));
        Ok(())
    }

    /// One inner index, for all of the thread's results.
    fn step(
        &self,
        l: &mut Lower,
        results: &Results,
        places: &[Expr; 2],
        offset: i64,
        k: Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (_, index) = l.g.fresh_var(Ty::I64);
        let mut vars = self.known.clone();
        vars.push((index, k));
        let (v, each) = (self.square.v, self.square.each());
        let at_k = Env::default().with(&l.g, self.p.k, index);
        for (side, place) in places.iter().enumerate() {
            for (part, m) in self.p.sides[side].parts.iter().zip(&self.shared[side]) {
                let ty = l.g.ty(*part).elem;
                for group in 0..each / v {
                    let regs: Vec<Reg> = (0..v).map(|_| l.k.reg("s", ty)).collect();
                    let at = place.clone().plus(int32((offset + group * SIDE * v) as i32));
                    for (r, reg) in (group * v..).zip(&regs) {
                        let env = at_k.with(&l.g, self.p.outer[side], self.vars[side][r as usize]);
                        vars.push((env.of(&mut l.g, *part), Expr::Reg(*reg)));
                    }
                    out.push(Stmt::LoadVec(regs, *m, at));
                }
            }
        }
        let inner = &self.p.of.inner[0];
        let mut roots = Vec::new();
        for (r, i) in self.vars[0].iter().enumerate() {
            let row = at_k.with(&l.g, self.p.outer[0], *i);
            for (c, j) in self.vars[1].iter().enumerate() {
                let (_, before) = l.g.fresh_var(inner.ty);
                vars.push((before, Expr::Reg(results.chains[r * each as usize + c])));
                let env = row.with(&l.g, self.p.outer[1], *j).with(&l.g, inner.acc, before);
                roots.push(env.of(&mut l.g, inner.next));
            }
        }
        let values = l.region(&vars, &roots, None, &Expr::int(0), out)?;
        out.extend(results.chains.iter().zip(values).map(|(r, e)| Stmt::Assign(*r, e)));
        Ok(())
    }

    /// The thread's vector of a side: the place of its first element among rows (or columns) and inner indices.
    fn vector(&self, side: &Side) -> [Expr; 2] {
        let Square { size, depth, v } = self.square;
        let run = if side.along_k { depth } else { size } / v;
        let major = Expr::binary(BinaryOp::Shr, thread(), int32(run.ilog2() as i32));
        let minor = Expr::binary(BinaryOp::And, thread(), int32(run as i32 - 1)).times(int32(v as i32));
        if side.along_k { [major, minor] } else { [minor, major] }
    }

    /// Reads the thread's share of the step at inner index `base`. `short`: it is not full.
    fn fetch(
        &self,
        l: &mut Lower,
        base: &Expr,
        full: bool,
        short: bool,
        out: &mut Vec<Stmt>,
    ) -> Result<[Vec<Vec<Expr>>; 2]> {
        let mut both = [Vec::new(), Vec::new()];
        for (s, values) in both.iter_mut().enumerate() {
            let side = &self.p.sides[s];
            let [own, k] = self.vector(side);
            let own = bind(l, "own", self.first[s].clone().plus(wide(own)), out);
            let k = bind(l, "k", base.clone().plus(wide(k)), out);
            let whole = full && !short;
            let (vars, envs) = self.neighbours(l, s, [own.clone(), k.clone()]);
            if whole {
                let mut vars = vars;
                if !self.strided {
                    self.vectors(l, s, &envs, &mut vars, out)?;
                }
                *values = self.values(l, s, &envs, &vars, out)?;
                continue;
            }
            let types: Vec<Ty> = side.parts.iter().map(|n| l.g.ty(*n).elem).collect();
            *values = vec![Vec::new(); types.len()];
            for (u, env) in (0..).zip(envs) {
                let at = |e: &Expr, moves: bool| if moves { e.clone().plus(Expr::int(u)) } else { e.clone() };
                let bounds = [
                    (!full).then(|| {
                        Expr::binary(BinaryOp::Lt, at(&own, !side.along_k), self.extents[s].clone())
                    }),
                    short.then(|| Expr::binary(BinaryOp::Lt, at(&k, side.along_k), self.count.clone())),
                ];
                let regs: Vec<Reg> = types.iter().map(|ty| l.k.reg("x", *ty)).collect();
                out.extend(regs.iter().zip(&types).map(|(r, ty)| Stmt::Var(*r, Expr::Lit(Lit::zero(*ty)))));
                let mut body = Vec::new();
                let list = self.values(l, s, &[env], &vars, &mut body)?;
                body.extend(regs.iter().zip(list).map(|(r, e)| Stmt::Assign(*r, e[0].clone())));
                match and(bounds.into_iter().flatten()) {
                    Some(inside) => out.push(Stmt::If(inside, body, vec![])),
                    None => out.append(&mut body),
                }
                values.iter_mut().zip(read(&regs)).for_each(|(list, e)| list.push(e));
            }
        }
        Ok(both)
    }

    /// Variables for the first element of a vector, and the template's values for each of its elements.
    fn neighbours(&self, l: &mut Lower, s: usize, at: [Expr; 2]) -> (Vec<(NodeId, Expr)>, Vec<Env>) {
        let [own, k] = [l.g.fresh_var(Ty::I64).1, l.g.fresh_var(Ty::I64).1];
        let env = |l: &mut Lower, u: i64| {
            let offset = l.g.lit(Lit::i64(u));
            let (mut own, mut k) = (own, k);
            let moved = if self.p.sides[s].along_k { &mut k } else { &mut own };
            *moved = linear::add(&mut l.g, *moved, offset);
            Env::default().with(&l.g, self.p.outer[s], own).with(&l.g, self.p.k, k)
        };
        let envs = (0..self.square.v).map(|u| env(l, u)).collect();
        let [at_own, at_k] = at;
        (vec![(own, at_own), (k, at_k)], envs)
    }

    /// The parts' values at some neighbours.
    fn values(
        &self,
        l: &mut Lower,
        s: usize,
        envs: &[Env],
        vars: &[(NodeId, Expr)],
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Vec<Expr>>> {
        let parts = &self.p.sides[s].parts;
        let mut all = vec![Vec::new(); parts.len()];
        for env in envs {
            let roots: Vec<NodeId> = parts.iter().map(|n| env.of(&mut l.g, *n)).collect();
            let values = l.region(vars, &roots, None, &Expr::int(0), out)?;
            for (list, e) in all.iter_mut().zip(values) {
                list.push(named(l, "x", e, out));
            }
        }
        Ok(all)
    }

    /// Reads by vectors what lies side by side.
    fn vectors(
        &self,
        l: &mut Lower,
        s: usize,
        envs: &[Env],
        vars: &mut Vec<(NodeId, Expr)>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let side = &self.p.sides[s];
        let along = if side.along_k { self.p.k } else { self.p.outer[s] };
        for n in l.g.reachable(side.parts.iter().copied()) {
            let Op::Elem(x, index) = l.g.op(n).clone() else { continue };
            let (last, outer) = index.split_last().expect("an index an axis");
            let moves =
                |n: &NodeId| nests::depends(&l.g, *n, &[along, self.p.k, self.p.outer[s]]) || *n == along;
            if *last != along || outer.iter().any(moves) {
                continue;
            }
            let ty = l.g.ty(x).elem;
            let mem = l.input(x, false);
            let roots: Vec<NodeId> = index.iter().map(|n| envs[0].of(&mut l.g, *n)).collect();
            let at = l.region(vars, &roots, None, &Expr::int(0), out)?;
            let at = self.address(l, mem, at);
            let at = bind(l, "from", at, out);
            let regs: Vec<Reg> = envs.iter().map(|_| l.k.reg("x", ty)).collect();
            vars.extend(envs.iter().zip(&regs).map(|(env, r)| (env.of(&mut l.g, n), Expr::Reg(*r))));
            l.vector(mem);
            out.push(Stmt::LoadVec(regs, mem, at));
        }
        Ok(())
    }

    /// Where an element lies.
    fn address(&self, l: &mut Lower, mem: Mem, index: Vec<Expr>) -> Expr {
        let last = index.len() - 1;
        let terms =
            index.into_iter().enumerate().map(|(axis, e)| match axis < last || last > 0 && self.strided {
                true => e.times(l.stride(mem, axis as u8)),
                false => e,
            });
        terms.reduce(Expr::plus).expect("an index an axis")
    }

    /// Stores what was fetched into a buffer.
    fn put(&self, l: &mut Lower, fetched: [Vec<Vec<Expr>>; 2], which: Expr, out: &mut Vec<Stmt>) {
        let pitch = self.square.pitch();
        for (s, parts) in fetched.into_iter().enumerate() {
            let side = &self.p.sides[s];
            let [own, k] = self.vector(side);
            let buffer = which.clone().times(int32((self.square.depth * pitch) as i32));
            let at = buffer.plus(k.times(int32(pitch as i32))).plus(own);
            let at = bind(l, "to", at, out);
            for (m, values) in self.shared[s].iter().zip(parts) {
                if side.along_k {
                    let each = values.into_iter().zip(0..);
                    out.extend(
                        each.map(|(e, u)| Stmt::Store(*m, at.clone().plus(int32(u * pitch as i32)), e)),
                    );
                } else {
                    out.push(Stmt::StoreVec(*m, at.clone(), values));
                }
            }
        }
    }

    /// The last panel joins; then the elements are computed and stored.
    fn end(
        &self,
        l: &mut Lower,
        results: &Results,
        items: &[&Item],
        full: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        out.append(&mut self.join(l, results));
        let inner = &self.p.of.inner[0];
        let (values, each) =
            (if results.sums.is_empty() { &results.chains } else { &results.sums }, self.square.each());
        for r in 0..each {
            for c in 0..each {
                let (i, j) = (self.vars[0][r as usize], self.vars[1][c as usize]);
                let env = Env::default().with(&l.g, self.p.outer[0], i).with(&l.g, self.p.outer[1], j);
                let mut body = Vec::new();
                let at = [self.index(0, r), self.index(1, c)];
                let mut vars = self.known.clone();
                let mut value = Expr::Reg(values[(r * each + c) as usize]);
                if !results.sums.is_empty() {
                    let init = env.of(&mut l.g, inner.init);
                    value = l.region(&vars, &[init], None, &Expr::int(0), &mut body)?.remove(0).plus(value);
                }
                let value = named(l, "result", value, &mut body);
                vars.push((env.of(&mut l.g, inner.node), value));
                let roots: Vec<NodeId> = self.p.roots.iter().map(|n| env.of(&mut l.g, *n)).collect();
                let list = l.region(&vars, &roots, None, &Expr::int(0), &mut body)?;
                let list: Vec<Expr> = list.into_iter().map(|e| named(l, "value", e, &mut body)).collect();
                for (item, e) in items.iter().zip(list) {
                    let (mem, ty) = (l.output(item), l.g.ty(item.node).elem);
                    debug_assert_eq!(domain(&l.g, item.node).len(), 2);
                    let to = self.address(l, mem, at.to_vec());
                    let e = canonical(e, ty, &mut l.k, &mut body);
                    body.push(Stmt::Store(mem, to, e));
                }
                let inside =
                    (0..2).map(|s| Expr::binary(BinaryOp::Lt, at[s].clone(), self.extents[s].clone()));
                let inside = and(inside).expect("two sides");
                out.push(Stmt::If(Expr::binary(BinaryOp::Or, full.clone(), inside), body, vec![]));
            }
        }
        Ok(())
    }
}
