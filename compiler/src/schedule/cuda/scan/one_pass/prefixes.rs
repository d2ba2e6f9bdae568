//! The prefixes of tiles in a scan in one pass. Blocks take tiles by ticket, publish their totals in words of memory,
//! await the totals of earlier tiles, and clear the words at the end. A word holds 4 bytes of a value and a mark that
//! they are there.

use crate::core::{SCAN_GROUP, SCAN_TILE};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Reg, Stmt, WARP};
use crate::plan::gpu::TICKET_COUNTERS;
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::expressions::{int32, thread};
use crate::schedule::cuda::levels;
use crate::schedule::cuda::partial_tile::assigned;
use crate::schedule::cuda::scan::compact::sum_of_half_warp;
use crate::schedule::cuda::scan::{Code, Value, load_all, store_all};
use crate::schedule::element::lower::{Lower, bind};

/// The numbers of two counters: of tickets, and of blocks that have no tile left.
const TICKETS: i32 = 0;
const ARRIVALS: i32 = 1;
/// The number of tiles of a group.
const GROUP: i32 = (SCAN_GROUP / SCAN_TILE) as i32;

/// What a block keeps from turn to turn of its loop over tiles, to know their prefixes.
pub(super) struct Prefixes<'a> {
    code: &'a Code<'a>,
    /// The number of tiles (i32).
    pub tiles: Expr,
    /// The next tile, whose total is published before the present tile is completed; and the present tile, or -1.
    pub next: Reg,
    pub present: Reg,
    /// A group of tiles, and its prefix, as far as the block has joined totals.
    group: Reg,
    before: Vec<Reg>,
    /// Where in `groups` the half begins that the next round uses (double buffering).
    half: Reg,
    /// Shared memory: the newest tickets; the totals of groups; the prefix of the present tile within its group.
    pub ticket: Mem,
    groups: Vec<Mem>,
    inside: Vec<Mem>,
}

