//! Elements that go to groups by destinations, and segments by offsets.

use crate::array::{Array, s, v};
use crate::program::{Corpus, Large};
use crate::reason;
use arraygpu::prelude::*;

/// Adds the programs.
pub fn add(c: &mut Corpus) {
    counted(c);
    summed(c);
    graphs(c);
    segments(c);
}

/// The sums of the elements by their destinations, those outside left out.
fn sums(n: usize, elements: impl Iterator<Item = (f64, f64)>) -> Vec<f64> {
    let mut sums = vec![0.0; n];
    for (to, x) in elements {
        if to >= 0.0 && to < n as f64 {
            sums[to as usize] += x;
        }
    }
    sums
}

fn counted(c: &mut Corpus) {
    c.add(
        "histogram_of_values_counted",
        ["x", "bins"],
        "r",
        [v(40).below(8), s(8.0)],
        |x: VExp<f32>, bins: SExp<i64>| x.map(|x| x.floor().cast::<i64>()).ignored().histogram(bins),
        |[x, _]| sums(8, x.elements.iter().map(|x| (*x, 1.0))),
    )
    .because(reason::BINS);
    c.add(
        "equalised_bytes",
        ["image"],
        "r",
        [v(40).below(256)],
        // each grey value becomes the share of pixels that are not brighter
        |image: VExp<u8>| {
            let counts = image.map(|p| p.cast::<i64>()).histogram(256);
            let ends = counts.scan(0, |a, b| a + b);
            let n = image.len();
            image.map(|p| (ends.at(p.cast::<i64>()) * 255 / n).cast::<u8>())
        },
        |[image]| {
            let not_brighter = |p: f64| image.elements.iter().filter(|q| **q <= p).count();
            image.map(|p| (not_brighter(p) * 255 / 40) as f64)
        },
    )
    .because(reason::BINS)
    .because(reason::TABLE)
    .fewest(3);
    c.add(
        "radial_distribution_counted",
        ["x", "y", "bins"],
        "r",
        [v(9), v(9), s(6.0)],
        |x: VExp<f32>, y: VExp<f32>, bins: SExp<i64>| {
            let n = x.len();
            let bin = |k: SExp<i64>| {
                let (i, j) = (k / n, k % n);
                (x.at(i) - x.at(j)).hypot(y.at(i) - y.at(j)).cast::<i64>()
            };
            generate(n * n, bin).ignored().histogram(bins)
        },
        |[x, y, _]| {
            let bin = |k: usize| (x[k / 9] - x[k % 9]).hypot(y[k / 9] - y[k % 9]).floor();
            sums(6, (0..81).map(|k| (bin(k), 1.0)))
        },
    )
    .because(reason::BINS);
}

/// What is summed of the points of a centre.
#[derive(Record)]
struct Sum {
    x: f32,
    y: f32,
    count: f32,
}

