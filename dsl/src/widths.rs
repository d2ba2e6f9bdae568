//! Widths of margins: numbers of the generator, or expressions that the host computes.

use crate::handle::SExp;
use crate::node::{self, NodeRef};
use crate::scope::Place;
use arraygpu_compiler::scalar::Lit;

/// The width of a margin: a number, or an expression of lengths, constants, scalar parameters and staged values.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the width of a margin",
    label = "expected a number (`usize`) or an `SExp<i64>`"
)]
pub trait Width: Copy {
    #[doc(hidden)]
    fn width_at(self, at: Place) -> NodeRef;
}

impl Width for usize {
    fn width_at(self, at: Place) -> NodeRef {
        node::constant(at, Lit::i64(self as i64))
    }
}

impl Width for SExp<i64> {
    fn width_at(self, _: Place) -> NodeRef {
        self.node()
    }
}

/// The widths before and after the elements of an axis: `[1, 1]`, `[r, r]`, or a tuple of a number and an
/// expression.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the margins of an axis",
    label = "expected the width before and the one after: `[1, 1]`"
)]
pub trait Widths: Copy {
    #[doc(hidden)]
    fn widths_at(self, at: Place) -> [NodeRef; 2];
}

impl<W: Width> Widths for [W; 2] {
    fn widths_at(self, at: Place) -> [NodeRef; 2] {
        self.map(|width| width.width_at(at))
    }
}

impl<A: Width, B: Width> Widths for (A, B) {
    fn widths_at(self, at: Place) -> [NodeRef; 2] {
        [self.0.width_at(at), self.1.width_at(at)]
    }
}
