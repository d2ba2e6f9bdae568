//! Constants: their bits, and their text form.

use super::{Ty, half};
use std::fmt;

/// A constant: a type and the bits of its value, zero-extended to 64. Equality is equality of bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Lit {
    /// Its type.
    pub ty: Ty,
    /// Its bits. Signed integers are *not* sign-extended beyond their width.
    pub bits: u64,
}

#[allow(missing_docs)]
impl Lit {
    #[inline]
    pub fn f32(x: f32) -> Lit {
        Lit { ty: Ty::F32, bits: x.to_bits().into() }
    }
    #[inline]
    pub fn f64(x: f64) -> Lit {
        Lit { ty: Ty::F64, bits: x.to_bits() }
    }
    #[inline]
    pub fn i32(x: i32) -> Lit {
        Lit { ty: Ty::I32, bits: (x as u32).into() }
    }
    #[inline]
    pub fn i64(x: i64) -> Lit {
        Lit { ty: Ty::I64, bits: x as u64 }
    }
    #[inline]
    pub fn u32(x: u32) -> Lit {
        Lit { ty: Ty::U32, bits: x.into() }
    }
    #[inline]
    pub fn u8(x: u8) -> Lit {
        Lit { ty: Ty::U8, bits: x.into() }
    }
    #[inline]
    pub fn u64(x: u64) -> Lit {
        Lit { ty: Ty::U64, bits: x }
    }
    #[inline]
    pub fn i8(x: i8) -> Lit {
        Lit { ty: Ty::I8, bits: (x as u8).into() }
    }
    #[inline]
    pub fn i16(x: i16) -> Lit {
        Lit { ty: Ty::I16, bits: (x as u16).into() }
    }
    #[inline]
    pub fn u16(x: u16) -> Lit {
        Lit { ty: Ty::U16, bits: x.into() }
    }
    #[inline]
    pub fn bool(x: bool) -> Lit {
        Lit { ty: Ty::Bool, bits: x.into() }
    }
    /// Returns the nearest value of a float type.
    #[inline]
    pub fn float(ty: Ty, x: f64) -> Lit {
        match ty {
            Ty::F32 => Lit::f32(x as f32),
            Ty::F64 => Lit::f64(x),
            _ => Lit { ty, bits: half::of_f64(ty, x).into() },
        }
    }
    #[inline]
    pub fn as_f32(self) -> f32 {
        f32::from_bits(self.bits as u32)
    }
    #[inline]
    pub fn as_f64(self) -> f64 {
        f64::from_bits(self.bits)
    }
    #[inline]
    pub fn as_i32(self) -> i32 {
        self.bits as u32 as i32
    }
    #[inline]
    pub fn as_i64(self) -> i64 {
        self.bits as i64
    }
    #[inline]
    pub fn as_u32(self) -> u32 {
        self.bits as u32
    }
    #[inline]
    pub fn as_u8(self) -> u8 {
        self.bits as u8
    }
    #[inline]
    pub fn as_u64(self) -> u64 {
        self.bits
    }
    #[inline]
    pub fn as_i8(self) -> i8 {
        self.bits as u8 as i8
    }
    #[inline]
    pub fn as_i16(self) -> i16 {
        self.bits as u16 as i16
    }
    #[inline]
    pub fn as_u16(self) -> u16 {
        self.bits as u16
    }
    #[inline]
    pub fn as_bool(self) -> bool {
        self.bits != 0
    }

    /// Returns the value of an integer or bool constant, if it fits in i64.
    #[inline]
    pub fn as_int(self) -> Option<i64> {
        match self.ty {
            Ty::I8 => Some(self.as_i8().into()),
            Ty::I16 => Some(self.as_i16().into()),
            Ty::I32 => Some(self.as_i32().into()),
            Ty::I64 => Some(self.as_i64()),
            Ty::U8 | Ty::U16 | Ty::U32 | Ty::Bool => Some(self.bits as i64),
            Ty::U64 => i64::try_from(self.bits).ok(),
            Ty::F32 | Ty::F64 | Ty::F16 | Ty::Bf16 => None,
        }
    }