fn summed(c: &mut Corpus) {
    c.add(
        "group_means_scattered",
        ["x", "group", "k"],
        "r",
        [v(40), v(40).below(6), s(6.0)],
        |x: VExp<f32>, group: VExp<i64>, k: SExp<i64>| {
            let sums = x.scatter_reduce(k, group, 0.0, |a, b| a + b);
            sums / group.histogram(k).map(|n| n.max(1).cast::<f32>())
        },
        |[x, group, _]| {
            let counts = sums(6, group.elements.iter().map(|g| (*g, 1.0)));
            let all = sums(6, (0..40).map(|i| (group[i], x[i])));
            Array::vector(6, |g| all[g] / counts[g].max(1.0))
        },
    )
    .because(reason::GROUPED)
    .fewest(2);
    c.add(
        "k_means_update_scattered",
        ["x", "y", "assigned", "k"],
        "cx cy",
        [v(40), v(40), v(40).below(6), s(6.0)],
        |x: VExp<f32>, y: VExp<f32>, assigned: VExp<i64>, k: SExp<i64>| {
            let points = x.zip_with(y, |x, y| SumFields { x, y, count: lit(1.0) }.pack());
            let zero = Sum { x: 0.0, y: 0.0, count: 0.0 };
            let sums = points.scatter_reduce(k, assigned, zero, |a, b| {
                SumFields { x: a.x + b.x, y: a.y + b.y, count: a.count + b.count }.pack()
            });
            let count = sums.count.map(|n| n.max(1.0));
            (sums.x / count, sums.y / count)
        },
        |[x, y, assigned, _]| {
            let of = |x: &Array| sums(6, (0..40).map(|i| (assigned[i], x[i])));
            let (counts, x, y) = (of(&Array::vector(40, |_| 1.0)), of(x), of(y));
            let mean = |sums: &[f64]| Array::vector(6, |c| sums[c] / counts[c].max(1.0));
            (mean(&x), mean(&y))
        },
    )
    .because(reason::GROUPED)
    .fewest(2);
    c.add(
        "particle_deposit_scattered",
        ["x", "q", "cells"],
        "r",
        [v(40).unit().of(|x| x * 6.0), v(40), s(7.0)],
        // each charge goes to the two cells around it
        |x: VExp<f32>, q: VExp<f32>, cells: SExp<i64>| {
            let cell = x.map(|x| x.floor().cast::<i64>());
            let part = x - x.map(|x| x.floor());
            let left = (q * (1.0 - part)).scatter_reduce(cells, cell.ignored(), 0.0, |a, b| a + b);
            left + (q * part).scatter_reduce(cells, (cell + 1).ignored(), 0.0, |a, b| a + b)
        },
        |[x, q, _]| {
            let left = (0..40).map(|i| (x[i].floor(), q[i] * (1.0 - x[i].fract())));
            sums(7, left.chain((0..40).map(|i| (x[i].floor() + 1.0, q[i] * x[i].fract()))))
        },
    )
    .because(reason::GROUPED);
    c.add(
        "particle_deposit_unordered",
        ["x", "q", "cells"],
        "r",
        [v(40).unit().of(|x| x * 6.0), v(40), s(7.0)],
        |x: VExp<f32>, q: VExp<f32>, cells: SExp<i64>| {
            let cell = x.map(|x| x.floor().cast::<i64>());
            let part = x - x.map(|x| x.floor());
            let all = |charge: VExp<f32>, to: VExp<i64>| {
                charge.scatter_reduce(cells, to.ignored().unordered(), 0.0, |a, b| a + b)
            };
            all(q * (1.0 - part), cell) + all(q * part, cell + 1)
        },
        |[x, q, _]| {
            let left = (0..40).map(|i| (x[i].floor(), q[i] * (1.0 - x[i].fract())));
            sums(7, left.chain((0..40).map(|i| (x[i].floor() + 1.0, q[i] * x[i].fract()))))
        },
    )
    .because(reason::BINS);
    c.add(
        "nearest_depth",
        ["pixel", "depth", "n"],
        "r",
        [v(40).below(9), v(40).positive(), s(12.0)],
        // of the fragments of each pixel the nearest one
        |pixel: VExp<i64>, depth: VExp<f32>, n: SExp<i64>| {
            depth.scatter_reduce(n, pixel, f32::MAX, |a, b| a.min(b))
        },
        |[pixel, depth, _]| {
            let of = |p: usize| (0..40).filter(move |i| pixel[*i] == p as f64).map(|i| depth[i]);
            Array::vector(12, |p| of(p).fold(f64::from(f32::MAX), f64::min))
        },
    )
    .because(reason::BINS);
    c.add(
        "table_updated",
        ["table", "at", "value"],
        "r",
        [v(40), v(12).at(|k| (k * 5 % 12) as f64), v(12)],
        |table: VExp<f32>, at: VExp<i64>, value: VExp<f32>| {
            let new = value.scatter(table.len(), at, f32::NAN);
            table.zip_with(new, |old, new| cond(new.eq(new), new, old))
        },
        |[table, at, value]| {
            let mut table = table.elements.clone();
            (0..12).for_each(|k| table[at[k] as usize] = value[k]);
            table
        },
    )
    .because(reason::LAST)
    .fewest(2);
}

/// The edges of a graph: three from each node, to nodes of the lower half.
const EDGES: (usize, Large) = (39, Large::Times(3));
fn from(k: usize) -> f64 {
    (k / 3) as f64
}
fn to(k: usize) -> f64 {
    (k / 6 + k % 3) as f64
}

