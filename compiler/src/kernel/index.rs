//! An index as a part that is not constant and a constant: accesses that differ in the constant only share one
//! address.

use super::Expr;
use crate::scalar::BinaryOp;
use std::borrow::Cow;

/// Greater constants stay in the part that is not constant.
const MAX_CONSTANT: i64 = 1 << 20;

/// `index` as a part that is not constant (`None`: there is none) and a constant, whose sum it is.
pub fn split(index: &Expr) -> (Option<Cow<'_, Expr>>, i64) {
    match index {
        Expr::Lit(l) if l.as_int().is_some_and(|c| c.unsigned_abs() < MAX_CONSTANT as u64) => {
            (None, l.as_int().unwrap_or(0))
        }
        Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
            let (part, c) = split(a);
            let of_b = if let Expr::Lit(l) = &**b { l.as_int() } else { None };
            match of_b {
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
