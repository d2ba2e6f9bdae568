//! Division and square root without a branch: the ranges of operands for which a short sequence of
//! GPU instructions gives the bits of the correctly rounded operation.
//!
//! ```text
//! y = about 1 / b     y' = y + y (1 - b y)     q = a y'     a / b = q + y' (a - b q)    each with one rounding (fma)
//! s = x y, y about 1 / sqrt x                  sqrt x = s + (y / 2) (x - s s)
//! ```
//!
//! The device promises y to one ulp (PTX ISA, `rcp.approx.ftz.f32`). From each such y the first
//! refinement gives 1 / b rounded to nearest, for all b but one: for b = 2 - 2^-23 the
//! approximation 1/2 might stay 1/2. Then the quotient 1 / b itself would be the only wrong one
//! (the tests below try all b). With 1 / b rounded to nearest, the quotient is right: this was
//! tested for all 2^46 pairs of mantissas on an H200, as was the root for all numbers. The
//! assembler's `div.rn` consists of the same operations, so every device on which it divides
//! correctly has that reciprocal, too; `tests/gpu` checks it. Powers of two change nothing as long
//! as nothing overflows or underflows, which gives the bounds. Source: Markstein, "Computation of
//! elementary functions on the IBM RISC System/6000 processor" (1990).

/// The range of both operands of a division. The dividend may also be 0.
pub const DIVISION: [f32; 2] = [8.673_617_4e-19, 1.152_921_5e18];
/// The range of the operand of a square root, which may also be 0.
pub const SQRT: [f32; 2] = [1.262_177_5e-29, f32::MAX];

/// Returns whether the quotient is right, or NaN as it should be: both operands are NaN or within
/// the bounds, or the dividend is +0. A dividend of -0 is excluded, because the sign might be lost.
pub fn division(a: f32, b: f32) -> bool {
    let [least, most] = DIVISION;
    let outside = |x: f32| x.abs() < least || x.abs() > most;
    !outside(b) && (!outside(a) || a.to_bits() == 0)
}

/// Returns whether the root is right: the operand is NaN, 0, or within the bounds.
pub fn sqrt(x: f32) -> bool {
    let [least, most] = SQRT;
    !(x < least && x != 0.0 || x > most)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Refines an approximation of 1 / b once.
    fn step(b: f32, y: f32) -> f32 {
        y.mul_add((-b).mul_add(y, 1.0), y)
    }

    fn divided(a: f32, b: f32, y: f32) -> f32 {
        let q = a * y;
        (-b).mul_add(q, a).mul_add(y, q)
    }

    /// Returns the pairs of b and its refined reciprocal where this is not 1 / b rounded to
    /// nearest.
    fn exceptions() -> Vec<(f32, f32)> {
        let mut found = Vec::new();
        for mantissa in 0..1 << 23 {
            let b = f32::from_bits(0x3f80_0000 | mantissa);
            let (nearest, exact) = (1.0 / b, 1.0 / f64::from(b));
            let ulp = f64::from(if mantissa == 0 { f32::EPSILON } else { f32::EPSILON / 2.0 });
            for y in nearest.to_bits() - 2..=nearest.to_bits() + 2 {
                let y = f32::from_bits(y);
                if (f64::from(y) - exact).abs() <= ulp && step(b, y) != nearest {
                    found.push((b, step(b, y)));
                }
            }
        }
        found
    }

    #[test]
    fn one_step_from_any_approximation_of_a_reciprocal() {
        let b = 2.0 - f32::EPSILON;
        assert_eq!(exceptions(), [(b, 0.5)]);
        let all = (0..1 << 23).map(|mantissa| f32::from_bits(0x3f80_0000 | mantissa));
        let wrong: Vec<f32> = all.filter(|a| divided(*a, b, 0.5) != a / b).collect();
        assert_eq!(wrong, [1.0]);
    }

    /// Tests one pair of mantissas in 2^26, with exponents up to the bounds.
    #[test]
    fn quotients_and_roots() {
        let [least, most] = DIVISION;
        assert_eq!((least, most), (2f32.powi(-60), 2f32.powi(60)));
        assert_eq!(SQRT[0], 2f32.powi(-96));
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state
        };
        for _ in 0..1 << 20 {
            let (mut number, edges) = (|| f32::from_bits(next()), [least, most, 0.0, -least, f32::NAN]);
            let (a, b) = (number(), number());
            for (a, b) in [(a, b), (a % most, b % most), (edges[(a.to_bits() % 5) as usize], b)] {
                if division(a, b) {
                    let y = step(b, 1.0 / b);
                    assert_eq!(canonical(divided(a, b, y)), canonical(a / b), "{a:e} / {b:e}");
                }
            }
            if sqrt(a) {
                let y = 1.0 / a.max(SQRT[0]).sqrt();
                let s = a * y;
                assert_eq!(
                    canonical((-s).mul_add(s, a).mul_add(0.5 * y, s)),
                    canonical(a.sqrt()),
                    "sqrt {a:e}"
                );
            }
        }
    }

    fn canonical(x: f32) -> u32 {
        // the black box keeps LLVM from concluding that the root is no NaN, once it was compared
        // with a bound; it may be one
        let x = std::hint::black_box(x);
        if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }
    }

    #[test]
    fn bounds() {
        assert!(division(0.0, -3.0) && division(1.0, 3.0) && division(f32::NAN, 1.0));
        assert!(
            !division(-0.0, 3.0)
                && !division(1.0, 0.0)
                && !division(f32::INFINITY, 1.0)
                && !division(1e-20, 1.0)
        );
        assert!(sqrt(0.0) && sqrt(-0.0) && sqrt(f32::NAN) && sqrt(f32::MAX));
        assert!(!sqrt(-1.0) && !sqrt(f32::INFINITY) && !sqrt(1e-30));
    }
}
