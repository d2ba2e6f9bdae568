//! Elements with loops of their own, or with many values in registers: the Mandelbrot set, the LIBOR market model
//! (Brace, Gatarek, Musiela 1997, with the portfolio of Giles' benchmark), a step of a lattice Boltzmann method
//! (D2Q9, BGK), tridiagonal systems by Thomas' algorithm, and the assignment of points to the nearest centre.

use arraygpu::prelude::*;
use std::array;

/// What the C++ header says of [`mandelbrot`].
pub const MANDELBROT_DOC: &str =
    "The steps in which z * z + c leaves the circle of radius 2, at most 256, for c of each row and column.";

/// The steps of each point.
pub fn mandelbrot(cx: VExp<f32>, cy: VExp<f32>) -> MExp<i32> {
    type State = (SExp<f32>, SExp<f32>, SExp<i32>);
    generate2(cy.len(), cx.len(), |i, j| {
        let (x0, y0) = (cx.at(j), cy.at(i));
        let inside = |(x, y, k): State| (x * x + y * y).le(4.0) & k.lt(256);
        let step = |(x, y, k): State| (x * x - y * y + x0, 2.0 * x * y + y0, k + 1);
        loop_while((0.0f32, 0.0f32, 0i32), inside, step).2
    })
}

/// The rates of a path, and the steps after which the portfolio is valued.
const RATES: usize = 80;
const STEPS: usize = 40;

/// What the C++ header says of [`libor`].
pub const LIBOR_DOC: &str =
    "The value of a portfolio of swaptions on each path of 80 forward rates through 40 steps.";

/// The value of the portfolio on each path: the numbers of path p are column p of z.
pub fn libor(z: MExp<f32>, sigma: VExp<f32>) -> VExp<f32> {
    generate(z.cols(), |path| {
        let rates = loop_for(z.rows(), [0.05f32; RATES], |n, mut rates: [SExp<f32>; RATES]| {
            let noise = 0.5 * z.at(n, path);
            let mut drift = lit(0.0f32);
            for (rate, i) in rates.iter_mut().zip(0i64..) {
                let lambda = cond(n.lt(i), sigma.at(i - 1 - n), 0.0);
                let by = 0.25 * lambda;
                drift += by * *rate / (1.0 + 0.25 * *rate);
                *rate *= (by * drift + lambda * (noise - 0.5 * by)).exp();
            }
            rates
        });
        portfolio(&rates)
    })
}

fn portfolio(rates: &[SExp<f32>; RATES]) -> SExp<f32> {
    let (mut bond, mut annuity, mut value) = (lit(1.0f32), lit(0.0f32), lit(0.0f32));
    for (rate, k) in rates[STEPS..].iter().zip(1..) {
        bond /= 1.0 + 0.25 * *rate;
        annuity += 0.25 * bond;
        if [4, 8, 20, 28, 40].contains(&k) {
            for swap in [0.045f32, 0.05, 0.055] {
                value += 100.0 * (1.0 - bond - swap * annuity).max(0.0);
            }
        }
    }
    rates[..STEPS].iter().fold(value, |value, rate| value / (1.0 + 0.25 * *rate))
}

/// The velocities by rows and columns.
const VELOCITIES: [(i64, i64); 9] =
    [(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, -1), (-1, 1)];

/// What the C++ header says of [`d2q9`].
pub const D2Q9_DOC: &str =
    "A step of nine populations on a torus: they move along their velocities, and relax towards equilibrium.";

