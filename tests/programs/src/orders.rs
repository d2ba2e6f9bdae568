//! Sorts, and what stays of a vector.

use crate::array::{Array, Expected, s, v};
use crate::program::Corpus;
use crate::reason;
use arraygpu::prelude::*;

/// Adds the programs.
pub fn add(c: &mut Corpus) {
    sorted(c);
    ranked(c);
    keyed(c);
    kept(c);
}

/// The indices of the elements in ascending order; equal ones keep theirs.
fn order(x: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..x.len()).collect();
    order.sort_by(|a, b| x[*a].total_cmp(&x[*b]));
    order
}

/// The place of each element in ascending order.
fn ranks(x: &[f64]) -> Vec<f64> {
    let mut ranks = vec![0.0; x.len()];
    order(x).iter().zip(0..).for_each(|(i, rank)| ranks[*i] = f64::from(rank));
    ranks
}

/// The elements at these indices.
fn gathered(x: &Array, order: &[usize]) -> Vec<f64> {
    order.iter().map(|i| x[*i]).collect()
}

/// The elements, and `default` behind them.
fn filled(mut kept: Vec<f64>, n: usize, default: f64) -> Vec<f64> {
    kept.resize(n, default);
    kept
}

/// The runs of equal elements: each one's element and length.
fn runs(x: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let runs: Vec<&[f64]> = x.chunk_by(|a, b| a == b).collect();
    runs.iter().map(|run| (run[0], run.len() as f64)).unzip()
}

fn sorted(c: &mut Corpus) {
    c.add(
        "quartiles",
        ["x"],
        "low median high",
        [v(40)],
        |x: VExp<f32>| {
            let sorted = x.sort();
            let n = x.len();
            (sorted.at(n / 4), sorted.at(n / 2), sorted.at(3 * n / 4))
        },
        |[x]| {
            let sorted = gathered(x, &order(&x.elements));
            (sorted[10], sorted[20], sorted[30])
        },
    )
    .because(reason::SORT);
    c.add(
        "value_at_risk_sorted",
        ["returns", "tail"],
        "limit shortfall",
        [v(40), s(7.0)],
        // the loss that so many days exceed, and the mean of those
        |returns: VExp<f32>, tail: SExp<i64>| {
            let sorted = returns.sort();
            let worst = generate(tail, |i| sorted.at(i));
            (-sorted.at(tail), -worst.sum() / tail.cast::<f32>())
        },
        |[returns, _]| {
            let sorted = gathered(returns, &order(&returns.elements));
            (-sorted[7], -sorted[..7].iter().sum::<f64>() / 7.0)
        },
    )
    .because(reason::SORT)
    .extent(7, crate::program::Large::Is(32));
    c.add(
        "k_nearest",
        ["x", "y", "values", "k"],
        "nearest mean",
        [v(40), v(40), v(40), s(3.0)],
        |x: VExp<f32>, y: VExp<f32>, values: VExp<f32>, k: SExp<i64>| {
            let order = x.zip_with(y, |x, y| (x - 0.3) * (x - 0.3) + (y + 0.7) * (y + 0.7)).argsort();
            let nearest = generate(k, |i| order.at(i));
            (nearest, values.gather(nearest).sum() / k.cast::<f32>())
        },
        |[x, y, values, _]| {
            let far = |i: usize| (x[i] - 0.3).powi(2) + (y[i] + 0.7).powi(2);
            let nearest = order(&(0..40).map(far).collect::<Vec<f64>>())[..3].to_vec();
            let mean = gathered(values, &nearest).iter().sum::<f64>() / 3.0;
            (nearest.iter().map(|i| *i as f64).collect::<Vec<f64>>(), mean)
        },
    )
    .because(reason::SORT);
    c.add(
        "distinct_keys",
        ["keys"],
        "distinct count",
        [v(40).below(12)],
        |keys: VExp<u32>| {
            let distinct = keys.sort().unique();
            (distinct.filled(0), distinct.len())
        },
        |[keys]| {
            let (keys, _) = runs(&gathered(keys, &order(&keys.elements)));
            let count = keys.len() as f64;
            (filled(keys, 40, 0.0), count)
        },
    )
    .because(reason::SORT);
}

