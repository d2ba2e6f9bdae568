//! Stable partition, tile by tile ([`Partition`]): a truth value says of each element whether it is *counted*, that
//! is, belongs to the first class. The counted elements of a tile go to neighbouring places, in their order, and so
//! do the others. So elements are ordered in shared memory first, and then stored with coalesced accesses (M.
//! Billeter, O. Olsson, U. Assarsson, "Efficient stream compaction on wide SIMD many-core architectures", 2009):
//!
//! ```text
//! tile            a B c D E f G h           capitals are counted
//! shared memory   B D E G | a c f h         each element at its place in the tile
//! memory          .. B D E G ..   .. a c f h ..      place + distance; one distance for each class
//! ```
//!
//! A lane has four neighbours in each of its warp's four rows. It packs its counts of the four rows into the four
//! bytes of one word, so that one scan over the warp serves four rows. Elements past the last one count as not
//! counted: their places are behind all others of the tile, and nothing stores them.

use super::{Code, OF_WARP, THREADS, Value};
use crate::core::{NodeId, SCAN_CHUNK, SCAN_ROW, SCAN_TILE};
use crate::error::Result;
use crate::kernel::{Expr, Mem, STATIC_SHARED, Stmt, WARP};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use crate::schedule::cuda::elements::Elements;
use crate::schedule::cuda::expressions::{int32, thread, to_i64};
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::partition::Partition;
use crate::schedule::groups::items::Item;

const WARPS: i64 = (THREADS / WARP) as i64;
/// The number of elements of a thread.
const OF_THREAD: i64 = SCAN_TILE / THREADS as i64;
/// Shared memory has a gap after each `SKIP` elements (padding), so that accesses of neighbouring lanes, whose chunks
/// are four elements apart, have fewer bank conflicts.
pub(super) const SKIP: u32 = 32;
/// The number of places that a tile takes in shared memory, gaps included.
pub(super) const SLOTS: i64 = SCAN_TILE + SCAN_TILE / SKIP as i64;
/// The number of bits for the count of a row, which is at most [`SCAN_ROW`].
const BITS: u32 = 8;

/// What is known of a thread's elements, and of its tile.
struct Own<'a> {
    elements: &'a Elements,
    is_full: &'a Expr,
    /// The number of elements that the tile has, and the number of all elements.
    in_tile: &'a Expr,
    n: &'a Expr,
    /// For each element of the thread: whether it is counted, the number of counted elements up to and including it
    /// in all tiles, and its place in the tile.
    counted: Vec<Expr>,
    up_to: Vec<Expr>,
    places: Vec<Expr>,
    /// The number of counted elements of the tile, and the distances from places in the tile to destinations: that of
    /// counted elements, and that of the others.
    count: Expr,
    distances: [Expr; 2],
}

