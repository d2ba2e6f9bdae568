//! The verifier: the rules of well-formed kernels, which are checked for every kernel that the schedule writes.
//!
//! 1. All names are distinct, and every index refers to an existing item. (The schedule names registers by letters
//!    and a number, and everything else with an underscore behind the letters, so these names differ anyway.)
//! 2. Every expression is typed: operators take their operand types, conditions bool, indices and bounds i64 or i32.
//! 3. Registers and local arrays are used only where defined, and defined once; only `var` registers are assigned.
//! 4. Read arrays are not stored to, written arrays are not loaded from, and `finish` stores to no
//!    array. Only written arrays and shared memory are updated, by operators whose order is free.
//! 5. Slots that are read are not stored to. Slots are stored to in `finish` only, or by a GPU kernel.
//! 6. GPU kernels (`threads` > 0) have no `finish`, `tile_begin`, `tile_end` or `for`, and prefetch single cache
//!    lines; only they have shared memory, vector accesses, barriers, shuffles and arrivals. Only kernels with
//!    clusters have cluster barriers and stores to other blocks.
//!    Asynchronous copies are from aligned arrays to shared memory. Matrices are loaded from shared words (u32).
//!    A vector access has 2, 4, 8 or 16 elements of at most 16 bytes together, of an aligned array.

mod matrices;
mod updates;
mod words;

use super::{Expr, Kernel, Mem, Reg, Stmt};
use crate::error::{Error, Result};
use crate::scalar::Ty;
use rustc_hash::{FxBuildHasher, FxHashSet as HashSet};

/// Checks all rules.
pub fn verify(k: &Kernel) -> Result<()> {
    let check = Check { k };
    check.run().map_err(|m| Error::bug("E0402", format!("kernel @{}: {m}", k.name)))
}

struct Check<'a> {
    k: &'a Kernel,
}

/// What is in scope.
struct Scope {
    /// By number: whether a register is defined, whether it may be assigned, and whether a local array is declared.
    defined: Vec<bool>,
    vars: Vec<bool>,
    locals: Vec<bool>,
    /// The definitions in order. Those of a block go out of scope at its end.
    made: Vec<Made>,
    /// Whether the code is that of `finish`.
    finish: bool,
}

enum Made {
    Reg(Reg),
    Local(u32),
}

impl Scope {
    /// Defines a register, which exists. Returns whether it was undefined before.
    fn define(&mut self, r: Reg, var: bool) -> bool {
        let new = !self.defined[r.0 as usize];
        if new {
            self.made.push(Made::Reg(r));
            (self.defined[r.0 as usize], self.vars[r.0 as usize]) = (true, var);
        }
        new
    }

    fn has(&self, r: Reg) -> bool {
        self.defined.get(r.0 as usize) == Some(&true)
    }

    fn is_var(&self, r: Reg) -> bool {
        self.has(r) && self.vars[r.0 as usize]
    }

    /// Ends a block; `before` is the number of definitions before it.
    fn leave(&mut self, before: usize) {
        for made in self.made.drain(before..) {
            match made {
                Made::Reg(r) => self.defined[r.0 as usize] = false,
                Made::Local(l) => self.locals[l as usize] = false,
            }
        }
    }
}

type Check1 = std::result::Result<(), String>;

