//! The order of a vector's elements (semantics 5.19).

use crate::core::interp::values::Array;
use crate::scalar::{Lit, Ty};

/// Returns the indices of the elements in ascending order of these, equal ones in the order of their indices.
pub(super) fn argsort(elements: &[Lit]) -> Array {
    let mut order: Vec<i64> = (0..elements.len() as i64).collect();
    order.sort_by_key(|i| place(elements[*i as usize]));
    Array::vector(order.into_iter().map(Lit::i64).collect())
}

/// A number whose order is that of the values: -0 before +0, and NaNs last.
fn place(x: Lit) -> i128 {
    match x.as_float() {
        Some(v) if v.is_nan() => i128::MAX,
        Some(v) => {
            let bits = v.to_bits() as i64;
            let below_zero = if bits < 0 { i64::MAX } else { 0 };
            (bits ^ below_zero).into()
        }
        None if x.ty == Ty::U64 => x.bits.into(),
        None => x.as_int().expect("an integer that fits").into(),
    }
}
