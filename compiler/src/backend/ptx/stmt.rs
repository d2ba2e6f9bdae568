//! Prints statements, and translates structured control flow into labels and branches.

use super::Emitter;
use super::address::Address;
use super::regs::{Operand, operation_type};
use crate::kernel::{COPY_BYTES, Expr, Gpu, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty};

impl<'a> Emitter<'a> {
    pub fn stmt(&mut self, s: &Stmt) {
        match s {
            Stmt::Let(r, e, loc) => {
                if let Some(place) = loc.first()
                    && !self.line.as_ref().is_some_and(|line| line.is_short_as(place))
                {
                    self.comment(&place.short());
                    self.line = Some(place.clone());
                }
                self.assign(*r, e);
            }
            Stmt::Var(r, e) | Stmt::Assign(r, e) => self.assign(*r, e),
            Stmt::Store(m, i, e) => self.store(*m, i, e),
            Stmt::Update(op, m, i, e) => self.update(*op, *m, i, e),
            Stmt::StoreSlot(i, e) => self.store_slot(*i, e),
            Stmt::LoadVec(regs, m, i) => self.load_vec(regs, *m, i),
            Stmt::StoreVec(m, i, values) => self.store_vec(*m, i, values),
            Stmt::Seq(r, from, to, body) => self.seq(*r, from, to, body),
            Stmt::While(c, body) => self.repeat(|e| e.value(c), |e| e.block(body)),
            Stmt::If(c, then, otherwise) => self.branch(c, then, otherwise),
            Stmt::Record(site, c, at) => self.record(*site, c, at),
            Stmt::Note(text) => self.comment(text),
            Stmt::Barrier => code!(self, "bar.sync 0;"),
            Stmt::ClusterBarrier { relaxed } => {
                let order = if *relaxed { "relaxed" } else { "release" };
                code!(self, "barrier.cluster.arrive.{order}.aligned;");
                code!(self, "barrier.cluster.wait.acquire.aligned;");
            }
            Stmt::StoreTo(m, i, rank, e) => self.store_to_block(*m, i, rank, e),
            Stmt::Arrive(r, at, of) => self.arrive(*r, at, of),
            Stmt::Ticket(r, at) => self.ticket(*r, at),
            Stmt::Publish(at, value) => self.publish(at, value),
            Stmt::Await(to, at, given) => self.await_words(*to, at, given),
            Stmt::Clear(at) => {
                let address = self.counter(at);
                code!(self, "st.global.v4.u32 [{address}], {{0, 0, 0, 0}};");
            }
            Stmt::Count { old, at, index, bits } => self.count(*old, *at, index, *bits),
            Stmt::CopyAsync { bytes, to, at, from, index, given } => {
                let given = given.as_ref().map(|e| self.value(e));
                let (to, from) = (self.address(*to, at), self.address(*from, index));
                // only 16 bytes may leave out the first cache
                let is_whole = *bytes as usize == COPY_BYTES;
                let cache = if is_whole { "cg" } else { "ca" };
                let fetch = if is_whole { self.fetch() } else { String::new() };
                let Some(given) = given else {
                    return code!(self, "cp.async.{cache}.shared.global{fetch} {to}, {from}, {bytes};");
                };
                // what is not read is filled with zeros
                let read = self.regs.fresh(Ty::U32);
                code!(self, "selp.b32 {read}, {bytes}, 0, {given};");
                code!(self, "cp.async.{cache}.shared.global{fetch} {to}, {from}, {bytes}, {read};");
            }
            Stmt::Pack(r, values) => self.pack(*r, values),
            Stmt::CopyGroup => code!(self, "cp.async.commit_group;"),
            Stmt::CopyWait(n) => {
                code!(self, "cp.async.wait_group {n};");
                if self.multiplies_staged {
                    // those products see shared memory by another way than threads do
                    code!(self, "fence.proxy.async.shared::cta;");
                }
            }
            Stmt::LoadMatrices { regs, from, index, transposed } => {
                self.load_matrices(regs, *from, index, *transposed);
            }
            Stmt::MultiplyMatrices { ty, sums, rows, columns } => {
                self.multiply_matrices(*ty, sums, rows, columns);
            }
            Stmt::MultiplyStaged { ty, sums, from, rows, columns, across } => {
                self.multiply_staged(*ty, sums, (*from, rows, columns), *across);
            }
            Stmt::MultiplyWait(n) => code!(self, "wgmma.wait_group.sync.aligned {n};"),
            // declared at the top of the entry
            Stmt::Local(_) => {}
            Stmt::Prefetch { array, index, .. } => {
                let address = self.address(*array, index);
                code!(self, "prefetch.global.L2 {address};");
            }
            Stmt::For(..) => unreachable!("verified: a GPU kernel"),
        }
    }

