//! The moments of some values, as `squared_deviations` merges them (semantics 5.12).

use crate::scalar::{BinaryOp, Lit, eval_binary, eval_mul_add};

/// The number of some values, their mean, and the sum of their squared deviations from it.
#[derive(Clone, Copy)]
pub(super) struct Moments {
    count: Lit,
    mean: Lit,
    pub(super) sum: Lit,
}

impl Moments {
    /// Returns the moments of one value.
    pub(super) fn of(x: Lit) -> Moments {
        let zero = Lit::zero(x.ty);
        Moments { count: zero, mean: zero, sum: zero }.after(x)
    }

    /// Returns the moments after a further value.
    pub(super) fn after(self, x: Lit) -> Moments {
        let one = Lit::one(x.ty);
        let count = binary(BinaryOp::Add, self.count, one);
        let d = binary(BinaryOp::Sub, x, self.mean);
        let mean = eval_mul_add(d, binary(BinaryOp::Div, one, count), self.mean);
        let sum = eval_mul_add(d, binary(BinaryOp::Sub, x, mean), self.sum);
        Moments { count, mean, sum }
    }

    /// Returns the moments of the values of both, of which each has some.
    pub(super) fn joined(self, other: Moments) -> Moments {
        let count = binary(BinaryOp::Add, self.count, other.count);
        let weight = binary(BinaryOp::Div, other.count, count);
        let d = binary(BinaryOp::Sub, other.mean, self.mean);
        let scaled = binary(BinaryOp::Mul, d, binary(BinaryOp::Mul, self.count, weight));
        let sum = eval_mul_add(d, scaled, binary(BinaryOp::Add, self.sum, other.sum));
        Moments { count, mean: eval_mul_add(d, weight, self.mean), sum }
    }
}

fn binary(op: BinaryOp, a: Lit, b: Lit) -> Lit {
    eval_binary(op, a, b).0
}
