//! Element types: their names, and elements as bytes, numbers and text.

use arraygpu_capi::abi::AgpuType;
use arraygpu_compiler::scalar::{Ty, half as halves};
use half::{bf16, f16};
use std::fmt;

/// An element type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// A signed integer of 32 bits.
    I32,
    /// A signed integer of 64 bits.
    I64,
    /// An unsigned integer of 32 bits.
    U32,
    /// An unsigned integer of 8 bits.
    U8,
    /// One byte, 0 or 1.
    Bool,
    /// An unsigned integer of 64 bits.
    U64,
    /// A signed integer of 8 bits.
    I8,
    /// A signed integer of 16 bits.
    I16,
    /// An unsigned integer of 16 bits.
    U16,
    /// IEEE 754 binary16.
    F16,
    /// The upper 16 bits of an `F32`.
    Bf16,
}

/// All types with the C ABI's number, the name, the size in bytes, and what NumPy calls it.
const KINDS: [(Kind, AgpuType, &str, usize, &str); 13] = [
    (Kind::F32, AgpuType::AgpuF32, "f32", 4, "float32"),
    (Kind::F64, AgpuType::AgpuF64, "f64", 8, "float64"),
    (Kind::I32, AgpuType::AgpuI32, "i32", 4, "int32"),
    (Kind::I64, AgpuType::AgpuI64, "i64", 8, "int64"),
    (Kind::U32, AgpuType::AgpuU32, "u32", 4, "uint32"),
    (Kind::U8, AgpuType::AgpuU8, "u8", 1, "uint8"),
    (Kind::Bool, AgpuType::AgpuBool, "bool", 1, "bool"),
    (Kind::U64, AgpuType::AgpuU64, "u64", 8, "uint64"),
    (Kind::I8, AgpuType::AgpuI8, "i8", 1, "int8"),
    (Kind::I16, AgpuType::AgpuI16, "i16", 2, "int16"),
    (Kind::U16, AgpuType::AgpuU16, "u16", 2, "uint16"),
    (Kind::F16, AgpuType::AgpuF16, "f16", 2, "float16"),
    (Kind::Bf16, AgpuType::AgpuBf16, "bf16", 2, "bfloat16"),
];

/// The value of an element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// The value of an integer type, or of `bool` as 0 or 1.
    Int(i128),
    /// The value of a floating-point type.
    Float(f64),
}

impl Number {
    /// Returns the nearest `f64`.
    pub fn to_f64(self) -> f64 {
        match self {
            Number::Int(i) => i as f64,
            Number::Float(x) => x,
        }
    }

    /// Whether it is less than another number of its type.
    pub fn is_below(self, other: Number) -> bool {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => a < b,
            _ => self.to_f64() < other.to_f64(),
        }
    }
}

/// Returns the nearest f16 or bf16, rounded once.
fn half_of(ty: Ty, number: Number) -> u16 {
    match number {
        Number::Int(i) => halves::of_int(ty, i),
        Number::Float(x) => halves::of_f64(ty, x),
    }
}

impl Kind {
    /// All types.
    pub fn all() -> impl Iterator<Item = Kind> {
        KINDS.iter().map(|k| k.0)
    }

    /// Returns the type with this number in the C ABI. A library newer than this program may have
    /// others.
    pub fn of_number(number: i32) -> Option<Kind> {
        KINDS.iter().find(|k| k.1 as i32 == number).map(|k| k.0)
    }

