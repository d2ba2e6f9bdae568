//! Register windows: what a thread's neighbouring elements read of a vector around themselves is
//! loaded once, by aligned vector accesses, and picked from registers. Chosen by the cost model for
//! stencils of few taps (`stencil_cost.rs`); the cost is registers, which grow with the reach.
//!
//! ```text
//! v = 4, taps 0 .. 4:    x[first ..+ 4] x[first + 4 ..+ 4]   element k reads lanes k .. k + 4 of 8
//! v = 4, taps 0, 1:      x[first ..+ 4] x[first + 4]
//! ```
//!
//! Of each aligned group of elements, the kernel loads the smallest aligned part that holds what is read. The offsets
//! are constants of the kernel, so their alignment is that of `first`, a multiple of `v`. Loads may reach beyond the
//! elements that are read; blocks in which they would leave the array take the path of boundary blocks.

use super::access;
use super::elements::Elements;
use super::expressions::int32;
use crate::core::linear::{self, Linear};
use crate::core::{NodeId, StencilHint};
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Lit};
use crate::schedule::element::lower::{LaunchContext, Loaded, Lower};
use crate::schedule::facts::stencil::Stencil;
use std::collections::BTreeSet;

/// The maximum number of words of registers for a thread's windows: with more, accumulators and
/// addresses spill.
const MAX_WORDS: i64 = 144;

/// What is loaded of one array, as offsets from the first of `v` neighbours.
#[derive(Clone, Debug)]
pub struct Window {
    /// The array.
    pub array: NodeId,
    /// The host scalar that is added to the index, besides constants.
    pub shift: NodeId,
    /// The start and the number of elements of each access, ascending. The start is a multiple of
    /// the number of elements.
    pub pieces: Vec<(i64, i64)>,
    /// The tile in shared memory; `None` if each thread loads the window from global memory.
    pub tile: Option<Tile>,
}

impl Window {
    /// Returns the window of a vector that is read at the taps of a stencil.
    fn of(l: &LaunchContext, s: &Stencil, v: i64) -> Window {
        let taps: Vec<i64> = s.taps.iter().map(|t| t[0]).collect();
        let lanes = taps.iter().flat_map(|t| (0..v).map(move |k| t + k)).collect();
        let pieces = pieces(&lanes, widest(l, s.array, v));
        Window { array: s.array, shift: s.shift[0], pieces, tile: None }
    }

    /// Returns where its loads begin, and where they end.
    pub fn reach(&self) -> (i64, i64) {
        let first = self.pieces.first().map_or(0, |p| p.0);
        (first, self.pieces.last().map_or(first, |p| p.0 + p.1))
    }

    /// Returns where the loads of a block begin, from its first element, and where they end, from
    /// the end of its elements.
    fn block_reach(&self, v: i64) -> (i64, i64) {
        match &self.tile {
            Some(tile) => (tile.first, tile.beyond),
            None => (self.reach().0, self.reach().1 - v),
        }
    }

    /// Returns the number of elements in registers.
    pub fn elements(&self) -> i64 {
        self.pieces.iter().map(|p| p.1).sum()
    }

    /// Returns the number of words of registers.
    fn words(&self, l: &LaunchContext) -> i64 {
        let size = l.g.ty(self.array).elem.size() as i64;
        self.pieces.iter().map(|p| (p.1 * size + 3) / 4).sum()
    }

    /// Whether the window's distance from the element is known only at the call.
    pub fn is_shifted(&self, l: &LaunchContext) -> bool {
        l.g.as_lit(self.shift).is_none()
    }
}

/// Returns the number of elements of an array that one access takes if threads have `v` neighbours.
pub fn widest(l: &LaunchContext, array: NodeId, v: i64) -> i64 {
    v.min(16 / l.g.ty(array).elem.size() as i64)
}

