//! Programs of several fields that join words which are seldom joined, written from `docs/language.md` alone, each
//! against a loop of Rust, on the interpreter before and after the passes, and in every version of every kernel on a
//! simulated GPU.

#![allow(clippy::needless_range_loop, reason = "references are loops over indices")]
#![allow(clippy::type_complexity, reason = "functions have several results")]

mod common;

use arraygpu_dsl::prelude::*;
use arraygpu_dsl::{ArgumentValues, KernelFn, Matrix, ResultValues, call_of, eval};
use common::everywhere;

/// What `f` gives, after it gave the same everywhere.
#[track_caller]
fn check<const K: usize, A, F, V>(f: F, args: V) -> <F::Output as ResultValues>::Value
where
    F: KernelFn<K, A> + Copy,
    F::Output: ResultValues,
    V: ArgumentValues<K, A>,
{
    let call = call_of(f, &args).expect("it is made");
    everywhere(&call.function, &call.args);
    eval(f, args).expect("it runs")
}

/// Numbers in no order, from 0 to below `most`.
fn ints(n: usize, seed: u64, most: u64) -> Vec<i64> {
    let mut s = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((s >> 33) % most) as i64
    };
    (0..n).map(|_| next()).collect()
}

fn floats(n: usize, seed: u64, most: u64) -> Vec<f32> {
    ints(n, seed, most).into_iter().map(|i| i as f32 - (most / 2) as f32).collect()
}

/// Filters of scans, scans of filters, and runs of what is kept.
fn new_heights(x: VExp<f32>) -> (VExp<i64>, VExp<f32>, SExp<f32>, VExp<i64>, SExp<i64>) {
    let before = x.scan_exclusive(f32::NEG_INFINITY, |a, b| a.max(b));
    let kept = iota(x.len()).filter(|i| x.at(i).gt(before.at(i)));
    let heights = kept.map(|i| x.at(i));
    let sums = heights.scan(0.0, |a, b| a + b);
    let product = sums.zip_with(heights, |s, h| s * h).reduce(0.0, |a, b| a + b);
    let (decades, lengths) = heights.map(|h| (h / 8.0).floor().cast::<i32>()).run_lengths();
    (kept.filled(-1), sums.filled(0.0), product, lengths.filled(0), decades.len())
}

#[test]
fn heights_so_far() {
    for n in [0, 1, 2, 150] {
        let x: Vec<f32> =
            ints(n, 15, 200).into_iter().enumerate().map(|(i, v)| (v + i as i64 / 4) as f32 - 60.0).collect();
        let (at, sums, product, lengths, decades) = check(new_heights, (&x,));
        let mut most = f32::NEG_INFINITY;
        let (mut a, mut s, mut p) = (Vec::<i64>::new(), Vec::<f32>::new(), 0.0f32);
        let mut l: Vec<(i32, i64)> = Vec::new();
        for i in 0..n {
            if x[i] > most {
                most = x[i];
                a.push(i as i64);
                s.push(s.last().copied().unwrap_or(0.0) + x[i]);
                p += s.last().unwrap() * x[i];
                let d = (x[i] / 8.0).floor() as i32;
                match l.last_mut() {
                    Some((e, k)) if *e == d => *k += 1,
                    _ => l.push((d, 1)),
                }
            }
        }
        assert_eq!(decades, l.len() as i64);
        a.resize(n, -1);
        s.resize(n, 0.0);
        let mut l: Vec<i64> = l.iter().map(|l| l.1).collect();
        l.resize(n, 0);
        assert_eq!((at, sums, product, lengths), (a, s, p, l));
    }
}

