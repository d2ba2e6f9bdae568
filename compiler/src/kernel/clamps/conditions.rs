//! Conditions of a loop's counter: that it is on one side of bounds which are the same in all iterations.

use crate::kernel::Expr;
use crate::scalar::BinaryOp;

/// Numbers below it, and their sums, do not wrap around. Others are not taken for indices.
pub const SMALL: i64 = 1 << 40;

/// What must hold of the counter for all clamped indices to be the indices themselves.
#[derive(Default)]
pub struct Clamps {
    /// The counter is at least each of these,
    pub from: Vec<Expr>,
    /// and less than each of these,
    pub to: Vec<Expr>,
    /// provided that these numbers are small.
    pub numbers: Vec<Expr>,
}

impl Clamps {
    fn add(all: &mut Vec<Expr>, e: Expr) {
        if !all.contains(&e) {
            all.push(e);
        }
    }

    /// Adds the conditions of another one.
    pub fn join(&mut self, other: Clamps) {
        other.from.into_iter().for_each(|e| Clamps::add(&mut self.from, e));
        other.to.into_iter().for_each(|e| Clamps::add(&mut self.to, e));
        other.numbers.into_iter().for_each(|e| Clamps::add(&mut self.numbers, e));
    }

    /// Adds the condition `times * counter + distance op bound`.
    pub fn require(&mut self, times: i64, distance: &Expr, op: BinaryOp, bound: Expr) {
        for number in [distance, &bound] {
            if !matches!(number, Expr::Lit(l) if l.as_i64().unsigned_abs() < SMALL as u64) {
                Clamps::add(&mut self.numbers, number.clone());
            }
        }
        let is_from = matches!(op, BinaryOp::Ge | BinaryOp::Gt);
        let mut end = difference(bound, distance.clone());
        if matches!(op, BinaryOp::Gt | BinaryOp::Le) {
            end = sum(end, Expr::int(1));
        }
        if times > 1 {
            // rounded up in both cases, and of a counter that is not negative
            Clamps::add(&mut self.from, Expr::int(0));
            let end_of_positive = Expr::binary(BinaryOp::Max, sum(end, Expr::int(times - 1)), Expr::int(0));
            end = Expr::binary(BinaryOp::Div, end_of_positive, Expr::int(times));
        }
        Clamps::add(if is_from { &mut self.from } else { &mut self.to }, end);
    }
}

/// Returns `a + b`, computed if both are constants.
pub fn sum(a: Expr, b: Expr) -> Expr {
    match (a.constant(), b.constant()) {
        (Some(a), Some(b)) => Expr::int(a.wrapping_add(b)),
        (Some(0), _) => b,
        (_, Some(0)) => a,
        _ => a.plus(b),
    }
}

/// Returns `a - b`, computed if both are constants.
pub fn difference(a: Expr, b: Expr) -> Expr {
    match (a.constant(), b.constant()) {
        (Some(a), Some(b)) => Expr::int(a.wrapping_sub(b)),
        (_, Some(0)) => a,
        _ => a.minus(b),
    }
}
