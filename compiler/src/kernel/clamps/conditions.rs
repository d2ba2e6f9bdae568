//! Conditions of a loop's counter: that it is on one side of bounds which are the same in all iterations.

use crate::kernel::Expr;
use crate::scalar::BinaryOp;

/// Numbers below it, and their sums, do not wrap around. Others are not taken for indices.
const SMALL: i64 = 1 << 40;

/// What must hold of the counter for all clamped indices to be the indices themselves.
#[derive(Default)]
pub struct Clamps {
    /// The counter is at least each of these,
    pub from: Vec<Expr>,
    /// and less than each of these,
    pub to: Vec<Expr>,
    /// provided that these numbers are small,
    pub numbers: Vec<Expr>,
    /// and that these conditions hold, which are the same in all iterations.
    pub same: Vec<Expr>,
}

/// A choice whose arms read different numbers of elements.
pub struct Choice<'e> {
    pub reads: &'e Expr,
    pub of_reads: Clamps,
    pub others: &'e Expr,
    pub of_others: Unread,
}

/// When a choice does not take the arm that reads arrays.
#[derive(Default)]
pub struct Unread {
    /// One of these conditions does not hold,
    pub same: Vec<Expr>,
    /// or the counter is within these.
    pub clamps: Clamps,
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
        other.same.into_iter().for_each(|e| Clamps::add(&mut self.same, e));
    }

    /// Returns the range of the counter from `lo` to `hi`.
    pub fn range(&self, lo: &Expr, hi: &Expr) -> (Expr, Expr) {
        let join = |op, all: &[Expr], e: &Expr| {
            all.iter().fold(e.clone(), |e, bound| Expr::binary(op, e, bound.clone()))
        };
        (join(BinaryOp::Max, &self.from, lo), join(BinaryOp::Min, &self.to, hi))
    }

    /// Returns the condition for the range.
    pub fn condition(&self) -> Option<Expr> {
        let is_small = |number: &Expr| {
            let is_above = Expr::binary(BinaryOp::Gt, number.clone(), Expr::int(-SMALL));
            both(is_above, Expr::binary(BinaryOp::Lt, number.clone(), Expr::int(SMALL)))
        };
        self.numbers.iter().map(is_small).chain(self.same.iter().cloned()).reduce(both)
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

/// Returns the range of a counter from `lo` to `hi` in which no choice reads arrays.
pub fn range_of_others(choices: &[Unread], lo: &Expr, hi: &Expr) -> (Expr, Expr) {
    choices.iter().fold((lo.clone(), hi.clone()), |(first, end), choice| {
        let (from, mut to) = choice.clamps.range(lo, hi);
        if let Some(condition) = choice.clamps.condition() {
            to = condition.select(to, lo.clone());
        }
        let (from, to) = match choice.same.iter().cloned().reduce(both) {
            Some(same) => (same.clone().select(from, lo.clone()), same.select(to, hi.clone())),
            None => (from, to),
        };
        (Expr::binary(BinaryOp::Max, first, from), Expr::binary(BinaryOp::Min, end, to))
    })
}

fn both(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::And, a, b)
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
