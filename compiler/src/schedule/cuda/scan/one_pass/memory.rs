//! The elements of a block's tiles in shared memory. Each thread reads only places that it has written or copied
//! itself, so no barrier is needed, except for reductions of a scan's results.

use crate::core::{NodeId, Op, SCAN_CHUNK, SCAN_ROW, SCAN_TILE};
use crate::kernel::{COPY_BYTES, Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::access;
use crate::schedule::cuda::elements::Elements;
use crate::schedule::cuda::expressions::{int32, offset, to_i64};
use crate::schedule::cuda::scan::{Code, Value};
use crate::schedule::element::lower::{Lower, bind};

/// Shared memory for the elements of several tiles, each of which has a slot.
pub(super) struct TileMemory {
    /// The memory for each component of a value.
    pub mems: Vec<Mem>,
    /// The thread's first place in a slot (i32).
    pub place: Expr,
    /// The number of slots.
    pub slots: i32,
    copied: Copied,
}

/// Arrays that are copied to shared memory asynchronously, a turn before they are needed.
#[derive(Default)]
struct Copied {
    /// Each array with the component in whose memory its elements are copied.
    arrays: Vec<(NodeId, usize)>,
    /// Whether the copies are the scan's elements themselves, so that these need not be stored to their slot again.
    are_all: bool,
}

impl TileMemory {
    /// Declares memory for the present and the next tile. There is a third slot for the later tile if arrays are
    /// copied, or if the results of the present tile stay in memory for reductions (`stays`).
    pub fn new(l: &mut Lower, code: &Code, stays: bool, out: &mut Vec<Stmt>) -> TileMemory {
        let copied = code.copied_arrays(l);
        let slots = if copied.arrays.is_empty() && !stays { 2 } else { 3 };
        let mems = code.share(l, "tile", i64::from(slots) * SCAN_TILE);
        let place = code.warp.clone().times(int32((code.of_warp() * SCAN_ROW) as i32));
        let place = place.plus(code.lane.clone().times(int32(SCAN_CHUNK as i32)));
        let place = bind(l, "place", place, out);
        TileMemory { mems, place, slots, copied }
    }

    /// Whether arrays are copied.
    pub fn has_copies(&self) -> bool {
        !self.copied.arrays.is_empty()
    }

    /// Whether the copies are the scan's elements themselves.
    pub fn has_elements(&self) -> bool {
        self.copied.are_all
    }

    /// Begins to copy the thread's elements of a tile to a slot, if the tile exists and is full. `n` is the number of
    /// all elements.
    pub fn copy(
        &self,
        l: &mut Lower,
        code: &Code,
        (tile, slot): (Reg, Reg),
        (n, tiles): (&Expr, &Expr),
        out: &mut Vec<Stmt>,
    ) {
        if !self.has_copies() {
            return;
        }
        let mut copies = Vec::new();
        l.in_block(|l| {
            let (elements, _, is_full) = code.elements_of_tile(l, to_i64(Expr::Reg(tile)), n, &mut copies);
            let mut all = Vec::new();
            let to = bind(l, "to", self.place.clone().plus(Expr::Reg(slot)), &mut all);
            for (array, component) in &self.copied.arrays {
                let (from, size) = (l.launch.input(*array), l.launch.g.ty(*array).elem.size());
                l.k.vector(from);
                for (first, row) in elements.firsts().zip(0..) {
                    for part in (0..SCAN_CHUNK).step_by(COPY_BYTES / size) {
                        let at = offset(row_of(&to, row), part);
                        let index = elements.at(first + part as usize);
                        let (bytes, to) = (COPY_BYTES as u32, self.mems[*component]);
                        all.push(Stmt::CopyAsync { bytes, to, at, from, index, given: None });
                    }
                }
            }
            copies.push(Stmt::If(is_full, all, vec![]));
        });
        let is_tile = Expr::binary(BinaryOp::Lt, Expr::Reg(tile), tiles.clone());
        out.extend([Stmt::If(is_tile, copies, vec![]), Stmt::CopyGroup]);
    }

    /// Loads the copied elements of a tile from its slot at the place `from`, and notes their registers.
    pub fn load_copies(&self, l: &mut Lower, elements: &Elements, from: &Expr, out: &mut Vec<Stmt>) {
        for (array, component) in &self.copied.arrays {
            let ty = l.launch.g.ty(*array).elem;
            for (indices, row) in elements.indices.chunks(SCAN_CHUNK as usize).zip(0..) {
                let regs: Vec<Reg> = indices.iter().map(|_| l.k.reg("x", ty)).collect();
                let loaded = l.scope.loaded.get_or_insert_default();
                loaded.extend(indices.iter().zip(&regs).map(|(i, r)| ((*array, vec![*i]), Expr::Reg(*r))));
                access::load(l, self.mems[*component], regs, row_of(from, row), out);
            }
        }
    }

    /// Stores the values of neighbouring elements, from a place on.
    pub fn put(&self, l: &mut Lower, values: &[Value], at: Expr, out: &mut Vec<Stmt>) {
        for (component, mem) in self.mems.iter().enumerate() {
            let own = values.iter().map(|value| value[component].clone()).collect();
            access::store(l, *mem, own, at.clone(), out);
        }
    }

    /// Loads the values of a chunk.
    pub fn get(&self, l: &mut Lower, code: &Code, at: Expr, out: &mut Vec<Stmt>) -> Vec<Value> {
        let mut values = vec![Value::new(); SCAN_CHUNK as usize];
        for (mem, ty) in self.mems.iter().zip(code.types()) {
            let own: Vec<Reg> = (0..SCAN_CHUNK).map(|_| l.k.reg("x", ty)).collect();
            access::load(l, *mem, own.clone(), at.clone(), out);
            values.iter_mut().zip(own).for_each(|(value, r)| value.push(Expr::Reg(r)));
        }
        values
    }
}

impl Code<'_> {
    /// Returns the arrays that are copied asynchronously: all that elements read at their own indices, if each can be
    /// paired with a component of its type. If possible, that is the component which its elements are.
    fn copied_arrays(&self, l: &mut Lower) -> Copied {
        let (_, index) = l.launch.g.fresh_var(Ty::I64);
        let roots = self.scan.elements(&mut l.launch.g, index);
        let read = l.launch.g.reachable(roots.iter().copied());
        let g = &l.launch.g;
        let is_component =
            |x: NodeId, k: usize| matches!(g.op(roots[k]), Op::Elem(y, at) if *y == x && at[..] == [index]);
        let mut copied = Copied::default();
        for x in l.launch.facts.accesses.pointwise().filter(|x| read.contains(x)).copied() {
            let is_free = |k: &usize| {
                self.scan.types[*k] == g.ty(x).elem && copied.arrays.iter().all(|(_, other)| other != k)
            };
            let mut free: Vec<usize> = (0..roots.len()).filter(is_free).collect();
            free.sort_by_key(|k| !is_component(x, *k));
            let Some(k) = free.first() else { return Copied::default() };
            copied.arrays.push((x, *k));
        }
        let is_copied = |k: usize| copied.arrays.iter().any(|(x, own)| *own == k && is_component(*x, k));
        copied.are_all = (0..roots.len()).all(is_copied);
        copied
    }
}

/// Returns the thread's first place in a row, given its first place in the tile.
pub(super) fn row_of(place: &Expr, row: i32) -> Expr {
    if row == 0 { place.clone() } else { place.clone().plus(int32(row * SCAN_ROW as i32)) }
}
