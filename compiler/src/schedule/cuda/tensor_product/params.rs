//! The parameters of one variant.

use super::find::Operands;
use super::layout::Shape;
use crate::schedule::products::Product;
use std::rc::Rc;

/// What is known of the rows of arrays.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// Vector accesses of all of them are aligned.
    Aligned,
    /// Those of the operands are, but not those of results and of what is read with them.
    AlignedOperands,
    /// They may have any strides.
    Strided,
}

/// The parameters of one variant.
pub struct TensorProductParams {
    pub(super) product: Rc<Product>,
    pub(super) operands: Operands,
    pub(super) shape: Shape,
    pub(super) rows: Rows,
}
