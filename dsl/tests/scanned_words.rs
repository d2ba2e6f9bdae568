//! Scans, records and volumes joined in one program, written from `docs/language.md` alone: on the interpreter before
//! and after the passes, and in every version of every kernel on a simulated GPU.

mod common;

use arraygpu_dsl::example::tensor;
use arraygpu_dsl::prelude::*;
use arraygpu_dsl::{Volume, eval};
use common::{everywhere, lower, matrix, scalar, vector};

#[derive(Clone, Copy, PartialEq, Debug, Record)]
#[record(crate = arraygpu_dsl)]
struct Trade {
    price: [f32; 2],
    size: f32,
    kind: i64,
}

fn trade(bid: f32, ask: f32, size: f32, kind: i64) -> Trade {
    Trade { price: [bid, ask], size, kind }
}

const BIDS: [f32; 4] = [1.0, 3.0, 2.0, 0.5];
const ASKS: [f32; 4] = [4.0, 5.0, 2.5, 3.0];
const SIZES: [f32; 4] = [1.0, 2.0, 3.0, 4.0];
const KINDS: [i64; 4] = [0, 1, 1, 0];

fn trades() -> [arraygpu_compiler::core::interp::Value; 4] {
    [vector(&BIDS), vector(&ASKS), vector(&SIZES), vector(&KINDS)]
}

/// The best prices so far, the sum of the sizes, and the kind of the last one.
fn later(a: SExp<Trade>, b: SExp<Trade>) -> SExp<Trade> {
    let price = [a.price[0].max(b.price[0]), a.price[1].min(b.price[1])];
    TradeFields { price, size: a.size + b.size, kind: b.kind }.pack()
}

const NOTHING: Trade = Trade { price: [f32::NEG_INFINITY, f32::INFINITY], size: 0.0, kind: -1 };

#[test]
fn scans_of_records() {
    let f = lower(["t"], ["bid", "spread", "size", "kind"], |t: VExp<Trade>| {
        let book = t.scan(NOTHING, later);
        let before = t.scan_exclusive(NOTHING, later);
        (book.map(|b| b.price[0]), book.map(|b| b.price[1] - b.price[0]), book.size, before.kind)
    });
    let expected = [
        vector(&[1.0f32, 3.0, 3.0, 3.0]),
        vector(&[3.0f32, 1.0, -0.5, -0.5]),
        vector(&[1.0f32, 3.0, 6.0, 10.0]),
    ];
    let found = everywhere(&f, &trades());
    assert_eq!(found[..3], expected);
    assert_eq!(found[3], vector(&[-1i64, 0, 1, 1]));
}

#[test]
fn scans_in_steps() {
    // binomial coefficients by sums of sums, and the sum after each step
    let f = lower(["x", "k"], ["r", "sums"], |x: VExp<i64>, k: SExp<i64>| {
        let sums = |x: VExp<i64>| x.scan(0, |a, b| a + b);
        (x.iterate(k, sums), iterate_collect(k, x, sums).sum_rows())
    });
    let found = everywhere(&f, &[vector(&[1i64, 0, 0, 0]), scalar(3i64)]);
    assert_eq!(found, [vector(&[1i64, 3, 6, 10]), vector(&[4i64, 10, 20])]);
    // records, until the last partial sum is large
    let f = lower(["t"], ["size", "steps"], |t: VExp<Trade>| {
        let size = |t: VExp<Trade>| t.size.at(t.len() - 1);
        let next = |t: VExp<Trade>| t.scan(NOTHING, later);
        let (t, steps) = iterate_while(9, t, |t| size(*t).lt(50.0), next).check_every(1);
        (t.size, steps)
    });
    let found = everywhere(&f, &trades());
    assert_eq!(found, [vector(&[1.0f32, 6.0, 21.0, 56.0]), scalar(4i64)]);
}

#[test]
fn scans_of_complex_numbers() {
    // a walk whose turns add up, and how far it ever gets
    let f = lower(["n"], ["x", "far"], |n: SExp<i64>| {
        let turn = generate(n, |i| cond((i % 2).eq(0), Complex::new(0.0f32, 1.0), Complex::new(0.0, -1.0)));
        let heading = turn.scan_exclusive(Complex::new(1.0, 0.0), |a, b| a * b);
        let at = heading.scan(Complex::new(0.0, 0.0), |a, b| a + b);
        (at.re, at.norm_sqr().max())
    });
    assert_eq!(everywhere(&f, &[scalar(5i64)]), [vector(&[1.0f32, 1.0, 2.0, 2.0, 3.0]), scalar(13.0f32)]);
}

#[test]
fn local_arrays_in_a_volume() {
    // histograms of three bins along each line, of which the element chooses one
    let f = lower(["t", "bins"], ["r", "total"], |t: TExp<i64>, bins: VExp<i64>| {
        let counts = generate3(t.planes(), t.rows(), bins.len(), |k, i, b| {
            let count = loop_for(t.cols(), [0i64; 3], |j, c| {
                c.with_at(t.at(k, i, j) % 3, c.at(t.at(k, i, j) % 3) + 1)
            });
            count.at(bins.at(b))
        });
        (counts, counts.sum())
    });
    let t = tensor(&[[[0i64, 1, 4, 5], [3, 3, 3, 1]]]);
    let found = everywhere(&f, &[t, vector(&[2i64, 0])]);
    assert_eq!(found, [tensor(&[[[1i64, 1], [0, 3]]]), scalar(5i64)]);
}

