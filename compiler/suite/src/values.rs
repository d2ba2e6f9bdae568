//! Random values and arguments.

use crate::rng::Rng;
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::core::{Function, NodeId, Op, Rule, Type};
use arraygpu_compiler::scalar::{Lit, Ty};

/// A value that hits corners often.
pub fn literal(ty: Ty, rng: &mut Rng) -> Lit {
    let corner = rng.one_in(6);
    let (bits, small) = (rng.next(), rng.below(2000) as f64 / 100.0 - 10.0);
    match ty {
        Ty::F32 if corner => Lit::f32(rng.pick(&[
            0.0,
            -0.0,
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            1e-40,
            -1e38,
            1.0,
            f32::MAX,
        ])),
        Ty::F32 => Lit::f32(small as f32),
        Ty::F64 if corner => Lit::f64(rng.pick(&[
            0.0,
            -0.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            5e-320,
            -1e300,
            1.0,
            1e19,
        ])),
        Ty::F64 => Lit::f64(small),
        Ty::F16 | Ty::Bf16 if corner => {
            let corners = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 6e-8, -1e-40, 1.0, 65504.0];
            Lit::float(ty, rng.pick(&corners))
        }
        Ty::F16 | Ty::Bf16 => Lit::float(ty, small),
        Ty::I32 if corner => Lit::i32(rng.pick(&[0, 1, -1, i32::MIN, i32::MAX])),
        Ty::I32 => Lit::i32(small as i32),
        Ty::I64 if corner => Lit::i64(rng.pick(&[0, 1, -1, i64::MIN, i64::MAX])),
        Ty::I64 => Lit::i64(small as i64),
        Ty::U32 if corner => Lit::u32(rng.pick(&[0, 1, u32::MAX, 1 << 31])),
        Ty::U32 => Lit::u32(bits as u32 % 100),
        Ty::U64 if corner => Lit::u64(rng.pick(&[0, 1, u64::MAX, 1 << 63])),
        Ty::U64 => Lit::u64(bits % 100),
        Ty::U8 => Lit::u8(bits as u8),
        Ty::I8 => Lit::i8(bits as i8),
        Ty::I16 if corner => Lit::i16(rng.pick(&[0, 1, -1, i16::MIN, i16::MAX])),
        Ty::I16 => Lit::i16(small as i16),
        Ty::U16 if corner => Lit::u16(rng.pick(&[0, 1, u16::MAX, 1 << 15])),
        Ty::U16 => Lit::u16(bits as u16 % 100),
        Ty::Bool => Lit::bool(bits & 1 == 1),
    }
}

/// Arguments for a function: vectors of `n` elements (`n2` those named w), and of about so many elements what has
/// more dimensions. What a number of steps depends on is at most 6: at the corners of its type, iterations never end.
pub fn arguments(f: &Function, n: usize, n2: usize, rng: &mut Rng) -> Vec<Value> {
    let counts = f.requires.iter().filter(|r| r.rule == Rule::Count).map(|r| r.b);
    let results = f.graph.reachable(f.results.iter().map(|r| r.value));
    let of_loops = results.into_iter().filter_map(|n| match f.graph.op(n) {
        Op::Loop { count, .. } => Some(*count),
        _ => None,
    });
    let counts: Vec<NodeId> = counts.chain(of_loops).collect();
    let steps = f.graph.reachable(counts).into_iter().filter_map(|n| match f.graph.op(n) {
        Op::Param(p) => Some(*p as usize),
        _ => None,
    });
    let steps: Vec<usize> = steps.collect();
    let mut value = |at: usize, name: &str, ty: Type| {
        let few = steps.contains(&at) && ty.elem == Ty::I64;
        let mut element = || if few { Lit::i64(rng.below(8) as i64 - 1) } else { literal(ty.elem, rng) };
        if ty.is_scalar() {
            return Value::Scalar(element());
        }
        let n = if name == "w" { n2 } else { n };
        let extents = match ty.rank {
            1 => vec![n],
            rank => vec![n.isqrt(), n.isqrt() + 3, 2][..rank.into()].to_vec(),
        };
        let elements = (0..extents.iter().product()).map(|_| element()).collect();
        match ty.rank {
            1 => Value::Vector(elements),
            _ => Value::Array(extents.iter().map(|n| *n as i64).collect(), elements),
        }
    };
    f.params.iter().enumerate().map(|(at, p)| value(at, &p.name, p.ty)).collect()
}