impl Code<'_> {
    /// Returns the partition, if this code serves it: elements go to other places, counts have 32 bits, and a tile of
    /// each type that is stored fits into shared memory. Storing a tile in several pieces would need barriers for
    /// each piece, and would be slower than storing directly (`bench/NOTES.md`).
    pub(super) fn partition(&self, l: &mut Lower) -> Option<Partition> {
        let is_such = self.scan.goes_elsewhere() && self.scan.in_32_bits && !self.layout.strided;
        let bytes: i64 = self.stored_types(l).iter().map(|ty| ty.size() as i64 * SLOTS).sum();
        // the counts of the warps take shared memory, too
        let fits = bytes <= i64::from(STATIC_SHARED) - 8 * WARPS;
        (is_such && fits).then(|| self.scan.partition(&mut l.launch.g))?
    }

    /// Returns the types of the stored arrays, each once: arrays of one type use the same shared memory in turn.
    fn stored_types(&self, l: &Lower) -> Vec<Ty> {
        let mut types: Vec<Ty> = Vec::new();
        for ty in self.fused.items.iter().map(|it| l.launch.g.ty(it.node).elem) {
            if !types.contains(&ty) {
                types.push(ty);
            }
        }
        types
    }

    /// Writes the code of a tile: counts, places, and the stores of all arrays.
    pub(super) fn compact(
        &self,
        l: &mut Lower,
        (partition, elements): (&Partition, &Elements),
        (tile, begin): (&Expr, &Expr),
        (is_full, n): (&Expr, &Expr),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let in_tile = n.clone().minus(begin.clone()).min(Expr::int(SCAN_TILE));
        let in_tile = bind(l, "inside", Expr::Cast(Ty::I32, Box::new(in_tile)), out);
        let numbers = self.numbers(l, elements, out);
        let bits = self.load(l, elements, (is_full, n), out)?.concat();
        clear_outside(&bits, &numbers, (is_full, &in_tile), out);
        let (chunks, count) = self.count(l, &bits, out);
        let mut before = Vec::new();
        for (chunk, first) in bits.chunks(SCAN_CHUNK as usize).zip(chunks) {
            let mut own = first;
            for bit in chunk {
                before.push(own.clone());
                own = bind(l, "before", own.plus(bit.clone()), out);
            }
        }
        let outer = self.outer(l, tile, out)?.remove(0);
        let others = l.region(&[], &[partition.others], &Expr::int(0), out)?.remove(0);
        let (mut counted, mut up_to, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for ((bit, number), before) in bits.iter().zip(&numbers).zip(&before) {
            let is_counted = Expr::binary(BinaryOp::Ne, bit.clone(), int32(0));
            let is_counted = bind(l, "counted", is_counted, out);
            let behind = count.clone().plus(number.clone()).minus(before.clone());
            places.push(bind(l, "place", is_counted.clone().select(before.clone(), behind), out));
            up_to.push(outer.clone().plus(before.clone()).plus(bit.clone()));
            counted.push(is_counted);
        }
        // others of earlier tiles = all elements of earlier tiles - counted ones of earlier tiles; the tile's own
        // others have places from `count` on
        let to_others = others.plus(begin.clone()).minus(to_i64(outer.clone())).minus(to_i64(count.clone()));
        let distances = [bind(l, "outer", to_i64(outer), out), bind(l, "others", to_others, out)];
        let own = Own { elements, is_full, in_tile: &in_tile, n, counted, up_to, places, count, distances };
        self.store_compacted(l, partition, &own, out)
    }

    /// Returns the numbers of the thread's elements in their tile.
    pub(super) fn numbers(&self, l: &mut Lower, elements: &Elements, out: &mut Vec<Stmt>) -> Vec<Expr> {
        let of_lane = self.warp.clone().times(int32((OF_WARP * SCAN_ROW) as i32));
        let of_lane = of_lane.plus(self.lane.clone().times(int32(SCAN_CHUNK as i32)));
        let of_lane = bind(l, "first", of_lane, out);
        (0..OF_THREAD as usize).map(|k| of_lane.clone().plus(int32(elements.offset(k) as i32))).collect()
    }

    /// Returns, for each of the thread's chunks, the number of counted elements before it in the tile, and the number
    /// of counted elements of the tile.
    pub(super) fn count(&self, l: &mut Lower, bits: &[Expr], out: &mut Vec<Stmt>) -> (Vec<Expr>, Expr) {
        let word = |e: Expr| Expr::Cast(Ty::U32, Box::new(e));
        let shifted = |op, e: Expr, row: i64| Expr::binary(op, e, Expr::Lit(Lit::u32(row as u32 * BITS)));
        let mut packed = Expr::Lit(Lit::zero(Ty::U32));
        for (chunk, row) in bits.chunks(SCAN_CHUNK as usize).zip(0..) {
            let sum = chunk.iter().fold(int32(0), |sum, bit| sum.plus(bit.clone()));
            let sum = bind(l, "sum", sum, out);
            packed = bind(l, "packed", packed.plus(shifted(BinaryOp::Shl, word(sum), row)), out);
        }
        let up_to = self.scan_lanes(l, &packed, out);
        let row = |e: &Expr, row: i64| {
            let low = shifted(BinaryOp::Shr, e.clone(), row);
            let mask = Expr::Lit(Lit::u32((1 << BITS) - 1));
            Expr::Cast(Ty::I32, Box::new(Expr::binary(BinaryOp::And, low, mask)))
        };
        // for each warp: the packed counts of its rows, and their sum
        let rows = l.k.share("rows", Ty::U32, WARPS as u32);
        let sums = l.k.share("sums", Ty::I32, WARPS as u32);
        let sum = (1..OF_WARP).fold(row(&up_to, 0), |sum, r| sum.plus(row(&up_to, r)));
        let at = self.warp.clone();
        let stores = vec![Stmt::Store(rows, at.clone(), up_to.clone()), Stmt::Store(sums, at, sum)];
        let is_last = Expr::binary(BinaryOp::Eq, self.lane.clone(), int32(WARP as i32 - 1));
        out.push(Stmt::If(is_last, stores, vec![]));
        out.push(Stmt::Barrier);
        let (mut first, count) = self.join_warps(l, sums, out);
        let of_warp = bind(l, "own", Expr::load(rows, self.warp.clone()), out);
        let lower = bind(l, "lower", up_to.minus(packed), out);
        let mut chunks = Vec::new();
        for r in 0..OF_WARP {
            chunks.push(bind(l, "before", first.clone().plus(row(&lower, r)), out));
            first = bind(l, "row", first.plus(row(&of_warp, r)), out);
        }
        (chunks, count)
    }

    /// Returns the sum of the warps' counts before the own one, and the sum of all. Each lane has the count of a
    /// warp, and the lanes of each half of a warp add theirs by a butterfly.
    fn join_warps(&self, l: &mut Lower, sums: Mem, out: &mut Vec<Stmt>) -> (Expr, Expr) {
        let number = Expr::binary(BinaryOp::And, self.lane.clone(), int32(WARPS as i32 - 1));
        let number = bind(l, "number", number, out);
        let all = bind(l, "of", Expr::load(sums, number.clone()), out);
        let is_before = Expr::binary(BinaryOp::Lt, number, self.warp.clone());
        let before = bind(l, "lower", is_before.select(all.clone(), int32(0)), out);
        (sum_of_half_warp(l, before, out), sum_of_half_warp(l, all, out))
    }

    /// Returns the inclusive prefix sum over the lanes of a warp.
    fn scan_lanes(&self, l: &mut Lower, value: &Expr, out: &mut Vec<Stmt>) -> Expr {
        let (mut sum, mut distance) = (value.clone(), 1);
        while distance < WARP {
            let lower = bind(l, "lower", Expr::ShuffleUp(Box::new(sum.clone()), distance), out);
            let has_lower = Expr::binary(BinaryOp::Ge, self.lane.clone(), int32(distance as i32));
            sum = bind(l, "sum", sum.plus(has_lower.select(lower, Expr::Lit(Lit::zero(Ty::U32)))), out);
            distance *= 2;
        }
        sum
    }

    /// Stores the elements array by array: to shared memory at their places in the tile, then to memory.
    fn store_compacted(
        &self,
        l: &mut Lower,
        partition: &Partition,
        own: &Own,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let stages: Vec<(Ty, Mem)> =
            self.stored_types(l).into_iter().map(|ty| (ty, l.k.share("stage", ty, SLOTS as u32))).collect();
        for (i, it) in self.fused.items.iter().enumerate() {
            let ty = l.launch.g.ty(it.node).elem;
            let (_, stage) = *stages.iter().find(|stage| stage.0 == ty).expect("a stage of each type");
            if i > 0 {
                // other threads may still be reading the array before from shared memory
                out.push(Stmt::Barrier);
            }
            let store = |k: usize, e: Expr| Stmt::Store(stage, skipped(own.places[k].clone()), e);
            self.compute(l, partition, own, (it, ty), store, out)?;
            out.push(Stmt::Barrier);
            self.store_tile(l, own, (it, stage), out);
        }
        Ok(())
    }

    /// Stores the elements of a tile from shared memory to their destinations. Neighbouring threads store neighbours,
    /// except where the counted elements end.
    fn store_tile(&self, l: &mut Lower, own: &Own, (it, stage): (&Item, Mem), out: &mut Vec<Stmt>) {
        let at = bind(l, "at", skipped(thread()), out);
        let (mem, mut stores) = (l.launch.output(it), Vec::new());
        for k in 0..OF_THREAD {
            let offset = k * THREADS as i64;
            let from = at.clone().plus(int32((offset + offset / SKIP as i64) as i32));
            let value = bind(l, "value", Expr::load(stage, from), out);
            let number = bind(l, "number", thread().plus(int32(offset as i32)), out);
            let is_counted = Expr::binary(BinaryOp::Lt, number.clone(), own.count.clone());
            let [counted, other] = own.distances.clone();
            let to = bind(l, "to", to_i64(number.clone()).plus(is_counted.select(counted, other)), out);
            // these places are indices of the result, so they are in bounds
            l.k.kernel.in_space.push(to.clone());
            let is_inside = Expr::binary(BinaryOp::Lt, number, own.in_tile.clone());
            stores.push(Stmt::If(is_inside, vec![Stmt::Store(mem, to, value)], vec![]));
        }
        out.append(&mut stores);
    }

    /// Computes an array's values for the thread's elements, and writes the statement that `keep` returns for each.
    /// Elements past the last one get its value.
    fn compute(
        &self,
        l: &mut Lower,
        partition: &Partition,
        own: &Own,
        (it, ty): (&Item, Ty),
        keep: impl Fn(usize, Expr) -> Stmt,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (_, up_to) = l.launch.g.fresh_var(Ty::I64);
        let (_, is_counted) = l.launch.g.fresh_var(Ty::Bool);
        let (mut full, mut part) = (Vec::new(), Vec::new());
        let store = |l: &mut Lower, k: usize, e: Expr, out: &mut Vec<Stmt>| {
            let e = canonical(e, ty, &mut l.k.kernel, out);
            out.push(keep(k, e));
        };
        let elements = own.elements;
        l.in_block(|l| {
            let nodes: Vec<[NodeId; 2]> = (own.places.iter())
                .map(|_| [l.launch.g.fresh_var(Ty::Bool).1, l.launch.g.fresh_var(Ty::I64).1])
                .collect();
            let each = nodes.iter().zip(own.counted.iter().zip(&own.up_to));
            let known: Vec<(NodeId, Expr)> = each
                .flat_map(|(nodes, (is, up_to))| [(nodes[0], is.clone()), (nodes[1], to_i64(up_to.clone()))])
                .collect();
            let root = |l: &mut Lower, k: usize, index| {
                let [is_counted, up_to] = nodes[k];
                vec![partition.value(&mut l.launch.g, it, [index, is_counted, up_to])]
            };
            let first = root(l, 0, elements.indices[0]);
            let read = l.launch.g.reachable(first);
            let others: Vec<NodeId> =
                l.launch.facts.accesses.pointwise().filter(|x| !read.contains(x)).copied().collect();
            elements.load(l, &others, &mut full);
            let values = elements.values(l, &known, root, &mut full)?;
            values.into_iter().enumerate().for_each(|(k, e)| store(l, k, e[0].clone(), &mut full));
            Ok::<_, crate::error::Error>(())
        })?;
        for k in 0..own.places.len() {
            let i = elements.at(k).min(own.n.clone().minus(Expr::int(1)));
            let i = bind(l, "i", i, &mut part);
            let (_, index) = l.launch.g.fresh_var(Ty::I64);
            let root = partition.value(&mut l.launch.g, it, [index, is_counted, up_to]);
            let known = [
                (index, i.clone()),
                (is_counted, own.counted[k].clone()),
                (up_to, to_i64(own.up_to[k].clone())),
            ];
            let value = l.in_block(|l| l.region(&known, &[root], &i, &mut part))?.remove(0);
            store(l, k, value, &mut part);
        }
        out.push(Stmt::If(own.is_full.clone(), full, part));
        Ok(())
    }

    /// Converts a value of a component to the type in which it is computed.
    pub(super) fn computed(&self, e: Expr) -> Expr {
        if self.scan.in_32_bits { Expr::Cast(Ty::I32, Box::new(e)) } else { e }
    }

    /// Loads the prefix of a tile.
    pub(super) fn outer(&self, l: &mut Lower, tile: &Expr, out: &mut Vec<Stmt>) -> Result<Value> {
        let (_, index) = l.launch.g.fresh_var(Ty::I64);
        let roots = self.scan.before(&mut l.launch.g, index);
        let outer = l.region(&[(index, tile.clone())], &roots, &Expr::int(0), out)?;
        Ok(outer.into_iter().map(|e| bind(l, "outer", self.computed(e), out)).collect())
    }
}

