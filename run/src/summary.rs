//! Results as text: scalars whole, arrays shortened, with what can be compared.

use crate::array::Array;
use crate::kind::{Kind, Number};
use serde_json::{Value, json};

/// How many elements of an axis are shown at either end.
const ENDS: usize = 3;

/// What an array's elements are together.
pub struct Summary {
    /// The least element that is a number.
    pub least: Option<Number>,
    /// The greatest.
    pub greatest: Option<Number>,
    /// The mean of all, in `f64`.
    pub mean: f64,
    /// How many are no numbers.
    pub nans: u64,
}

impl Summary {
    /// Reads all elements.
    pub fn of(array: &Array) -> Summary {
        let (mut least, mut greatest, mut sum, mut nans) = (None, None, 0.0, 0);
        for number in array.elements().map(|e| array.kind.number(e)) {
            let x = number.to_f64();
            sum += x;
            if x.is_nan() {
                nans += 1;
                continue;
            }
            if least.is_none_or(|l: Number| number.is_below(l)) {
                least = Some(number);
            }
            if greatest.is_none_or(|g: Number| g.is_below(number)) {
                greatest = Some(number);
            }
        }
        Summary { least, greatest, mean: sum / array.count() as f64, nans }
    }
}

/// Returns a hash of an array's bits: the first 16 digits of BLAKE3.
pub fn checksum(array: &Array) -> String {
    blake3::hash(&array.bytes).to_hex()[..16].into()
}

/// Returns an array's elements in brackets, long axes shortened.
pub fn shortened(array: &Array) -> String {
    // the product of the other extents may be too large for a number
    if array.extents.contains(&0) {
        return "[]".into();
    }
    let mut out = String::new();
    axis(array, 0, 0, &mut out);
    out
}

fn axis(array: &Array, depth: usize, first: usize, out: &mut String) {
    let Some(extent) = array.extents.get(depth).map(|e| *e as usize) else {
        let size = array.kind.size();
        *out += &array.kind.text(&array.bytes[first * size..][..size]);
        return;
    };
    let inner: usize = array.extents[depth + 1..].iter().map(|e| *e as usize).product();
    let is_last = depth + 1 == array.extents.len();
    let between = if is_last { ", ".into() } else { format!(",\n{}", " ".repeat(depth + 1)) };
    out.push('[');
    // one more than the ends is shown, as dots would be as long
    let is_long = extent > 2 * ENDS + 1;
    let tail = if is_long { extent - ENDS..extent } else { 0..0 };
    for i in (0..if is_long { ENDS } else { extent }).chain(tail.clone()) {
        if i > 0 {
            *out += &between;
        }
        if is_long && i == tail.start {
            *out += "..";
            *out += &between;
        }
        axis(array, depth + 1, first + i * inner, out);
    }
    out.push(']');
}

/// Returns a number as JSON has it; what it has not is a string.
pub fn number(kind: Kind, bytes: &[u8]) -> Value {
    match kind.number(bytes) {
        Number::Int(i) if kind == Kind::Bool => json!(i != 0),
        Number::Int(i) => i64::try_from(i).map_or_else(|_| json!(i as u64), |i| json!(i)),
        // the shortest text of the type, not all digits of its f64
        Number::Float(x) if x.is_finite() => json!(kind.text(bytes).parse::<f64>().unwrap_or(x)),
        Number::Float(_) => json!(kind.text(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iota(extents: &[i64]) -> Array {
        Array::generate(Kind::I32, extents, |i| Ok(i.to_le_bytes())).unwrap()
    }

    #[test]
    fn arrays_are_shortened_in_the_middle() {
        assert_eq!(shortened(&iota(&[])), "0");
        assert_eq!(shortened(&iota(&[0])), "[]");
        assert_eq!(shortened(&iota(&[7])), "[0, 1, 2, 3, 4, 5, 6]");
        assert_eq!(shortened(&iota(&[8])), "[0, 1, 2, .., 5, 6, 7]");
        assert_eq!(shortened(&iota(&[2, 2, 2])), "[[[0, 1],\n  [2, 3]],\n [[4, 5],\n  [6, 7]]]");
        let long = shortened(&iota(&[100, 9]));
        assert_eq!(long.lines().count(), 7);
        assert!(long.contains(" ..,\n [873, 874, 875, .., 879, 880, 881],"), "{long}");
    }

    #[test]
    fn summaries_leave_out_what_is_no_number() {
        let bytes = [f32::NAN, -2.0, 3.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        let array = Array { kind: Kind::F32, extents: vec![3], bytes };
        let s = Summary::of(&array);
        assert_eq!(
            (s.least, s.greatest, s.nans, s.mean.is_nan()),
            (Some(Number::Float(-2.0)), Some(Number::Float(3.0)), 1, true)
        );
        let bytes = [i64::MAX, i64::MIN, 0].map(i64::to_le_bytes).concat();
        let wide = Summary::of(&Array { kind: Kind::I64, extents: vec![3], bytes });
        let whole = |n: i64| Some(Number::Int(n.into()));
        assert_eq!((wide.least, wide.greatest), (whole(i64::MIN), whole(i64::MAX)));
        let none = Summary::of(&iota(&[0]));
        assert_eq!((none.least, none.greatest, none.nans), (None, None, 0));
        assert_ne!(checksum(&array), checksum(&iota(&[3])));
        assert_eq!(number(Kind::F32, &0.1f32.to_le_bytes()), json!(0.1));
        assert_eq!(number(Kind::F32, &f32::NAN.to_le_bytes()), json!("NaN"));
        assert_eq!(number(Kind::U64, &u64::MAX.to_le_bytes()), json!(u64::MAX));
    }
}