/// Returns the accesses that load these elements: of each aligned group of `width` elements the
/// smallest aligned part that holds all that is needed of it.
pub fn pieces(lanes: &BTreeSet<i64>, width: i64) -> Vec<(i64, i64)> {
    let groups: BTreeSet<i64> = lanes.iter().map(|lane| lane.div_euclid(width) * width).collect();
    let part = |group: &i64| {
        let mut of = lanes.range(group..&(group + width));
        let lo = *of.next().unwrap_or(group);
        let hi = *of.next_back().unwrap_or(&lo);
        let mut size = 1;
        while hi >= lo.div_euclid(size) * size + size {
            size *= 2;
        }
        (lo.div_euclid(size) * size, size)
    };
    groups.iter().map(part).collect()
}

/// Returns the windows of a map of vectors, for the arrays that are not read at the element's own
/// index alone. Windows are in tiles if the strategy is `Tile` and neighbours share what they read;
/// windows with a shift that is known only at the call must be in tiles. Returns `None` if they
/// take too many registers.
pub fn windows(
    l: &LaunchContext,
    stencils: &[Stencil],
    v: i64,
    strategy: StencilHint,
) -> Option<Vec<Window>> {
    let mut all = Vec::new();
    for s in stencils.iter().filter(|s| !s.is_pointwise() || !s.is_static(&l.g)) {
        let mut w = Window::of(l, s, v);
        let shared = strategy == StencilHint::Tile && s.overlaps();
        if shared {
            w.tile = Some(Tile::default());
        }
        if shared || s.is_static(&l.g) {
            all.push(w);
        }
    }
    (words(l, &all) <= MAX_WORDS).then_some(all)
}

/// Returns the words of registers that the windows of one group of neighbours take.
pub fn words(l: &LaunchContext, windows: &[Window]) -> i64 {
    windows.iter().map(|w| w.words(l)).sum()
}

/// Loads the windows of a thread's elements: those in tiles, or the others.
pub fn load(l: &mut Lower, windows: &[Window], elements: &Elements, tiled: bool, out: &mut Vec<Stmt>) {
    let loaded = loaded(l, windows, elements, tiled, out);
    l.scope.loaded.get_or_insert_default().extend(loaded);
}

/// Loads the windows, and returns their registers.
pub fn loaded(
    l: &mut Lower,
    windows: &[Window],
    elements: &Elements,
    tiled: bool,
    out: &mut Vec<Stmt>,
) -> Loaded {
    let mut loaded = Loaded::default();
    for w in windows.iter().filter(|w| w.tile.is_some() == tiled) {
        let ty = l.launch.g.ty(w.array).elem;
        for group in elements.firsts() {
            for (start, count) in &w.pieces {
                let (at, node) = elements.neighbour(l, group, *start);
                let (mem, at) = match &w.tile {
                    Some(tile) => tile.address(elements.offset(group) + start),
                    None => (l.launch.input(w.array), at),
                };
                let regs: Vec<_> = (0..*count).map(|_| l.k.reg("x", ty)).collect();
                for (k, r) in regs.iter().enumerate() {
                    let k = l.launch.g.lit(Lit::i64(k as i64));
                    let lane = linear::add(&mut l.launch.g, node, k);
                    let index = linear::add(&mut l.launch.g, lane, w.shift);
                    loaded.insert((w.array, vec![index]), Expr::Reg(*r));
                }
                access::load(l, mem, regs, at, out);
            }
        }
    }
    loaded
}

/// Returns whether a block whose first element is `start` loads nothing before an array's begin,
/// and keeps the boundary width. `None` if it always does.
pub fn inside(windows: &[Window], v: i64, width: i64, start: &Expr) -> Option<Expr> {
    let first = windows.iter().map(|w| w.block_reach(v).0).min().unwrap_or(0).min(-width);
    (first < 0).then(|| Expr::binary(BinaryOp::Ge, start.clone(), Expr::int(-first)))
}