/// Writes the code by which elements past the last one are not counted, given the numbers of elements in the tile and
/// how many it has.
pub(super) fn clear_outside(
    bits: &[Expr],
    numbers: &[Expr],
    (is_full, in_tile): (&Expr, &Expr),
    out: &mut Vec<Stmt>,
) {
    let outside = bits.iter().zip(numbers).filter_map(|(bit, number)| {
        let Expr::Reg(r) = bit else { return None };
        let is_inside = Expr::binary(BinaryOp::Lt, number.clone(), in_tile.clone());
        Some(Stmt::Assign(*r, is_inside.select(bit.clone(), int32(0))))
    });
    let outside = outside.collect();
    out.push(Stmt::If(Expr::Unary(UnaryOp::Not, Box::new(is_full.clone())), outside, vec![]));
}

/// Returns the sum over the lanes of a half of a warp, whose number is that of a block's warps.
pub(super) fn sum_of_half_warp(l: &mut Lower, own: Expr, out: &mut Vec<Stmt>) -> Expr {
    let (mut sum, mut distance) = (own, 1);
    while distance < WARPS as u32 {
        let other = Expr::ShuffleXor(Box::new(sum.clone()), distance);
        sum = bind(l, "sum", sum.plus(other), out);
        distance *= 2;
    }
    sum
}

/// Returns the index in shared memory of a place in the tile.
pub(super) fn skipped(place: Expr) -> Expr {
    let gaps = Expr::binary(BinaryOp::Shr, place.clone(), int32(SKIP.trailing_zeros() as i32));
    place.plus(gaps)
}
