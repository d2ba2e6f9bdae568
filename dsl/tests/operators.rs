//! Every operator and function of the language, on every type that has it: same bits as Rust's.

mod common;

use arraygpu_compiler::core::interp::Value;
use arraygpu_dsl::prelude::*;
use common::{call, literals, lower, scalar, vector};

/// Applies a function to scalars.
macro_rules! applied {
    ($f:expr; $($arg:expr),+) => {{
        let names: Vec<String> = [$(stringify!($arg)),+].iter().enumerate().map(|(i, _)| format!("p{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        call(&lower(names.try_into().expect("a name each"), "result", $f), &[$(scalar($arg)),+]).remove(0)
    }};
}

macro_rules! numbers {
    ($($test:ident $ty:ident)*) => { $(
        #[test]
        fn $test() {
            let (a, b, c): ($ty, $ty, $ty) = (7 as $ty, 3 as $ty, 2 as $ty);
            type S = SExp<$ty>;
            assert_eq!(applied!(|x: S, y: S| x + y; a, b), scalar(a + b));
            assert_eq!(applied!(|x: S, y: S| x - y; a, b), scalar(a - b));
            assert_eq!(applied!(|x: S, y: S| x * y; a, b), scalar(a * b));
            assert_eq!(applied!(|x: S, y: S| x / y; a, b), scalar(a / b));
            assert_eq!(applied!(|x: S| x + 3 as $ty; a), scalar(a + b));
            assert_eq!(applied!(|x: S| 7 as $ty - x; b), scalar(a - b));
            assert_eq!(applied!(|x: S| 7 as $ty * x; b), scalar(a * b));
            assert_eq!(applied!(|x: S| 7 as $ty / x; b), scalar(a / b));
            assert_eq!(applied!(|x: S| 7 as $ty + x; b), scalar(a + b));
            assert_eq!(applied!(|x: S, y: S| x.mul_add(y, 2 as $ty); a, b), scalar(a * b + c));
            assert_eq!(applied!(|x: S, y: S| x.min(y); a, b), scalar(b));
            assert_eq!(applied!(|x: S, y: S| x.max(y); a, b), scalar(a));
            assert_eq!(applied!(|x: S| x.max(3 as $ty); c), scalar(b));
            assert_eq!(applied!(|x: S, y: S| x.lt(y); a, b), scalar(false));
            assert_eq!(applied!(|x: S, y: S| x.le(y); a, a), scalar(true));
            assert_eq!(applied!(|x: S, y: S| x.gt(y); a, b), scalar(true));
            assert_eq!(applied!(|x: S, y: S| x.ge(y); b, a), scalar(false));
            assert_eq!(applied!(|x: S, y: S| x.eq(y); a, a), scalar(true));
            assert_eq!(applied!(|x: S, y: S| x.ne(y); a, a), scalar(false));
            assert_eq!(applied!(|x: S, y: S| cond(x.gt(y), x, 2 as $ty); b, a), scalar(c));
            assert_eq!(applied!(|x: S| x.cast::<f64>(); a), scalar(a as f64));
            assert_eq!(applied!(|x: S| x.cast::<f32>(); a), scalar(a as f32));
            assert_eq!(applied!(|x: S| x.cast::<i64>(); a), scalar(a as i64));
            assert_eq!(applied!(|x: S| x.cast::<i32>(); a), scalar(a as i32));
            assert_eq!(applied!(|x: S| x.cast::<u32>(); a), scalar(a as u32));
            assert_eq!(applied!(|x: S| x.cast::<u64>(); a), scalar(a as u64));
            assert_eq!(applied!(|x: S| x.cast::<i8>(); a), scalar(a as i8));
            assert_eq!(applied!(|x: S| x.cast::<i16>(); a), scalar(a as i16));
            assert_eq!(applied!(|x: S| x.cast::<u16>(); a), scalar(a as u16));
            assert_eq!(applied!(|x: S| x.cast::<u8>(); a), scalar(a as u8));
            assert_eq!(applied!(|x: S| x.cast::<bool>(); a), scalar(true));
            let compound = |x: S| {
                let mut y = x;
                y += x;
                y -= 3 as $ty;
                y *= x;
                y /= 2 as $ty;
                y
            };
            assert_eq!(applied!(compound; a), scalar((a + a - b) * a / c));
        }
    )* };
}
numbers!(f32_arithmetic f32 f64_arithmetic f64 i32_arithmetic i32 i64_arithmetic i64 u32_arithmetic u32 u64_arithmetic u64 i16_arithmetic i16 u16_arithmetic u16 i8_arithmetic i8 u8_arithmetic u8);

macro_rules! integers {
    ($($test:ident $ty:ident)*) => { $(
        #[test]
        fn $test() {
            let (a, b): ($ty, $ty) = (13, 6);
            type S = SExp<$ty>;
            assert_eq!(applied!(|x: S, y: S| x % y; a, b), scalar(a % b));
            assert_eq!(applied!(|x: S, y: S| x & y; a, b), scalar(a & b));
            assert_eq!(applied!(|x: S, y: S| x | y; a, b), scalar(a | b));
            assert_eq!(applied!(|x: S, y: S| x ^ y; a, b), scalar(a ^ b));
            assert_eq!(applied!(|x: S| x << 2; a), scalar(a << 2));
            assert_eq!(applied!(|x: S| x >> 2; a), scalar(a >> 2));
            assert_eq!(applied!(|x: S| !x; a), scalar(!a));
            assert_eq!(applied!(|x: S| -x; a), scalar(a.wrapping_neg()));
            assert_eq!(applied!(|x: S| 13 % x; b), scalar(a % b));
            assert_eq!(applied!(|x: S| 1 << x; b), scalar((1 as $ty) << b));
            assert_eq!(applied!(|x: S| 64 >> x; b), scalar((64 as $ty) >> b));
            assert_eq!(applied!(|x: S| 13 & x; b), scalar(a & b));
            assert_eq!(applied!(|x: S| 13 | x; b), scalar(a | b));
            assert_eq!(applied!(|x: S| 13 ^ x; b), scalar(a ^ b));
        }
    )* };
}
integers!(i32_bits i32 i64_bits i64 u32_bits u32 u64_bits u64 i16_bits i16 u16_bits u16 i8_bits i8 u8_bits u8);

#[test]
fn bools() {
    type S = SExp<bool>;
    for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
        assert_eq!(applied!(|x: S, y: S| x & y; a, b), scalar(a & b));
        assert_eq!(applied!(|x: S, y: S| x | y; a, b), scalar(a | b));
        assert_eq!(applied!(|x: S, y: S| x ^ y; a, b), scalar(a ^ b));
        assert_eq!(applied!(|x: S, y: S| x.eq(y); a, b), scalar(a == b));
        assert_eq!(applied!(|x: S, y: S| x.ne(y); a, b), scalar(a != b));
        assert_eq!(applied!(|x: S| !x; a), scalar(!a));
        assert_eq!(applied!(|x: S| true & x; a), scalar(a));
        assert_eq!(applied!(|x: S| x | true; a), scalar(true));
        assert_eq!(applied!(|x: S| x.cast::<f32>(); a), scalar(f32::from(a as u8)));
    }
}

#[test]
fn float_functions() {
    type S = SExp<f64>;
    assert_eq!(applied!(|x: S| -x; 1.5), scalar(-1.5));
    assert_eq!(applied!(|x: S| x.abs(); -1.5), scalar(1.5));
    assert_eq!(applied!(|x: SExp<i32>| x.abs(); -15), scalar(15));
    assert_eq!(applied!(|x: S| x.sqrt(); 2.25), scalar(1.5));
    assert_eq!(applied!(|x: S| x.floor(); -1.5), scalar(-2.0));
    assert_eq!(applied!(|x: S| x.ceil(); -1.5), scalar(-1.0));
    assert_eq!(applied!(|x: S| x.trunc(); -1.5), scalar(-1.0));
    assert_eq!(applied!(|x: S| x.round(); 2.5), scalar(3.0));
    assert_eq!(applied!(|x: S| x.round_ties_even(); 2.5), scalar(2.0));
    assert_eq!(applied!(|x: S| x.exp(); 0.0), scalar(1.0));
    assert_eq!(applied!(|x: S| x.exp2(); 3.0), scalar(8.0));
    assert_eq!(applied!(|x: S| x.expm1(); 0.0), scalar(0.0));
    assert_eq!(applied!(|x: S| x.log(); 1.0), scalar(0.0));
    assert_eq!(applied!(|x: S| x.log2(); 8.0), scalar(3.0));
    assert_eq!(applied!(|x: S| x.log10(); 100.0), scalar(2.0));
    assert_eq!(applied!(|x: S| x.log1p(); 0.0), scalar(0.0));
    for f in [S::sin, S::tan, S::asin, S::atan, S::sinh, S::tanh, S::erf] {
        assert_eq!(applied!(f; 0.0), scalar(0.0));
    }
    for f in [S::cos, S::cosh, S::erfc] {
        assert_eq!(applied!(f; 0.0), scalar(1.0));
    }
    assert_eq!(applied!(|x: S| x.acos(); 1.0), scalar(0.0));
    assert_eq!(applied!(|x: S| x.cbrt(); 27.0), scalar(3.0));
    assert_eq!(applied!(|x: S| x.powf(2.0); 3.0), scalar(9.0));
    assert_eq!(applied!(|x: S, y: S| y.atan2(x); 1.0, 0.0), scalar(0.0));
    assert_eq!(applied!(|x: S, y: S| x.hypot(y); 3.0, -4.0), scalar(5.0));
    assert_eq!(applied!(|x: S, y: S| x.fmod(y); -7.5, 2.0), scalar(-1.5));
    assert_eq!(applied!(|x: S, y: S| x % y; -7.5, 2.0), scalar(-1.5));
    assert_eq!(applied!(|x: S| 7.5 % x; 2.0), scalar(1.5));
    assert_eq!(applied!(|x: S, y: S| x.copysign(y); 3.0, -0.0), scalar(-3.0));
    assert_eq!(applied!(|x: S| x.ln(); 1.0), scalar(0.0));
    let same = lower(["v"], ["log", "ln"], |v: VExp<f64>| (v.log(), v.ln()));
    assert_eq!(same.results[0].value, same.results[1].value);
    assert_eq!(applied!(|x: S| x.sinpi(); 0.5), scalar(1.0));
    assert_eq!(applied!(|x: S| x.cospi(); 1.0), scalar(-1.0));
    assert_eq!(applied!(|x: S| x.rsqrt(); 4.0), scalar(0.5));
    assert_eq!(applied!(|x: S| x.normcdf(); 0.0), scalar(0.5));
}

#[test]
fn mantissas_and_exponents() {
    type S = SExp<f64>;
    for (n, expected) in [(3, 12.0), (-2, 0.375), (0, 1.5), (i32::MAX, f64::INFINITY), (i32::MIN, 0.0)] {
        assert_eq!(applied!(|x: S, n: SExp<i32>| x.ldexp(n); 1.5, n), scalar(expected));
    }
    let f = lower(["x"], ["mantissa", "exponent"], |x: VExp<f32>| x.frexp());
    let results = call(&f, &[vector(&[12f32, -0.375, 0., 1e-45, f32::INFINITY])]);
    assert_eq!(results[0], vector(&[0.75f32, -0.75, 0., 0.5, f32::INFINITY]));
    assert_eq!(results[1], vector(&[4, -1, 0, -148, 0]));
    let f = lower(["x", "n"], "result", |x: VExp<f32>, n: VExp<i32>| x.ldexp(n));
    let results = call(&f, &[vector(&[1f32, 3.]), vector(&[-149, 2])]);
    assert_eq!(results, [vector(&[1e-45f32, 12.])]);
}

/// Exponents that a half does not hold: it would round 257 to 256 (bf16), 2049 to 2048 (f16).
#[test]
fn exponents_are_not_rounded() {
    let power = |n: i32| 2f64.powi(n);
    for (x, n, expected) in [
        (power(-133), 257, power(124)),
        (power(-133), 255, power(122)),
        (-1.5, -133, -power(-132)),
        (1.0, 5000, f64::INFINITY),
    ] {
        assert_eq!(
            applied!(|x: SExp<bf16>, n: SExp<i32>| x.ldexp(n); bf16::from_f64(x), n),
            scalar(bf16::from_f64(expected))
        );
    }
    for (x, n, expected) in [
        (power(-24), 39, power(15)),
        (power(-24), 2049, f64::INFINITY),
        (1.5, -24, power(-23)),
        (1.0, -25, 0.0),
    ] {
        assert_eq!(
            applied!(|x: SExp<f16>, n: SExp<i32>| x.ldexp(n); f16::from_f64(x), n),
            scalar(f16::from_f64(expected))
        );
    }
    for (x, n, expected) in [
        (power(-149), 276, power(127)),
        (1.0, -149, power(-149)),
        (1.5, -149, power(-148)),
        (1.0, 128, f64::INFINITY),
    ] {
        assert_eq!(applied!(|x: SExp<f32>, n: SExp<i32>| x.ldexp(n); x as f32, n), scalar(expected as f32));
    }
    for (x, n, expected) in [
        (5e-324, 2097, power(1023)),
        (1.0, -1074, 5e-324),
        (power(1023), -2098, 0.0),
        (1.0, 1024, f64::INFINITY),
    ] {
        assert_eq!(applied!(|x: SExp<f64>, n: SExp<i32>| x.ldexp(n); x, n), scalar(expected));
    }
    let f = lower(["x", "n"], "result", |x: VExp<bf16>, n: VExp<i32>| x.ldexp(n));
    let x = vector(&[power(-133), 3.0].map(bf16::from_f64));
    assert_eq!(call(&f, &[x, vector(&[257, 2])]), [vector(&[power(124), 12.0].map(bf16::from_f64))]);
}

#[test]
fn integer_literals_beside_floats() {
    assert_eq!(applied!(|x: SExp<f32>| 2 * x * 3 + 1; 1.5f32), scalar(10f32));
    assert_eq!(applied!(|x: SExp<f64>| 1 - x / 2; 1.0), scalar(0.5));
    assert_eq!(applied!(|x: SExp<f32>| x.max(0).min(1); 7f32), scalar(1f32));
    assert_eq!(applied!(|x: SExp<f32>| cond(x.lt(0), 0, x); -7f32), scalar(0f32));
    let f = lower(["v"], "result", |v: VExp<f32>| (2 * v + 1) / 4 - 1);
    assert_eq!(call(&f, &[vector(&[1.5f32])]), [vector(&[0f32])]);
}

#[test]
fn vectors_scalars_and_literals() {
    let f = lower(["x", "y", "s"], ["vv", "vs", "sv", "vl", "lv", "neg"], {
        |x: VExp<f32>, y: VExp<f32>, s: SExp<f32>| (x - y, x - s, s - x, x - 1.0, 1.0 - x, -x)
    });
    let args = [vector(&[5f32, 6.]), vector(&[1f32, 2.]), scalar(10f32)];
    let expected: [&[f32]; 6] = [&[4., 4.], &[-5., -4.], &[5., 4.], &[4., 5.], &[-4., -5.], &[-5., -6.]];
    assert_eq!(call(&f, &args), expected.map(vector));
}

#[test]
fn elementwise_on_vectors() {
    let f = lower(["x"], ["a", "b", "c", "d", "e"], |x: VExp<f64>| {
        let mut y = x.abs().sqrt();
        y += x;
        y *= 2;
        (y, x.cast::<i32>() % 2, x.gt(0), !x.lt(y), x.powf(2))
    });
    let results = call(&f, &[vector(&[4.0, -9.0])]);
    assert_eq!(results[0], vector(&[12.0, -12.0]));
    assert_eq!(results[1], vector(&[0, -1]));
    assert_eq!(results[2], vector(&[true, false]));
    assert_eq!(results[3], vector(&[false, true]));
    assert_eq!(results[4], vector(&[16.0, 81.0]));
    let bits = lower(["x", "b"], ["masked", "shifted", "flipped"], |x: VExp<u8>, b: VExp<bool>| {
        (x & 6, 1 << x, !b ^ true)
    });
    let results = call(&bits, &[vector(&[3u8, 4]), vector(&[true, false])]);
    assert_eq!(results, [vector(&[2u8, 4]), vector(&[8u8, 16]), vector(&[true, false])]);
}

#[test]
fn makers_of_vectors() {
    let f = lower(["n"], ["iota", "fill", "generate", "reverse"], |n: SExp<i64>| {
        (iota(n), fill(n, 2.5f32), generate(n, |i| i.cast::<u8>() + 1), iota(n).reverse())
    });
    let results = call(&f, &[scalar(2i64)]);
    let expected = [vector(&[0i64, 1]), vector(&[2.5f32; 2]), vector(&[1u8, 2]), vector(&[1i64, 0])];
    assert_eq!(results, expected);
    assert_eq!(literals(&call(&f, &[scalar(0i64)])[0]), []);
    assert_eq!(call(&lower([], "r", || lit(3u32) + 1), &[]), [Value::Scalar(4u32.lit())]);
}

#[test]
fn handles_are_small_and_say_where_they_are_from() {
    assert_eq!(std::mem::size_of::<SExp<f32>>(), 8);
    assert_eq!(std::mem::size_of::<VExp<f64>>(), 8);
    assert!(format!("{:?}", lit(1f32)).starts_with("SExp<f32> made at "));
}

/// Halves are computed in f32 and rounded once an operation; constants, literals, casts.
macro_rules! halves {
    ($($test:ident $ty:ident)*) => { $(
        #[test]
        fn $test() {
            type S = SExp<$ty>;
            let half = $ty::from_f32;
            let (a, b) = (half(1.5), half(0.1));
            for (x, y) in [(a, b), (b, a), (half(-2.25), half(300.0)), (b, b)] {
                let (p, q) = (x.to_f32(), y.to_f32());
                assert_eq!(applied!(|x: S, y: S| x + y; x, y), scalar(half(p + q)));
                assert_eq!(applied!(|x: S, y: S| x - y; x, y), scalar(half(p - q)));
                assert_eq!(applied!(|x: S, y: S| x * y; x, y), scalar(half(p * q)));
                assert_eq!(applied!(|x: S, y: S| x / y; x, y), scalar(half(p / q)));
                assert_eq!(applied!(|x: S, y: S| x.mul_add(y, x); x, y), scalar(half(p.mul_add(q, p))));
                assert_eq!(applied!(|x: S, y: S| x * y + x; x, y), scalar(half(half(p * q).to_f32() + p)));
                assert_eq!(applied!(|x: S, y: S| x.min(y); x, y), scalar(half(p.min(q))));
                assert_eq!(applied!(|x: S, y: S| x.lt(y); x, y), scalar(p < q));
                assert_eq!(applied!(|x: S| -x; x), scalar(-x));
                assert_eq!(applied!(|x: S| x.abs().sqrt(); x), scalar(half(p.abs().sqrt())));
                assert_eq!(applied!(|x: S| 2 * x + 1; x), scalar(half(half(2.0 * p).to_f32() + 1.0)));
                assert_eq!(applied!(|x: S| x + $ty::ONE; x), scalar(half(p + 1.0)));
                assert_eq!(applied!(|x: S| $ty::ONE - x; x), scalar(half(1.0 - p)));
                assert_eq!(applied!(|x: S| x.cast::<f64>(); x), scalar(f64::from(p)));
                assert_eq!(applied!(|x: S| x.cast::<i32>(); x), scalar(p as i32));
                assert_eq!(applied!(|x: SExp<f32>| x.cast::<$ty>(); p * 1.001), scalar(half(p * 1.001)));
            }
        }
    )* };
}
halves!(f16_arithmetic f16 bf16_arithmetic bf16);

/// In halves these sums would stop growing long before their end.
#[test]
fn sums_of_halves_accumulate_in_f32() {
    let n = 10_000;
    let ones = vector(&vec![bf16::ONE; n]);
    let sums =
        lower(["x"], ["sum", "dot", "in_order"], |x: VExp<bf16>| (x.sum(), x.dot(x), x.sum_in_order()));
    let total = scalar(bf16::from_f32(n as f32));
    assert_eq!(call(&sums, std::slice::from_ref(&ones)), [total.clone(), total.clone(), total]);
    // but a reduction by the author's operator rounds each step
    let rounded = lower(["x"], "result", |x: VExp<bf16>| x.fold(0, |a, b| a + b));
    assert_eq!(call(&rounded, &[ones]), [scalar(bf16::from_f32(256.0))]);
    let weights = [f16::from_f32(1024.0), f16::from_f32(0.5), f16::from_f32(0.5)];
    let weighted = lower(["x"], "result", move |x: VExp<f16>| x.weighted_sum(&weights));
    assert_eq!(call(&weighted, &[vector(&[f16::ONE; 3])]), [vector(&[f16::from_f32(1025.0)])]);
}