#[test]
fn indices_of_fields_that_are_arrays() {
    let f = lower(["t", "side"], ["best", "cost"], |t: VExp<Trade>, side: VExp<i64>| {
        let paid =
            t.zip_with(side, |t, side| TradeFields { price: t.price.with_at(1 - side, 0.0), ..*t }.pack());
        (
            paid.zip_with(side, |t, side| t.price.at(side)),
            paid.map(|t| (t.price[0] + t.price[1]) * t.size).sum(),
        )
    });
    let [bid, ask, size, kind] = trades();
    let found = everywhere(&f, &[bid, ask, size, kind, vector(&[0i64, 1, 1, 0])]);
    assert_eq!(found, [vector(&[1.0f32, 5.0, 2.5, 0.5]), scalar(20.5f32)]);
}

#[test]
fn rows_of_records_chosen_and_joined() {
    // of each row the widest of the kind that the row has most of; records as arms, in a matrix and its columns
    let f = lower(["m"], ["size", "low"], |m: MExp<Trade>| {
        let widest = m.map_rows(|r| {
            let ones = r.kind.sum();
            let many = cond((2 * ones).gt(r.len()), 1i64, 0);
            let chosen = r.map(|t| if_else(t.kind.eq(many), || t, || NOTHING));
            chosen.reduce(NOTHING, |a, b| cond(b.size.gt(a.size), b, a))
        });
        (widest.size, m.map_cols(|c| c.price[1].min()))
    });
    let m = |a: [f32; 4]| matrix(&[[a[0], a[1]], [a[2], a[3]]]);
    let args = [m(BIDS), m(ASKS), m(SIZES), matrix(&[[0i64, 1], [1, 1]])];
    assert_eq!(everywhere(&f, &args), [vector(&[1.0f32, 4.0]), vector(&[2.5f32, 3.0])]);
}

#[test]
fn volumes_of_records_as_values() {
    let volume =
        Volume::new([1, 2, 2], [0, 1, 2, 3].map(|i| trade(BIDS[i], ASKS[i], SIZES[i], KINDS[i])).to_vec());
    let f = |t: TExp<Trade>| {
        let dearer = t.map(|t| TradeFields { price: t.price.map(|p| p + 1.0), ..*t }.pack());
        (
            dearer.permute([0, 2, 1]),
            t.plane(0).map_rows(|r| r.reduce_noncommutative(NOTHING, later)).kind,
            t.size.argmax(),
        )
    };
    let (turned, kinds, at) = eval(f, (&volume,)).expect("it runs");
    assert_eq!((kinds, at), (vec![1, 0], 3));
    assert_eq!((turned.extents(), turned[[0, 0, 1]]), ([1, 2, 2], trade(3.0, 3.5, 3.0, 1)));
}

#[test]
fn steps_of_volumes_of_records() {
    // sizes spread to the planes beside, prices stay; how many steps until the middle has enough
    let f = lower(["t"], ["size", "steps"], |t: TExp<Trade>| {
        let next = |t: TExp<Trade>| {
            let w = t.padded([1, 1], [0, 0], [0, 0], Boundary::Constant(NOTHING)).windows3(3, 1, 1);
            let (a, b, c) = (w[0][0][0], w[1][0][0], w[2][0][0]);
            TradeTensors { size: a.size + b.size + c.size, price: b.price, kind: b.kind }.pack()
        };
        let (t, steps) = iterate_while(8, t, |t| t.size.at(1, 0, 0).lt(10.0), next).check_every(1);
        (t.size, steps)
    });
    let column = |a: [f32; 3]| tensor(&a.map(|x| [[x]]));
    let args =
        [column([0.0; 3]), column([0.0; 3]), column([1.0, 0.0, 2.0]), tensor(&[0i64, 1, 2].map(|x| [[x]]))];
    assert_eq!(everywhere(&f, &args), [column([10.0, 15.0, 11.0]), scalar(3i64)]);
}

#[test]
fn parts_of_scans_in_staged_windows() {
    // sums of windows by differences of a scan, as a stage says how wide they are, and the first of the largest
    let f = lower(["x", "w"], ["sums", "at"], |x: VExp<i64>, w: SExp<i64>| {
        let w = stage(w);
        let to = x.scan_exclusive(0, |a, b| a + b);
        let all = x.sum();
        let ends = generate(x.len() + 1, |i| cond(i.lt(x.len()), to.at(i), all));
        let sums = ends.sliced(s![w..]) - ends.sliced(s![..x.len() + 1 - w]);
        (sums, sums.argmax())
    });
    let found = everywhere(&f, &[vector(&[1i64, -2, 5, 4, 0, -3]), scalar(2i64)]);
    assert_eq!(found, [vector(&[-1i64, 3, 9, 4, -3]), scalar(2i64)]);
}

#[test]
fn gathers_of_records_in_iterations() {
    // each step goes to the trade that the kind of the one before names, with a record put in its place
    let f = lower(["t", "k"], ["size", "kind"], |t: VExp<Trade>, k: SExp<i64>| {
        let walked = t.iterate_indexed(k, |step, t| {
            let moved = t.gather(t.kind.map(|kind| (kind + 1) % 4));
            let named =
                moved.slice(0, 1).map(|t| TradeFields { size: t.size + step.cast::<f32>(), ..*t }.pack());
            moved.with_slice(0, named)
        });
        (walked.size, walked.kind)
    });
    let [bid, ask, size, kind] = trades();
    let found = everywhere(&f, &[bid, ask, size, kind, scalar(2i64)]);
    assert_eq!(found, [vector(&[4.0f32, 3.0, 3.0, 3.0]), vector(&[1i64, 1, 1, 1])]);
}