    /// Returns the value of a float constant.
    #[inline]
    pub fn as_float(self) -> Option<f64> {
        match self.ty {
            Ty::F32 => Some(self.as_f32().into()),
            Ty::F64 => Some(self.as_f64()),
            Ty::F16 | Ty::Bf16 => Some(half::to_f32(self.ty, self.bits as u16).into()),
            _ => None,
        }
    }

    /// Returns zero, or false.
    pub fn zero(ty: Ty) -> Lit {
        Lit { ty, bits: 0 }
    }

    /// Returns the empty sum, which is neutral to the bit: 0, but -0 for floats.
    pub fn no_sum(ty: Ty) -> Lit {
        if ty.is_float() { Lit::float(ty, -0.0) } else { Lit::zero(ty) }
    }

    /// Returns one, or true.
    pub fn one(ty: Ty) -> Lit {
        match ty {
            ty if ty.is_float() => Lit::float(ty, 1.0),
            _ => Lit { ty, bits: 1 },
        }
    }

    /// Returns the greatest value, +inf for floats: the initial value of `min`.
    pub fn greatest(ty: Ty) -> Lit {
        match ty {
            Ty::F32 | Ty::F64 | Ty::F16 | Ty::Bf16 => Lit::float(ty, f64::INFINITY),
            Ty::I32 => Lit::i32(i32::MAX),
            Ty::I64 => Lit::i64(i64::MAX),
            Ty::U32 => Lit::u32(u32::MAX),
            Ty::U8 => Lit::u8(u8::MAX),
            Ty::U64 => Lit::u64(u64::MAX),
            Ty::I8 => Lit::i8(i8::MAX),
            Ty::I16 => Lit::i16(i16::MAX),
            Ty::U16 => Lit::u16(u16::MAX),
            Ty::Bool => Lit::bool(true),
        }
    }

    /// Returns the least value, -inf for floats: the initial value of `max`.
    pub fn least(ty: Ty) -> Lit {
        match ty {
            Ty::F32 | Ty::F64 | Ty::F16 | Ty::Bf16 => Lit::float(ty, f64::NEG_INFINITY),
            Ty::I32 => Lit::i32(i32::MIN),
            Ty::I64 => Lit::i64(i64::MIN),
            Ty::I8 => Lit::i8(i8::MIN),
            Ty::I16 => Lit::i16(i16::MIN),
            Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 | Ty::Bool => Lit::zero(ty),
        }
    }

    /// Returns whether it is a NaN, of any payload.
    pub fn is_nan(self) -> bool {
        self.as_float().is_some_and(f64::is_nan)
    }

    /// Returns the value as it is stored in a result: NaN becomes the canonical NaN (semantics
    /// 2.4).
    pub fn canonical(self) -> Lit {
        match self.ty {
            Ty::F32 if self.is_nan() => Lit { ty: Ty::F32, bits: 0x7fc0_0000 },
            Ty::F64 if self.is_nan() => Lit { ty: Ty::F64, bits: 0x7ff8_0000_0000_0000 },
            Ty::F16 | Ty::Bf16 if self.is_nan() => Lit { bits: half::nan(self.ty).into(), ..self },
            _ => self,
        }
    }

    /// Reads an element from memory in native byte order. `bytes` has `ty.size()` bytes.
    pub fn from_bytes(ty: Ty, bytes: &[u8]) -> Lit {
        let mut all = [0u8; 8];
        all[..ty.size()].copy_from_slice(&bytes[..ty.size()]);
        Lit::from_word(ty, u64::from_le_bytes(all))
    }

    /// Returns the element whose bits a word has. A bool is true if the word is not 0.
    pub fn from_word(ty: Ty, bits: u64) -> Lit {
        Lit { ty, bits: if ty == Ty::Bool { (bits != 0).into() } else { bits } }
    }

    /// Writes the element to memory.
    pub fn to_bytes(self, out: &mut [u8]) {
        out[..self.ty.size()].copy_from_slice(&self.bits.to_le_bytes()[..self.ty.size()]);
    }
}

