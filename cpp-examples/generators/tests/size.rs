//! How large packages are: ten functions of all kinds for both targets.

use arraygpu::prelude::*;
use arraygpu_examples::*;
use std::path::Path;

/// Maximum size of a library in bytes.
const LIBRARY: u64 = 1_000_000;
/// Maximum size of the folder, which has the static and the shared library, in bytes.
const FOLDER: u64 = 1_850_000;

fn ten() -> Package {
    Package::new("ten")
        .function("saxpy", ["a", "x", "y"], "result", saxpy::saxpy)
        .function("sdot", ["x", "y"], "result", sdot::sdot)
        .function("rmse", ["x", "y"], "result", rmse::rmse)
        .function("wmavg", ["xs"], "result", moving_average::wmavg(&moving_average::spencer()))
        .function(
            "black_scholes",
            ["price", "strike", "years", "rate", "volatility"],
            ["call", "put"],
            black_scholes::black_scholes,
        )
        .function("standardise", ["x"], ["mean", "deviation", "scores"], standardise::standardise)
        .function("jacobi_steps", ["m", "k"], "result", jacobi::jacobi_steps)
        .function("row_sums", ["m"], "result", matrices::row_sums)
        .function("matvec", ["m", "v"], "result", matrices::matvec)
        .function("convolution", ["x", "radius"], "result", staged::convolution)
}

/// The size of all files of a folder.
fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry"));
    entries
        .map(|e| {
            let about = e.metadata().expect("an entry");
            if about.is_dir() { size(&e.path()) } else { about.len() }
        })
        .sum()
}

#[test]
fn a_library_of_ten_functions_is_less_than_a_megabyte() {
    let dir = tempfile::tempdir().expect("a folder");
    let out = dir.path().join("ten");
    let arguments = ["--out", out.to_str().expect("UTF-8"), "--quiet", "--cache", "off"];
    ten().run_with(arguments).expect("a package");
    let lib = |name: &str| std::fs::metadata(out.join("lib").join(name)).expect("a library").len();
    let sizes = [lib("libten.so"), lib("libten.a"), size(&out)];
    println!("shared, static, folder: {sizes:?}");
    assert!(sizes[0] < LIBRARY && sizes[1] < LIBRARY && sizes[2] < FOLDER, "{sizes:?}");
}
