//! Iterations in C++: expressions against a package of the language, to the bit.

mod cpp_program;

use arraygpu::prelude::*;
use cpp_program::run;

type V = VExp<f32>;

fn relaxed(x: V, w: V, c: SExp<f32>, k: SExp<i64>) -> V {
    x.iterate(k, |u| w * u + c * (w.sum() - u))
}

fn spring(x: V, w: V, k: SExp<i64>) -> (V, V) {
    iterate(k, (x, w), |(u, v)| (u + 0.125 * v, v - 0.125 * u))
}

fn scaled(x: V, k: SExp<i64>) -> (V, SExp<f32>) {
    iterate(k, (x, lit(1f32)), |(u, s)| (u * s, s * 0.5 + 0.25))
}

fn diffused(x: V, k: SExp<i64>) -> V {
    x.iterate(k, |u| {
        let n = u.len();
        let inner =
            u.slice(1, n - 1) + 0.25 * ((u.slice(0, n - 2) + u.slice(2, n)) - 2.0 * u.slice(1, n - 1));
        generate(n, |i| cond(i.eq(0) | i.eq(n - 1), u.at(i), inner.at(i.max(1) - 1)))
    })
}

fn roots(every: u32) -> impl Fn(V, V, SExp<f32>) -> (V, SExp<i64>) {
    move |x, a, eps| {
        let next = move |u: V| 0.5 * (u + a / u);
        iterate_while(100, x, |u| (next(*u) - *u).abs().max().gt(eps), next).check_every(every)
    }
}

fn steps() -> Package {
    Package::new("steps")
        .function("relaxed", ["x", "w", "c", "k"], "result", relaxed)
        .function("spring", ["x", "w", "k"], ["u", "v"], spring)
        .function("scaled", ["x", "k"], ["u", "s"], scaled)
        .function("diffused", ["x", "k"], "result", diffused)
        .function("series", ["x", "k"], "result", |x: V, k: SExp<i64>| {
            x.iterate_indexed(k, |t, r| r * 0.5 + t.cast::<f32>())
        })
        .function("orbit", ["x", "k"], "result", |x: V, k: SExp<i64>| iterate_collect(k, x, |r| r * r - 0.5))
        .function("nested", ["x"], "result", |x: V| {
            x.iterate(2, |u| u.iterate_indexed(3, |t, v| v + u * t.cast::<f32>() + x))
        })
        .function("roots1", ["x", "a", "eps"], ["root", "steps"], roots(1))
        .function("roots2", ["x", "a", "eps"], ["root", "steps"], roots(2))
        .function("roots5", ["x", "a", "eps"], ["root", "steps"], roots(5))
}

#[test]
fn iterations() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("steps");
    steps().run_with(["--out", out.to_str().unwrap(), "--debug", "--cache", "off", "--quiet"]).unwrap();
    for compiler in ["g++", "clang++"] {
        run(compiler, "without_cmake/iterations.cpp", folder.path(), &[out.join("lib/libsteps.a")]);
    }
}