impl<'a> Prefixes<'a> {
    /// Declares what the loop needs, before it begins.
    pub fn new(l: &mut Lower, code: &'a Code<'a>, out: &mut Vec<Stmt>) -> Result<Prefixes<'a>> {
        let tiles = Expr::Cast(Ty::I32, Box::new(l.launch.count()));
        let tiles = bind(l, "tiles", tiles, out);
        let (_, index) = l.launch.g.fresh_var(Ty::I64);
        let init = code.scan.before(&mut l.launch.g, index);
        let init = l.region(&[], &init, &Expr::int(0), out)?;
        let before: Vec<Reg> = code.types().map(|ty| l.k.reg("groups", ty)).collect();
        out.extend(before.iter().zip(init).map(|(r, e)| Stmt::Var(*r, code.computed(e))));
        let [next, present] = [("next", 0), ("present", -1)].map(|(name, n)| number(l, name, n, out));
        let [group, half] = [number(l, "group", 0, out), number(l, "half", 0, out)];
        let ticket = l.k.share("ticket", Ty::I32, 2);
        let groups = code.share(l, "groups", 2 * i64::from(code.warps()));
        let inside = code.share(l, "inside", 1);
        Ok(Prefixes { code, tiles, next, present, group, before, half, ticket, groups, inside })
    }

    /// Returns the code by which a thread takes a ticket.
    pub fn take(taken: Reg) -> Stmt {
        Stmt::Ticket(taken, int32(TICKETS))
    }

    /// Returns the code by which a thread publishes the total of the next tile.
    pub fn publish(&self, l: &mut Lower, total: Value, out: &mut Vec<Stmt>) -> Vec<Stmt> {
        let word = self.word(l, Expr::Reg(self.next), out);
        word.into_iter().zip(total).map(|(at, value)| Stmt::Publish(at, value)).collect()
    }

    /// Returns the place of a tile's first word for each component, as the number of a counter of 4 bytes. A word is
    /// two counters.
    fn word(&self, l: &mut Lower, tile: Expr, out: &mut Vec<Stmt>) -> Vec<Expr> {
        let counters: Vec<i32> = self.code.types().map(|ty| ty.size() as i32 / 2).collect();
        let first = tile.times(int32(counters.iter().sum())).plus(int32(TICKET_COUNTERS as i32));
        let first = bind(l, "word", first, out);
        let offsets = counters.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum - count)
        });
        offsets.map(|offset| first.clone().plus(int32(offset))).collect()
    }

    /// Awaits earlier totals, and returns the prefix of the present tile.
    pub fn of_present(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<Value> {
        let code = self.code;
        let present = Expr::Reg(self.present);
        let group = Expr::binary(BinaryOp::Shr, present.clone(), int32(GROUP.ilog2() as i32));
        let group = bind(l, "of", group, out);
        let place = Expr::binary(BinaryOp::And, present, int32(GROUP - 1));
        let place = bind(l, "place", place, out);
        let mut round = l.in_block(|l| self.round(l, &group, &place))?;
        round.push(Stmt::Assign(self.half, int32(code.warps()).minus(Expr::Reg(self.half))));
        round.push(Stmt::Assign(self.group, Expr::Reg(self.group).plus(int32(code.warps()))));
        out.push(Stmt::While(Expr::binary(BinaryOp::Le, Expr::Reg(self.group), group.clone()), round));
        out.push(Stmt::Assign(self.group, group));
        let outer: Vec<Reg> = code.types().map(|ty| l.k.reg("outer", ty)).collect();
        let groups: Value = self.before.iter().map(|r| Expr::Reg(*r)).collect();
        out.extend(outer.iter().zip(&groups).map(|(r, e)| Stmt::Var(*r, e.clone())));
        let mut later = Vec::new();
        l.in_block(|l| {
            let inside = load_all(l, &self.inside, &int32(0), &mut later);
            let joined = code.operator.join(l, &groups, &inside, &mut later)?;
            later.extend(assigned(&outer, &joined));
            Ok::<_, crate::error::Error>(())
        })?;
        out.push(Stmt::If(Expr::binary(BinaryOp::Gt, place, int32(0)), later, vec![]));
        Ok(outer.iter().map(|r| Expr::Reg(*r)).collect())
    }

    /// Returns the code of a round, in which each warp has one of the groups from `self.group` on, up to the present
    /// tile's group. Each lane awaits the total of one tile that is before the present one, and the warp scans them.
    /// Then all threads join the totals of the groups before the present tile's. The first warp has published just
    /// before, so it gets the last group of the round.
    fn round(&self, l: &mut Lower, group: &Expr, place: &Expr) -> Result<Vec<Stmt>> {
        let (code, mut out) = (self.code, Vec::new());
        let warps = code.warps();
        let slot = code.warp.clone().plus(int32(warps - 1));
        let slot = bind(l, "slot", Expr::binary(BinaryOp::And, slot, int32(warps - 1)), &mut out);
        let awaited = bind(l, "awaited", Expr::Reg(self.group).plus(slot.clone()), &mut out);
        let mut of_warp = Vec::new();
        l.in_block(|l| {
            let out = &mut of_warp;
            let tile = bind(l, "tile", awaited.clone().times(int32(GROUP)).plus(code.lane.clone()), out);
            let given = Expr::binary(BinaryOp::Lt, tile.clone(), Expr::Reg(self.present));
            let given = bind(l, "given", given, out);
            let mut total = Value::new();
            for (at, ty) in self.word(l, tile, out).into_iter().zip(code.types()) {
                let to = l.k.reg("total", ty);
                out.push(Stmt::Await(to, at, given.clone()));
                total.push(Expr::Reg(to));
            }
            let mut inside = [total.clone()];
            let total = code.halve(l, total, &mut inside, out)?;
            let at = slot.clone().plus(Expr::Reg(self.half));
            let is_first = Expr::binary(BinaryOp::Eq, code.lane.clone(), int32(0));
            out.push(Stmt::If(is_first, store_all(&self.groups, &at, &total), vec![]));
            let is_own = Expr::binary(BinaryOp::Eq, awaited.clone(), group.clone());
            let is_last = Expr::binary(BinaryOp::Eq, code.lane.clone(), place.clone().minus(int32(1)));
            let is_last = Expr::binary(BinaryOp::And, is_own, is_last);
            out.push(Stmt::If(is_last, store_all(&self.inside, &int32(0), &inside[0]), vec![]));
            Ok::<_, crate::error::Error>(())
        })?;
        out.push(Stmt::If(Expr::binary(BinaryOp::Le, awaited, group.clone()), of_warp, vec![]));
        out.push(Stmt::Barrier);
        let count = group.clone().minus(Expr::Reg(self.group)).min(int32(warps));
        let count = bind(l, "count", count, &mut out);
        let mut join = Vec::new();
        if code.scan.in_32_bits {
            // numbers are added in any order: each lane has that of a group
            l.in_block(|l| {
                let number = Expr::binary(BinaryOp::And, code.lane.clone(), int32(warps - 1));
                let number = bind(l, "number", number, &mut join);
                let at = number.clone().min(count.clone().minus(int32(1))).plus(Expr::Reg(self.half));
                let own = load_all(l, &self.groups, &at, &mut join).remove(0);
                let is_there = Expr::binary(BinaryOp::Lt, number, count.clone());
                let own = bind(l, "own", is_there.select(own, int32(0)), &mut join);
                let sum = sum_of_half_warp(l, own, &mut join);
                join.push(Stmt::Assign(self.before[0], Expr::Reg(self.before[0]).plus(sum)));
            });
            out.push(Stmt::If(Expr::binary(BinaryOp::Gt, count, int32(0)), join, vec![]));
            return Ok(out);
        }
        let i = l.k.reg("i", Ty::I32);
        l.in_block(|l| {
            let total = load_all(l, &self.groups, &Expr::Reg(i).plus(Expr::Reg(self.half)), &mut join);
            let groups: Value = self.before.iter().map(|r| Expr::Reg(*r)).collect();
            let joined = code.operator.join(l, &groups, &total, &mut join)?;
            join.extend(assigned(&self.before, &joined));
            Ok::<_, crate::error::Error>(())
        })?;
        out.push(Stmt::Seq(i, int32(0), count, join));
        Ok(out)
    }

    /// Lets the block arrive at the end. Returns the code of the last block to arrive, which clears tickets and
    /// words, and the condition that this block is the last.
    pub fn clear(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> (Vec<Stmt>, Expr) {
        let flag = l.k.share("last", Ty::Bool, 1);
        out.push(Stmt::Barrier);
        let is_last = levels::arrive(l, (flag, 0), (int32(ARRIVALS), Expr::Place(Gpu::Blocks)), None, out);
        let i = l.k.reg("i", Ty::I32);
        let counters: i32 = self.code.types().map(|ty| ty.size() as i32 / 2).sum();
        let all = self.tiles.clone().times(int32(counters)).plus(int32(TICKET_COUNTERS as i32));
        let mut clear = vec![Stmt::Var(i, thread().times(int32(4)))];
        let step = int32(4 * self.code.layout.threads as i32);
        let body = vec![Stmt::Clear(Expr::Reg(i)), Stmt::Assign(i, Expr::Reg(i).plus(step))];
        clear.push(Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(i), all), body));
        (clear, is_last)
    }
}

impl Code<'_> {
    /// Returns the number of warps of a block, which is also the number of groups whose totals it awaits in a round.
    pub(super) fn warps(&self) -> i32 {
        (self.layout.threads / WARP) as i32
    }
}

/// Declares a register of a number of 32 bits.
pub(super) fn number(l: &mut Lower, name: &'static str, value: i32, out: &mut Vec<Stmt>) -> Reg {
    let r = l.k.reg(name, Ty::I32);
    out.push(Stmt::Var(r, int32(value)));
    r
}
