//! The places of a tile's elements in shared memory, ordered by digits, and the destinations of places.

use crate::core::NodeId;
use crate::core::digits::DIGIT_TILE;
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::Ty;
use crate::schedule::cuda::expressions::to_i64;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::radix::RadixStep;

/// The places of a tile's elements, ordered by digits, and their destinations.
pub struct Places {
    /// The place in the tile of each of the thread's elements.
    pub own: Vec<Expr>,
    pub digits: DigitsOfPlaces,
    /// For each digit, the number that is added to a place to get the element's destination, modulo 2^32.
    pub distances: Mem,
}

/// Where the digit of the element at a place comes from.
#[derive(Clone, Copy)]
pub enum DigitsOfPlaces {
    /// It is computed from the element of the first array: the digit as a node, and the variable in it that stands
    /// for the element.
    OfFirst { value: NodeId, digit: NodeId },
    /// It is in shared memory.
    Stored(Mem),
}

impl DigitsOfPlaces {
    /// Decides where the digits come from. `first` is the first array that is moved.
    pub fn of(l: &mut Lower, step: &RadixStep, first: NodeId) -> DigitsOfPlaces {
        let ty = l.launch.g.ty(first).elem;
        let (_, value) = l.launch.g.fresh_var(ty);
        match step.digit_of(&mut l.launch.g, first, value) {
            Some(digit) => DigitsOfPlaces::OfFirst { value, digit },
            None => DigitsOfPlaces::Stored(l.k.share("digits", Ty::U8, DIGIT_TILE as u32)),
        }
    }
}

impl Places {
    /// Returns the destination of a place. `first` is the element of the first array at that place. Elements past the
    /// last one have places, too, but no destinations.
    pub fn destination(
        &self,
        l: &mut Lower,
        place: &Expr,
        first: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<Expr> {
        let digit = match self.digits {
            DigitsOfPlaces::OfFirst { value, digit } => {
                let known = [(value, first.clone())];
                l.in_block(|l| l.region(&known, &[digit], place, out))?.remove(0)
            }
            DigitsOfPlaces::Stored(mem) => Expr::Cast(Ty::I32, Box::new(Expr::load(mem, place.clone()))),
        };
        let place = Expr::Cast(Ty::U32, Box::new(place.clone()));
        let to = bind(l, "to", Expr::load(self.distances, digit).plus(place), out);
        Ok(to_i64(to))
    }
}
