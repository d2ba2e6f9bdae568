//! The parameters of one variant of a product by tensor cores.

use super::find::Operands;
use super::layout::{Shape, Staged};
use crate::kernel::Expr;
use crate::scalar::Ty;
use crate::schedule::element::lower::Lower;
use crate::schedule::facts::products::Product;
use crate::schedule::groups::FusedGroup;
use std::rc::Rc;

/// What a variant may assume about the rows of arrays.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// Vector accesses of all of them are aligned.
    Aligned,
    /// Vector accesses of the operands are aligned, but not those of results and of what is read with them.
    AlignedOperands,
    /// They may have any strides; the operands lie in scratch, where the launch before has packed them.
    Packed,
    /// They may have any strides.
    Strided,
}

/// The parameters of one variant.
pub struct TensorProductParams {
    pub(super) product: Rc<Product>,
    pub(super) operands: Operands,
    pub(super) shape: Shape,
    pub(super) rows: Rows,
    /// Whether this is the launch that packs the operands.
    pub(super) packs: bool,
}

impl TensorProductParams {
    /// Returns how the operands lie in shared memory: in the direction of their arrays. If warpgroups need an operand
    /// along the inner index and its array has it across, packing turns it.
    pub(super) fn sides(&self) -> [Staged; 2] {
        let (ty, shape) = (self.operands.ty, self.shape);
        [0, 1].map(|side| {
            let must_be = shape.is_by_warpgroups() && (side == 0 || ty == Ty::F32);
            Staged { side, along_k: must_be || self.product.sides[side].along_k, ty, shape }
        })
    }

    /// Returns the number of planes; a single product has 1.
    pub(super) fn planes(&self, l: &mut Lower, fused: &FusedGroup) -> Expr {
        match self.product.plane {
            Some(_) => l.launch.host(fused.domain[0]),
            None => Expr::int(1),
        }
    }
}