fn ranked(c: &mut Corpus) {
    c.add(
        "ranks_by_sort",
        ["x"],
        "r",
        [v(40)],
        |x: VExp<f32>| iota(x.len()).scatter_unique(x.len(), x.argsort(), 0),
        |[x]| ranks(&x.elements),
    )
    .because(reason::SORT);
    c.add(
        "counting_sort_ranks",
        ["keys", "n"],
        "r",
        [v(40).below(6), s(6.0)],
        // of keys of few values: where each one goes
        |keys: VExp<i64>, n: SExp<i64>| {
            let few = keys.map(|k| k.min(n - 1).max(0));
            iota(keys.len()).scatter_unique(keys.len(), few.argsort(), 0)
        },
        |[keys, _]| ranks(&keys.elements),
    )
    .because(reason::SORT);
    c.add(
        "area_under_curve",
        ["scores", "is_positive"],
        "r",
        [v(40), v(40).below(2)],
        // how often a positive score is above a negative one: of the ranks of the positive ones
        |scores: VExp<f32>, is_positive: VExp<i64>| {
            let sorted = is_positive.gather(scores.argsort());
            let ranks = generate(sorted.len(), |i| cond(sorted.at(i).eq(1), i + 1, 0)).sum();
            let (positive, n) = (is_positive.sum(), scores.len());
            let above = ranks - positive * (positive + 1) / 2;
            above.cast::<f64>() / (positive * (n - positive)).cast::<f64>()
        },
        |[scores, is_positive]| {
            let (mut above, mut pairs, place) = (0, 0, order(&scores.elements));
            for (i, p) in place.iter().enumerate() {
                let below = place[..i].iter().filter(|q| is_positive[**q] == 0.0).count();
                above += if is_positive[*p] == 1.0 { below } else { 0 };
                pairs += (0..40).filter(|q| is_positive[*p] == 1.0 && is_positive[*q] == 0.0).count();
            }
            above as f64 / pairs as f64
        },
    )
    .because(reason::SORT);
}

fn keyed(c: &mut Corpus) {
    c.add(
        "events_by_time",
        ["time", "energy"],
        "times energies",
        [v(40), v(40)],
        |time: VExp<f32>, energy: VExp<f32>| time.sort_by_key(energy),
        |[time, energy]| {
            let order = order(&time.elements);
            (gathered(time, &order), gathered(energy, &order))
        },
    )
    .because(reason::SORT);
    c.add(
        "means_of_sorted_keys",
        ["keys", "x"],
        "groups means",
        [v(40).below(12), v(40)],
        |keys: VExp<u32>, x: VExp<f32>| {
            let (sorted, x) = keys.sort_by_key(x);
            let pairs = x.map(|v| complex(v, lit(1.0)));
            let (groups, sums) = sorted.reduce_by_key(pairs, Complex::new(0.0, 0.0), |a, b| a + b);
            (groups.filled(0), sums.map(|b| b.re / b.im).filled(0.0))
        },
        |[keys, x]| {
            let order = order(&keys.elements);
            let (groups, counts) = runs(&gathered(keys, &order));
            let (sorted, mut at) = (gathered(x, &order), 0);
            let mean = |count: &f64| {
                let run = &sorted[at..at + *count as usize];
                at += run.len();
                run.iter().sum::<f64>() / count
            };
            let means = counts.iter().map(mean).collect();
            (filled(groups, 40, 0.0), filled(means, 40, 0.0))
        },
    )
    .because(reason::SORT);
    c.add(
        "run_length_encode",
        ["x"],
        "values lengths count",
        [v(40).at(|k| (k * k / 50 % 5) as f64)],
        |x: VExp<i32>| {
            let (values, lengths) = x.run_lengths();
            (values.filled(0), lengths.filled(0), values.len())
        },
        |[x]| {
            let (values, lengths) = runs(&x.elements);
            let count = values.len() as f64;
            (filled(values, 40, 0.0), filled(lengths, 40, 0.0), count)
        },
    )
    .because(reason::KEPT);
}

fn kept(c: &mut Corpus) {
    c.add(
        "stream_compaction",
        ["x", "limit"],
        "kept count",
        [v(40), s(0.25)],
        |x: VExp<f32>, limit: SExp<f32>| {
            let kept = x.filter(|x| x.gt(limit));
            (kept.filled(0.0), kept.len())
        },
        |[x, limit]| {
            let kept: Vec<f64> = x.elements.iter().copied().filter(|x| *x > limit.value()).collect();
            let count = kept.len() as f64;
            (filled(kept, 40, 0.0), count)
        },
    )
    .because(reason::KEPT);
    c.add(
        "trimmed_mean",
        ["x", "low", "high"],
        "r",
        [v(40), s(-1.0), s(1.5)],
        |x: VExp<f32>, low: SExp<f32>, high: SExp<f32>| {
            let kept = x.filter(|x| x.ge(low) & x.le(high));
            kept.reduce(0.0, |a, b| a + b) / kept.len().cast::<f32>()
        },
        |[x, ..]| {
            let kept: Vec<f64> = x.elements.iter().copied().filter(|x| (-1.0..=1.5).contains(x)).collect();
            (kept.iter().sum::<f64>() / kept.len() as f64).arrays()
        },
    )
    .because(reason::KEPT);
    c.add(
        "quicksort_step",
        ["x", "pivot"],
        "parts count",
        [v(40), s(0.25)],
        |x: VExp<f32>, pivot: SExp<f32>| x.partition(|x| x.lt(pivot)),
        |[x, pivot]| {
            let is = |x: &f64| *x < pivot.value();
            let (low, high): (Vec<f64>, Vec<f64>) = x.elements.iter().partition(|x| is(x));
            let count = low.len() as f64;
            ([low, high].concat(), count)
        },
    )
    .because(reason::KEPT);
}