impl fmt::Display for Lit {
    /// Writes the text form of the IRs: `2.5f32`, `-3i64`, `true`, `0x7fc00000f32` for a NaN.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ty {
            Ty::Bool => write!(f, "{}", self.as_bool()),
            Ty::F32 | Ty::F64 | Ty::F16 | Ty::Bf16 if self.is_nan() => {
                write!(f, "0x{:x}{}", self.bits, self.ty)
            }
            Ty::F32 => write!(f, "{}f32", self.as_f32()),
            Ty::F64 => write!(f, "{}f64", self.as_f64()),
            Ty::F16 | Ty::Bf16 => write!(f, "{}{}", half::to_f32(self.ty, self.bits as u16), self.ty),
            Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => write!(f, "{}{}", self.as_int().unwrap_or(0), self.ty),
            Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 => write!(f, "{}{}", self.bits, self.ty),
        }
    }
}

impl std::str::FromStr for Lit {
    type Err = String;
    /// Reads the form that `Display` writes.
    fn from_str(s: &str) -> Result<Lit, String> {
        match s {
            "true" => return Ok(Lit::bool(true)),
            "false" => return Ok(Lit::bool(false)),
            _ => {}
        }
        let ty = suffix(s);
        let ty = ty.ok_or_else(|| format!("`{s}` is not a literal: it ends in no element type"))?;
        let number = &s[..s.len() - ty.name().len()];
        let bad = || format!("`{number}` is not a value of {ty}");
        if let Some(hex) = number.strip_prefix("0x") {
            let bits = u64::from_str_radix(hex, 16).map_err(|_| bad())?;
            return if ty.size() == 8 || bits >> (8 * ty.size()) == 0 {
                Ok(Lit { ty, bits })
            } else {
                Err(bad())
            };
        }
        Ok(match ty {
            Ty::F32 => Lit::f32(number.parse().map_err(|_| bad())?),
            Ty::F64 => Lit::f64(number.parse().map_err(|_| bad())?),
            Ty::I32 => Lit::i32(number.parse().map_err(|_| bad())?),
            Ty::I64 => Lit::i64(number.parse().map_err(|_| bad())?),
            Ty::U32 => Lit::u32(number.parse().map_err(|_| bad())?),
            Ty::U64 => Lit::u64(number.parse().map_err(|_| bad())?),
            Ty::I8 => Lit::i8(number.parse().map_err(|_| bad())?),
            Ty::I16 => Lit::i16(number.parse().map_err(|_| bad())?),
            Ty::U16 => Lit::u16(number.parse().map_err(|_| bad())?),
            Ty::U8 => Lit::u8(number.parse().map_err(|_| bad())?),
            Ty::F16 | Ty::Bf16 => Lit::float(ty, number.parse().map_err(|_| bad())?),
            Ty::Bool => return Err(bad()),
        })
    }
}

/// Returns the type in which a literal ends. In a hexadecimal number `b` is a digit, too; the NaN
/// of an f16 is recognised by its four digits.
fn suffix(s: &str) -> Option<Ty> {
    let other = |t: &Ty| *t == Ty::Bf16 && s.starts_with("0x") && s.len() == "0x7e00f16".len();
    let ends = |t: &Ty| *t != Ty::Bool && s.ends_with(t.name()) && !other(t);
    Ty::ALL.into_iter().filter(ends).max_by_key(|t| t.name().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_round_trip() {
        for ty in [Ty::F16, Ty::Bf16] {
            for bits in 0..=u64::from(u16::MAX) {
                let l = Lit { ty, bits };
                assert_eq!(l.to_string().parse::<Lit>(), Ok(l));
            }
        }
    }

    #[test]
    fn literals_round_trip() {
        for l in [
            Lit::f32(-0.0),
            Lit::f32(f32::NAN),
            Lit::f64(f64::NEG_INFINITY),
            Lit::f32(1e-42),
            Lit::i64(i64::MIN),
            Lit::u8(7),
            Lit::u64(u64::MAX),
            Lit::i8(-128),
            Lit::i16(-1),
            Lit::u16(u16::MAX),
        ] {
            assert_eq!(l.to_string().parse::<Lit>().unwrap(), l, "{l}");
        }
        assert!("300u8".parse::<Lit>().is_err() && "1.5".parse::<Lit>().is_err());
    }
}
