//! Records as structs of C and C++: a package of the language, built and called here without the installed tree.

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

fn after(b: SExp<Body>, dt: SExp<f64>) -> SExp<Body> {
    let light = LightFields { is_on: !b.light.is_on, ..*b.light }.pack();
    BodyFields { at: [b.at[0] + dt * b.at[1], b.at[1]], light, ..*b }.pack()
}

fn moved(bodies: VExp<Body>, dt: SExp<f64>) -> VExp<Body> {
    bodies.map(|b| after(b, dt))
}

fn turned(bodies: MExp<Body>, dt: SExp<f64>) -> MExp<Body> {
    bodies.transpose().map(|b| after(b, dt))
}

fn brightest(bodies: VExp<Body>, first: SExp<Body>) -> SExp<Body> {
    bodies.reduce(first, |a, b| cond(a.light.bright.ge(b.light.bright), a, b))
}

fn product(a: VExp<Complex<f32>>, b: VExp<Complex<f32>>, factor: SExp<Complex<f32>>) -> VExp<Complex<f32>> {
    a.zip_with(b, |a, b| a * b * factor)
}

fn sky() -> Package {
    Package::new("sky")
        .structs()
        .function("moved", ["bodies", "dt"], "result", moved)
        .function("brightest", ["bodies", "first"], "result", brightest)
        .function("turned", ["bodies", "dt"], "result", turned)
        .function("kinds", ["bodies"], "result", |bodies: MExp<Body>| bodies.map_rows(|r| r.kind.sum()))
        .function("matrix_product", ["a", "b"], "result", |a: MExp<Complex<f32>>, b: MExp<Complex<f32>>| {
            a.matmul(b)
        })
        .function("product", ["a", "b", "factor"], "result", product)
        .function("total", ["z"], "result", |z: VExp<Complex<f32>>| z.sum())
}

#[test]
fn structs_in_a_package() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("sky");
    sky().run_with(["--out", out.to_str().unwrap(), "--cache", "off", "--quiet"]).unwrap();
    let header = std::fs::read_to_string(out.join("include/sky.h")).unwrap();
    for words in [
        "typedef struct sky_light {",
        "double at[2];",
        "sky_light light;",
        "@param bodies vector of sky_body",
        "@param[out] result vector of sky_body, as long as bodies",
        "@param bodies matrix of sky_body",
    ] {
        assert!(header.contains(words), "no `{words}` in:\n{header}");
    }
    let header = std::fs::read_to_string(out.join("include/sky.hpp")).unwrap();
    for words in [
        "arraygpu::gpu_vector<sky::body> moved(arraygpu::gpu_vector_view<const sky::body> bodies, double dt)",
        "std::complex<float> total(arraygpu::gpu_vector_view<const std::complex<float>> z)",
        "static_assert(sizeof(::sky_body) == 32",
        "arraygpu::gpu_matrix<sky::body> turned(arraygpu::gpu_matrix_view<const sky::body> bodies, double dt)",
    ] {
        assert!(header.contains(words), "no `{words}` in:\n{header}");
    }
    let archive = [out.join("lib/libsky.a")];
    for compiler in ["g++", "clang++"] {
        run(compiler, "without_cmake/structs.cpp", folder.path(), &archive);
    }
}

/// What is refused when the package is written.
#[test]
fn records_that_are_no_structs() {
    let refused = |package: Package, words: &str| {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("p");
        let arguments = ["--out", out.to_str().unwrap(), "--cache", "off", "--quiet"];
        let message = package.run_with(arguments).unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    };
    let volume = Package::new("p").function("f", ["m"], "r", |m: TExp<Body>| m.map(|b| b.kind)).structs();
    refused(
        volume,
        "f: m is an array of records of three dimensions, and only vectors and matrices of records can",
    );
    let name = Package::new("p").function("body", ["b"], "r", |b: VExp<Body>| b.map(|b| b.kind)).structs();
    refused(name, "a function and a record are both named \"body\" in C");
    mod other {
        use arraygpu::prelude::*;
        #[derive(Record)]
        pub struct Body {
            pub x: f32,
        }
    }
    let two = Package::new("p")
        .structs()
        .function("f", ["b"], "r", |b: VExp<Body>| b.map(|b| b.kind))
        .function("g", ["b"], "r", |b: VExp<other::Body>| b.map(|b| b.x));
    refused(two, "two records of different fields are named \"body\"");
}

#[test]
fn explain_says_what_layouts_cost() {
    let report = |package: Package| {
        let mut out = Vec::new();
        package.run_to(["--explain", "--quiet"], &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let kinds = |package: Package| package.function("kinds", ["bodies"], "result", |b: VExp<Body>| b.kind);
    let fields = report(kinds(Package::new("p")));
    let words = "record bodies: 1 of 5 fields are read, 2 bytes an element in an array a field; an array of structs has 32";
    assert!(fields.contains(words), "{fields}");
    let structs = report(kinds(Package::new("p").structs()));
    let words = "record bodies: 1 of 5 fields are read, 2 of the 32 bytes of a struct";
    assert!(structs.contains(words), "{structs}");
}
