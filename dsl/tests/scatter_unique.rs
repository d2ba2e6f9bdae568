//! `scatter_unique`: of destinations that differ the bits of `scatter`, everywhere; of others an error record.

mod common;

use arraygpu_compiler::core::interp::Value;
use arraygpu_dsl::Elem;
use arraygpu_dsl::prelude::*;
use common::{call, everywhere, lower, matrix, recorded, refused, rules, vector};

/// Around the edges of threads' neighbours, blocks and tiles.
const LENGTHS: [usize; 8] = [0, 1, 3, 4, 255, 1024, 1029, 4100];

/// Different destinations in some order, with gaps between them.
fn apart(n: usize) -> Vec<i64> {
    let prime = 8209;
    (0..n as i64).map(|i| i * 5 % prime * 2 + 1).collect()
}

macro_rules! types {
    ($($test:ident $ty:ident $rest:expr;)*) => { $(
        #[test]
        fn $test() {
            let f = |x: VExp<$ty>, i: VExp<i64>, n: SExp<i64>| x.scatter_unique(n, i.ignored(), $rest);
            let g = |x: VExp<$ty>, i: VExp<i64>, n: SExp<i64>| x.scatter(n, i.ignored(), $rest);
            let [f, g] = [lower(["x", "i", "n"], "y", f), lower(["x", "i", "n"], "y", g)];
            for n in LENGTHS {
                let x: Vec<$ty> = (0..n).map(|i| eval_cast(i)).collect();
                let args = [vector(&x), vector(&apart(n)), Value::Scalar((n as i64 * 3 / 2).lit())];
                let found = if n < 1100 { everywhere(&f, &args) } else { call(&f, &args) };
                assert_eq!(found, call(&g, &args), "{n}");
            }
        }
    )* };
}

/// Some value of a type.
fn eval_cast<T: Elem + From32>(i: usize) -> T {
    T::from32(((i * 7919) % 1009) as f32 * 0.25 - 90.0)
}

trait From32 {
    fn from32(x: f32) -> Self;
}

macro_rules! from32 {
    ($($ty:ident)*) => { $(impl From32 for $ty { fn from32(x: f32) -> $ty { x as $ty } })* };
}
from32!(f32 f64 i8 u16 i32 u64);
impl From32 for bool {
    fn from32(x: f32) -> bool {
        x > 0.0
    }
}
impl From32 for f16 {
    fn from32(x: f32) -> f16 {
        f16::from_f32(x)
    }
}

types! {
    floats f32 -1.0;
    doubles f64 0.5;
    halves f16 f16::from_f32(3.0);
    bytes i8 7;
    words u16 9;
    integers i32 -5;
    long_words u64 1;
    truths bool true;
}

#[test]
fn an_order_is_inverted() {
    let f = |x: VExp<f32>| {
        let order = x.argsort();
        let ranks = iota(x.len()).scatter_unique(x.len(), order, 0);
        (ranks, (x.gather(order) * 2.0).scatter_unique(x.len(), order, 0.0))
    };
    let f = lower(["x"], ["ranks", "back"], f);
    let x: Vec<f32> = (0..300).map(|i| ((i * 7919) % 1009) as f32 * 0.25).collect();
    let found = everywhere(&f, &[vector(&x)]);
    let doubled: Vec<f32> = x.iter().map(|x| x * 2.0).collect();
    assert_eq!(found[1], vector(&doubled));
}

#[test]
fn destinations_outside_go_nowhere_or_leave_a_record() {
    let x = [1.0f32, 2.0, 3.0, 4.0];
    let f = |x: VExp<f32>, i: VExp<i64>| {
        (x.scatter_unique(3, i.ignored(), 0.0), x.slice(0, 2).scatter_unique(3, i.slice(2, 4).clamped(), 0.0))
    };
    let f = lower(["x", "i"], ["ignored", "clamped"], f);
    let i = vector(&[1i64, i64::MAX, 9, -3]);
    let found = everywhere(&f, &[vector(&x), i]);
    assert_eq!(found, [vector(&[0.0f32, 1.0, 0.0]), vector(&[2.0f32, 0.0, 1.0])]);
    let f = lower(["x", "i"], "y", |x: VExp<f32>, i: VExp<i64>| x.scatter_unique(3, i, 0.0));
    let record = recorded(&f, &[vector(&x[..3]), vector(&[0i64, 3, 2])]);
    assert!(record.starts_with("element 1: ") && record.contains("scatter_unique.rs"), "{record}");
    assert!(rules(&f).contains(&"same scatter_unique: i, x".to_string()), "{:?}", rules(&f));
}

