//! Words inside of words, written from `docs/language.md` alone, beside plain Rust: on the interpreter before and after
//! the passes, and in every version of every kernel on a simulated GPU.

mod common;

use arraygpu_compiler::core::interp::Value;
use arraygpu_dsl::example::tensor;
use arraygpu_dsl::prelude::*;
use arraygpu_dsl::{Volume, eval};
use common::{everywhere, lower, matrix, recorded, scalar, vector};

#[derive(Clone, Copy, PartialEq, Debug, Record)]
#[record(crate = arraygpu_dsl)]
struct Cell {
    mass: f32,
    flow: [f32; 2],
    kind: i64,
}

const EMPTY: Cell = Cell { mass: 0.0, flow: [0.0, 0.0], kind: -1 };

fn heavier(a: SExp<Cell>, b: SExp<Cell>) -> SExp<Cell> {
    if_else(b.mass.gt(a.mass), || b, || a)
}

/// Some cells as struct values, and as the arrays of their fields.
fn cells(n: usize) -> (Vec<Cell>, [Value; 4]) {
    let all: Vec<Cell> = (0..n)
        .map(|i| {
            let x = (i * 7 % 5) as f32;
            Cell { mass: x, flow: [1.0 + x, 0.5 * i as f32], kind: i as i64 % 3 }
        })
        .collect();
    let of = |f: &dyn Fn(&Cell) -> f32| vector(&all.iter().map(f).collect::<Vec<_>>());
    let kinds = vector(&all.iter().map(|c| c.kind).collect::<Vec<_>>());
    let args = [of(&|c| c.mass), of(&|c| c.flow[0]), of(&|c| c.flow[1]), kinds];
    (all, args)
}

#[test]
fn scans_of_records_in_collected_steps() {
    // each step sums the masses from the left, and keeps the heaviest kind so far; the steps are the rows of a matrix
    let f = lower(["c", "k"], ["mass", "kind"], |c: VExp<Cell>, k: SExp<i64>| {
        let steps = iterate_collect(k, c, |c| {
            let so_far = c.scan(EMPTY, heavier);
            let sums = c.mass.scan(0.0, |a, b| a + b);
            c.zip_with(so_far, |c, h| CellFields { kind: h.kind, ..*c }.pack())
                .zip_with(sums, |c, mass| CellFields { mass: mass * 0.5, ..*c }.pack())
        });
        (steps.mass, steps.kind)
    });
    let (mut all, args) = cells(6);
    let (mut masses, mut kinds) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let (mut sum, mut best) = (0.0f32, EMPTY);
        for c in &mut all {
            sum += c.mass;
            best = if c.mass > best.mass { *c } else { best };
            *c = Cell { mass: sum * 0.5, kind: best.kind, ..*c };
        }
        masses.push([0, 1, 2, 3, 4, 5].map(|i| all[i].mass));
        kinds.push([0, 1, 2, 3, 4, 5].map(|i| all[i].kind));
    }
    let found = everywhere(&f, &[&args[..], &[scalar(3i64)]].concat());
    assert_eq!(found, [matrix(&masses), matrix(&kinds)]);
}

#[test]
fn complex_volumes_reduced_by_rows() {
    let f = lower(["z"], ["products", "power", "largest"], |z: TExp<Complex<f32>>| {
        let products = z.map_rows(|r| r.reduce(Complex::new(1.0, 0.0), |a, b| a * b));
        let turned = z.permute([1, 2, 0]) * z.permute([1, 2, 0]).conj();
        (products, turned.map_planes(|m| m.sum().re), products.norm_sqr().argmax_rows())
    });
    let re = [[[1.0f32, 2.0], [0.0, 1.0]], [[3.0, -1.0], [2.0, 2.0]]];
    let im = [[[0.0f32, 1.0], [1.0, 1.0]], [[0.0, 2.0], [-2.0, 1.0]]];
    let times = |p: usize, r: usize| {
        let ([a, b], [c, d]) = (re[p][r], im[p][r]);
        (a * b - c * d, a * d + c * b)
    };
    let [products, imaginary] = [|z: (f32, f32)| z.0, |z: (f32, f32)| z.1]
        .map(|part| [0, 1].map(|p| [0, 1].map(|r| part(times(p, r)))));
    let power = move |r: usize| {
        (0..2)
            .flat_map(|p| (0..2).map(move |c| (p, c)))
            .map(move |(p, c)| re[p][r][c] * re[p][r][c] + im[p][r][c] * im[p][r][c])
    };
    let powers = [power(0).sum::<f32>(), power(1).sum::<f32>()];
    let found = everywhere(&f, &[tensor(&re), tensor(&im)]);
    assert_eq!(found, [matrix(&products), matrix(&imaginary), vector(&powers), vector(&[0i64, 0])]);
}