    fn row(self) -> &'static (Kind, AgpuType, &'static str, usize, &'static str) {
        // the table has them all, in the order of the enum
        &KINDS[self as usize]
    }

    /// Returns the C ABI's type.
    pub fn abi(self) -> AgpuType {
        self.row().1
    }

    /// Returns the size of an element in bytes.
    pub fn size(self) -> usize {
        self.row().3
    }

    /// Returns NumPy's name of the type.
    pub fn numpy(self) -> &'static str {
        self.row().4
    }

    /// Returns the number of bits of a float's significand; `None` for other types.
    pub fn precision(self) -> Option<u32> {
        match self {
            Kind::F64 => Some(53),
            Kind::F32 => Some(24),
            Kind::F16 => Some(11),
            Kind::Bf16 => Some(8),
            _ => None,
        }
    }

    /// Returns the least and the greatest value of an integer type or bool; `None` for floats.
    pub fn range(self) -> Option<(i128, i128)> {
        Some(match self {
            Kind::Bool => (0, 1),
            Kind::U8 => (0, u8::MAX.into()),
            Kind::U16 => (0, u16::MAX.into()),
            Kind::U32 => (0, u32::MAX.into()),
            Kind::U64 => (0, u64::MAX.into()),
            Kind::I8 => (i8::MIN.into(), i8::MAX.into()),
            Kind::I16 => (i16::MIN.into(), i16::MAX.into()),
            Kind::I32 => (i32::MIN.into(), i32::MAX.into()),
            Kind::I64 => (i64::MIN.into(), i64::MAX.into()),
            _ => return None,
        })
    }

    /// Returns the bits of a number in the low bytes: rounded to nearest by a float type; `None` if
    /// the type does not have the value: a whole number of an integer type, or what a float type would
    /// make infinite.
    pub fn bits(self, number: Number) -> Option<[u8; 8]> {
        let Some((least, greatest)) = self.range() else {
            let bits: u64 = match (self, number) {
                (Kind::F32, Number::Int(i)) => (i as f32).to_bits().into(),
                (Kind::F32, Number::Float(x)) => (x as f32).to_bits().into(),
                // the crate `half` rounds an f64 twice
                (Kind::F16, n) => half_of(Ty::F16, n).into(),
                (Kind::Bf16, n) => half_of(Ty::Bf16, n).into(),
                (_, n) => n.to_f64().to_bits(),
            };
            let bits = bits.to_le_bytes();
            let overflows = number.to_f64().is_finite() && self.number(&bits).to_f64().is_infinite();
            return (!overflows).then_some(bits);
        };
        let whole = match number {
            Number::Int(i) => i,
            Number::Float(x) if x.fract() == 0.0 => x as i128,
            Number::Float(_) => return None,
        };
        let fits = (least..=greatest).contains(&whole);
        // two's complement: the low bytes are those of the narrower type
        fits.then_some((whole as u64).to_le_bytes())
    }

    /// Reads a number as a user writes it: `1.5`, `-3`, `1e6`, `true`, `nan`, `-inf`.
    pub fn parse(self, text: &str) -> Option<[u8; 8]> {
        let text = text.trim();
        let number = match (self, text) {
            (Kind::Bool, "true") => Number::Int(1),
            (Kind::Bool, "false") => Number::Int(0),
            // straight to f32, which rounds once
            (Kind::F32, _) => Number::Float(text.parse::<f32>().ok()?.into()),
            (Kind::F64 | Kind::F16 | Kind::Bf16, _) => Number::Float(text.parse().ok()?),
            // 2.0 is whole, too, and has more digits than an f64
            _ => match text.strip_suffix(".0").unwrap_or(text).parse::<i128>() {
                Ok(i) => Number::Int(i),
                Err(_) => Number::Float(text.parse().ok()?),
            },
        };
        let bits = self.bits(number)?;
        // what only overflows is no infinity that the user asked for
        let infinite = self.number(&bits).to_f64().is_infinite();
        (!infinite || text.to_ascii_lowercase().contains("inf")).then_some(bits)
    }

    /// Returns the value of an element from its bytes.
    pub fn number(self, bytes: &[u8]) -> Number {
        let mut word = [0; 8];
        word[..self.size()].copy_from_slice(&bytes[..self.size()]);
        let bits = u64::from_le_bytes(word);
        match self {
            Kind::F32 => Number::Float(f32::from_bits(bits as u32).into()),
            Kind::F64 => Number::Float(f64::from_bits(bits)),
            Kind::F16 => Number::Float(f16::from_bits(bits as u16).into()),
            Kind::Bf16 => Number::Float(bf16::from_bits(bits as u16).into()),
            Kind::I8 => Number::Int((bits as i8).into()),
            Kind::I16 => Number::Int((bits as i16).into()),
            Kind::I32 => Number::Int((bits as i32).into()),
            Kind::I64 => Number::Int((bits as i64).into()),
            _ => Number::Int(bits.into()),
        }
    }

    /// Returns an element as text, from which [`Kind::parse`] makes the same value.
    pub fn text(self, bytes: &[u8]) -> String {
        match (self, self.number(bytes)) {
            (Kind::Bool, n) => (n != Number::Int(0)).to_string(),
            // the shortest text that is this f32, as an f64 has more digits
            (Kind::F32 | Kind::F16 | Kind::Bf16, Number::Float(x)) => format!("{:?}", x as f32),
            (_, Number::Float(x)) => format!("{x:?}"),
            (_, Number::Int(i)) => i.to_string(),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_enum() {
        for (i, row) in KINDS.iter().enumerate() {
            assert_eq!((row.0 as usize, row.1 as i32 as usize), (i, i), "{}", row.2);
        }
    }

    #[test]
    fn text_makes_the_same_element() {
        for kind in Kind::all() {
            for text in ["0", "1", "100", "-7", "0.1", "1e30", "nan", "-inf"] {
                let Some(bits) = kind.parse(text) else { continue };
                let again = kind.parse(&kind.text(&bits));
                assert_eq!(again, Some(bits), "{text} as {kind} is {}", kind.text(&bits));
            }
        }
    }

    #[test]
    fn halves_are_rounded_once() {
        // just above the middle of 1 and its neighbour, and just below that of two others
        for (x, bits) in [
            (1.0 + 2f64.powi(-11) + 2f64.powi(-52), 0x3c01),
            (1.0 + 3.0 * 2f64.powi(-11) - 2f64.powi(-52), 0x3c01),
        ] {
            assert_eq!(Kind::F16.bits(Number::Float(x)), Some(u64::to_le_bytes(bits)), "{x}");
        }
    }

    #[test]
    fn what_a_type_does_not_have_is_refused() {
        let refused = [
            (Kind::U8, "256"),
            (Kind::U8, "-1"),
            (Kind::I64, "9223372036854775808"),
            (Kind::I32, "1.5"),
            (Kind::I32, "nan"),
            (Kind::Bool, "2"),
            (Kind::F32, "1e39"),
            (Kind::F16, "65520"),
            (Kind::F64, "x"),
        ];
        for (kind, text) in refused {
            assert_eq!(kind.parse(text), None, "{text} as {kind}");
        }
        assert_eq!(Kind::I32.parse("1e6").map(|b| Kind::I32.number(&b)), Some(Number::Int(1_000_000)));
        assert_eq!(Kind::I8.parse("-128").map(|b| Kind::I8.number(&b)), Some(Number::Int(-128)));
    }
}
