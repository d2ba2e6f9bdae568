//! What no solver decides in reasonable time, or what is no claim about operands, with what speaks for it.

use super::claim::{Claim, How};

/// Claims that were tried with all numbers, and those that have other evidence.
pub fn claims() -> Vec<Claim> {
    let root = "sqrt x = 2^-32 sqrt(2^64 x) of every f32 below 2^-96";
    let scaled = Claim::new("near root", "scaled", root, How::Exhaustive(scaled_roots))
        .at("compiler/src/schedule/element/division.rs");
    let list = [
        (
            "near division",
            "f32",
            "q + y (a - b q) is a / b rounded, within the bounds of scalar/near.rs",
            "first step from every y within an ulp of 1 / b tried for all b by the tests of scalar/near.rs; all 2^46 pairs of mantissas on an H200",
            "compiler/src/backend/ptx/near.rs",
        ),
        (
            "near root",
            "f32",
            "s + (y / 2) (x - s s) is sqrt x rounded, within the bounds of scalar/near.rs",
            "all f32 on an H200; 2^20 numbers and all bounds by the tests of scalar/near.rs and compiler/suite/tests/gpu_near.rs",
            "compiler/src/backend/ptx/near.rs",
        ),
        (
            "wide division",
            "f32",
            "the quotient by f64 is a / b rounded",
            "no quotient of two f32 is nearer to a middle between two others than 2^-49 of itself without being it, and the f64 is right to 2^-51; pairs of corners in compiler/suite/tests/gpu_near.rs",
            "compiler/src/backend/ptx/near.rs",
        ),
        (
            "remainder of floats",
            "f32 f64",
            "doubling and subtracting gives C's fmod",
            "every step is exact: a doubling below |x|, a halving of what was doubled, a difference of numbers at most a factor of 2 apart (Sterbenz); pairs of corners in compiler/suite/tests/gpu_bits.rs",
            "compiler/src/kernel/divide.rs",
        ),
        (
            "host arithmetic",
            "all",
            "host scalars are what kernels compute",
            "no rewrite: scalar::eval itself, whose encoding is claimed at corners above",
            "compiler/src/plan/host.rs",
        ),
        (
            "constants",
            "all",
            "an operation on constants is its value",
            "no rewrite: scalar::eval itself; a NaN's bits and a division by zero are left",
            "compiler/src/core/simplify.rs",
        ),
        (
            "linear form",
            "signs",
            "a form with coefficients below 2^8 of lengths, and a constant below 2^48, does not wrap",
            "lengths are at most 2^47: 2^14 terms of 2^55 each stay below 2^63 less 2^48, and forms are made of at most 34",
            "compiler/src/core/linear.rs",
        ),
        (
            "elements at edges",
            "all",
            "an element's code that serves the edges, too, has the same bits",
            "made of the decisions and margins above; random stencils of compiler/suite/tests/gpu_stencil.rs and gpu_padded.rs against the interpreter",
            "compiler/src/schedule/boundary/predicated.rs, halo.rs",
        ),
    ];
    let others = list
        .into_iter()
        .map(|(name, case, says, why, place)| Claim::new(name, case, says, How::Evidence(why)).at(place));
    std::iter::once(scaled).chain(others).collect()
}

fn scaled_roots() -> Option<String> {
    let (up, down) = (2f32.powi(64), 2f32.powi(-32));
    let below = 2f32.powi(-96).to_bits();
    let wrong =
        (0..below).map(f32::from_bits).find(|x| x.sqrt().to_bits() != ((x * up).sqrt() * down).to_bits());
    wrong.map(|x| format!("sqrt {x:e}"))
}
