//! Tests every operation by itself against `scalar::eval`: at each level that this processor has,
//! with every mixture of array and scalar operands, and in place.

use super::ops::{Kind, Op, find, in_place};
use crate::level::{Level, level};
use arraygpu_compiler::scalar::{
    BinaryOp, Lit, Ty, UnaryOp, eval_binary, eval_cast, eval_mul_add, eval_unary,
};

/// The number of elements: not a multiple of a vector width, and long enough for a vector loop and its remainder.
const COUNT: usize = 203;

fn levels() -> Vec<Level> {
    let best = level().expect("this machine has a level");
    [Level::V2, Level::V3, Level::V4].into_iter().filter(|l| *l <= best).collect()
}

/// Values of a type: corner cases, and numbers of all magnitudes.
fn values(ty: Ty, seed: u64) -> Vec<Lit> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    let corners = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.5,
        1e300,
        -1e300,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        6e-8,
        65520.0,
        -129.0,
        2147483648.0,
    ];
    (0..COUNT)
        .map(|_| {
            let (kind, bits) = (next() % 4, next());
            match ty {
                Ty::Bool => Lit::bool(bits & 1 == 1),
                ty if ty.is_float() && kind == 0 => Lit::float(ty, corners[bits as usize % corners.len()]),
                ty if ty.is_float() && kind < 3 => Lit::float(ty, (bits % 4000) as f64 / 16.0 - 100.0),
                ty if kind == 0 => {
                    eval_cast(ty, Lit::i64([0, 1, -1, i64::MIN, i64::MAX, 7][bits as usize % 6]))
                }
                ty if kind == 1 => eval_cast(ty, Lit::i64(bits as i64 % 40)),
                ty => Lit { ty, bits: bits & u64::MAX >> (64 - 8 * ty.size()) },
            }
        })
        .collect()
}

fn bytes(values: &[Lit]) -> Vec<u8> {
    let mut out = vec![0; values.len() * 8];
    let size = values[0].ty.size();
    values.iter().zip(out.chunks_mut(size)).for_each(|(v, b)| v.to_bytes(b));
    out
}

/// Runs the operation on operands (those of one element are scalars). The result goes to an array
/// of its own, or in the place of operand `onto`.
fn call(op: Op, operands: &[Vec<Lit>], onto: Option<usize>, ty: Ty, n: usize) -> Vec<Lit> {
    let mut memory: Vec<Vec<u8>> = operands.iter().map(|v| bytes(v)).collect();
    let mut result = vec![0u8; n * 8];
    let mut p = [std::ptr::null::<u8>(); 3];
    memory.iter().zip(&mut p).for_each(|(m, p)| *p = m.as_ptr());
    let d = onto.map_or(result.as_mut_ptr(), |i| memory[i].as_mut_ptr());
    // SAFETY: each operand has as many elements as the operation reads; a Vec's memory is aligned
    // for all types. The processor has the level.
    unsafe { op(d, p[0], p[1], p[2], n) };
    let out = onto.map_or(&result, |i| &memory[i]);
    out.chunks(ty.size()).take(n).map(|b| Lit::from_bytes(ty, b)).collect()
}

/// Compares two values, without the bits of a NaN: no program ever sees those.
fn same(a: Lit, b: Lit) -> bool {
    a.canonical() == b.canonical()
}

fn check(kind: Kind, types: &[Ty], eval: impl Fn(&[Lit]) -> Lit) {
    let operands: Vec<Vec<Lit>> = types.iter().zip(1..).map(|(ty, seed)| values(*ty, seed)).collect();
    for level in levels() {
        for mask in 0..1 << types.len() {
            let arrays: Vec<bool> = (0..types.len()).map(|i| mask >> i & 1 == 1).collect();
            let any = mask > 0;
            let Some(op) = find(kind, &arrays, level) else {
                assert!(any && mask != (1 << types.len()) - 1, "{kind:?} has no code");
                continue;
            };
            for start in if any { 0..8 } else { 0..COUNT } {
                let pick = |v: &Vec<Lit>, is: bool| if is { v.clone() } else { vec![v[start]] };
                let given: Vec<Vec<Lit>> = operands.iter().zip(&arrays).map(|(v, is)| pick(v, *is)).collect();
                let n = if any { COUNT } else { 1 };
                let found = call(op, &given, None, kind.result(), n);
                for (i, found) in found.into_iter().enumerate() {
                    let at: Vec<Lit> = given.iter().map(|v| v[i.min(v.len() - 1)]).collect();
                    let expected = eval(&at);
                    assert!(
                        same(expected, found),
                        "{kind:?} {arrays:?} {level:?} of {at:?}: expected {expected:?}, found {found:?}"
                    );
                }
            }
        }
    }
    check_onto(kind, types, &operands, &eval);
}