#[test]
fn broken_promises_leave_a_record() {
    let f = lower(["x", "i"], "y", |x: VExp<f32>, i: VExp<i64>| x.scatter_unique(900, i.ignored(), 0.0));
    let x: Vec<f32> = (0..800).map(|i| i as f32).collect();
    for (first, second) in [(0usize, 1usize), (3, 700), (798, 799)] {
        let mut i: Vec<i64> = (0..800).collect();
        i[second] = i[first];
        // those outside may be the same
        (i[10], i[11]) = (-1, -1);
        let record = recorded(&f, &[vector(&x), vector(&i)]);
        assert!(
            record.starts_with(&format!("element {second}: scatter_unique: an earlier element has")),
            "{record}"
        );
        assert!(record.contains("scatter_unique.rs"), "{record}");
    }
    // what clamping makes equal is equal
    let f = lower(["x", "i"], "y", |x: VExp<f32>, i: VExp<i64>| x.scatter_unique(2, i.clamped(), 0.0));
    let record = recorded(&f, &[vector(&[1.0f32, 2.0]), vector(&[5i64, 1])]);
    assert!(record.starts_with("element 1: scatter_unique"), "{record}");
}

#[test]
fn fields_of_records_are_stored_together() {
    let f = |re: VExp<f64>, im: VExp<f64>, i: VExp<i64>| {
        let z = re.zip_with(im, complex);
        let moved = z.scatter_unique(5, i.ignored(), Complex::new(0.0, 0.0));
        (moved, moved.map(|z| z * z).at(1))
    };
    let f = lower(["re", "im", "i"], ["moved", "square"], f);
    let (re, im) = (vector(&[1.0f64, 2.0, 3.0]), vector(&[4.0f64, 5.0, 6.0]));
    let found = everywhere(&f, &[re, im, vector(&[3i64, 1, -1])]);
    assert_eq!(found[0], vector(&[0.0f64, 2.0, 0.0, 1.0, 0.0]));
    assert_eq!(found[1], vector(&[0.0f64, 5.0, 0.0, 4.0, 0.0]));
}

#[test]
fn it_stands_beside_everything_else() {
    // each step moves elements, by destinations that are computed of it
    let f = |x: VExp<f32>| {
        let step = |x: VExp<f32>| {
            let n = x.len();
            let i = generate(n, |k| (k * 7 + 1) % n);
            (x * 0.5 + 1.0).scatter_unique(n, i, 0.0)
        };
        (x.iterate(3, step), x.iterate(3, step).sum(), x.scatter_unique(x.len(), iota(x.len()), 0.0).sum())
    };
    let f = lower(["x"], ["moved", "sum", "same"], f);
    for n in [0, 1, 40, 260] {
        let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
        everywhere(&f, &[vector(&x)]);
    }
    // elements with reductions of their own
    let f = |a: MExp<f32>, i: VExp<i64>| a.map_rows(|r| r.sum()).scatter_unique(a.rows(), i, 0.0);
    let f = lower(["a", "i"], "sums", f);
    let a = common::matrix(&[[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    assert_eq!(everywhere(&f, &[a, vector(&[2i64, 0, 1])]), [vector(&[7.0f32, 11.0, 3.0])]);
    let inside = |x: VExp<f32>, i: VExp<i64>| x.map(|a| (x * a).scatter_unique(3, i, 0.0).sum());
    assert_eq!(refused(["x", "i"], inside).code(), Some("E0312"));
}

/// Readers of the whole result, and of one of its elements, do not take the elements where they come from.
#[test]
fn results_are_reduced_and_read_again() {
    let shares = |x: VExp<f32>, i: VExp<i64>| {
        let y = x.scatter_unique(x.len(), i.ignored(), 2.0);
        y / y.sum()
    };
    let expected = |x: VExp<f32>, i: VExp<i64>| {
        let y = x.scatter(x.len(), i.ignored(), 2.0);
        y / y.sum()
    };
    let [f, g] = [lower(["x", "i"], "y", shares), lower(["x", "i"], "y", expected)];
    for n in [1usize, 7, 1029] {
        let x: Vec<f32> = (0..n).map(eval_cast).collect();
        let back: Vec<i64> = (0..n as i64).rev().map(|i| if i % 5 == 3 { -1 } else { i }).collect();
        let args = [vector(&x), vector(&back)];
        assert_eq!(everywhere(&f, &args), call(&g, &args), "{n}");
    }
    // weights of rows: each row's reduction reads one, and its elements do again
    let rows = |m: MExp<f32>, v: VExp<f32>, i: VExp<i64>| {
        let w = v.scatter_unique(m.rows(), i.ignored(), 1.0);
        let scaled = m * w.broadcast_cols(m.cols());
        scaled / scaled.sum_rows().broadcast_cols(m.cols())
    };
    let of_scatter = |m: MExp<f32>, v: VExp<f32>, i: VExp<i64>| {
        let w = v.scatter(m.rows(), i.ignored(), 1.0);
        let scaled = m * w.broadcast_cols(m.cols());
        scaled / scaled.sum_rows().broadcast_cols(m.cols())
    };
    let [f, g] = [lower(["m", "v", "i"], "y", rows), lower(["m", "v", "i"], "y", of_scatter)];
    let m: [[f32; 7]; 5] = std::array::from_fn(|i| std::array::from_fn(|j| (7 * i + j + 1) as f32));
    let args = [matrix(&m), vector(&[4.0f32, 5.0, 6.0, 7.0, 8.0]), vector(&[4i64, 0, -1, 2, 1])];
    assert_eq!(everywhere(&f, &args), call(&g, &args));
}
