//! What operations on indices are where a form of their operands is not negative: the table that
//! `inside` decides by, each line of which `cargo xtask prove` shows right.

use crate::core::linear::Linear;
use crate::scalar::BinaryOp;

/// A form of two operands a and b, of which it is asked where it is not negative.
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
    /// Its coefficients: of a, of b, and the constant.
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

    /// The form of linear operands.
    pub fn of(self, a: &Linear, b: &Linear) -> Linear {
        let [of_a, of_b, constant] = self.parts();
        let sum = a.scaled(of_a).minus(&b.scaled(of_b.wrapping_neg()));
        Linear { constant: sum.constant.wrapping_add(constant), ..sum }
    }
}

/// What an operation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// a
    First,
    /// b
    Second,
    /// a - b
    Difference,
    /// A condition that holds, or does not.
    Truth(bool),
}

/// An operation of a and b, what must not be negative, and what it then is.
#[derive(Clone, Copy, Debug)]
pub struct Decision {
    /// None: `within`, 0 <= a < b.
    pub op: Option<BinaryOp>,
    /// All of these are not negative.
    pub when: &'static [Form],
    /// What the operation then is.
    pub is: Answer,
}

const fn decision(op: Option<BinaryOp>, when: &'static [Form], is: Answer) -> Decision {
    Decision { op, when, is }
}

/// The decisions for all operations. Where several lines hold within equal widths, the first counts.
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
