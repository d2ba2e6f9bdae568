//! Tiles whose elements are accessed one by one: those at the last rows and columns, and all tiles of arrays that may
//! have any alignment. Loads and stores are coalesced here as well.

use super::geometry::padded_pitch;
use super::{Block, BlockTile};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::elements::MAX_UNROLLED;
use crate::schedule::cuda::expressions::{int32, masked, offset, shifted, thread, to_i64};
use crate::schedule::cuda::map::THREADS;
use crate::schedule::cuda::register_tiling::placement::plus;
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{Lower, bind};
use rustc_hash::FxHashMap as HashMap;

/// The number of elements that a thread loads into a tile before it stores them.
const LOADS_AT_ONCE: i64 = 8;
/// The maximum number of elements whose reads a thread has in flight.
const ELEMENTS_AT_ONCE: i64 = 4;

/// The elements of a thread, one of which is computed at a time (i32, except for the column).
struct Elements {
    /// The row of the first of them in the block's tile, and in the index space (i64).
    down: Expr,
    row: Expr,
    /// Their column, in the block's tile, and in the index space (i64).
    right: Expr,
    column: Expr,
}

impl Block<'_> {
    /// Writes the code of a tile of any size.
    pub(super) fn one_by_one(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<()> {
        let side = self.params.partition.side;
        for tile in &self.tiles {
            self.fill_one_by_one(l, tile, out)?;
        }
        out.push(Stmt::Barrier);
        let right = bind(l, "right", masked(thread(), side), out);
        let column = self.origin[1].clone().plus(to_i64(right.clone()));
        let column = bind(l, "column", column, out);
        let is_inside = Expr::binary(BinaryOp::Lt, column.clone(), self.extents[1].clone());
        let is_inside = bind(l, "inside", is_inside, out);
        let rows = self.extents[0].clone().minus(self.origin[0].clone()).min(Expr::int(side));
        let end = bind(l, "end", Expr::Cast(Ty::I32, Box::new(rows)), out);
        let next = l.k.reg("next", Ty::I32);
        out.push(Stmt::Var(next, shifted(thread(), side)));
        let mut body = Vec::new();
        let down = bind(l, "down", Expr::Reg(next), &mut body);
        let row = bind(l, "row", self.origin[0].clone().plus(to_i64(down.clone())), &mut body);
        let elements = Elements { down, row, right, column };
        let (step, at_once) = (i64::from(THREADS) / side, self.elements_at_once(l));
        l.with_loaded(HashMap::default(), |l| {
            let mut each = Vec::new();
            for by in (0..at_once).map(|u| u * step) {
                let below = Expr::binary(BinaryOp::Lt, offset(elements.down.clone(), by), end.clone());
                let inside = Expr::binary(BinaryOp::And, is_inside.clone(), below);
                each.push((by, bind(l, "inside", inside, &mut body)));
            }
            for (by, is_inside) in &each {
                self.load_element(l, &elements, *by, is_inside, &mut body);
            }
            for (by, is_inside) in each {
                let mut inside = Vec::new();
                l.in_block(|l| self.element(l, &elements, by, &mut inside))?;
                body.push(Stmt::If(is_inside, inside, vec![]));
            }
            Ok(())
        })?;
        body.push(Stmt::Assign(next, offset(Expr::Reg(next), at_once * step)));
        out.push(Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(next), end), body));
        Ok(())
    }

    /// Returns the number of elements whose reads a thread has in flight: a power of two.
    fn elements_at_once(&self, l: &Lower) -> i64 {
        let side = self.params.partition.side;
        let affordable = i64::from(MAX_UNROLLED / l.launch.facts.cost.max(1)).max(1);
        ELEMENTS_AT_ONCE.min(1 << affordable.ilog2()).min(side * side / i64::from(THREADS))
    }

    /// Loads the elements of a tile. Those that are not in the array are 0, and are not used.
    fn fill_one_by_one(&self, l: &mut Lower, tile: &BlockTile, out: &mut Vec<Stmt>) -> Result<()> {
        let (t, threads) = (tile.of, i64::from(THREADS));
        let (first, [rows, columns]) = t.needed(self.params.partition.side);
        let (line, distance) = self.first_row(l, tile, out)?;
        let line = line.plus(tile.along[1].at(self.origin[0].clone(), first[1]));
        let line = bind(l, "first", line, out);
        // the numbers of rows and columns of the tile that are in the array
        let mut limits = Vec::new();
        let axes = [(t.of.column_axis(), 1, first[0], rows), (t.of.axes.len() - 1, 0, first[1], columns)];
        for ((axis, of, first, most), along) in axes.into_iter().zip(&tile.along) {
            let extent = l.launch.extent(t.of.array, axis as u8);
            let rest = along.rest(self.origin[of].clone(), first, l.launch.host(extent));
            let rest = Expr::Cast(Ty::I32, Box::new(rest.min(Expr::int(most))));
            limits.push(bind(l, "limit", rest, out));
        }
        let is_even = columns.unsigned_abs().is_power_of_two() && columns <= threads;
        let (pitch, total) = (padded_pitch(columns, t.size), rows * columns);
        let number = l.k.reg("number", Ty::I32);
        out.push(Stmt::Var(number, thread()));
        let (mut body, mut stores) = (Vec::new(), Vec::new());
        let at_once = (0..=LOADS_AT_ONCE.ilog2()).rev().map(|e| 1 << e);
        let at_once = at_once.into_iter().find(|n| total % (threads * n) == 0).unwrap_or(1);
        for u in 0..at_once {
            let (row, column) = if is_even {
                let row = offset(shifted(Expr::Reg(number), columns), u * threads / columns);
                (bind(l, "row", row, &mut body), masked(Expr::Reg(number), columns))
            } else {
                let own = bind(l, "own", offset(Expr::Reg(number), u * threads), &mut body);
                let row = Expr::binary(BinaryOp::Div, own.clone(), int32(columns as i32));
                let row = bind(l, "row", row, &mut body);
                (row.clone(), own.minus(row.times(int32(columns as i32))))
            };
            let column = bind(l, "right", column, &mut body);
            let [is_above, is_left] = [(&row, 0), (&column, 1)]
                .map(|(e, i): (&Expr, usize)| Expr::binary(BinaryOp::Lt, e.clone(), limits[i].clone()));
            let is_in_array = Expr::binary(BinaryOp::And, is_above, is_left);
            let at = line.clone().plus(to_i64(row.clone()).times(distance.clone()));
            let right = to_i64(column.clone());
            let at = if tile.along[1].is_mirrored { at.minus(right) } else { at.plus(right) };
            let x = Expr::LoadIf(tile.array, Box::new(at), Box::new(is_in_array));
            let x = bind(l, "x", x, &mut body);
            stores.push(Stmt::Store(tile.memory, row.times(int32(pitch as i32)).plus(column), x));
        }
        body.append(&mut stores);
        body.push(Stmt::Assign(number, offset(Expr::Reg(number), at_once * threads)));
        out.push(Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(number), int32(total as i32)), body));
        Ok(())
    }

    /// Loads the known reads of the element `by` rows below the first one, if it is inside.
    fn load_element(
        &self,
        l: &mut Lower,
        elements: &Elements,
        by: i64,
        is_inside: &Expr,
        out: &mut Vec<Stmt>,
    ) {
        let index = self.index(l, [by, 0]);
        for x in self.own_arrays(l) {
            let mem = l.launch.input(x);
            let at = self.own_place(l, mem, plus(elements.row.clone(), by), &elements.column);
            let value = Expr::LoadIf(mem, Box::new(at), Box::new(is_inside.clone()));
            let value = bind(l, "x", value, out);
            self.note_own(l, x, &index, value);
        }
        for tile in &self.tiles {
            let t = tile.of;
            let (first, [_, columns]) = t.needed(self.params.partition.side);
            let pitch = padded_pitch(columns, t.size);
            for read in &t.of.distances {
                let [down, right] = [0, 1].map(|i| read[i] - first[i]);
                let rows = elements.right.clone().times(int32(pitch as i32));
                let at = offset(rows.plus(elements.down.clone()), down * pitch + right + by);
                let value = bind(l, "x", Expr::load(tile.memory, at), out);
                self.note_read(l, t, *read, &index, value);
            }
        }
    }

    /// Computes and stores an element.
    fn element(&self, l: &mut Lower, elements: &Elements, by: i64, out: &mut Vec<Stmt>) -> Result<()> {
        let index = self.index(l, [by, 0]);
        let roots = self.roots(l, &index);
        let vars = self.vars(&elements.row, &elements.column);
        let values = l.region(&vars, &roots, &Expr::int(0), out)?;
        let mut stores = Vec::new();
        for (item, e) in self.items.iter().zip(values) {
            let (mem, ty) = (l.launch.output(item), l.launch.g.ty(item.node).elem);
            let e = bind(l, "value", e, out);
            let to = self.own_place(l, mem, plus(elements.row.clone(), by), &elements.column);
            stores.push(Stmt::Store(mem, to, canonical(e, ty, &mut l.k.kernel, out)));
        }
        out.append(&mut stores);
        Ok(())
    }
}
