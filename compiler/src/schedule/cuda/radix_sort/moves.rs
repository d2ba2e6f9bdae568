//! Storing the elements of a tile at their destinations, array by array. They are first stored at their places in
//! shared memory, ordered by digits, and read from there. So neighbouring threads store to neighbouring addresses,
//! except where a digit ends.

use super::places::Places;
use super::{Code, OF_THREAD, THREADS};
use crate::core::digits::DIGIT_TILE;
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Ty, UnaryOp};
use crate::schedule::cuda::expressions::{int32, thread};
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{Lower, bind};

/// The number of elements that a thread reads from shared memory before it stores them.
const AT_ONCE: usize = 4;

impl Code<'_> {
    /// Stores the elements of the tile at their destinations, array by array. Those of the first one may be in
    /// registers. The elements of the next array are loaded before those of one are stored, if registers suffice.
    pub(super) fn store(
        &self,
        l: &mut Lower,
        places: &Places,
        first: Option<Vec<Expr>>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let types: Vec<Ty> = self.fused.items.iter().map(|it| l.launch.g.ty(it.node).elem).collect();
        // words of the widest type, so that one buffer of shared memory serves all arrays in turn
        let of_stage = if types.iter().any(|ty| ty.size() == 8) { Ty::U64 } else { Ty::U32 };
        let stage = l.k.share("stage", of_stage, DIGIT_TILE as u32);
        let mut next = match first {
            Some(values) => values,
            None => self.array(l, 0, out)?,
        };
        let mut destinations = Vec::new();
        for (number, ty) in types.iter().enumerate() {
            if number > 0 {
                // other threads may still be reading the array before from the buffer
                out.push(Stmt::Barrier);
            }
            for (place, value) in places.own.iter().zip(next) {
                out.push(Stmt::Store(stage, place.clone(), to_word(value, *ty, of_stage)));
            }
            out.push(Stmt::Barrier);
            let is_early = of_stage.size() == 4;
            next = Vec::new();
            if number + 1 < types.len() && is_early {
                next = self.array(l, number + 1, out)?;
            }
            self.store_array(l, (number, *ty), (stage, of_stage), places, &mut destinations, out)?;
            if number + 1 < types.len() && !is_early {
                next = self.array(l, number + 1, out)?;
            }
        }
        Ok(())
    }

    /// Stores an array, whose elements lie at their places in shared memory. The first array's elements give the
    /// `destinations` of the places that the thread stores.
    fn store_array(
        &self,
        l: &mut Lower,
        (number, ty): (usize, Ty),
        (stage, of_stage): (Mem, Ty),
        places: &Places,
        destinations: &mut Vec<Expr>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let mem = l.launch.output(&self.fused.items[number]);
        let of_thread: Vec<Expr> =
            (0..OF_THREAD as i32).map(|k| thread().plus(int32(k * THREADS as i32))).collect();
        for (at_once, own) in (0..).step_by(AT_ONCE).zip(of_thread.chunks(AT_ONCE)) {
            let load = |place: &Expr| {
                let staged = Expr::load(stage, place.clone());
                bind(l, "x", to_element(staged, of_stage, ty), out)
            };
            let values: Vec<Expr> = own.iter().map(load).collect();
            if number == 0 {
                for (place, value) in own.iter().zip(&values) {
                    destinations.push(places.destination(l, place, value, out)?);
                }
            }
            for ((place, to), value) in own.iter().zip(&destinations[at_once..]).zip(values) {
                let is_inside = Expr::binary(BinaryOp::Lt, place.clone(), self.in_tile.clone());
                // here, where a thread has few elements in registers
                let value = canonical(value, ty, &mut l.k.kernel, out);
                out.push(Stmt::If(is_inside, vec![Stmt::Store(mem, to.clone(), value)], vec![]));
            }
        }
        Ok(())
    }
}

/// Returns the word that stands for an element in shared memory.
fn to_word(value: Expr, ty: Ty, word: Ty) -> Expr {
    match ty.is_float() {
        true => cast(Expr::Unary(UnaryOp::ToBits, Box::new(value)), bits_of(ty), word),
        false => cast(value, ty, word),
    }
}

/// Returns the element for which a word stands.
fn to_element(e: Expr, word: Ty, ty: Ty) -> Expr {
    match ty.is_float() {
        true => Expr::Unary(UnaryOp::FromBits, Box::new(cast(e, word, bits_of(ty)))),
        false => cast(e, word, ty),
    }
}

fn bits_of(float: Ty) -> Ty {
    if float.size() == 8 { Ty::U64 } else { Ty::U32 }
}

fn cast(e: Expr, from: Ty, to: Ty) -> Expr {
    if from == to { e } else { Expr::Cast(to, Box::new(e)) }
}
