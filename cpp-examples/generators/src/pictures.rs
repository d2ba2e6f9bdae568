//! Pictures of 8 bits: noise to add to them, how near an image is to one, and back to 8 bits.

use arraygpu::prelude::*;

/// The 32-bit hash `lowbias32` (Wellons 2018).
fn hashed(x: SExp<u32>) -> SExp<u32> {
    let mixed = |x: SExp<u32>, shift: u32, factor: u32| slet(x ^ (x >> shift), |x| x * factor);
    let x = mixed(mixed(x, 16, 0x7feb_352d), 15, 0x846c_a68b);
    slet(x, |x| x ^ (x >> 16))
}

/// A number above 0 and at most 1.
fn uniform(x: SExp<u32>) -> SExp<f32> {
    ((hashed(x) >> 8) + 1).cast::<f32>() * (1.0 / 16_777_216.0)
}

/// What the C++ header says of [`noisy`].
pub const NOISY_DOC: &str = "The picture with white Gaussian noise of this standard deviation added to it, the same for the same seed.";

/// Two hashes of a pixel's number make a normal one (Box and Muller 1958).
pub fn noisy(picture: MExp<u8>, deviation: SExp<f32>, seed: SExp<u32>) -> MExp<f32> {
    let cols = picture.cols();
    let noise = generate2(picture.rows(), cols, |i, j| {
        slet(hashed((i * cols + j).cast::<u32>() ^ hashed(seed)), |x| {
            (uniform(x).ln() * -2.0).sqrt() * (uniform(!x) * 2.0).cospi()
        })
    });
    picture.cast::<f32>() + deviation * noise
}

/// What the C++ header says of [`psnr`].
pub const PSNR_DOC: &str = "Peak signal-to-noise ratio of x as an image of the picture, in dB.";

/// Of pictures whose greatest value is 255.
pub fn psnr(x: MExp<f32>, picture: MExp<u8>) -> SExp<f32> {
    let d = x - picture.cast::<f32>();
    let pixels = (x.rows() * x.cols()).cast::<f32>();
    10 * (255.0 * 255.0 / ((d * d).sum() / pixels)).log10()
}

/// What the C++ header says of [`picture`].
pub const PICTURE_DOC: &str = "x plus a constant, rounded to 0 to 255.";

/// What a file of 8 bits holds.
pub fn picture(x: MExp<f32>, plus: SExp<f32>) -> MExp<u8> {
    (x + plus).map(|v| v.round_ties_even().max(0.0).min(255.0).cast::<u8>())
}