/// The nine populations after a step.
#[allow(clippy::too_many_arguments, reason = "there are nine populations")]
#[allow(clippy::type_complexity, reason = "and nine results")]
pub fn d2q9(
    f0: MExp<f32>,
    f1: MExp<f32>,
    f2: MExp<f32>,
    f3: MExp<f32>,
    f4: MExp<f32>,
    f5: MExp<f32>,
    f6: MExp<f32>,
    f7: MExp<f32>,
    f8: MExp<f32>,
) -> [MExp<f32>; 9] {
    let moved =
        [f0, f1, f2, f3, f4, f5, f6, f7, f8].map(|f| f.padded([1, 1], [1, 1], Boundary::Wrap).windows2(3, 3));
    let f: [MExp<f32>; 9] = array::from_fn(|k| {
        let (y, x) = VELOCITIES[k];
        moved[k][(1 - y) as usize][(1 - x) as usize]
    });
    let density = f[0] + f[1] + f[2] + f[3] + f[4] + f[5] + f[6] + f[7] + f[8];
    let vy = (f[2] - f[4] + f[5] + f[6] - f[7] - f[8]) / density;
    let vx = (f[1] - f[3] + f[5] - f[6] - f[7] + f[8]) / density;
    let still = 1.0 - 1.5 * (vy * vy + vx * vx);
    let along = [vx, vy, -vx, -vy, vy + vx, vy - vx, -vy - vx, vx - vy];
    let relaxed = |now: MExp<f32>, rest: MExp<f32>| now + 0.625 * (rest - now);
    array::from_fn(|k| match k {
        0 => relaxed(f[0], density * (4.0f32 / 9.0) * still),
        _ => {
            let (along, weight) = (along[k - 1], if k < 5 { 1.0f32 / 9.0 } else { 1.0 / 36.0 });
            relaxed(f[k], density * weight * (still + 3.0 * along + 4.5 * along * along))
        }
    })
}

/// What the C++ header says of [`tridiagonal`].
pub const TRIDIAGONAL_DOC: &str = "The solutions of tridiagonal systems of eight unknowns, one in each column: a, b and c are the lower, the main and the upper diagonal.";

/// The eight unknowns of each system.
pub fn tridiagonal(a: MExp<f32>, b: MExp<f32>, c: MExp<f32>, d: MExp<f32>) -> [VExp<f32>; 8] {
    let [a, b, c, d]: [[VExp<f32>; 8]; 4] = [a, b, c, d].map(|x| array::from_fn(|k| x.row(k as i64)));
    let (mut upper, mut right) = ([c[0] / b[0]; 8], [d[0] / b[0]; 8]);
    for k in 1..8 {
        let pivot = b[k] - a[k] * upper[k - 1];
        upper[k] = c[k] / pivot;
        right[k] = (d[k] - a[k] * right[k - 1]) / pivot;
    }
    for k in (0..7).rev() {
        right[k] -= upper[k] * right[k + 1];
    }
    right
}

/// What the C++ header says of [`kmeans_assign`].
pub const KMEANS_ASSIGN_DOC: &str = "The index of the row of `centres` that is nearest to each row of x.";

/// The nearest centre of each point.
pub fn kmeans_assign(x: MExp<f32>, centres: MExp<f32>) -> VExp<i64> {
    assigned(x, centres, centres.rows())
}

/// The same with a staged number of centres: a point's distances to all of them are then sums over one row.
pub fn kmeans_assign_staged(x: MExp<f32>, centres: MExp<f32>) -> VExp<i64> {
    assigned(x, centres, stage(centres.rows()))
}

fn assigned(x: MExp<f32>, centres: MExp<f32>, count: SExp<i64>) -> VExp<i64> {
    let distance = |x: VExp<f32>, c: VExp<f32>| x.zip_with(c, |a, b| (a - b) * (a - b)).sum();
    x.map_rows(|x| generate(count, |k| distance(x, centres.row(k))).argmin())
}

/// What the C++ header says of [`mss`].
pub const MSS_DOC: &str = "The greatest sum of consecutive elements of x; 0 if all are negative.";

/// The maximum segment sum. A part of the sequence has four sums: the greatest of its segments, of those at its begin
/// and at its end, and that of all its elements.
pub fn mss(x: VExp<i32>) -> SExp<i32> {
    type Part = (SExp<i32>, SExp<i32>, SExp<i32>, SExp<i32>);
    let join = |(most, begin, end, all): Part, (most2, begin2, end2, all2): Part| {
        (most.max(most2).max(end + begin2), begin.max(all + begin2), end2.max(end + all2), all + all2)
    };
    let positive = x.map(|x| x.max(0));
    (positive, positive, positive, x).reduce_noncommutative((0, 0, 0, 0), join).0
}
