//! Complex numbers and fields of structs in C++ expressions: against a package of the language, to the bit.

mod cpp_program;

use arraygpu::prelude::*;
use cpp_program::run;

#[derive(Clone, Copy, Record)]
struct Light {
    bright: f32,
    is_on: bool,
}

#[derive(Clone, Copy, Record)]
struct Body {
    at: [f64; 2],
    light: Light,
    kind: i16,
}

type Z = VExp<Complex<f32>>;
type Zm = MExp<Complex<f64>>;

fn moved(bodies: VExp<Body>, dt: SExp<f64>) -> VExp<Body> {
    bodies.map(|b| {
        let light = LightFields { is_on: !b.light.is_on, ..*b.light }.pack();
        BodyFields { at: [b.at[0] + dt * b.at[1], b.at[1]], light, ..*b }.pack()
    })
}

fn mandelbrot(c: Z, k: SExp<i64>) -> Z {
    c.iterate(k, |z| z.zip_with(c, |z, c| z * z + c))
}

fn power(z: Z, n: SExp<i64>) -> Z {
    z.map(|z| loop_for(n, complex(1.0, 0.0), |_, p| p * z))
}

fn waves() -> Package {
    Package::new("waves")
        .structs()
        .function("moved", ["bodies", "dt"], "result", moved)
        .function("product", ["a", "b"], "result", |a: Z, b: Z| a * b)
        .function("quotient", ["a", "b"], "result", |a: Z, b: Z| a / b)
        .function("mixed", ["a", "b"], "result", |a: Z, b: Z| {
            a.zip_with(b, |a, b| (a - b).conj().scale(0.5) + Complex::new(1.0, -2.0))
        })
        .function("sizes", ["a"], ["absolute", "square", "angle"], |a: Z| {
            (a.abs(), a.norm_sqr(), a.map(|a| a.arg()))
        })
        .function("total", ["a"], "result", |a: Z| a.sum())
        .function("joined", ["a", "first"], "result", |a: Z, first: SExp<Complex<f32>>| {
            a.reduce(first, |a, b| a * b)
        })
        .function("folded", ["a"], "result", |a: Z| a.fold(complex(0.0, 0.0), |s, a| s.scale(0.5) + a))
        .function("mandelbrot", ["c", "k"], "result", mandelbrot)
        .function("power", ["z", "n"], "result", power)
        .function("matrix_product", ["a", "b"], "result", |a: Zm, b: Zm| a.matmul(b))
        .function("rows", ["a"], "result", |a: Zm| a.map_rows(|r| r.sum()))
}

#[test]
fn records() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("waves");
    waves().run_with(["--out", out.to_str().unwrap(), "--cache", "off", "--quiet"]).unwrap();
    for compiler in ["g++", "clang++"] {
        run(compiler, "without_cmake/records.cpp", folder.path(), &[out.join("lib/libwaves.a")]);
    }
}