#[test]
fn conditions_inside_of_collected_steps() {
    // every step halves until the sum is small; the states and how often it halved are collected
    let f = lower(["c"], ["sums", "halvings"], |c: VExp<Cell>| {
        let (steps, counts) = iterate_collect_indexed(3, (c, lit(0i64)), |t, (c, _)| {
            let grown = c.map(|c| CellFields { mass: c.mass + t.cast::<f32>() + 1.0, ..*c }.pack());
            let half = |c: VExp<Cell>| c.map(|c| CellFields { mass: c.mass * 0.5, ..*c }.pack());
            iterate_while(20, grown, |c| c.mass.sum().gt(4.0), half).check_every(1)
        });
        (steps.mass.sum_rows(), counts)
    });
    let (all, args) = cells(4);
    let mut masses: Vec<f32> = all.iter().map(|c| c.mass).collect();
    let (mut sums, mut counts) = (Vec::new(), Vec::new());
    for t in 0..3 {
        masses.iter_mut().for_each(|m| *m += t as f32 + 1.0);
        let mut count = 0i64;
        while masses.iter().sum::<f32>() > 4.0 {
            masses.iter_mut().for_each(|m| *m *= 0.5);
            count += 1;
        }
        sums.push(masses.iter().sum::<f32>());
        counts.push(count);
    }
    assert_eq!(everywhere(&f, &args), [vector(&sums), vector(&counts)]);
}

#[test]
fn local_arrays_in_a_generated_volume() {
    // the digits of a number, sorted by a network whose places the element chooses
    let f = lower(["x"], "r", |x: VExp<i64>| {
        generate3(x.len(), 2, 3, |k, up, place| {
            let (_, digits) =
                loop_for(3, (x.at(k), [0i64; 3]), |i, (rest, d)| (rest / 10, d.with_at(i, rest % 10)));
            let sorted = loop_for(3, digits, |i, d| {
                let (a, b) = (d.at(i % 2), d.at(i % 2 + 1));
                d.with_at(i % 2, a.min(b)).with_at(i % 2 + 1, a.max(b))
            });
            sorted.at(cond(up.eq(1), place, 2 - place))
        })
    });
    let found = everywhere(&f, &[vector(&[314i64, 90, 777])]);
    let wanted = [[[4i64, 3, 1], [1, 3, 4]], [[9, 0, 0], [0, 0, 9]], [[7, 7, 7], [7, 7, 7]]];
    assert_eq!(found, [tensor(&wanted)]);
    // at a place that is not there the element leaves a record
    let f =
        lower(["x"], "r", |x: VExp<i64>| generate3(1, x.len(), 2, |_, i, j| [x.at(i), lit(7i64)].at(i + j)));
    assert!(recorded(&f, &[vector(&[1i64, 2])]).starts_with("element 3: "));
}

#[test]
fn the_least_of_a_padded_volume() {
    let f = lower(["t"], ["at", "rows", "lo"], |t: TExp<f32>| {
        let p = t.padded([1, 0], [0, 1], [1, 1], Boundary::Wrap);
        let lows = t.padded([0, 1], [0, 0], [2, 0], Boundary::Mirror).map_planes(|m| m.minmax());
        (p.argmin(), p.map_rows(|r| r.argmax()), lows.0 + lows.1)
    });
    let t = [[[4.0f32, 2.0], [3.0, 9.0]], [[5.0, 1.0], [f32::NAN, 0.0]]];
    // planes 1 0 1, rows 0 1 0, columns 1 0 1 0
    let (planes, rows, cols) = ([1, 0, 1], [0, 1, 0], [1, 0, 1, 0]);
    let argmax = |r: [f32; 4]| {
        let nan = r.iter().position(|x| x.is_nan());
        nan.unwrap_or_else(|| (0..4).fold(0, |best, i| if r[i] > r[best] { i } else { best })) as i64
    };
    let lines = planes.map(|p| rows.map(|r| argmax(cols.map(|c| t[p][r][c]))));
    // the first NaN is in plane 0, row 1, column 1
    let found = everywhere(&f, &[tensor(&t)]);
    assert_eq!(found, [scalar(5i64), matrix(&lines), vector(&[11.0f32, f32::NAN, f32::NAN])]);
}

