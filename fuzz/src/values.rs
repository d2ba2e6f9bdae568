//! Random values: corners often, and the few constants that many types share.

use crate::rng::Rng;
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::scalar::{Lit, Ty, eval_cast};

/// The value of a type that a small number becomes.
pub fn small(ty: Ty, n: i64) -> Lit {
    eval_cast(ty, Lit::i64(n))
}

/// A constant of a program, often one that other types can hold, too.
pub fn constant(ty: Ty, rng: &mut Rng) -> Lit {
    match rng.below(8) {
        0 => small(ty, 0),
        1 | 2 => small(ty, 1),
        3 => small(ty, 9),
        4 => small(ty, rng.pick(&[2, 3, 4, 8, 16, 255, -1])),
        _ => element(ty, rng),
    }
}

/// An element of an argument.
pub fn element(ty: Ty, rng: &mut Rng) -> Lit {
    if rng.one_in(8) { corner(ty, rng) } else { ordinary(ty, rng) }
}

fn ordinary(ty: Ty, rng: &mut Rng) -> Lit {
    let bits = rng.bits();
    match ty {
        Ty::Bool => Lit::bool(bits & 1 == 1),
        Ty::F32 | Ty::F64 | Ty::F16 | Ty::Bf16 => Lit::float(ty, (bits % 2000) as f64 / 100.0 - 10.0),
        _ => small(ty, (bits % 24) as i64 - 4),
    }
}

fn corner(ty: Ty, rng: &mut Rng) -> Lit {
    let width = 8 * ty.size() as u32;
    match ty {
        Ty::Bool => Lit::bool(rng.one_in(2)),
        Ty::F32 | Ty::F64 | Ty::F16 | Ty::Bf16 => {
            let tiny = if ty == Ty::F64 { 5e-320 } else { 1e-40 };
            let huge = if ty == Ty::F64 { 1e300 } else { 3e38 };
            let list =
                [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, tiny, -huge, 65504.0, 6e-8, 1.0];
            Lit::float(ty, rng.pick(&list))
        }
        _ => {
            let ones = u64::MAX >> (64 - width);
            let list = [0, 1, ones, 1 << (width - 1), (1 << (width - 1)) - 1, rng.bits() & ones];
            Lit { ty, bits: rng.pick(&list) }
        }
    }
}

/// An argument with these extents, of which a scalar has none.
pub fn array(ty: Ty, extents: &[i64], rng: &mut Rng) -> Value {
    let count = extents.iter().product::<i64>();
    // some arguments have equal elements only, or no corner values
    let style = rng.below(6);
    let first = element(ty, rng);
    let one = |rng: &mut Rng| match style {
        0 => first,
        1..=3 => ordinary(ty, rng),
        _ => element(ty, rng),
    };
    let elements = (0..count).map(|_| one(rng)).collect();
    match extents {
        [_] => Value::Vector(elements),
        _ => Value::Array(extents.to_vec(), elements),
    }
}