/// Dynamic programming: a scan in each step of an iteration that reads by its number.
fn edit_distance(a: VExp<u8>, b: VExp<u8>) -> SExp<i64> {
    let m = b.len() + 1;
    let row = iota(m).iterate_indexed(a.len(), |t, row| {
        let taken = generate(m, |j| {
            let other = cond(b.at(j - 1).eq(a.at(t)), 0, 1);
            cond(j.eq(0), t + 1, (row.at(j) + 1).min(row.at(j - 1) + other))
        });
        (taken - iota(m)).scan(i64::MAX, |a, b| a.min(b)) + iota(m)
    });
    row.at(b.len())
}

#[test]
fn distances_of_texts() {
    for (n, m) in [(0, 0), (0, 5), (5, 0), (1, 1), (7, 9)] {
        let a: Vec<u8> = ints(n, 32, 4).into_iter().map(|v| v as u8).collect();
        let b: Vec<u8> = ints(m, 33, 4).into_iter().map(|v| v as u8).collect();
        let found = check(edit_distance, (&a, &b));
        let mut row: Vec<i64> = (0..=m as i64).collect();
        for i in 0..n {
            let mut next = vec![i as i64 + 1];
            for j in 1..=m {
                let best = (row[j] + 1).min(next[j - 1] + 1).min(row[j - 1] + i64::from(a[i] != b[j - 1]));
                next.push(best);
            }
            row = next;
        }
        assert_eq!(found, row[m]);
    }
}

#[derive(Record, Clone, Copy, PartialEq, Debug)]
#[record(crate = arraygpu_dsl)]
struct Two {
    m: [i32; 4],
}

fn two(a: SExp<Two>, b: SExp<Two>) -> SExp<Two> {
    let ([a, b, c, d], [e, f, g, h]) = (a.m, b.m);
    TwoFields { m: [a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h] }.pack()
}

/// A product of 2 x 2 matrices, which is not commutative, of rows and along columns.
fn continued_fractions(q: MExp<i32>) -> (VExp<Two>, MExp<i32>, SExp<bool>) {
    let one = Two { m: [1, 0, 0, 1] };
    let parts = q.map(|q| TwoFields { m: [q, lit(1), lit(1), lit(0)] }.pack());
    let of_rows = parts.map_rows(|r| r.reduce_noncommutative(one, two));
    let downwards = parts.scan_cols(one, two);
    let last = downwards.row(q.rows() - 1);
    let of_cols = parts.map_cols(|c| c.reduce_noncommutative(one, two));
    let same = last.zip_with(of_cols, |a, b| {
        a.m[0].eq(b.m[0]) & a.m[1].eq(b.m[1]) & a.m[2].eq(b.m[2]) & a.m[3].eq(b.m[3])
    });
    (of_rows, downwards.map(|t| t.m[1]), all(same))
}

#[test]
fn fractions_of_rows_and_columns() {
    for (r, c) in [(1, 1), (3, 20), (9, 3)] {
        let q = Matrix::new([r, c], ints(r * c, 34, 9).into_iter().map(|v| v as i32).collect());
        let (rows, down, same) = check(continued_fractions, (&q,));
        assert!(same);
        let times = |a: [i32; 4], q: i32| {
            [a[0].wrapping_mul(q).wrapping_add(a[1]), a[0], a[2].wrapping_mul(q).wrapping_add(a[3]), a[2]]
        };
        for i in 0..r {
            assert_eq!(rows[i].m, (0..c).fold([1, 0, 0, 1], |m, j| times(m, q[[i, j]])));
        }
        for j in 0..c {
            let mut m = [1, 0, 0, 1];
            for i in 0..r {
                m = times(m, q[[i, j]]);
                assert_eq!(down[[i, j]], m[1]);
            }
        }
    }
}

/// Run lengths decoded, with runs of none, and encoded again.
fn decode(lengths: VExp<i64>, values: VExp<i8>, n: SExp<i64>) -> (VExp<i8>, VExp<i64>, VExp<i8>) {
    let starts = lengths.scan_exclusive(0, |a, b| a + b);
    let run = starts.ignored().histogram(n).scan(0, |a, b| a + b) - 1;
    let decoded = values.gather(run);
    let (again, counts) = decoded.run_lengths();
    (decoded, counts.filled(0), again.filled(0))
}

