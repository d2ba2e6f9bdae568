//! More words joined in one program, written from `docs/language.md` alone: on the interpreter before and after the
//! passes, and in every version of every kernel on a simulated GPU.

mod common;

use arraygpu_dsl::example::tensor;
use arraygpu_dsl::prelude::*;
use common::{everywhere, lower, matrix, recorded, scalar, vector};

#[derive(Clone, Copy, Record)]
#[record(crate = arraygpu_dsl)]
struct Particle {
    z: [f32; 2],
    weight: f32,
    kind: i64,
}

const NOBODY: Particle = Particle { z: [0.0, 0.0], weight: -1.0, kind: 0 };

fn heavier(a: SExp<Particle>, b: SExp<Particle>) -> SExp<Particle> {
    if_else(b.weight.gt(a.weight), || b, || a)
}

const X: [f32; 7] = [3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0];

fn cube() -> arraygpu_compiler::core::interp::Value {
    let at = |k: usize, i: usize, j: usize| ((7 * k + 5 * i + 3 * j) % 11) as f32 - 4.0;
    tensor(&[0, 1].map(|k| [0, 1, 2].map(|i| [0, 1, 2, 3].map(|j| at(k, i, j)))))
}

#[test]
fn the_least_element_of_a_volume_with_margins() {
    let f = lower(["t"], ["at", "low", "high"], |t: TExp<f32>| {
        let wide = t.padded([1, 0], [0, 1], [2, 1], Boundary::Clamp);
        let (low, high) = wide.minmax();
        (wide.argmin(), low, high)
    });
    let found = everywhere(&f, &[cube()]);
    assert_eq!(found[1..], [scalar(-4.0f32), scalar(6.0f32)]);
    // a constant around it is the least, at the first index
    let f = lower(["t"], ["at", "last"], |t: TExp<f32>| {
        let wide = t.padded([0, 1], [1, 0], [0, 0], Boundary::Constant(-9.0));
        (wide.argmin(), (-wide).map_planes(|p| p.argmax()).max())
    });
    assert_eq!(everywhere(&f, &[cube()]), [scalar(0i64), scalar(0i64)]);
}

#[test]
fn rows_of_complex_numbers_reduced() {
    let f = lower(["m"], ["r", "s"], |m: MExp<Complex<f32>>| {
        let products = m.map_rows(|r| r.reduce(Complex::new(1.0, 0.0), |a, b| a * b));
        (products, m.map_cols(|c| c.map(|z| z.norm_sqr()).sum()))
    });
    let args = [matrix(&[[1.0f32, 0.0], [2.0, 3.0]]), matrix(&[[1.0f32, 2.0], [0.0, -1.0]])];
    let expected = [vector(&[-2.0f32, 6.0]), vector(&[2.0f32, -2.0]), vector(&[6.0f32, 14.0])];
    assert_eq!(everywhere(&f, &args), expected);
}

#[test]
fn loops_over_arrays_in_a_volume() {
    let f = lower(["n"], "r", |n: SExp<i64>| {
        generate3(2, n, 3, |k, i, j| {
            let first = [k.cast::<f32>(), i.cast(), j.cast()];
            let [a, b, c] = loop_for(i + j, first, |t, [a, b, c]| [b, c, a + t.cast::<f32>()]);
            a + 10.0 * b + 100.0 * c
        })
    });
    let expected = |k: i64, i: i64, j: i64| {
        let mut s = [k as f32, i as f32, j as f32];
        (0..i + j).for_each(|t| s = [s[1], s[2], s[0] + t as f32]);
        s[0] + 10.0 * s[1] + 100.0 * s[2]
    };
    let all = [0, 1].map(|k| [0, 1].map(|i| [0, 1, 2].map(|j| expected(k, i, j))));
    assert_eq!(everywhere(&f, &[scalar(2i64)]), [tensor(&all)]);
}

