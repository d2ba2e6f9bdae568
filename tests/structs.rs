//! Records as structs of C and C++: a package of the language, built and called here without the installed tree.

mod cpp_program;
mod sky;

use arraygpu::prelude::*;
use cpp_program::run;
use sky::{Body, BodyFields, after, brightest, moved};
use std::path::Path;
use std::process::Command;

fn turned(bodies: MExp<Body>, dt: SExp<f64>) -> MExp<Body> {
    bodies.transpose().map(|b| after(b, dt))
}

/// The bodies of each row, each with the light of its left neighbour, after a step.
fn lit_by_neighbours(bodies: TExp<Body>, dt: SExp<f64>) -> TExp<Body> {
    let before = bodies.padded([0, 0], [0, 0], [1, 0], Boundary::Wrap).slice_cols(0, bodies.cols());
    bodies.zip_with(before, |b, before| after(BodyFields { light: before.light, ..*b }.pack(), dt))
}

fn product(a: VExp<Complex<f32>>, b: VExp<Complex<f32>>, factor: SExp<Complex<f32>>) -> VExp<Complex<f32>> {
    a.zip_with(b, |a, b| a * b * factor)
}

/// The numbers of a volume times one number, and the sums of its rows.
fn turned_numbers(z: TExp<Complex<f64>>, by: SExp<Complex<f64>>) -> (TExp<Complex<f64>>, MExp<Complex<f64>>) {
    let turned = z.map(|z| z * by);
    (turned, turned.map_rows(|r| r.sum()))
}

fn package() -> Package {
    Package::new("sky")
        .structs()
        .function("moved", ["bodies", "dt"], "result", moved)
        .function("brightest", ["bodies", "first"], "result", brightest)
        .function("turned", ["bodies", "dt"], "result", turned)
        .function("kinds", ["bodies"], "result", |bodies: MExp<Body>| bodies.map_rows(|r| r.kind.sum()))
        .function("swapped", ["bodies", "dt"], "result", |bodies: TExp<Body>, dt: SExp<f64>| {
            bodies.permute([2, 0, 1]).map(|b| after(b, dt))
        })
        .function("lit_by_neighbours", ["bodies", "dt"], "result", lit_by_neighbours)
        .function("kinds_of_planes", ["bodies"], "result", |bodies: TExp<Body>| {
            bodies.map_planes(|p| p.kind.sum())
        })
        .function("turned_numbers", ["z", "by"], ["result", "sums"], turned_numbers)
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
    package().run_with(["--out", out.to_str().unwrap(), "--debug", "--cache", "off", "--quiet"]).unwrap();
    let header = std::fs::read_to_string(out.join("include/sky.h")).unwrap();
    for words in [
        "typedef struct sky_light {",
        "double at[2];",
        "sky_light light;",
        "@param bodies vector of sky_body",
        "@param[out] result vector of sky_body, as long as bodies",
        "@param bodies matrix of sky_body",
        "@param bodies array of three dimensions of sky_body",
    ] {
        assert!(header.contains(words), "no `{words}` in:\n{header}");
    }
    let header = std::fs::read_to_string(out.join("include/sky.hpp")).unwrap();
    for words in [
        "arraygpu::gpu_vector<sky::body> moved(arraygpu::gpu_vector_view<const sky::body> bodies, double dt)",
        "std::complex<float> total(arraygpu::gpu_vector_view<const std::complex<float>> z)",
        "static_assert(sizeof(::sky_body) == 32",
        "AGPU_RECORD_FIELD(::sky_body, light)",
        "arraygpu::gpu_matrix<sky::body> turned(arraygpu::gpu_matrix_view<const sky::body> bodies, double dt)",
    ] {
        assert!(header.contains(words), "no `{words}` in:\n{header}");
    }
    let archive = [out.join("lib/libsky.a")];
    for compiler in ["g++", "clang++"] {
        run(compiler, "without_cmake/structs.cpp", folder.path(), &archive);
    }
    another_layout(&out);
}

/// A header that is included with another packing of structs does not compile, and says why.
fn another_layout(package: &Path) {
    let source = package.join("packed.cpp");
    std::fs::write(&source, "#include <arraygpu.hpp>\n#pragma pack(1)\n#include <sky.hpp>\n").unwrap();
    for compiler in ["g++", "clang++"] {
        let mut check = Command::new(compiler);
        check.args(["-std=c++17", "-fsyntax-only", "-I"]).arg(package.join("include")).arg("-I");
        check.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include")).arg(&source);
        let Ok(output) = check.output() else { continue };
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{compiler} takes packed structs");
        assert!(said.contains("sky::body has another layout than its package"), "{said}");
    }
}

/// What is refused when the package is written.
#[test]
fn records_that_are_no_structs() {
    let refused = |package: Package, words: &str| {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("p");
        let arguments = ["--out", out.to_str().unwrap(), "--debug", "--cache", "off", "--quiet"];
        let message = package.run_with(arguments).unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    };
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
