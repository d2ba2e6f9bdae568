//! The parameters of one variant.

use super::find::Operands;
use crate::schedule::products::Product;
use std::rc::Rc;

/// The parameters of one variant.
pub struct TensorProductParams {
    pub(super) product: Rc<Product>,
    pub(super) operands: Operands,
    /// Whether arrays may have any strides.
    pub(super) strided: bool,
}