#[test]
fn the_heaviest_of_each_column() {
    let f = lower(["w", "x"], ["first", "second", "weight", "kind"], |w: MExp<f32>, x: MExp<f32>| {
        let all = w.zip_with(x, |w, x| {
            let z = [x, if_else(x.lt(0.0), || -x, || x * 2.0)];
            ParticleFields { z, weight: w, kind: x.cast::<i64>() }.pack()
        });
        let best = all.map_cols(|c| c.reduce(NOBODY, heavier));
        (best.z[0], best.z[1], best.weight, best.kind)
    });
    let args = [matrix(&[[1.0f32, 5.0], [2.0, 4.0]]), matrix(&[[1.5f32, -2.0], [-3.0, 8.0]])];
    let expected =
        [vector(&[-3.0f32, -2.0]), vector(&[3.0f32, 2.0]), vector(&[2.0f32, 5.0]), vector(&[-3i64, -2])];
    assert_eq!(everywhere(&f, &args), expected);
}

#[test]
fn a_hash_of_bits() {
    let f = lower(["x"], ["h", "k"], |x: VExp<f32>| {
        let bits = x.sliced(s![..; -1]).to_bits();
        (bits, x).fold((2_166_136_261u32, 0i64), |(h, k), (b, x)| {
            ((h ^ b) * 16_777_619u32, k + cond(x.gt(0.0), 1i64, 0i64))
        })
    });
    let hash = X.iter().rev().fold(2_166_136_261u32, |h, x| (h ^ x.to_bits()).wrapping_mul(16_777_619));
    assert_eq!(everywhere(&f, &[vector(&X)]), [scalar(hash), scalar(5i64)]);
}

#[test]
fn iterations_of_slices() {
    // sums of neighbours by halves, written back over every second element
    let f = lower(["x"], ["r", "k"], |x: VExp<f32>| {
        let step = |x: VExp<f32>| {
            let turned = x.sliced(s![..; -1]);
            turned.with_slice(1, 0.5 * (x.sliced(s![..-1]) + x.sliced(s![1..])))
        };
        iterate_while(9, x, |x| x.sliced(s![1..]).minmax().1.gt(3.0), step).check_every(2)
    });
    let mut x = X.to_vec();
    let mut steps = 0;
    while steps % 2 == 1 || x[1..].iter().any(|x| *x > 3.0) {
        let halves: Vec<f32> = x.windows(2).map(|w| 0.5 * (w[0] + w[1])).collect();
        x = [&[x[x.len() - 1]], &halves[..]].concat();
        steps += 1;
    }
    assert_eq!(everywhere(&f, &[vector(&X)]), [vector(&x), scalar(steps as i64)]);
}

#[test]
fn loops_over_records_with_complex_numbers() {
    let f = lower(["c"], ["re", "im", "kind"], |c: VExp<Complex<f32>>| {
        let last = c.map(|c| {
            let first = ParticleFields { z: [lit(0.0), lit(0.0)], weight: lit(0.0), kind: lit(0) }.pack();
            loop_while_at_most(
                50,
                first,
                |p| p.weight.le(4.0) & p.kind.lt(5),
                |p| {
                    let z = complex(p.z[0], p.z[1]);
                    let next = z * z + c;
                    ParticleFields { z: [next.re, next.im], weight: next.norm_sqr(), kind: p.kind + 1 }.pack()
                },
            )
        });
        (last.z[0], last.z[1], last.kind)
    });
    let found = everywhere(&f, &[vector(&[0.25f32, 2.0, -1.0]), vector(&[0.0f32, 1.0, 0.0])]);
    assert_eq!(found[2], vector(&[5i64, 1, 5]));
}