impl Check<'_> {
    fn run(&self) -> Check1 {
        let k = self.k;
        let all = k.arrays.iter().map(|a| &a.name).chain(k.locals.iter().map(|l| &l.0));
        let all = all.chain(k.scratch.iter().map(|s| &s.0)).chain(k.ins.iter().map(|i| &i.0));
        let all = all.chain(k.shared.iter().map(|s| &s.0));
        let count = k.regs.len();
        let (mut regs, mut ends) = (String::with_capacity(8 * count), Vec::with_capacity(count + 1));
        ends.push(0);
        for (name, _) in &k.regs {
            let _ = name.write(&mut regs);
            ends.push(regs.len());
        }
        let mut names = HashSet::with_capacity_and_hasher(count + 16, FxBuildHasher);
        let regs = ends.windows(2).map(|w| &regs[w[0]..w[1]]);
        let others = all.chain(k.slots.iter().map(|s| &s.name)).map(|name| &name[..]);
        for name in others.chain(regs) {
            if !names.insert(name) {
                return Err(format!("`{name}` is declared twice"));
            }
        }
        let gpu = k.threads > 0;
        if gpu && (k.finish.is_some() || !k.threads.is_multiple_of(super::WARP) || k.threads > 1024) {
            return Err(format!("{} threads", k.threads));
        }
        if !gpu
            && (k.narrow || k.min_resident_blocks > 0 || k.cluster > 0 || k.fetch > 0 || !k.shared.is_empty())
        {
            return Err("a CPU kernel with parts of a GPU kernel".into());
        }
        let shared = if k.shared.is_empty() { 0 } else { k.shared_layout().bytes };
        if shared > super::MAX_SHARED_ANYWHERE {
            return Err(format!("{shared} bytes of shared memory"));
        }
        if !matches!(k.cluster, 0 | 2 | 4 | 8) {
            return Err(format!("a cluster of {} blocks", k.cluster));
        }
        if !matches!(k.fetch, 0 | 64 | 128 | 256) {
            return Err(format!("{} bytes at once into a cache", k.fetch));
        }
        for (part, finish) in [(&k.main, false), (&k.finish, true)] {
            if let Some(body) = part {
                let mut scope = Scope {
                    defined: vec![false; k.regs.len()],
                    vars: vec![false; k.regs.len()],
                    locals: vec![false; k.locals.len()],
                    made: Vec::new(),
                    finish,
                };
                self.block(body, &mut scope)?;
            }
        }
        Ok(())
    }

    fn block(&self, body: &[Stmt], scope: &mut Scope) -> Check1 {
        for s in body {
            self.stmt(s, scope)?;
        }
        Ok(())
    }

    /// Checks an inner block.
    fn inside(&self, body: &[Stmt], scope: &mut Scope) -> Check1 {
        let before = scope.made.len();
        self.block(body, scope)?;
        scope.leave(before);
        Ok(())
    }

    fn want(&self, e: &Expr, ty: Ty, scope: &Scope) -> Check1 {
        let actual = self.expr(e, scope)?;
        if actual == ty { Ok(()) } else { Err(format!("{e:?} is {actual}, expected {ty}")) }
    }

    fn reg(&self, r: Reg) -> std::result::Result<Ty, String> {
        self.k.regs.get(r.0 as usize).map(|r| r.1).ok_or_else(|| format!("{r:?} does not exist"))
    }

    fn stmt(&self, s: &Stmt, scope: &mut Scope) -> Check1 {
        match s {
            Stmt::Let(r, e, _) | Stmt::Var(r, e) => {
                self.want(e, self.reg(*r)?, scope)?;
                let new = scope.define(*r, matches!(s, Stmt::Var(..)));
                if new { Ok(()) } else { Err(format!("{r:?} is defined twice")) }
            }
            Stmt::Local(l) => match scope.locals.get_mut(*l as usize) {
                None => Err(format!("local {l} does not exist")),
                Some(true) => Err(format!("local {l} is declared twice")),
                Some(declared) => {
                    *declared = true;
                    scope.made.push(Made::Local(*l));
                    Ok(())
                }
            },
            Stmt::Assign(r, e) => {
                if !scope.is_var(*r) {
                    return Err(format!("{r:?} is no var"));
                }
                self.want(e, self.reg(*r)?, scope)
            }
            Stmt::Store(m, i, e) => {
                if let Mem::Array(a) = m
                    && (scope.finish || !self.k.arrays.get(*a as usize).is_some_and(|a| a.write))
                {
                    return Err(format!("store to {m:?}"));
                }
                self.index(i, scope)?;
                self.want(e, self.mem(*m, scope)?, scope)
            }
            Stmt::Update(op, m, i, e) => self.update((*op, *m), i, e, scope),
            Stmt::StoreSlot(i, e) => {
                let allowed = scope.finish || self.gpu();
                let slot = self.k.slots.get(*i as usize).filter(|s| s.write && allowed);
                let slot = slot.ok_or_else(|| format!("store to slot {i}"))?;
                self.want(e, slot.ty, scope)
            }
            Stmt::For(r, a, b, body) | Stmt::Seq(r, a, b, body) => {
                let ty = self.index(a, scope)?;
                self.want(b, ty, scope)?;
                if self.gpu() && matches!(s, Stmt::For(..)) {
                    return Err("a `for` in a GPU kernel".into());
                }
                let before = scope.made.len();
                if self.reg(*r)? != ty || !scope.define(*r, false) {
                    return Err(format!("{r:?} is no fresh index"));
                }
                self.block(body, scope)?;
                scope.leave(before);
                Ok(())
            }
            Stmt::While(c, body) => {
                self.want(c, Ty::Bool, scope)?;
                self.inside(body, scope)
            }
            Stmt::If(c, a, b) => {
                self.want(c, Ty::Bool, scope)?;
                self.inside(a, scope)?;
                self.inside(b, scope)
            }
            Stmt::Record(site, c, at) => {
                if *site as usize >= self.k.sites.len() {
                    return Err(format!("site {site} does not exist"));
                }
                self.want(c, Ty::Bool, scope)?;
                self.want(at, Ty::I64, scope)
            }
            Stmt::Prefetch { wide: true, .. } if self.gpu() => Err("a wide prefetch in a GPU kernel".into()),
            Stmt::Prefetch { array, .. } if self.gpu() && !matches!(array, Mem::Array(_)) => {
                Err("a prefetch of what is no array".into())
            }
            Stmt::Prefetch { array, index, .. } => {
                self.mem(*array, scope)?;
                self.want(index, Ty::I64, scope)
            }
            Stmt::Note(_) => Ok(()),
            _ if !self.gpu() => Err(format!("{s:?} in a CPU kernel")),
            Stmt::LoadVec(regs, m, i) => {
                self.vector(*m, regs.len(), false, scope)?;
                self.index(i, scope)?;
                let ty = self.mem(*m, scope)?;
                for r in regs {
                    if self.reg(*r)? != ty || !scope.define(*r, false) {
                        return Err(format!("{r:?} is no fresh {ty}"));
                    }
                }
                Ok(())
            }
            Stmt::StoreVec(m, i, values) => {
                self.vector(*m, values.len(), true, scope)?;
                self.index(i, scope)?;
                let ty = self.mem(*m, scope)?;
                values.iter().try_for_each(|e| self.want(e, ty, scope))
            }
            Stmt::CopyAsync { .. }
            | Stmt::Count { .. }
            | Stmt::Pack(..)
            | Stmt::LoadMatrices { .. }
            | Stmt::MultiplyMatrices { .. }
            | Stmt::MultiplyStaged { .. } => self.matrices(s, scope),
            Stmt::ClusterBarrier { .. } | Stmt::StoreTo(..) if self.k.cluster == 0 => {
                Err(format!("{s:?} in a kernel without clusters"))
            }
            Stmt::Barrier | Stmt::ClusterBarrier { .. } | Stmt::CopyGroup => Ok(()),
            Stmt::CopyWait(_) | Stmt::MultiplyWait(_) => Ok(()),
            Stmt::StoreTo(m, i, rank, e) => {
                if !matches!(m, Mem::Shared(_)) {
                    return Err(format!("store to {m:?} of another block"));
                }
                self.index(i, scope)?;
                self.index(rank, scope)?;
                self.want(e, self.mem(*m, scope)?, scope)
            }
            Stmt::Arrive(..) | Stmt::Ticket(..) | Stmt::Publish(..) | Stmt::Await(..) | Stmt::Clear(_) => {
                self.exchanges(s, scope)
            }
        }
    }

    fn gpu(&self) -> bool {
        self.k.threads > 0
    }

    /// Checks an index: i64, or on a GPU i32.
    fn index(&self, e: &Expr, scope: &Scope) -> std::result::Result<Ty, String> {
        match self.expr(e, scope)? {
            Ty::I64 => Ok(Ty::I64),
            Ty::I32 if self.gpu() => Ok(Ty::I32),
            ty => Err(format!("an index of type {ty}")),
        }
    }

    /// Checks an access of several neighbours.
    fn vector(&self, m: Mem, count: usize, write: bool, scope: &Scope) -> Check1 {
        let allowed = match m {
            Mem::Array(a) => self.k.arrays.get(a as usize).is_some_and(|a| a.write == write && a.aligned),
            Mem::Scratch(_) | Mem::Shared(_) => true,
            Mem::Local(_) => false,
        };
        let bytes = count * self.mem(m, scope)?.size();
        if allowed && matches!(count, 2 | 4 | 8 | 16) && bytes <= 16 {
            Ok(())
        } else {
            Err(format!("{count} neighbours of {m:?} in one access"))
        }
    }

    fn mem(&self, m: Mem, scope: &Scope) -> std::result::Result<Ty, String> {
        let k = self.k;
        let ty = match m {
            Mem::Array(i) => k.arrays.get(i as usize).map(|a| a.ty),
            Mem::Local(i) if scope.locals.get(i as usize) != Some(&true) => {
                return Err(format!("{m:?} is used outside its scope"));
            }
            Mem::Local(i) => k.locals.get(i as usize).map(|l| l.1),
            Mem::Scratch(i) => k.scratch.get(i as usize).map(|s| s.1),
            Mem::Shared(i) => k.shared.get(i as usize).map(|s| s.1),
        };
        ty.ok_or_else(|| format!("{m:?} does not exist"))
    }

    fn expr(&self, e: &Expr, scope: &Scope) -> std::result::Result<Ty, String> {
        let k = self.k;
        let missing = || format!("{e:?} names something that is not there");
        Ok(match e {
            Expr::Lit(l) => l.ty,
            Expr::Reg(r) if !scope.has(*r) => {
                return Err(format!("{r:?} is used outside its scope"));
            }
            Expr::Reg(r) => self.reg(*r)?,
            Expr::In(i) => k.ins.get(*i as usize).ok_or_else(missing)?.1,
            Expr::Slot(i) => k.slots.get(*i as usize).filter(|s| !s.write).ok_or_else(missing)?.ty,
            Expr::Load(m, i) | Expr::LoadIf(m, i, _) => {
                if let Mem::Array(a) = m
                    && k.arrays.get(*a as usize).is_none_or(|a| a.write)
                {
                    return Err(format!("load from {m:?}"));
                }
                self.index(i, scope)?;
                if let Expr::LoadIf(_, _, c) = e {
                    self.want(c, Ty::Bool, scope)?;
                }
                self.mem(*m, scope)?
            }
            Expr::Unary(op, a) => {
                let ty = self.expr(a, scope)?;
                if op.accepts(ty) && !ty.is_half() {
                    op.result(ty)
                } else {
                    return Err(format!("{op} of {ty}"));
                }
            }
            Expr::Binary(op, a, b) => {
                let ty = self.expr(a, scope)?;
                self.want(b, ty, scope)?;
                if op.accepts(ty) && !ty.is_half() {
                    op.result(ty)
                } else {
                    return Err(format!("{op} of {ty}"));
                }
            }
            Expr::MulAdd(a, b, c) => {
                let ty = self.expr(a, scope)?;
                self.want(b, ty, scope)?;
                self.want(c, ty, scope)?;
                if ty.is_half() { return Err(format!("mul_add of {ty}")) } else { ty }
            }
            Expr::Select(c, a, b) => {
                self.want(c, Ty::Bool, scope)?;
                let ty = self.expr(a, scope)?;
                self.want(b, ty, scope)?;
                ty
            }
            Expr::Cast(to, a) => {
                let from = self.expr(a, scope)?;
                let other = if to.is_half() { from } else { *to };
                // the pass `half` leaves only casts from and to f32
                if (to.is_half() || from.is_half()) && other != Ty::F32 && from != *to {
                    return Err(format!("a cast from {from} to {to}"));
                }
                *to
            }
            Expr::TileBegin | Expr::TileEnd if !self.gpu() => Ty::I64,
            Expr::Place(_) if self.gpu() => Ty::I32,
            Expr::ShuffleDown(a, by) if self.gpu() && (1..super::WARP).contains(by) => self.expr(a, scope)?,
            Expr::ShuffleXor(a, by) if self.gpu() && by.is_power_of_two() && *by < super::WARP => {
                self.expr(a, scope)?
            }
            Expr::ShuffleUp(a, by) if self.gpu() && (1..super::WARP).contains(by) => self.expr(a, scope)?,
            Expr::Broadcast(a) if self.gpu() => self.expr(a, scope)?,
            _ => return Err(format!("{e:?} on the wrong kind of device")),
        })
    }
}
