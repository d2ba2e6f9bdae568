//! Splits an index into a sum of a part that is not constant and a constant. Accesses whose indices differ only in
//! the constant share one address register: the instruction adds the constant.

use super::Expr;
use crate::scalar::BinaryOp;
use std::borrow::Cow;

/// The exclusive limit of the constant's absolute value. Greater constants stay in the other part.
const MAX_CONSTANT: i64 = 1 << 20;

/// Splits `index` into a part that is not constant, or `None` if there is none, and a constant.
/// Their sum is the index.
pub fn split(index: &Expr) -> (Option<Cow<'_, Expr>>, i64) {
    match index {
        Expr::Lit(l) if l.as_int().is_some_and(|c| c.unsigned_abs() < MAX_CONSTANT as u64) => {
            (None, l.as_int().unwrap_or(0))
        }
        Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
            let (part, c) = split(a);
            match b.constant() {
                Some(k) if k.unsigned_abs() < MAX_CONSTANT as u64 => {
                    let sum = if *op == BinaryOp::Add { c + k } else { c - k };
                    if sum.abs() < MAX_CONSTANT { (part, sum) } else { (Some(Cow::Borrowed(index)), 0) }
                }
                _ if *op == BinaryOp::Add && c != 0 => match part {
                    Some(part) => (Some(Cow::Owned(part.into_owned().plus((**b).clone()))), c),
                    None => (Some(Cow::Borrowed(&**b)), c),
                },
                _ => (Some(Cow::Borrowed(index)), 0),
            }
        }
        e => (Some(Cow::Borrowed(e)), 0),
    }
}
