//! The bits of floats: what they are, and that they are those of the semantics for a NaN.

use arraygpu_dsl::example::{call, vector};
use arraygpu_dsl::prelude::*;

#[test]
fn bits_of_floats() {
    let words = [0u32, 1, 0x8000_0000, 0x3f80_0000, 0x7f80_0000, 0xff80_0001, 0x7fc0_0000, 0xffff_ffff];
    let f = |x: VExp<u32>| VExp::<f32>::from_bits(x).to_bits();
    let expected = words.map(|w| if f32::from_bits(w).is_nan() { 0x7fc0_0000 } else { w });
    assert_eq!(call(f, [vector(&words)]), [vector(&expected)]);
    let words = words.map(|w| u64::from(w) << 32 | 7);
    let f = |x: VExp<u64>| x.map(|w| SExp::<f64>::from_bits(w).to_bits());
    let expected = words.map(|w| if f64::from_bits(w).is_nan() { 0x7ff8_0000_0000_0000 } else { w });
    assert_eq!(call(f, [vector(&words)]), [vector(&expected)]);
    // integers that say how large a float is: the exponent
    let f = |x: VExp<f32>| x.map(|a| (a.to_bits() >> 23u32 & 255u32).cast::<i32>() - 127);
    assert_eq!(call(f, [vector(&[1.0f32, 3.0, 0.25])]), [vector(&[0i32, 1, -2])]);
}