    fn assign(&mut self, r: Reg, e: &Expr) {
        let dest = self.regs.of(r);
        self.compute(dest, e);
    }

    /// Writes a loop whose `condition` is computed before each iteration.
    fn repeat(&mut self, condition: impl FnOnce(&mut Self) -> Operand<'a>, body: impl FnOnce(&mut Self)) {
        let (head, end) = (self.label(), self.label());
        code!(self, "{head}:");
        self.scope(|e| {
            let c = condition(e);
            code!(e, "@!{c} bra {end};");
            body(e);
            code!(e, "bra {head};");
        });
        code!(self, "{end}:");
    }

    fn seq(&mut self, r: Reg, from: &Expr, to: &Expr, body: &[Stmt]) {
        self.assign(r, from);
        let ty = self.k.regs[r.0 as usize].1;
        let mut end = self.value(to);
        if matches!(to, Expr::Reg(r) if self.vars[r.0 as usize]) {
            // The bound keeps the value that it had before the loop.
            end = self.regs.fresh(ty);
            self.compute(end, to);
        }
        let (i, t) = (self.regs.of(r), operation_type(ty));
        self.repeat(
            |e| {
                let more = e.regs.fresh(Ty::Bool);
                code!(e, "setp.lt.{t} {more}, {i}, {end};");
                more
            },
            |e| {
                e.block(body);
                code!(e, "add.{t} {i}, {i}, 1;");
            },
        );
    }

    fn branch(&mut self, c: &Expr, then: &[Stmt], otherwise: &[Stmt]) {
        let c = self.value(c);
        if let ([only], []) = (then, otherwise)
            && self.predicated(c, only)
        {
            return;
        }
        let end = self.label();
        if otherwise.is_empty() {
            code!(self, "@!{c} bra {end};");
            self.scope(|e| e.block(then));
            return code!(self, "{end}:");
        }
        let no = self.label();
        code!(self, "@!{c} bra {no};");
        self.scope(|e| {
            e.block(then);
            code!(e, "bra {end};");
        });
        code!(self, "{no}:");
        self.scope(|e| e.block(otherwise));
        code!(self, "{end}:");
    }

    /// Predicates a statement that is only a load, without a branch, if its address may be computed
    /// when the condition is false.
    fn predicated(&mut self, c: Operand<'a>, s: &Stmt) -> bool {
        match s {
            Stmt::Assign(r, Expr::Load(m, i)) if self.k.mem(*m).1 != Ty::Bool && self.is_fixed(i) => {
                let dest = self.regs.of(*r);
                self.load_when(dest, *m, i, c);
                true
            }
            _ => false,
        }
    }

    /// Records the lowest failing element, as the maximum of the complements. Most threads that get
    /// here find a lower element recorded already.
    fn record(&mut self, site: u32, c: &Expr, at: &Expr) {
        let c = self.value(c);
        let end = self.label();
        let address = Address { register: Operand::Arg(self.params.records), offset: i64::from(site) * 8 };
        code!(self, "@!{c} bra {end};");
        self.scope(|e| {
            let at = e.value(at);
            let [value, old] = [(); 2].map(|()| e.regs.fresh(Ty::I64));
            let lower = e.regs.fresh(Ty::Bool);
            code!(e, "not.b64 {value}, {at};");
            code!(e, "ld.relaxed.gpu.global.u64 {old}, {address};");
            code!(e, "setp.gt.u64 {lower}, {value}, {old};");
            code!(e, "@{lower} red.relaxed.gpu.global.max.u64 {address}, {value};");
        });
        code!(self, "{end}:");
    }