#[test]
fn runs_decoded_and_encoded() {
    for k in [1, 2, 30] {
        let lengths: Vec<i64> = ints(k, 39, 5);
        let values: Vec<i8> = ints(k, 40, 200).into_iter().map(|v| (v - 100) as i8).collect();
        let wanted: Vec<i8> =
            values.iter().zip(&lengths).flat_map(|(v, &l)| std::iter::repeat_n(*v, l as usize)).collect();
        let (decoded, counts, again) = check(decode, (&lengths, &values, wanted.len() as i64));
        assert_eq!(decoded, wanted);
        let back: Vec<i8> =
            again.iter().zip(&counts).flat_map(|(v, &l)| std::iter::repeat_n(*v, l as usize)).collect();
        assert_eq!(back, wanted);
    }
}

/// Filters and sorts in the steps of an iteration.
fn tournament(x: VExp<i32>, rounds: SExp<i64>) -> (VExp<i32>, SExp<i64>) {
    iterate(rounds, (x, x.len()), |(x, n)| {
        let pivot = x.map(|v| cond(v.eq(i32::MIN), 0, v).cast::<i64>()).sum() / n.max(1);
        let kept = x.filter(|v| v.ne(i32::MIN) & v.cast::<i64>().ge(pivot));
        (kept.filled(i32::MIN).sort_descending(), kept.len())
    })
}

#[test]
fn rounds_of_a_tournament() {
    for (n, k) in [(0, 2), (1, 3), (40, 3), (5, 0)] {
        let x: Vec<i32> = ints(n, 54, 1000).into_iter().map(|v| v as i32 - 300).collect();
        let (found, count) = check(tournament, (&x, k));
        let mut v = x.clone();
        for _ in 0..k {
            let pivot = v.iter().map(|&v| v as i64).sum::<i64>() / (v.len() as i64).max(1);
            v.retain(|&v| v as i64 >= pivot);
            v.sort_by(|a, b| b.cmp(a));
        }
        assert_eq!(count, v.len() as i64);
        v.resize(n, i32::MIN);
        assert_eq!(found, v);
    }
}

#[derive(Record, Clone, Copy, PartialEq, Debug)]
#[record(crate = arraygpu_dsl)]
struct Stat {
    sum: f64,
    least: i16,
    any: bool,
}

/// Segments scanned as records, scattered as records, partitioned and counted.
fn segment_stats(
    x: VExp<i16>,
    offsets: VExp<i64>,
    to: VExp<i64>,
    n: SExp<i64>,
) -> (VExp<Stat>, VExp<Stat>, SExp<i64>, VExp<i64>) {
    let none = Stat { sum: 0.0, least: i16::MAX, any: false };
    let join = |a: SExp<Stat>, b: SExp<Stat>| {
        StatFields { sum: a.sum + b.sum, least: a.least.min(b.least), any: a.any | b.any }.pack()
    };
    let one = x.map(|v| StatFields { sum: v.cast(), least: v, any: v.lt(0) }.pack());
    let running = one.segmented_scan(offsets, none, join);
    let groups = running.scatter_reduce(n, to.ignored(), none, join);
    let (first, bad) = groups.partition(|g| g.any);
    let (_, runs) = running.map(|r| r.any).run_lengths();
    (running, first, bad, runs.filled(0))
}

