//! Generates inputs: special values, random bits, and values for which functions are hard.

use crate::format::Format;

/// Returns element i of a pseudorandom sequence without correlation between bits (splitmix64).
pub fn scramble(i: u64) -> u64 {
    let z = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// A generator of random numbers for one input.
struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        scramble(self.0)
    }
    /// Returns a number below n.
    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(n)) >> 64) as u64
    }
    /// Returns a number from a to b.
    fn between(&mut self, a: i64, b: i64) -> i64 {
        a + self.below((b - a + 1) as u64) as i64
    }
    fn sign(&mut self, f: Format) -> u64 {
        self.word() & f.sign()
    }
    /// Returns a number with an exponent from a to b, clamped to that of the format; below its
    /// range the number is subnormal.
    fn scaled(&mut self, f: Format, a: i64, b: i64) -> u64 {
        let e = (self.between(a, b) + f.bias()).clamp(0, 2 * f.bias()) as u64;
        e << f.mantissa() | self.word() & ((1 << f.mantissa()) - 1) | self.sign(f)
    }
    /// Returns `bits` moved by up to 2^k ulps, for a random k up to `most`.
    fn nudged(&mut self, f: Format, bits: u64, most: u64) -> u64 {
        let k = self.below(most + 1);
        let by = self.between(-(1 << k), 1 << k);
        let size = (bits & (f.sign() - 1)).wrapping_add_signed(by);
        if size > f.infinity() { bits } else { bits & f.sign() | size }
    }
    /// Returns a number a few ulps from a power of two with an exponent from a to b.
    fn near_power(&mut self, f: Format, a: i64, b: i64) -> u64 {
        let e = (self.between(a, b) + f.bias()).clamp(0, 2 * f.bias()) as u64;
        let bits = e << f.mantissa() | self.sign(f);
        self.nudged(f, bits, 6)
    }
    /// Returns a small multiple of 1/8, or a number a few ulps from it.
    fn near_eighth(&mut self, f: Format) -> u64 {
        let k = self.below(13);
        let x = self.below(1 << k) as f64 / 8.0;
        let bits = f.bits(x) | self.sign(f);
        if self.below(2) == 0 { bits } else { self.nudged(f, bits, 5) }
    }
}

/// Returns the bits of the i-th input of a function of one number.
pub fn one(f: Format, i: u64) -> u64 {
    let mut r = Random(scramble(i));
    match i % 8 {
        0 | 1 => r.word() >> (64 - f.width()),
        2..=4 => r.scaled(f, -40, 11),
        5 => r.near_power(f, -f.bias(), f.bias()),
        6 if r.below(2) == 0 => r.near_eighth(f),
        // These inputs are around 1, at every distance.
        6 => {
            let one = f.bits(1.0) | r.sign(f);
            r.nudged(f, one, f.mantissa().into())
        }
        _ => r.scaled(f, -4, 5),
    }
}

/// Returns a number near another one, at a random distance.
pub fn around(f: Format, bits: u64, i: u64) -> u64 {
    let mut r = Random(scramble(i));
    if r.below(4) == 0 { bits } else { r.nudged(f, bits, u64::from(f.mantissa()) - 6) }
}

