//! Full tiles: chunks of 16 bytes into shared memory, then groups of neighbouring elements.

use super::geometry::Swizzle;
use super::{Block, BlockTile};
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::access;
use crate::schedule::cuda::expressions::{int32, masked, offset, shifted, thread, to_i64};
use crate::schedule::cuda::map::THREADS;
use crate::schedule::cuda::paths::fast_then_slow;
use crate::schedule::cuda::register_tiling::placement::{lane, plus, warp};
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{Lower, bind};
use rustc_hash::FxHashMap as HashMap;

/// The maximum number of elements that a thread loads before the barrier from arrays that are read at the element's
/// own indices, so that they arrive while it waits.
const MAX_EARLY: i64 = 32;

/// Where the groups of a thread lie in the block's tile (i32).
struct Groups {
    /// The number of the group in its row: of the columns' groups.
    across: Expr,
    /// The row of the first group. The thread's other groups are below it.
    down: Expr,
    /// The row and the column in the index space (i64).
    row: Expr,
    column: Expr,
}

impl Block<'_> {
    /// Writes the code of a full tile.
    pub(super) fn in_groups(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<()> {
        let mut stores = Vec::new();
        for tile in &self.tiles {
            self.fill(l, tile, (out, &mut stores))?;
        }
        let partition = self.params.partition;
        let across = masked(warp(), partition.warps_across).times(int32(partition.lanes_across as i32));
        let across = across.plus(masked(lane(), partition.lanes_across));
        let across = bind(l, "across", across, out);
        let down = shifted(warp(), partition.warps_across).times(int32(partition.lanes_down() as i32));
        let down = bind(l, "down", down.plus(shifted(lane(), partition.lanes_across)), out);
        let column = to_i64(across.clone().times(int32(partition.group as i32)));
        let column = bind(l, "column", self.origin[1].clone().plus(column), out);
        let (all, at_once) = (partition.groups(), self.params.groups_at_once(l.launch));
        l.with_loaded(HashMap::default(), |l| {
            if all == at_once {
                let row = bind(l, "row", self.origin[0].clone().plus(to_i64(down.clone())), out);
                let groups = Groups { across, down, row, column };
                let own = self.own_arrays(l).len() as i64;
                let early = (MAX_EARLY / (own * partition.group).max(1)).min(all);
                (0..early).for_each(|g| self.load_own(l, &groups, g, out));
                out.append(&mut stores);
                out.push(Stmt::Barrier);
                for g in 0..all {
                    if g >= early {
                        self.load_own(l, &groups, g, out);
                    }
                    self.group(l, &groups, g, out)?;
                }
                return Ok(());
            }
            out.append(&mut stores);
            out.push(Stmt::Barrier);
            let next = l.k.reg("next", Ty::I32);
            out.push(Stmt::Var(next, down));
            let mut body = Vec::new();
            let down = bind(l, "down", Expr::Reg(next), &mut body);
            let row = bind(l, "row", self.origin[0].clone().plus(to_i64(down.clone())), &mut body);
            let groups = Groups { across, down, row, column };
            (0..at_once).for_each(|g| self.load_own(l, &groups, g, &mut body));
            (0..at_once).try_for_each(|g| self.group(l, &groups, g, &mut body))?;
            body.push(Stmt::Assign(next, offset(Expr::Reg(next), self.below(at_once))));
            let more = Expr::binary(BinaryOp::Lt, Expr::Reg(next), int32(partition.side as i32));
            out.push(Stmt::While(more, body));
            Ok(())
        })
    }

    /// Loads the chunks of a tile, and writes the stores into shared memory to `stores`, so that all
    /// loads come before them.
    fn fill(
        &self,
        l: &mut Lower,
        tile: &BlockTile,
        (out, stores): (&mut Vec<Stmt>, &mut Vec<Stmt>),
    ) -> Result<()> {
        let (t, threads, s) = (tile.of, i64::from(THREADS), tile.of.swizzle);
        let ty = l.launch.g.ty(t.of.array).elem;
        let (_, [rows, _]) = t.needed(self.params.partition.side);
        let (line, distance) = self.first_row(l, tile, out)?;
        let [start, _] = tile.chunks(&self.origin[0]);
        let line = line.plus(start);
        let line = bind(l, "first", line, out);
        let accesses = rows * s.chunks;
        for round in 0..(accesses + threads - 1) / threads {
            let mut load = Vec::new();
            let (row, column) = chunk(l, s, round, &mut load);
            let at =
                line.clone().plus(to_i64(row.clone()).times(distance.clone())).plus(to_i64(column.clone()));
            let regs: Vec<Reg> = (0..s.width).map(|_| l.k.reg("x", ty)).collect();
            access::load(l, tile.array, regs.clone(), at, &mut load);
            let group = shifted(row.clone(), s.group);
            let to = row.times(int32(s.pitch as i32)).plus(xor(column, swizzled(s, group)));
            let store = Stmt::StoreVec(tile.memory, to, regs.into_iter().map(Expr::Reg).collect());
            let rest = accesses - round * threads;
            if rest < threads {
                load.push(store);
                let some = Expr::binary(BinaryOp::Lt, thread(), int32(rest as i32));
                stores.push(Stmt::If(some, load, vec![]));
            } else {
                out.append(&mut load);
                stores.push(store);
            }
        }
        Ok(())
    }

    /// Returns the rows from the thread's first group to group `g`.
    fn below(&self, g: i64) -> i64 {
        g * self.params.partition.rows_at_once()
    }

    /// Loads what a group's elements read at their own indices.
    fn load_own(&self, l: &mut Lower, groups: &Groups, g: i64, out: &mut Vec<Stmt>) {
        for x in self.own_arrays(l) {
            let (mem, ty) = (l.launch.input(x), l.launch.g.ty(x).elem);
            let row = plus(groups.row.clone(), self.below(g));
            let at = self.own_place(l, mem, row, &groups.column);
            let regs: Vec<Reg> = (0..self.params.partition.group).map(|_| l.k.reg("x", ty)).collect();
            for (r, k) in regs.iter().zip(0..) {
                let index = self.index(l, [self.below(g), k]);
                self.note_own(l, x, &index, Expr::Reg(*r));
            }
            access::load(l, mem, regs, at, out);
        }
    }

    /// Reads what a group's elements read transposed.
    fn read(&self, l: &mut Lower, groups: &Groups, g: i64, out: &mut Vec<Stmt>) {
        let partition = self.params.partition;
        for tile in &self.tiles {
            let (t, s) = (tile.of, tile.of.swizzle);
            let ([down, _], _) = t.needed(partition.side);
            let rows = groups.across.clone().times(int32((partition.group * s.pitch) as i32));
            let rows = bind(l, "rows", rows, out);
            for read in &t.of.distances {
                let by = self.below(g) + read[1] - t.first_chunk();
                let column = if tile.along[1].is_mirrored {
                    // rows are as in memory, whose order is the opposite one
                    int32((t.chunked() - 1 - by) as i32).minus(groups.down.clone())
                } else {
                    offset(groups.down.clone(), by)
                };
                let column = bind(l, "in", column, out);
                let mut place = None;
                for k in 0..partition.group {
                    let row = k + read[0] - down;
                    // all rows of one group have the same swizzle
                    let of_group = row / s.group;
                    let first = match &place {
                        Some((known, e)) if *known == of_group => Expr::clone(e),
                        _ => {
                            let group = offset(groups.across.clone(), of_group);
                            let e = rows.clone().plus(xor(column.clone(), swizzled(s, group)));
                            place.insert((of_group, bind(l, "place", e, out))).1.clone()
                        }
                    };
                    let at = offset(first, row * s.pitch);
                    let value = bind(l, "x", Expr::load(tile.memory, at), out);
                    let index = self.index(l, [self.below(g), k]);
                    self.note_read(l, t, *read, &index, value);
                }
            }
        }
    }

    /// Computes and stores a group.
    fn group(&self, l: &mut Lower, groups: &Groups, g: i64, out: &mut Vec<Stmt>) -> Result<()> {
        self.read(l, groups, g, out);
        let each = 0..self.params.partition.group;
        let each: Vec<Vec<NodeId>> = each
            .map(|k| {
                let index = self.index(l, [self.below(g), k]);
                self.roots(l, &index)
            })
            .collect();
        let roots = l.launch.shared(&each.concat());
        let vars = self.vars(&groups.row, &groups.column);
        let values = fast_then_slow(l, &vars, &roots, out)?;
        let mut stores = Vec::new();
        for (i, item) in self.items.iter().enumerate() {
            let (mem, ty) = (l.launch.output(item), l.launch.g.ty(item.node).elem);
            let own = values.iter().skip(i).step_by(self.items.len());
            let list = own.map(|e| canonical(e.clone(), ty, &mut l.k.kernel, out)).collect();
            let to = self.own_place(l, mem, plus(groups.row.clone(), self.below(g)), &groups.column);
            l.k.vector(mem);
            stores.push(Stmt::StoreVec(mem, to, list));
        }
        out.append(&mut stores);
        Ok(())
    }
}

/// Returns the row and the first column of the chunk that a thread loads in this round (i32).
fn chunk(l: &mut Lower, s: Swizzle, round: i64, out: &mut Vec<Stmt>) -> (Expr, Expr) {
    let threads = i64::from(THREADS);
    let (row, chunk) = if s.chunks.count_ones() == 1 {
        // the number of chunks of a row divides that of threads: each thread has the same chunk of several rows
        let row = offset(shifted(thread(), s.chunks), round * threads / s.chunks);
        (bind(l, "row", row, out), masked(thread(), s.chunks))
    } else {
        let number = bind(l, "number", offset(thread(), round * threads), out);
        let row = Expr::binary(BinaryOp::Div, number.clone(), int32(s.chunks as i32));
        let row = bind(l, "row", row, out);
        (row.clone(), number.minus(row.times(int32(s.chunks as i32))))
    };
    (row, bind(l, "chunk", chunk.times(int32(s.width as i32)), out))
}

fn xor(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::Xor, a, b)
}

/// Returns the number that is combined with the columns of a group of rows.
fn swizzled(s: Swizzle, group: Expr) -> Expr {
    Expr::binary(BinaryOp::And, group.times(int32(s.step as i32)), int32(s.mask as i32))
}