fn graphs(c: &mut Corpus) {
    c.add(
        "page_rank_step",
        ["rank", "from", "to"],
        "r",
        [v(13).positive(), v(39).at(from), v(39).at(to)],
        |rank: VExp<f32>, from: VExp<i64>, to: VExp<i64>| {
            let n = rank.len();
            let degree = from.histogram(n);
            let share = rank.zip_with(degree, |r, d| r / d.max(1).cast::<f32>());
            let flow = share.gather(from).scatter_reduce(n, to, 0.0, |a, b| a + b);
            flow * 0.85 + 0.15 / n.cast::<f32>()
        },
        |[rank, _, _]| {
            let flow = sums(13, (0..39).map(|k| (to(k), rank[k / 3] / 3.0)));
            Array::vector(13, |i| flow[i] * 0.85 + 0.15 / 13.0)
        },
    )
    .because(reason::GROUPED)
    .extent(EDGES.0, EDGES.1)
    .fewest(3);
    c.add(
        "edge_relaxations",
        ["start", "from", "to", "weight"],
        "r",
        [v(13).positive(), v(39).at(from), v(39).at(to), v(39).positive()],
        |start: VExp<f32>, from: VExp<i64>, to: VExp<i64>, weight: VExp<f32>| {
            start.iterate(4, |d| {
                let through =
                    (d.gather(from) + weight).scatter_reduce(d.len(), to, f32::MAX, |a, b| a.min(b));
                d.zip_with(through, |a, b| a.min(b))
            })
        },
        |[start, _, _, weight]| {
            let mut d = start.elements.clone();
            for _ in 0..4 {
                let mut next = d.clone();
                (0..39).for_each(|k| next[to(k) as usize] = next[to(k) as usize].min(d[k / 3] + weight[k]));
                d = next;
            }
            d
        },
    )
    .because(reason::BINS)
    .extent(EDGES.0, EDGES.1)
    .fewest(4);
}

/// Offsets of segments of two and of five elements.
fn offset(k: usize) -> f64 {
    (k * 3 - k % 3) as f64
}

/// The range of a segment.
fn segment(k: usize) -> std::ops::Range<usize> {
    offset(k) as usize..offset(k + 1) as usize
}

fn segments(c: &mut Corpus) {
    c.add(
        "sparse_by_vector",
        ["offsets", "columns", "values", "x"],
        "r",
        [v(13).at(offset), v(39).at(to), v(39), v(14)],
        |offsets: VExp<i64>, columns: VExp<i64>, values: VExp<f32>, x: VExp<f32>| {
            let products = (values * x.gather(columns)).materialize();
            products.segmented_reduce(offsets, 0.0, |a, b| a + b)
        },
        |[_, _, values, x]| Array::vector(12, |i| segment(i).map(|k| values[k] * x[to(k) as usize]).sum()),
    )
    .because(reason::SEGMENTS)
    .extent(EDGES.0, EDGES.1);
    c.add(
        "softmax_of_segments",
        ["offsets", "of", "x"],
        "r",
        [
            v(13).at(offset),
            v(39).at(|k| (0..12).position(|s| segment(s).contains(&k)).unwrap_or(12) as f64),
            v(39),
        ],
        // each edge's share of its node, of a graph in CSR; `of` is each edge's node
        |offsets: VExp<i64>, of: VExp<i64>, x: VExp<f32>| {
            let most = x.segmented_reduce(offsets, f32::MIN, |a, b| a.max(b));
            let rows = most.len();
            let node = of.map(|k| k.min(rows - 1));
            let weight = x.zip_with(node, |x, k| (x - most.at(k)).exp()).materialize();
            let all = weight.segmented_reduce(offsets, 0.0, |a, b| a + b);
            weight / all.gather(node)
        },
        |[_, _, x]| {
            Array::vector(39, |k| {
                let of = segment((0..12).position(|s| segment(s).contains(&k)).unwrap_or(11));
                x[k].exp() / of.map(|k| x[k].exp()).sum::<f64>()
            })
        },
    )
    .because(reason::SEGMENTS)
    .extent(EDGES.0, EDGES.1)
    .fewest(3);
    c.add(
        "running_sums_of_segments",
        ["offsets", "x"],
        "r",
        [v(13).at(offset), v(39)],
        |offsets: VExp<i64>, x: VExp<f32>| x.segmented_scan(offsets, 0.0, |a, b| a + b),
        |[_, x]| {
            let of = |k: usize| (0..12).map(segment).find(|s| s.contains(&k));
            Array::vector(39, |k| of(k).map_or(0.0, |s| x.elements[s.start..=k].iter().sum()))
        },
    )
    .because(reason::SEGMENTS)
    .extent(EDGES.0, EDGES.1);
}
