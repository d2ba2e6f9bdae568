//! Random elements, the same on every machine and in every run.
//!
//! Element i of seed s is made from output i of SplitMix64 started at s, a 64-bit word z.
//! A float of p bits takes u = the upper p bits of z, times 2^-p, and is low + u * (high - low),
//! computed in f64 and rounded once; the range is 0 to 1 unless the user names one. An integer is
//! low + floor(z * (high - low + 1) / 2^64), both ends in the range, which is all of its type unless
//! the user names one.

use crate::kind::{Kind, Number};

/// Where random elements come from.
#[derive(Clone, Copy, Debug)]
pub enum Range {
    /// From a float up to another, in `f64`.
    Floats(f64, f64),
    /// From an integer to another, both included.
    Ints(i128, i128),
}

impl Range {
    /// Returns the range of a type when the user names none.
    pub fn whole(kind: Kind) -> Range {
        kind.range().map_or(Range::Floats(0.0, 1.0), |(low, high)| Range::Ints(low, high))
    }
}

/// Returns output `i` of SplitMix64 started at `seed`.
pub fn word(seed: u64, i: u64) -> u64 {
    let mut z = seed.wrapping_add(i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns the element that a word makes.
pub fn number(kind: Kind, range: Range, z: u64) -> Number {
    match range {
        Range::Floats(low, high) => {
            let bits = kind.precision().unwrap_or(53);
            let unit = (z >> (64 - bits)) as f64 * (-f64::from(bits)).exp2();
            Number::Float(low + unit * (high - low))
        }
        Range::Ints(low, high) => {
            // at most 2^64 values, so that the product fits
            let values = (high - low + 1) as u128;
            Number::Int(low + ((u128::from(z) * values) >> 64) as i128)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_splitmix64() {
        // the reference implementation's first outputs for the seed 1234567
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([0, 1, 2].map(|i| word(1_234_567, i)), expected);
    }

    #[test]
    fn elements_stay_in_their_range() {
        for z in [0, 1, u64::MAX / 2, u64::MAX] {
            for kind in Kind::all() {
                let n = number(kind, Range::whole(kind), z);
                let element = kind.number(&kind.bits(n).expect("a value of the type"));
                assert_eq!(element, n, "{kind} is exact");
                if let Number::Float(x) = n {
                    assert!((0.0..1.0).contains(&x), "{kind}: {x}");
                }
            }
            let Number::Int(i) = number(Kind::I8, Range::Ints(-3, 3), z) else { panic!("an integer") };
            assert!((-3..=3).contains(&i));
        }
        assert_eq!(number(Kind::U64, Range::whole(Kind::U64), u64::MAX), Number::Int(u64::MAX.into()));
        assert_eq!(number(Kind::I64, Range::whole(Kind::I64), 0), Number::Int(i64::MIN.into()));
    }
}
