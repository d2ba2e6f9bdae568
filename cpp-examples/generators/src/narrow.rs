//! Functions of elements narrower than a word: images and halves.

use arraygpu::f16;
use arraygpu::prelude::*;

/// What the C++ header says.
pub const GREY_DOC: &str = "The weighted sum of three planes of bytes, rounded to a byte.";

/// Three planes of bytes give one.
pub fn grey(r: MExp<u8>, g: MExp<u8>, b: MExp<u8>) -> MExp<u8> {
    let weighted = r.cast::<f32>() * 0.299 + g.cast::<f32>() * 0.587 + b.cast::<f32>() * 0.114;
    weighted.round_ties_even().cast::<u8>()
}

/// What the C++ header says.
pub const INTERLEAVED_DOC: &str = "The same for pixels whose three bytes lie side by side.";

/// The channels of a pixel lie side by side.
pub fn grey_interleaved(image: VExp<u8>) -> VExp<u8> {
    let n = image.len();
    let channel = |k: i64| image.slice_by(k, n, 3).cast::<f32>();
    (channel(0) * 0.299 + channel(1) * 0.587 + channel(2) * 0.114).round_ties_even().cast::<u8>()
}

/// What the C++ header says.
pub const TO_F32_DOC: &str = "Bytes as numbers in [0, 1].";

/// One byte becomes four.
pub fn u8_to_f32(x: VExp<u8>) -> VExp<f32> {
    x.cast::<f32>() / 255.0
}

/// What the C++ header says.
pub const TO_U8_DOC: &str = "Numbers in [0, 1] as bytes.";

/// Four bytes become one.
pub fn f32_to_u8(x: VExp<f32>) -> VExp<u8> {
    (x * 255.0).round().cast::<u8>()
}

/// What the C++ header says.
pub const F16_MAP_DOC: &str = "a x + y of halves.";

/// Arithmetic of halves.
pub fn f16_map(x: VExp<f16>, y: VExp<f16>) -> VExp<f16> {
    x * f16::from_f32(1.5) + y
}

/// What the C++ header says.
pub const BOX3_DOC: &str = "The mean of the 3 x 3 neighbours of a byte, with repeated edges.";
/// What the C++ header says.
pub const BOX3_WRAPPED_DOC: &str = "The mean of the 3 x 3 neighbours of a byte on a torus.";

/// A stencil of bytes; the boundary is `Clamp` or `Wrap`.
pub fn box3(x: MExp<u8>, boundary: Boundary<u16>) -> MExp<u8> {
    let w = x.cast::<u16>().padded([1, 1], [1, 1], boundary).windows2(3, 3);
    let sum = w.iter().flatten().copied().reduce(|a, b| a + b).expect("nine windows");
    (sum / 9).cast::<u8>()
}

/// What the C++ header says.
pub const TRANSPOSE_DOC: &str = "The transposed matrix.";

/// Elements change their places.
pub fn transpose<T: Num>(x: MExp<T>) -> MExp<T> {
    x.transpose()
}

/// What the C++ header says.
pub const SUM_DOC: &str = "The sum of all elements, as one number of 32 bits.";

/// Sums of narrow elements in another type. The result is a vector of one element, so that it stays on the device.
pub fn sum<T: Num, U: Num>(x: VExp<T>) -> VExp<U> {
    let sum = x.cast::<U>().sum();
    generate(1, |_| sum)
}
