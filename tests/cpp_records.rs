//! Complex numbers, structs and their fields in C++ expressions: against a package of the language, to the bit.

mod cpp_program;
mod sky;

use arraygpu::prelude::*;
use cpp_program::run;
use sky::{Body, BodyFields, Light, LightFields, after, brightest, moved};

type Z = VExp<Complex<f32>>;
type Zm = MExp<Complex<f64>>;

fn stepped(bodies: VExp<Body>, k: SExp<i64>, dt: SExp<f64>) -> VExp<Body> {
    bodies.iterate_indexed(k, |t, bodies| {
        bodies.map(|b| {
            let b = after(b, dt);
            BodyFields { kind: b.kind + t.cast::<i16>(), ..*b }.pack()
        })
    })
}

fn chosen(bodies: VExp<Body>, others: VExp<Body>) -> VExp<Body> {
    bodies.zip_with(others, |a, b| if_else(a.kind.gt(b.kind), || a, || b))
}

/// A loop of an element whose state is a record.
fn dimmed(bodies: VExp<Body>) -> VExp<Body> {
    let step = |b: SExp<Body>| {
        let light = LightFields { bright: b.light.bright * 0.5, ..*b.light }.pack();
        BodyFields { light, kind: b.kind + 1, ..*b }.pack()
    };
    bodies.map(|b| loop_while(b, |b| b.light.bright.gt(1.0), step))
}

fn seen(bodies: VExp<Body>) -> SExp<Light> {
    bodies.fold(Light { bright: 0.0, is_on: false }, |s, b| {
        LightFields { bright: s.bright * 0.5 + b.light.bright, is_on: s.is_on ^ b.light.is_on }.pack()
    })
}

fn scattered(n: SExp<i64>) -> VExp<Light> {
    generate(n, |i| LightFields { bright: i.cast::<f32>().sqrt(), is_on: (i % 3).eq(1) }.pack())
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
        .function("brightest", ["bodies", "first"], "result", brightest)
        .function("stepped", ["bodies", "k", "dt"], "result", stepped)
        .function("chosen", ["bodies", "others"], "result", chosen)
        .function("dimmed", ["bodies"], "result", dimmed)
        .function("seen", ["bodies"], "result", seen)
        .function("scattered", ["n"], "result", scattered)
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
    waves()
        .run_with(["--out", out.to_str().unwrap(), "--level", "host", "--cache", "off", "--quiet"])
        .unwrap();
    for compiler in ["g++", "clang++"] {
        for program in ["without_cmake/records.cpp", "without_cmake/described.cpp"] {
            run(compiler, program, folder.path(), &[out.join("lib/libwaves.a")]);
        }
    }
}
