//! Complex numbers against the formulas of the semantics, written once more over Rust's floats.

use arraygpu_compiler::core::interp::Value;
use arraygpu_dsl::example::{call_parts, scalar, vector};
use arraygpu_dsl::prelude::*;

type Plain = [f32; 2];

fn product([a, b]: Plain, [c, d]: Plain) -> Plain {
    [a * c - b * d, a * d + b * c]
}

fn quotient([a, b]: Plain, [c, d]: Plain) -> Plain {
    if c.abs() >= d.abs() {
        let r = d / c;
        let m = c + d * r;
        [(a + b * r) / m, (b - a * r) / m]
    } else {
        let r = c / d;
        let m = d + c * r;
        [(a * r + b) / m, (b * r - a) / m]
    }
}

/// Operands with parts of many sizes, zeros, infinities and NaN.
fn operands() -> Vec<Plain> {
    let parts = [0.0f32, -0.0, 1.0, -1.5, 3e-30, 2e30, -7e19, 1e-45, f32::INFINITY, f32::NAN];
    parts.iter().flat_map(|a| parts.map(|b| [*a, b])).collect()
}

fn split(values: &[Plain]) -> [Value; 2] {
    [0, 1].map(|k| vector(&values.iter().map(|v| v[k]).collect::<Vec<_>>()))
}

/// Every pair of operands.
fn pairs() -> (Vec<Plain>, Vec<Plain>) {
    let all = operands();
    all.iter().flat_map(|a| all.iter().map(|b| (*a, *b))).unzip()
}

/// The value that every NaN of a result has.
fn canonical(values: Vec<Plain>) -> Vec<Plain> {
    let one = |x: f32| if x.is_nan() { f32::from_bits(0x7fc0_0000) } else { x };
    values.into_iter().map(|v| v.map(one)).collect()
}

#[test]
fn operators_round_as_their_formulas() {
    let (a, b) = pairs();
    let args: Vec<Value> = split(&a).into_iter().chain(split(&b)).collect();
    let plain = |f: fn(Plain, Plain) -> Plain| {
        split(&canonical(a.iter().zip(&b).map(|(a, b)| f(*a, *b)).collect())).to_vec()
    };
    type Z = VExp<Complex<f32>>;
    let cases: [(Vec<Value>, Vec<Value>, &str); 4] = [
        (call_parts(|a: Z, b: Z| a + b, &args), plain(|[a, b], [c, d]| [a + c, b + d]), "+"),
        (call_parts(|a: Z, b: Z| a - b, &args), plain(|[a, b], [c, d]| [a - c, b - d]), "-"),
        (call_parts(|a: Z, b: Z| a * b, &args), plain(product), "*"),
        (call_parts(|a: Z, b: Z| a / b, &args), plain(quotient), "/"),
    ];
    for (got, expected, operator) in cases {
        assert_eq!(got, expected, "{operator}");
    }
    // element by element it is the same
    let of_elements = call_parts(|a: Z, b: Z| a.zip_with(b, |a, b| a / b), &args);
    assert_eq!(of_elements, plain(quotient));
}

#[test]
fn functions() {
    let f = |z: SExp<Complex<f64>>| (-z.conj(), z.abs(), z.norm_sqr(), z.eq(z), z.scale(2), z.re);
    let expected = vec![
        scalar(-3.0f64),
        scalar(4.0f64),
        scalar(5.0f64),
        scalar(25.0f64),
        scalar(true),
        scalar(6.0f64),
        scalar(8.0f64),
        scalar(3.0f64),
    ];
    assert_eq!(call_parts(f, [3.0f64, 4.0].map(scalar)), expected);
    // a reduction by the author's own operator: the product of i, i, i
    let f = |z: VExp<Complex<f32>>| z.reduce(Complex::new(1.0, 0.0), |a, b| a * b);
    assert_eq!(call_parts(f, split(&[[0.0, 1.0]; 3])), [0.0f32, -1.0].map(scalar));
    let f = |z: VExp<Complex<f32>>| z.sum();
    assert_eq!(call_parts(f, split(&[[1.0, 2.0]; 3])), [3.0f32, 6.0].map(scalar));
    let f = |x: VExp<f32>| x.map(|x| complex(x, 1.0) * complex(x, -1.0)).re;
    assert_eq!(call_parts(f, [vector(&[2.0f32])]), [vector(&[5.0f32])]);
}

/// The steps until z -> z^2 + c leaves the circle of radius 2, for a state that is a complex number.
#[test]
fn a_loop_of_complex_numbers() {
    let escape = |c: SExp<Complex<f32>>| {
        let init = (lit(Complex::new(0.0f32, 0.0)), 0i64);
        loop_while_at_most(
            50,
            init,
            |(z, n)| z.norm_sqr().le(4.0) & n.lt(50),
            move |(z, n)| (z * z + c, n + 1),
        )
        .1
    };
    let f = |c: VExp<Complex<f32>>| c.map(escape);
    let points = [[0.0f32, 0.0], [1.0, 0.0], [-1.0, 0.5]];
    let plain = points.map(|c| {
        let (mut z, mut n) = ([0.0f32, 0.0], 0i64);
        while z[0] * z[0] + z[1] * z[1] <= 4.0 && n < 50 {
            let [x, y] = product(z, z);
            (z, n) = ([x + c[0], y + c[1]], n + 1);
        }
        n
    });
    assert_eq!(call_parts(f, split(&points)), [vector(&plain)]);
}

/// The example of docs/language.md.
#[test]
fn spectrum() {
    fn spectrum(x: VExp<Complex<f64>>) -> VExp<Complex<f64>> {
        let n = x.len();
        generate(n, |k| {
            let turn = |j: SExp<i64>| -2.0 * (j * k % n).cast::<f64>() / n.cast::<f64>();
            let terms = generate(n, |j| complex(turn(j).cospi(), turn(j).sinpi()) * x.at(j));
            terms.sum()
        })
    }
    let args = [vector(&[1.0f64, 0.0, 0.0, 0.0]), vector(&[0.0f64; 4])];
    assert_eq!(call_parts(spectrum, args), [vector(&[1.0f64; 4]), vector(&[0.0f64; 4])]);
    let args = [vector(&[1.0f64, 2.0, 3.0, 4.0]), vector(&[0.0f64; 4])];
    let expected = [vector(&[10.0f64, -2.0, -2.0, -2.0]), vector(&[0.0f64, 2.0, 0.0, -2.0])];
    assert_eq!(call_parts(spectrum, args), expected);
}
