//! The law of work (`counts/law.rs`) of chains of results that launches store.

mod common;

use arraygpu_compiler::core::Function;
use arraygpu_compiler::counts::law;
use arraygpu_compiler::driver;
use arraygpu_dsl::prelude::*;
use common::lower;

type V = VExp<f32>;

fn sums(x: V) -> V {
    x.scan(0.0, |a, b| a + b)
}

/// Checks the law at all sizes at which the program runs, which are most.
fn keeps_the_law(what: &str, f: &Function) {
    let fused = driver::fuse(f).unwrap_or_else(|e| panic!("{what}: {e}"));
    let checked = law::check(f, &fused).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(!checked.extents.is_empty(), "{what}: {:?}", checked.skipped);
    assert_eq!(checked.excess, None, "{what}");
}

#[test]
fn chains_of_stored_results() {
    let of = |word: &str, f: fn(V) -> V| (word.to_string(), lower(["x"], ["r"], f));
    let all = [
        of("two scans", |x| sums(sums(x))),
        of("three scans", |x| sums(sums(sums(x)))),
        of("five scans", |x| sums(sums(sums(sums(sums(x)))))),
        of("scans of maps", |x| sums(sums(sums(x) * 2.0) * 2.0)),
        of("scans of both ends", |x| sums(sums(sums(x).reverse()).reverse())),
        of("sorts", |x| (x.sort() * -1.0).sort().sort()),
        of("sorts of scans", |x| sums(sums(sums(x).sort()).sort())),
        of("scans of what is scattered", |x| {
            let to = |x: V| x.map(|v| v.cast::<i64>() % 7);
            let x = x.scatter(x.len(), to(x), 0.0);
            sums(sums(sums(x.scatter(x.len(), to(x), 0.0))))
        }),
        of("scans of steps", |x| {
            let twice = |x: V| x.iterate(2, |x| x * 0.5);
            sums(twice(sums(twice(sums(x)))))
        }),
        of("scans of what is stored", |x| sums(sums(sums(x).materialize()).materialize())),
    ];
    for (word, f) in &all {
        keeps_the_law(word, f);
    }
}

#[test]
fn numbers_of_chains() {
    let of = |word: &str, f: fn(V) -> SExp<f32>| (word.to_string(), lower(["x"], ["r"], f));
    let all = [
        of("reductions of scans", |x| sums(sums(sums(x))).sum()),
        of("filters", |x| {
            let kept = x.filter(|v| v.gt(1.0)).filter(|v| v.lt(9.0)).filter(|v| v.ne(4.0));
            kept.reduce(0.0, |a, b| a + b)
        }),
        of("filters of scans", |x| sums(sums(x)).filter(|v| v.gt(1.0)).reduce(0.0, |a, b| a + b)),
        of("runs", |x| {
            let keys = x.map(|v| v.cast::<i64>()).sort();
            sums(sums(keys.run_lengths().1.with_len(9).map(|v| v.cast::<f32>()))).sum()
        }),
        of("groups", |x| {
            let keys = x.map(|v| v.cast::<i64>() % 16);
            sums(sums(sums(keys.histogram(16).map(|v| v.cast::<f32>())))).sum()
        }),
    ];
    for (word, f) in &all {
        keeps_the_law(word, f);
    }
}