#[test]
fn local_arrays_at_indices_of_the_element() {
    // the greatest two of the digits of each number, by counts of the digits
    let f = lower(["x"], ["most", "twice"], |x: VExp<i64>| {
        x.map(|x| {
            let (_, counts) = loop_while(
                (x, [0i64; 10]),
                |(x, _)| x.gt(0),
                |(x, counts)| (x / 10, counts.with_at(x % 10, counts.at(x % 10) + 1)),
            );
            loop_for(10, (-1i64, -1i64), |d, (most, twice)| {
                (cond(counts.at(d).gt(0), d, most), cond(counts.at(d).ge(2), d, twice))
            })
        })
    });
    let expected = [vector(&[9i64, 7, 2, -1]), vector(&[-1i64, 7, 2, -1])];
    assert_eq!(everywhere(&f, &[vector(&[1930i64, 777, 122_211, 0])]), expected);
    // of records; outside there is 0, and a record
    let table = |i: SExp<i64>| {
        let [a, b] = [1.0f32, 2.0].map(|w| lit(Particle { z: [w, -w], weight: w, kind: 7 }));
        let p = [a, b].with_at(0, Particle { z: [5.0, 6.0], weight: 7.0, kind: 8 }).at(i);
        (p.z[1], p.kind)
    };
    let f = lower(["i"], ["z", "kind"], move |i: VExp<i64>| i.map(table));
    let found = everywhere(&f, &[vector(&[0i64, 1])]);
    assert_eq!(found, [vector(&[6.0f32, -2.0]), vector(&[8i64, 7])]);
    let record = recorded(&f, &[vector(&[1i64, 2, -1])]);
    assert!(record.starts_with("element 1: "), "{record}");
}

#[test]
fn pivots_of_an_iteration() {
    // each step divides by the element of largest size, and moves it behind the others
    let f = lower(["x"], ["r", "all"], |x: VExp<f32>| {
        let step = |x: VExp<f32>| {
            let at = x.abs().argmax();
            let n = x.len();
            x.gather(generate(n, |i| (i + at + 1) % n)) / x.at(at)
        };
        (x.iterate(3, step), iterate_collect(2, x, step))
    });
    let mut x = X.to_vec();
    let mut all = Vec::new();
    for _ in 0..3 {
        let at = (0..7).fold(0, |m, i| if x[i].abs() > x[m].abs() { i } else { m });
        x = (0..7).map(|i| x[(i + at + 1) % 7] / x[at]).collect();
        all.push(<[f32; 7]>::try_from(&x[..]).unwrap());
    }
    assert_eq!(everywhere(&f, &[vector(&X)]), [vector(&x), matrix(&all[..2])]);
}

#[test]
fn states_of_lists_of_complex_numbers() {
    let f = lower(["z", "k"], ["re", "im", "n"], |z: VExp<Complex<f64>>, k: SExp<i64>| {
        let ([a, b], n) = iterate_indexed(k, ([z, z.conj()], lit(0i64)), |t, ([a, b], n)| {
            let turned = [
                b.map(|z| z * Complex::new(0.0, 1.0)),
                a.zip_with(b, |a, b| if_else(t.eq(0), || a, || a + b)),
            ];
            (turned, n + t * t)
        });
        let both = a + b;
        (both.re, both.im, n)
    });
    let args = [vector(&[1.0f64, 0.0]), vector(&[2.0f64, -1.0]), scalar(3i64)];
    let step = |t: usize, [a, b]: [[f64; 2]; 2]| {
        [[-b[1], b[0]], if t == 0 { a } else { [a[0] + b[0], a[1] + b[1]] }]
    };
    let sum = |z: [f64; 2]| {
        let [a, b] = (0..3).fold([z, [z[0], -z[1]]], |s, t| step(t, s));
        [a[0] + b[0], a[1] + b[1]]
    };
    let [p, q] = [sum([1.0, 2.0]), sum([0.0, -1.0])];
    assert_eq!(everywhere(&f, &args), [vector(&[p[0], q[0]]), vector(&[p[1], q[1]]), scalar(5i64)]);
}

#[test]
fn ordered_reductions_of_windows_in_rows() {
    // the longest rise of each row, from its windows of two
    let f = lower(["m"], ["rise", "at"], |m: MExp<f32>| {
        m.map_rows(|r| {
            let w = r.windows(2);
            let rises = w[0].zip_with(w[1], |a, b| b - a);
            let (rise, at, _) = (rises, rises.map(|x| x.gt(0.0)), iota(rises.len()))
                .reduce_noncommutative((f32::NEG_INFINITY, false, -1i64), |(a, up, i), (b, down, j)| {
                    if_else(b.gt(a), || (b, down, j), || (a, up, i))
                });
            (rise, at)
        })
    });
    let args = [matrix(&[[1.0f32, 2.0, 5.0, 4.0], [4.0, 3.0, 1.0, 0.5]])];
    assert_eq!(everywhere(&f, &args), [vector(&[3.0f32, -0.5]), vector(&[true, false])]);
}