#[test]
fn statistics_of_segments() {
    for rows in [1, 20] {
        let lens = ints(rows, 55, 9);
        let mut offsets = vec![0i64];
        lens.iter().for_each(|l| offsets.push(offsets.last().unwrap() + l));
        let n = *offsets.last().unwrap() as usize;
        let x: Vec<i16> = ints(n, 56, 100).into_iter().map(|v| v as i16 - 5).collect();
        let to = ints(n, 57, 12);
        let (running, first, bad, runs) = check(segment_stats, (&x, &offsets, &to, 10));
        let none = Stat { sum: 0.0, least: i16::MAX, any: false };
        let join =
            |a: Stat, b: Stat| Stat { sum: a.sum + b.sum, least: a.least.min(b.least), any: a.any | b.any };
        let mut wanted = vec![];
        for s in offsets.windows(2) {
            let mut a = none;
            for k in s[0]..s[1] {
                let v = x[k as usize];
                a = join(a, Stat { sum: v as f64, least: v, any: v < 0 });
                wanted.push(a);
            }
        }
        assert_eq!(running, wanted);
        let mut groups = [none; 10];
        to.iter()
            .zip(&wanted)
            .filter(|(t, _)| **t < 10)
            .for_each(|(t, s)| groups[*t as usize] = join(groups[*t as usize], *s));
        let mut parted: Vec<Stat> = groups.iter().copied().filter(|g| g.any).collect();
        assert_eq!(bad, parted.len() as i64);
        parted.extend(groups.iter().copied().filter(|g| !g.any));
        assert_eq!(first, parted);
        let mut lens: Vec<(bool, i64)> = vec![];
        for w in &wanted {
            match lens.last_mut() {
                Some((a, k)) if *a == w.any => *k += 1,
                _ => lens.push((w.any, 1)),
            }
        }
        lens.resize(n, (false, 0));
        assert_eq!(runs, lens.iter().map(|l| l.1).collect::<Vec<_>>());
    }
}

/// The likeliest states: scores collected with their places, and a path read backwards by them.
fn viterbi(start: VExp<f32>, step: MExp<f32>, emit: MExp<f32>, seen: VExp<u8>) -> (SExp<f32>, VExp<i64>) {
    let (s, n) = (start.len(), seen.len());
    let first = start + generate(s, |j| emit.at(j, seen.at(0).cast()));
    let (scores, back) = iterate_collect_indexed(n - 1, (first, iota(s)), |t, (score, _)| {
        let paths = generate2(s, s, |j, i| score.at(i) + step.at(i, j));
        let (best, from) = (paths.map_rows(|r| r.max()), paths.argmax_rows());
        (generate(s, |j| best.at(j) + emit.at(j, seen.at(t + 1).cast())), from)
    });
    let last = scores.row(n - 2);
    let end = last.argmax();
    let backwards = iterate_collect_indexed(n - 1, end, |t, state| back.at(n - 2 - t, state));
    (last.max(), backwards.reverse())
}

#[test]
fn likeliest_states() {
    for (s, n) in [(1, 2), (3, 8)] {
        let start = floats(s, 59, 20);
        let step = Matrix::new([s, s], floats(s * s, 60, 20));
        let emit = Matrix::new([s, 3], floats(s * 3, 61, 20));
        let seen: Vec<u8> = ints(n, 62, 3).into_iter().map(|v| v as u8).collect();
        let (best, path) = check(viterbi, (&start, &step, &emit, &seen));
        let mut score: Vec<f32> = (0..s).map(|j| start[j] + emit[[j, seen[0] as usize]]).collect();
        let mut back: Vec<Vec<usize>> = vec![];
        for t in 1..n {
            let from: Vec<usize> = (0..s)
                .map(|j| {
                    (0..s)
                        .fold(0, |b, i| if score[i] + step[[i, j]] > score[b] + step[[b, j]] { i } else { b })
                })
                .collect();
            score =
                (0..s).map(|j| score[from[j]] + step[[from[j], j]] + emit[[j, seen[t] as usize]]).collect();
            back.push(from);
        }
        let mut state = (0..s).fold(0, |b, i| if score[i] > score[b] { i } else { b });
        assert_eq!(best, score[state]);
        let mut wanted = vec![];
        for from in back.iter().rev() {
            state = from[state];
            wanted.push(state as i64);
        }
        wanted.reverse();
        assert_eq!(path, wanted);
    }
}