/// Checks the in-place forms: the result is in the place of the first of two operands, or of the
/// third of three.
fn check_onto(kind: Kind, types: &[Ty], operands: &[Vec<Lit>], eval: &dyn Fn(&[Lit]) -> Lit) {
    for (level, second) in levels().into_iter().flat_map(|l| [true, false].map(|s| (l, s))) {
        let Some(op) = in_place(kind, second, level) else { continue };
        let mut given = operands.to_vec();
        if types.len() == 3 && !second {
            given[1].truncate(1);
        }
        let found = call(op, &given, Some(if types.len() == 3 { 2 } else { 0 }), kind.result(), COUNT);
        for (i, found) in found.into_iter().enumerate() {
            let at: Vec<Lit> = given.iter().map(|v| v[i.min(v.len() - 1)]).collect();
            assert!(same(eval(&at), found), "{kind:?} in place, {level:?}, of {at:?}: found {found:?}");
        }
    }
}

#[test]
fn unary_operators() {
    for op in UnaryOp::ALL.iter().filter(|op| !op.is_elementary() && op.precise().is_none()) {
        for ty in Ty::ALL.into_iter().filter(|ty| op.accepts(*ty) && !ty.is_half()) {
            let kind = Kind::Unary(*op, ty);
            let unsigned = *op == UnaryOp::Abs && !ty.is_signed();
            if !kind.is_same() && !unsigned {
                check(kind, &[ty], |x| eval_unary(*op, x[0]));
            }
        }
    }
    for ty in [Ty::F32, Ty::F64] {
        check(Kind::Canonical(ty), &[ty], |x| x[0].canonical());
    }
}

#[test]
fn binary_operators() {
    use BinaryOp::*;
    // the lowering exchanges the operands of these before it asks for their code
    let asked = |op: &&BinaryOp| !op.is_elementary() && op.precise().is_none() && !matches!(op, Gt | Ge);
    for op in BinaryOp::ALL.iter().filter(asked) {
        for ty in Ty::ALL.into_iter().filter(|ty| op.accepts(*ty) && !ty.is_half()) {
            check(Kind::Binary(*op, ty), &[ty, ty], |x| eval_binary(*op, x[0], x[1]).0);
        }
    }
}

#[test]
fn operators_of_three() {
    let binary = |op, a, b| eval_binary(op, a, b).0;
    for ty in Ty::ALL {
        check(Kind::Select(ty), &[Ty::Bool, ty, ty], |x| if x[0].as_bool() { x[1] } else { x[2] });
        if ty == Ty::Bool || ty.is_half() {
            continue;
        }
        check(Kind::MulAdd(ty), &[ty; 3], |x| eval_mul_add(x[0], x[1], x[2]));
        if ty.is_float() {
            let product = |x: &[Lit]| binary(BinaryOp::Mul, x[0], x[1]);
            check(Kind::Added(ty), &[ty; 3], |x| binary(BinaryOp::Add, x[2], product(x)));
            check(Kind::Subtracted(ty), &[ty; 3], |x| binary(BinaryOp::Sub, x[2], product(x)));
        }
    }
}

#[test]
fn casts() {
    for (from, to) in Ty::ALL.into_iter().flat_map(|a| Ty::ALL.map(|b| (a, b))) {
        let other = if from.is_half() { to } else { from };
        if (from.is_half() || to.is_half()) && other != Ty::F32 {
            continue;
        }
        let kind = Kind::Cast(from, to);
        match kind.is_same() {
            true => {
                values(from, 1).iter().for_each(|x| assert_eq!(eval_cast(to, *x).bits, x.bits, "{kind:?}"))
            }
            false => check(kind, &[from], |x| eval_cast(to, x[0])),
        }
    }
}

/// Checks the casts of all values of f16 and bf16.
#[test]
fn halves() {
    for ty in [Ty::F16, Ty::Bf16] {
        let all: Vec<Lit> = (0..=u64::from(u16::MAX)).map(|bits| Lit { ty, bits }).collect();
        for level in levels() {
            let [wide, back] = [(ty, Ty::F32), (Ty::F32, ty)]
                .map(|(a, b)| find(Kind::Cast(a, b), &[true], level).expect("a cast"));
            let floats = call(wide, std::slice::from_ref(&all), None, Ty::F32, all.len());
            assert!(all.iter().zip(&floats).all(|(h, f)| same(eval_cast(Ty::F32, *h), *f)), "{ty} {level:?}");
            let halves = call(back, &[floats], None, ty, all.len());
            assert!(all.iter().zip(&halves).all(|(h, b)| same(*h, *b)), "{ty} {level:?}");
        }
    }
}