#[test]
fn loops_inside_of_windows() {
    // how often the middle halves until it is not above its neighbours, and the greatest such number of a row
    let f = lower(["m", "r"], ["steps", "most"], |m: MExp<f32>, r: SExp<i64>| {
        let w = m.padded([1, 1], [1, 1], Boundary::Clamp).windows2(3, 3);
        let around = w[0][1].zip4(w[1][0], w[1][2], w[2][1], |a, b, c, d| a.max(b).max(c).max(d));
        let steps = w[1][1].zip_with(around, |x, most| {
            loop_while((x, 0i64), |(x, k)| x.gt(most) & k.lt(9), |(x, k)| (x * 0.5, k + 1)).1
        });
        let r = stage(r);
        let wide = steps.padded([0, 0], (r, r), Boundary::Constant(0));
        let most = generate2(m.rows(), m.cols(), |i, j| {
            loop_for(2 * r + 1, 0i64, |k, best| best.max(wide.at(i, j + k)))
        });
        (steps, most)
    });
    let m = [[8.0f32, 1.0, 2.0], [0.0, 3.0, 40.0]];
    let at = |i: i64, j: i64| m[i.clamp(0, 1) as usize][j.clamp(0, 2) as usize];
    let steps = [0, 1].map(|i| {
        [0, 1, 2].map(|j| {
            let most =
                [at(i - 1, j), at(i, j - 1), at(i, j + 1), at(i + 1, j)].into_iter().fold(f32::MIN, f32::max);
            (0..9).take_while(|k| at(i, j) * 0.5f32.powi(*k) > most).count() as i64
        })
    });
    let most = steps.map(|s| [s[0].max(s[1]), s[0].max(s[1]).max(s[2]), s[1].max(s[2])]);
    let args = [matrix(&m), scalar(1i64)];
    assert_eq!(everywhere(&f, &args), [matrix(&steps), matrix(&most)]);
}

#[test]
fn choices_of_records_with_nan() {
    // a NaN is not less than anything: the second arm, whole, also in reductions, loops and rows
    let f = lower(["c", "d"], ["mass", "flow", "heaviest", "row"], |c: VExp<Cell>, d: VExp<Cell>| {
        let chosen =
            c.zip_with(d, |c, d| if_else(c.mass.lt(d.mass), || c, || if_else(d.kind.eq(1), || d, || EMPTY)));
        let rows = generate2(2, c.len(), |i, j| cond(i.eq(0), c.at(j), d.at(j)));
        (
            chosen.mass,
            chosen.map(|c| c.flow[1]),
            chosen.reduce_noncommutative(EMPTY, heavier).kind,
            rows.map_rows(|r| r.reduce_noncommutative(EMPTY, heavier)).mass,
        )
    });
    let nan = f32::NAN;
    let args = |mass: [f32; 3]| {
        [vector(&mass), vector(&[1.0f32; 3]), vector(&mass.map(|m| m + 0.5)), vector(&[0i64, 1, 2])]
    };
    let found = everywhere(&f, &[args([nan, nan, 1.0]), args([1.0, nan, 2.0])].concat());
    assert_eq!(found[0], vector(&[0.0f32, nan, 1.0]));
    assert_eq!(found[1], vector(&[0.0f32, nan, 1.5]));
    // a row that begins with a NaN keeps it, and joins it with the initial value last
    assert_eq!(found[2..], [scalar(2i64), vector(&[0.0f32, 2.0])]);
}