/// Returns the bits of the i-th input of a function of two numbers.
pub fn two(f: Format, i: u64) -> (u64, u64) {
    let mut r = Random(scramble(i));
    let (most, bits) = (f.bias(), i64::from(f.mantissa()));
    match i % 12 {
        0 => (r.word() >> (64 - f.width()), r.word() >> (64 - f.width())),
        1 | 2 => (r.scaled(f, -20, 20), r.scaled(f, -20, 20)),
        3 => (r.scaled(f, -4, 5), r.scaled(f, -4, 5)),
        // A base near 1 with a huge exponent is the hardest case of pow.
        4 => {
            let one = f.bits(1.0);
            let x = r.nudged(f, one, f.mantissa().into());
            (x, r.scaled(f, 0, bits + 12))
        }
        // These are small integers and halves, also with negative bases, with exact and nearly
        // exact results.
        5 => (r.near_eighth(f), r.near_eighth(f)),
        6 => (r.scaled(f, -8, 8), r.near_eighth(f)),
        7 => (r.near_power(f, -most, most), r.near_power(f, -most, most)),
        // The exponents are near each other, anywhere in the range: huge with huge, tiny with tiny.
        8 => {
            let e = r.between(-most - bits, most);
            (r.scaled(f, e, e), r.scaled(f, e - 2 * bits, e + 2 * bits))
        }
        // These are powers near the ends of the range.
        9 => {
            let x = r.scaled(f, -most, most) & (f.sign() - 1);
            let ends = [most + 1, 1 - most, 1 - most - bits, -most - bits];
            let end = ends[r.below(4) as usize] as f64;
            let y = f.bits(end / f.value(x).log2());
            (x, r.nudged(f, y, u64::from(f.mantissa()) - 4))
        }
        // These are subnormal numbers.
        10 => {
            let tiny = r.scaled(f, -most, -most);
            let other =
                if r.below(2) == 0 { r.scaled(f, -most, -most + 40) } else { r.scaled(f, -most, most) };
            if r.below(2) == 0 { (tiny, other) } else { (other, tiny) }
        }
        // These are approximate multiples, and integers of any size.
        _ => {
            let y = r.scaled(f, -20, 20);
            let x = f.bits(f.value(y) * r.between(1, 1 << 12) as f64);
            if r.below(2) == 0 { (r.nudged(f, x, 3), y) } else { (x, f.bits(r.between(-1100, 1100) as f64)) }
        }
    }
}

/// Returns zeros, infinities, NaN, the ends of every range, small integers and halves, each with
/// both signs.
pub fn special(f: Format) -> Vec<u64> {
    let one = f.bits(1.0);
    let smallest_normal = 1 << f.mantissa();
    let greatest = f.infinity() - 1;
    let mut sizes =
        vec![0, 1, 2, smallest_normal - 1, smallest_normal, smallest_normal + 1, greatest, greatest - 1];
    // Only quiet NaNs are used: C functions may distinguish signalling ones, those of arraygpu do
    // not.
    let quiet = f.infinity() | smallest_normal >> 1;
    sizes.extend([f.infinity(), quiet, quiet + 1]);
    sizes.extend([one - 1, one, one + 1]);
    // These are the last odd integer, the last half integer, and larger numbers.
    let ends =
        (0..4).map(|k| 2f64.powi(f.mantissa() as i32 - 1 + k)).flat_map(|x| [x - 0.5, x, x + 0.5, x + 1.0]);
    let small = (1..=32)
        .map(|k| f64::from(k) / 4.0)
        .chain([9.0, 10.0, 11.0, 100.0, 127.0, 128.0, 149.0, 150.0, 151.0]);
    let large = [
        1022.0,
        1023.0,
        1024.0,
        1073.0,
        1074.0,
        1075.0,
        1076.0,
        2000.0,
        1e10,
        2e9,
        2147483647.0,
        2147483648.0,
    ];
    let tiny = [1e-3, 1e-10, 1e-20, 1e-30];
    sizes.extend(ends.chain(small).chain(large).chain(tiny).map(|x| f.bits(x)));
    sizes.sort_unstable();
    sizes.dedup();
    sizes.iter().flat_map(|&s| [s, s | f.sign()]).collect()
}

/// Returns the few special values whose pairs are kept in the tests.
pub fn few(f: Format) -> Vec<u64> {
    let quiet = f.infinity() | 1 << (f.mantissa() - 1);
    let sizes = [
        0,
        1,
        1 << f.mantissa(),
        f.bits(0.5),
        f.bits(1.0),
        f.bits(2.0),
        f.bits(3.0),
        f.infinity() - 1,
        f.infinity(),
    ];
    sizes.iter().flat_map(|&s| [s, s | f.sign()]).chain([quiet]).collect()
}
