//! The parameters of one variant.

use super::find::Operands;
use super::layout::Shape;
use crate::schedule::products::Product;
use std::rc::Rc;

/// The parameters of one variant.
pub struct TensorProductParams {
    pub(super) product: Rc<Product>,
    pub(super) operands: Operands,
    pub(super) shape: Shape,
    /// Whether arrays may have any strides.
    pub(super) strided: bool,
}