#[test]
fn volumes_of_records_run() {
    let volume = Volume::from_fn([2, 3, 2], |[p, r, c]| Cell {
        mass: (p * 6 + r * 2 + c) as f32,
        flow: [p as f32, c as f32],
        kind: r as i64,
    });
    let f = |t: TExp<Cell>, k: SExp<i64>| {
        let moved = t.iterate(k, |t| {
            let w = t.padded([0, 0], [1, 0], [0, 0], Boundary::Wrap).windows3(1, 2, 1);
            w[0][1][0].zip_with(w[0][0][0], |c, up| CellFields { mass: c.mass + up.mass, ..*c }.pack())
        });
        (moved, moved.map_rows(|r| r.reduce(EMPTY, heavier)), moved.plane(1).sliced(s![.., 0]))
    };
    let (moved, heaviest, column) = eval(f, (&volume, 1)).expect("it runs");
    let mass = |p: usize, r: usize, c: usize| volume[[p, r, c]].mass + volume[[p, (r + 2) % 3, c]].mass;
    for (p, r, c) in (0..12).map(|i| (i / 6, i / 2 % 3, i % 2)) {
        assert_eq!(moved[[p, r, c]], Cell { mass: mass(p, r, c), ..volume[[p, r, c]] });
        assert_eq!(heaviest[[p, r]], moved[[p, r, 1]]);
    }
    assert_eq!(column, [moved[[1, 0, 0]], moved[[1, 1, 0]], moved[[1, 2, 0]]]);
    // no planes, and none of them is a value
    let none: Volume<Cell> = Volume::new([0, 3, 2], vec![]);
    assert_eq!(eval(f, (&none, 2)).expect_err("no plane 1").code(), Some("E0302"));
}

#[test]
fn traces_in_loops() {
    // a trace changes nothing, wherever it stands: loops of elements, their conditions, scans, collected steps, records
    let plain = |c: VExp<Cell>, k: SExp<i64>| {
        let grown = iterate_collect(k, c, |c| c.map(|c| CellFields { mass: c.mass * 2.0, ..*c }.pack()));
        let sums = c.mass.scan(0.0, |a, b| a + b);
        let steps =
            sums.map(|s| loop_while((s, 0i64), |(s, k)| s.gt(1.0) & k.lt(9), |(s, k)| (s * 0.5, k + 1)).1);
        (grown.mass, steps)
    };
    let traced = |c: VExp<Cell>, k: SExp<i64>| {
        let grown = iterate_collect(k, c, |c| {
            c.map(|c| CellFields { mass: (c.trace("cell").mass * 2.0).trace("twice"), ..*c }.pack())
                .trace("cells")
        });
        let sums = c.mass.scan(0.0, |a, b| (a + b.trace("b")).trace("sum")).trace("sums");
        let step = |(s, k): (SExp<f32>, SExp<i64>)| ((s * 0.5).trace("half"), (k + 1).trace("next"));
        let steps = sums
            .map(|s| loop_while((s, 0i64), |(s, k)| s.trace("s").gt(1.0) & k.lt(9), step).1.trace("steps"));
        (grown.mass.trace("grown"), steps)
    };
    let (all, _) = cells(4);
    let [a, b] = [eval(plain, (&all, 2)), eval(traced, (&all, 2))].map(|r| r.expect("it runs"));
    assert_eq!(a, b);
    assert_eq!(a.0[[1, 3]], 4.0 * all[3].mass);
}

#[test]
fn rows_of_products_joined_in_order() {
    // strings of small matrices, kept as fields that are arrays, in rows, in an iteration
    #[derive(Clone, Copy, Record)]
    #[record(crate = arraygpu_dsl)]
    struct Affine {
        by: [i64; 2],
    }
    let then = |a: SExp<Affine>, b: SExp<Affine>| {
        AffineFields { by: [a.by[0] * b.by[0], a.by[1] * b.by[0] + b.by[1]] }.pack()
    };
    let f = lower(["m", "k"], ["scale", "rest"], move |m: MExp<Affine>, k: SExp<i64>| {
        let rows = m.iterate(k, |m| {
            let all = m.map_rows(|r| r.reduce_noncommutative(Affine { by: [1, 0] }, then));
            generate2(m.rows(), m.cols(), |i, j| then(all.at(i), m.at(i, j)))
        });
        let each = rows.map_rows(|r| r.fold(Affine { by: [1, 0] }, then));
        (each.map(|a| a.by[0]), each.map(|a| a.by[1]))
    });
    let (scale, rest) = ([[2i64, 1, 3], [1, -1, 2]], [[1i64, 0, -2], [5, 1, 0]]);
    let then =
        |a: (i64, i64), b: (i64, i64)| (a.0.wrapping_mul(b.0), a.1.wrapping_mul(b.0).wrapping_add(b.1));
    let all = |row: &[(i64, i64); 3]| row.iter().fold((1, 0), |a, b| then(a, *b));
    let mut rows = [0, 1].map(|i| [0, 1, 2].map(|j| (scale[i][j], rest[i][j])));
    for _ in 0..2 {
        rows = rows.map(|row| row.map(|a| then(all(&row), a)));
    }
    let found = everywhere(&f, &[matrix(&scale), matrix(&rest), scalar(2i64)]);
    assert_eq!(found, [vector(&rows.map(|r| all(&r).0)), vector(&rows.map(|r| all(&r).1))]);
}

