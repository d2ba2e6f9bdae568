//! Arrays of three dimensions in C++ expressions: against a package of the language, to the bit.

mod cpp_program;

use arraygpu::prelude::*;
use cpp_program::run;

type M = MExp<f32>;
type T = TExp<f32>;

/// Of 7 points; the result is smaller by an element on each side.
fn laplace(u: T) -> T {
    let w = u.windows3(3, 3, 3);
    let around = (w[0][1][1] + w[2][1][1]) + (w[1][0][1] + w[1][2][1]) + (w[1][1][0] + w[1][1][2]);
    around - 6.0 * w[1][1][1]
}

fn padded(u: T, boundary: Boundary<f32>) -> T {
    u.padded([1, 1], [1, 1], [1, 1], boundary)
}

fn wave(u: T, before: T, c: SExp<f32>, k: SExp<i64>) -> (T, T) {
    iterate(k, (u, before), |(u, before)| {
        let next = 2.0 * u - before + c * laplace(padded(u, Boundary::Clamp));
        (next, u)
    })
}

fn relaxed(u: T, k: SExp<i64>) -> T {
    u.iterate(k, |u| {
        let inner = u.sliced(s![1..-1, 1..-1, 1..-1]);
        u.with_block(1, 1, 1, inner + 0.125 * laplace(u))
    })
}

fn settled(u: T, eps: SExp<f32>) -> (T, SExp<i64>) {
    let next = |u: T| u + 0.125 * laplace(padded(u, Boundary::Mirror));
    iterate_while(50, u, move |u| (next(*u) - *u).abs().max().gt(eps), next).check_every(3)
}

fn volumes() -> Package {
    const WEIGHTS: [[[f32; 3]; 2]; 2] =
        [[[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], [[-0.1, -0.2, -0.3], [-0.4, -0.5, 0.7]]];
    Package::new("volumes")
        .function("orders", ["x"], ["a", "b", "c", "d", "e"], |x: T| {
            (
                x.permute([0, 2, 1]),
                x.permute([1, 0, 2]),
                x.permute([1, 2, 0]),
                x.permute([2, 0, 1]),
                x.permute([2, 1, 0]),
            )
        })
        .function("edges", ["x"], ["clamped", "mirrored", "wrapped", "constant"], |x: T| {
            let of = |boundary| laplace(padded(x, boundary));
            (of(Boundary::Clamp), of(Boundary::Mirror), of(Boundary::Wrap), of(Boundary::Constant(0.5)))
        })
        .function("wave", ["u", "before", "c", "k"], ["now", "then"], wave)
        .function("relaxed", ["u", "k"], "result", relaxed)
        .function("settled", ["u", "eps"], ["result", "steps"], settled)
        .function("weighted", ["x"], "result", |x: T| x.weighted_sum3(&WEIGHTS))
        .function("weighted_halves", ["x"], "result", |x: T| {
            x.cast::<f16>().weighted_sum3(&WEIGHTS.map(|p| p.map(|r| r.map(f16::from_f32)))).cast::<f32>()
        })
        .function("sums", ["x"], ["sum", "mean", "variance", "where_", "product"], |x: T| {
            (x.sum(), x.mean(), x.variance(1), x.argmax(), x.dot(x))
        })
        .function("planes", ["x"], ["sums", "means", "greatest"], |x: T| {
            (x.map_planes(|m| m.sum()), x.map_planes(|m| m.mean()), x.map_planes(|m| m.argmax()))
        })
        .function("lines", ["x"], ["rows", "through"], |x: T| {
            (x.map_rows(|v| v.sum()), x.permute([1, 2, 0]).map_rows(|v| v.mean()))
        })
        .function("products", ["a", "b"], "result", |a: T, b: T| a.matmul(b.permute([0, 2, 1])))
        .function("made", ["m", "x"], "result", |m: M, x: T| {
            let numbers =
                generate3(x.planes(), x.rows(), x.cols(), |k, i, j| (k * 100 + i * 10 + j).cast::<f32>());
            m.broadcast_planes(x.planes()) * x + numbers.reverse_planes()
        })
        .function("history", ["m", "k"], "result", |m: M, k: SExp<i64>| {
            iterate_collect(k, m, |m| m * m - 0.5)
        })
        .function("stages", ["x"], "result", |x: T| {
            let y = (x.weighted_sum3(&[[[0.25, 0.5, 0.25]]])).materialize();
            y.weighted_sum3(&[[[0.25]], [[0.5]], [[0.25]]])
        })
}

#[test]
fn arrays_of_three_dimensions() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("volumes");
    volumes().run_with(["--out", out.to_str().unwrap(), "--debug", "--cache", "off", "--quiet"]).unwrap();
    for compiler in ["g++", "clang++"] {
        run(compiler, "without_cmake/volumes.cpp", folder.path(), &[out.join("lib/libvolumes.a")]);
    }
}
