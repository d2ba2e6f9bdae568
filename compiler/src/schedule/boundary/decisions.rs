//! The table by which `interior.rs` replaces operations on indices: each line names an operation on
//! two operands, linear forms of the operands that must not be negative, and the simpler value that
//! the operation then has. `cargo xtask prove` proves every line.

use crate::core::linear::Linear;
use crate::scalar::BinaryOp;

/// A linear form of two operands a and b, which must not be negative.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// a
    First,
    /// a - b
    Ge,
    /// a - b - 1
    Gt,
    /// b - a
    Le,
    /// b - a - 1
    Lt,
    /// 2 b - a - 1
    BelowTwice,
}

impl Form {
    /// Returns the coefficient of a, the coefficient of b, and the constant.
    pub fn parts(self) -> [i64; 3] {
        match self {
            Form::First => [1, 0, 0],
            Form::Ge => [1, -1, 0],
            Form::Gt => [1, -1, -1],
            Form::Le => [-1, 1, 0],
            Form::Lt => [-1, 1, -1],
            Form::BelowTwice => [-1, 2, -1],
        }
    }

    /// Returns the form of two operands that are linear forms of the indices.
    pub fn of(self, a: &Linear, b: &Linear) -> Linear {
        let [of_a, of_b, constant] = self.parts();
        let sum = a.scaled(of_a).minus(&b.scaled(of_b.wrapping_neg()));
        Linear { constant: sum.constant.wrapping_add(constant), ..sum }
    }
}

/// The value of an operation whose conditions hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// a
    First,
    /// b
    Second,
    /// a - b
    Difference,
    /// The constant true or false.
    Truth(bool),
}

/// A line of the table: an operation on a and b, its conditions, and its value under these.
#[derive(Clone, Copy, Debug)]
pub struct Decision {
    /// The operation. `None` is `within`, 0 <= a < b.
    pub op: Option<BinaryOp>,
    /// The conditions: none of these forms may be negative.
    pub when: &'static [Form],
    /// The value that the operation then has.
    pub is: Answer,
}

const fn decision(op: Option<BinaryOp>, when: &'static [Form], is: Answer) -> Decision {
    Decision { op, when, is }
}

/// The lines for all operations. If several lines for one operation need boundary widths with the
/// same sum, the first one is used.
pub const DECISIONS: &[Decision] = {
    use Answer::{Difference, First, Second, Truth};
    use BinaryOp::{Eq, Ge, Gt, Le, Lt, Max, Min, Ne, Rem};
    &[
        decision(None, &[Form::First, Form::Lt], Truth(true)),
        decision(Some(Max), &[Form::Ge], First),
        decision(Some(Max), &[Form::Le], Second),
        decision(Some(Min), &[Form::Le], First),
        decision(Some(Min), &[Form::Ge], Second),
        decision(Some(Ge), &[Form::Ge], Truth(true)),
        decision(Some(Ge), &[Form::Lt], Truth(false)),
        decision(Some(Gt), &[Form::Gt], Truth(true)),
        decision(Some(Gt), &[Form::Le], Truth(false)),
        decision(Some(Le), &[Form::Le], Truth(true)),
        decision(Some(Le), &[Form::Gt], Truth(false)),
        decision(Some(Lt), &[Form::Lt], Truth(true)),
        decision(Some(Lt), &[Form::Ge], Truth(false)),
        decision(Some(Eq), &[Form::Lt], Truth(false)),
        decision(Some(Eq), &[Form::Gt], Truth(false)),
        decision(Some(Ne), &[Form::Lt], Truth(true)),
        decision(Some(Ne), &[Form::Gt], Truth(true)),
        decision(Some(Rem), &[Form::First, Form::Lt], First),
        decision(Some(Rem), &[Form::Ge, Form::BelowTwice], Difference),
    ]
};