#[test]
fn exclusive_scans_of_complex_numbers_by_the_number_of_a_step() {
    // phases up to each element, turned by the one that the step's number names
    let f = lower(["z", "k"], "r", |z: VExp<Complex<f64>>, k: SExp<i64>| {
        z.iterate_indexed(k, |t, z| {
            let before = z.scan_exclusive(Complex::new(1.0, 0.0), |a, b| a * b);
            before.zip_with(z, |b, z| b + z.conj()).map(|b| b.scale(0.5) * z.at(t % z.len()))
        })
    });
    let mut z = [(1.0f64, 0.5), (0.0, 1.0), (-1.0, 0.25)];
    let times = |a: (f64, f64), b: (f64, f64)| (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0);
    let parts = |z: [(f64, f64); 3]| [vector(&z.map(|z| z.0)), vector(&z.map(|z| z.1))];
    let args = [&parts(z)[..], &[scalar(2i64)]].concat();
    for t in 0..2 {
        let (turn, mut before) = (z[t], (1.0, 0.0));
        z = z.map(|x| {
            let sum = (before.0 + x.0, before.1 - x.1);
            before = times(before, x);
            times((sum.0 * 0.5, sum.1 * 0.5), turn)
        });
    }
    assert_eq!(everywhere(&f, &args), parts(z));
}

#[test]
fn lists_of_volumes_whose_rows_are_chosen() {
    // two volumes change places; of each row of the one that is left the deviation, and where it is greatest
    let f = lower(["t", "u", "k"], ["std", "at", "row"], |t: TExp<f32>, u: TExp<f32>, k: SExp<i64>| {
        let [t, u] = iterate_indexed(k, [t, u], |i, [t, u]| {
            [
                u,
                t + u.padded([0, 0], [0, 0], [1, 0], Boundary::Clamp).slice_cols(0, t.cols())
                    * i.cast::<f32>(),
            ]
        });
        let std = t.map_rows(|r| r.std(0));
        let at = std.argmax_rows();
        let row = at.map(|i| u.map_rows(|r| r.fold(0.0f32, |a, b| a * 0.5 + b)).at(0, i));
        (std, at, row)
    });
    let t = [[[1.0f32, 3.0], [2.0, 2.0]], [[0.0, 4.0], [5.0, 1.0]]];
    let u = [[[2.0f32, 2.0], [0.0, 8.0]], [[1.0, 1.0], [2.0, 6.0]]];
    let next = |t: [[[f32; 2]; 2]; 2], u: [[[f32; 2]; 2]; 2], i: f32| {
        [0, 1].map(|p| [0, 1].map(|r| [0, 1].map(|c: usize| t[p][r][c] + u[p][r][c.saturating_sub(1)] * i)))
    };
    let (a, b) = (u, next(t, u, 0.0));
    let (a, b) = (b, next(a, b, 1.0));
    let std = a.map(|m| m.map(|r| (r[0] - r[1]).abs() / 2.0));
    let at = std.map(|s| i64::from(s[1] > s[0]));
    let row = at.map(|i| b[0][i as usize][0] * 0.5 + b[0][i as usize][1]);
    let found = everywhere(&f, &[tensor(&t), tensor(&u), scalar(2i64)]);
    assert_eq!(found, [matrix(&std), vector(&at), vector(&row)]);
}
