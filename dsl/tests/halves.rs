//! Authors' constants of f16 and bf16 come in types of the crate `half`; the compiler has conversions of its own
//! (`compiler/src/scalar/half.rs`). What both can do, they do alike.

use arraygpu_compiler::scalar::{Lit, Ty, eval};
use half::{bf16, f16};

fn widened(ty: Ty, bits: u16) -> f32 {
    f32::from_bits(eval::eval_cast(Ty::F32, Lit { ty, bits: bits.into() }).bits as u32)
}

fn rounded(ty: Ty, x: f32) -> u16 {
    eval::eval_cast(ty, Lit::f32(x)).bits as u16
}

fn theirs(ty: Ty, bits: u16) -> f32 {
    if ty == Ty::F16 { f16::from_bits(bits).to_f32() } else { bf16::from_bits(bits).to_f32() }
}

fn rounded_by_them(ty: Ty, x: f32) -> u16 {
    if ty == Ty::F16 { f16::from_f32(x).to_bits() } else { bf16::from_f32(x).to_bits() }
}

#[test]
fn every_value_and_the_ties_between() {
    for ty in [Ty::F16, Ty::Bf16] {
        for bits in 0..=u16::MAX {
            let x = widened(ty, bits);
            assert!(x.to_bits() == theirs(ty, bits).to_bits() || x.is_nan() && theirs(ty, bits).is_nan());
            let above = widened(ty, bits.wrapping_add(1));
            if x.is_nan() || above.is_nan() {
                continue;
            }
            let tie = ((f64::from(x) + f64::from(above)) / 2.0) as f32;
            for x in [x, x.next_up(), x.next_down(), tie, tie.next_up(), tie.next_down()] {
                if !x.is_nan() {
                    assert_eq!(rounded(ty, x), rounded_by_them(ty, x), "{ty} {x:e}");
                }
            }
        }
    }
}
