//! The values of a warp's lanes.

use crate::kernel::WARP;
use crate::scalar::{Lit, Ty};

/// The bits of a value in each lane.
pub(super) type Bits = [u64; WARP as usize];

/// A value in each lane. The values of inactive lanes are meaningless.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    pub ty: Ty,
    pub bits: Bits,
}

/// Returns the lanes of a mask, in ascending order.
pub(super) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lane < WARP).then_some(lane as usize)
    })
}

impl Lanes {
    /// Returns zeros for all lanes, which callers overwrite in active ones.
    #[inline(always)]
    pub fn none(ty: Ty) -> Lanes {
        Lanes { ty, bits: [0; WARP as usize] }
    }

    /// Puts the same value in each lane.
    pub fn splat(&mut self, l: Lit) {
        self.ty = l.ty;
        self.bits.fill(l.bits);
    }

    #[inline]
    pub fn at(&self, lane: usize) -> Lit {
        Lit { ty: self.ty, bits: self.bits[lane] }
    }

    /// Returns the value of a lane as an index, sign-extended.
    #[inline]
    pub fn index(&self, lane: usize) -> i64 {
        match self.ty {
            Ty::I32 => self.at(lane).as_i32().into(),
            _ => self.at(lane).as_i64(),
        }
    }

    /// Returns the lanes of `mask` whose bool is true.
    pub fn and(&self, mask: u32) -> u32 {
        mask & self.bits.iter().enumerate().fold(0, |m, (l, bits)| m | u32::from(*bits != 0) << l)
    }

    /// Returns the lanes of `mask` whose index is below `end`.
    pub fn below(&self, end: &Lanes, mask: u32) -> u32 {
        lanes(mask).filter(|l| self.index(*l) < end.index(*l)).fold(0, |m, l| m | 1 << l)
    }
}

/// Returns the words of two halves, or of one f32 rounded to tf32.
pub(super) fn packed(values: &[Lanes]) -> Bits {
    let tf32 = |bits: u64| match f32::from_bits(bits as u32).is_nan() {
        true => 0x7fff_ffff,
        // the rounding may carry into the exponent, up to infinity
        false => (bits + 0x1000) & !0x1fff,
    };
    match values {
        [low, high] => std::array::from_fn(|l| low.bits[l] | high.bits[l] << 16),
        _ => std::array::from_fn(|l| tf32(values[0].bits[l])),
    }
}