/// Returns the number of leading elements whose blocks load nothing past an array's end, and keep
/// the boundary width.
pub fn limit(l: &mut LaunchContext, windows: &[Window], v: i64, n: (NodeId, i64)) -> Expr {
    let fixed = windows.iter().filter(|w| !w.is_shifted(l));
    let needs = fixed.map(|w| (w.array, w.block_reach(v).1)).collect::<Vec<_>>();
    end(l, n, 0, &needs)
}

/// Returns the minimum of two kinds of ends: `n` less the boundary width, and, for each array in `needs`, its length
/// along the axis less its offset there.
pub fn end(l: &mut LaunchContext, (n, width): (NodeId, i64), axis: u8, needs: &[(NodeId, i64)]) -> Expr {
    let mut reserved = width;
    let mut others = Vec::new();
    for &(array, beyond) in needs {
        let len = l.extent(array, axis);
        let spare = Linear::of(&l.g, len).minus(&Linear::of(&l.g, n));
        match spare.as_constant() {
            Some(spare) => reserved = reserved.max(beyond - spare),
            None => {
                let len = l.host(len);
                others.push(if beyond > 0 { len.minus(Expr::int(beyond)) } else { len });
            }
        }
    }
    let n = l.host(n);
    let own = if reserved > 0 { n.minus(Expr::int(reserved)) } else { n };
    others.dedup();
    others.into_iter().fold(own, |end, other| if end == other { end } else { end.min(other) })
}

/// A tile of a block. Offsets are from the block's first element.
#[derive(Clone, Debug, Default)]
pub struct Tile {
    pub(super) mem: Option<Mem>,
    /// The offset of the tile's first element.
    pub first: i64,
    /// The offset of its end, from the end of the block's elements.
    pub beyond: i64,
    /// The number of elements that are loaded.
    pub len: i64,
    /// The number of elements of padding before its start.
    pub(super) pad: i64,
    /// The vector width of accesses.
    pub(super) width: i64,
    /// The index of the thread's first element if the tile began with the block's first element.
    pub(super) own: Option<Expr>,
}

impl Tile {
    /// Returns the number of elements of shared memory.
    pub(super) fn size(&self) -> i64 {
        self.len + 2 * self.pad
    }

    /// Returns the address of the element at that offset from the thread's first one.
    pub fn address(&self, offset: i64) -> (Mem, Expr) {
        let own = self.own.clone().unwrap_or_else(|| int32(0));
        let by = (offset - self.first + self.pad) as i32;
        (self.mem.unwrap_or(Mem::Shared(0)), if by == 0 { own } else { own.plus(int32(by)) })
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn least_aligned_accesses() {
        let of = |taps: &[i64], v, width| {
            super::pieces(&taps.iter().flat_map(|t| (0..v).map(move |k| t + k)).collect(), width)
        };
        let pieces = |taps: &[i64], v| of(taps, v, v);
        assert_eq!(pieces(&[0], 4), [(0, 4)]);
        assert_eq!(pieces(&[0, 1], 4), [(0, 4), (4, 1)]);
        assert_eq!(pieces(&[0, 2], 4), [(0, 4), (4, 2)]);
        assert_eq!(pieces(&[0, 1, 2, 3], 4), [(0, 4), (4, 4)]);
        assert_eq!(pieces(&[1], 4), [(0, 4), (4, 1)]);
        assert_eq!(pieces(&[2], 4), [(2, 2), (4, 2)]);
        assert_eq!(pieces(&[-1, 1], 4), [(-1, 1), (0, 4), (4, 1)]);
        assert_eq!(pieces(&[0, 8], 4), [(0, 4), (8, 4)]);
        assert_eq!(pieces(&[0, 1], 1), [(0, 1), (1, 1)]);
        assert_eq!(pieces(&[-2, 3], 2), [(-2, 2), (3, 1), (4, 1)]);
        assert_eq!(of(&[0, 1], 4, 2), [(0, 2), (2, 2), (4, 1)]);
    }
}
