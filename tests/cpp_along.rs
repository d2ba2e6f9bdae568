//! Reductions, moments, softmax and scans along rows, columns and planes in C++ expressions: against a package of the
//! language, to the bit.

mod cpp_program;

use arraygpu::prelude::*;
use cpp_program::run;

type T = TExp<f32>;

/// Functions with the words along one axis.
macro_rules! words {
    ($package:ident $numbers:literal: $map:ident $reduce:ident $sum:ident $argmin:ident $minmax:ident $mean:ident
        $variance:ident $std:ident $norm:ident $log_sum_exp:ident $softmax:ident $normalise:ident $scan:ident) => {
        $package
            .function($numbers, ["x"], ["most", "reduced", "sum", "halves"], |x: T| {
                let halves = x.cast::<f16>().$mean().cast::<f32>();
                (x.$map(|part| part.abs().max()), x.$reduce(0.5, |a, b| a + b), x.$sum(), halves)
            })
            .function(concat!("extremes_of_", $numbers), ["x"], ["at", "least", "greatest"], |x: T| {
                let (least, greatest) = x.$minmax();
                (x.$argmin(), least, greatest)
            })
            .function(
                concat!("moments_of_", $numbers),
                ["x"],
                ["variance", "deviation", "norm", "logs"],
                |x: T| (x.$variance(1), x.$std(0), x.$norm(), x.$log_sum_exp()),
            )
            .function(concat!("shapes_of_", $numbers), ["x"], ["softmax", "unit", "scan"], |x: T| {
                (x.$softmax(), x.$normalise(), x.$scan(0.25, |a, b| a + b))
            })
    };
}

/// The sums of products and weights.
fn weighted<A>((s, a): (SExp<f32>, A), (t, b): (SExp<f32>, A)) -> (SExp<f32>, A)
where
    A: std::ops::Add<Output = A>,
{
    (s + t, a + b)
}

fn along() -> Package {
    let package = Package::new("along");
    let package = words!(package "rows": map_rows reduce_rows sum_rows argmin_rows minmax_rows mean_rows variance_rows
        std_rows norm_rows log_sum_exp_rows softmax_rows normalise_rows scan_rows);
    let package = words!(package "cols": map_cols reduce_cols sum_cols argmin_cols minmax_cols mean_cols variance_cols
        std_cols norm_cols log_sum_exp_cols softmax_cols normalise_cols scan_cols);
    let package = words!(package "planes": map_planes reduce_planes sum_planes argmin_planes minmax_planes mean_planes
        variance_planes std_planes norm_planes log_sum_exp_planes softmax_planes normalise_planes scan_planes);
    package.function("tuples", ["x", "w"], ["a", "b", "c", "d", "e", "f"], |x: T, w: T| {
        let all = (x * w, w);
        let (a, b) = all.reduce_rows((0.0, 0.0), weighted);
        let (c, d) = all.reduce_cols((0.0, 0.0), weighted);
        let (e, f) = all.reduce_planes((0.0, 0.0), weighted);
        (a, b, c, d, e, f)
    })
}

#[test]
fn words_along_rows_columns_and_planes() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("along");
    along()
        .run_with(["--out", out.to_str().unwrap(), "--target", "cpu", "--debug", "--cache", "off", "--quiet"])
        .unwrap();
    for compiler in ["g++", "clang++"] {
        run(compiler, "without_cmake/along.cpp", folder.path(), &[out.join("lib/libalong.a")]);
    }
}