    /// Counts an arrived block. `inc` wraps at its limit, so the counter returns to 0 by itself.
    fn arrive(&mut self, r: Reg, at: &Expr, of: &Expr) {
        let limit =
            Expr::binary(BinaryOp::Sub, cut(self.k.ty(of), of), Expr::Lit(crate::scalar::Lit::i32(1)));
        let limit = self.value(&limit);
        let (address, old) = (self.counter(at), self.regs.fresh(Ty::U32));
        code!(self, "atom.release.gpu.global.inc.u32 {old}, [{address}], {limit};");
        let (dest, end) = (self.regs.of(r), self.label());
        code!(self, "setp.eq.u32 {dest}, {old}, {limit};");
        // Only the last block reads what the others wrote.
        code!(self, "@!{dest} bra {end};");
        code!(self, "fence.acq_rel.gpu;");
        code!(self, "{end}:");
    }

    /// Counts at elements of shared memory, one lane after the other: the last one of the lanes of an element stores
    /// its number. Which lanes these are is found bit by bit: `match.any` takes time for each of the elements, of
    /// which there are up to 32.
    fn count(&mut self, old: Reg, at: Mem, index: &Expr, bits: u32) {
        let (address, index, dest) = (self.address(at, index), self.value(index), self.regs.of(old));
        let [peers, one, other] = [Ty::U32; 3].map(|ty| self.regs.fresh(ty));
        let (is_one, is_last) = (self.regs.fresh(Ty::Bool), self.regs.fresh(Ty::Bool));
        code!(self, "mov.u32 {peers}, 0xffffffff;");
        for bit in 0..bits {
            code!(self, "and.b32 {one}, {index}, {};", 1u32 << bit);
            code!(self, "setp.ne.u32 {is_one}, {one}, 0;");
            code!(self, "vote.sync.ballot.b32 {one}, {is_one}, 0xffffffff;");
            code!(self, "selp.b32 {other}, 0, 0xffffffff, {is_one};");
            code!(self, "lop3.b32 {peers}, {peers}, {one}, {other}, 0x60;");
        }
        code!(self, "mov.u32 {one}, %lanemask_gt;");
        code!(self, "and.b32 {one}, {peers}, {one};");
        code!(self, "setp.eq.u32 {is_last}, {one}, 0;");
        code!(self, "mov.u32 {one}, %lanemask_lt;");
        code!(self, "and.b32 {one}, {peers}, {one};");
        code!(self, "popc.b32 {one}, {one};");
        code!(self, "bar.warp.sync 0xffffffff;");
        code!(self, "ld.shared.u32 {other}, {address};");
        code!(self, "add.u32 {dest}, {other}, {one};");
        code!(self, "add.u32 {other}, {dest}, 1;");
        // every lane has read before one writes
        code!(self, "bar.warp.sync 0xffffffff;");
        code!(self, "@{is_last} st.shared.u32 {address}, {other};");
    }

    /// Reads the special registers that the kernel uses.
    pub fn places(&mut self) {
        code!(self, "mov.u32 {}, %tid.x;", Operand::Place(Gpu::Thread));
        code!(self, "mov.u32 {}, %ctaid.x;", Operand::Place(Gpu::Block));
        code!(self, "mov.u32 {}, %nctaid.x;", Operand::Place(Gpu::Blocks));
    }
}

fn cut(ty: Ty, e: &Expr) -> Expr {
    if ty == Ty::I32 { e.clone() } else { Expr::Cast(Ty::I32, Box::new(e.clone())) }
}
