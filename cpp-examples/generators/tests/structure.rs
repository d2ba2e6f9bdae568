//! How many kernels the examples become, and how many arrays they store between them: fusion, hoisting and nesting as promised. Values are the C++ tests'.

use arraygpu::prelude::*;
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_compiler::plan::{HostOp, Step};
use arraygpu_compiler::scalar::Lit;
use arraygpu_compiler::stage;
use arraygpu_examples::*;

/// A package of one function, with its launches and temporary arrays.
type Example = (fn() -> Package, usize, usize);

fn one() -> Package {
    Package::new("t")
}

const BODIES: [&str; 5] = ["x", "y", "z", "mass", "epsilon2"];

const RANK2: [&str; 7] = ["a", "u1", "v1", "u2", "v2", "y", "z"];

const ROF: [&str; 7] = ["f", "u", "p", "q", "alpha", "tau", "sigma"];

const EXAMPLES: &[(&str, Example)] = &[
    ("rmse", (|| one().function("f", ["x", "y"], "r", rmse::rmse), 1, 0)),
    ("rmse_unfused", (|| one().function("f", ["x", "y"], "r", rmse::rmse_unfused), 3, 2)),
    (
        "forward_difference",
        (|| one().function("f", ["x"], "r", forward_difference::forward_difference), 1, 0),
    ),
    ("standardise", (|| one().function("f", ["x"], ["a", "b", "c"], standardise::standardise), 3, 0)),
    (
        "average63",
        (|| one().function("f", ["x"], "r", moving_average::average(&moving_average::triangle(63))), 1, 0),
    ),
    ("double_arr", (|| one().function("f", ["x"], "r", double_arr::double_arr), 1, 0)),
    ("jacobi", (|| one().function("f", ["m"], "r", jacobi::jacobi), 1, 0)),
    ("jacobi_clamped", (|| one().function("f", ["m"], "r", jacobi::jacobi_clamped), 1, 0)),
    // a step, and the copies where none is made; of each state a spare array
    ("jacobi_steps", (|| one().function("f", ["m", "k"], "r", jacobi::jacobi_steps), 2, 1)),
    ("waves", (|| one().function("f", ["u", "b", "c", "k"], ["x", "y"], jacobi::waves), 3, 2)),
    ("rof", (|| one().function("f", ROF, ["x", "y", "z"], rof::step), 1, 0)),
    // eleven, and one that stands for three of them
    ("rof_unfused", (|| one().function("f", ROF, ["x", "y", "z"], rof::step_unfused), 12, 12)),
    ("box3", (|| one().function("f", ["m"], "r", filters::box3), 1, 0)),
    ("gaussian3", (|| one().function("f", ["m"], "r", filters::gaussian3), 1, 0)),
    ("row_sums", (|| one().function("f", ["m"], "r", matrices::row_sums), 1, 0)),
    ("col_sums", (|| one().function("f", ["m"], "r", matrices::col_sums), 1, 0)),
    ("means", (|| one().function("f", ["m"], ["a", "b"], matrices::means), 3, 0)),
    ("matvec", (|| one().function("f", ["m", "v"], "r", matrices::matvec), 1, 0)),
    ("atax", (|| one().function("f", ["a", "x"], "r", rows::atax), 3, 1)),
    ("rank2_matvec", (|| one().function("f", RANK2, ["b", "r"], rows::rank2_matvec), 4, 1)),
    ("matmul", (|| one().function("f", ["a", "b"], "r", matrices::matmul), 1, 0)),
    ("outer", (|| one().function("f", ["x", "y"], "r", matrices::outer), 1, 0)),
    ("transpose", (|| one().function("f", ["m"], "r", matrices::transpose), 1, 0)),
    ("scaled", (|| one().function("f", ["a", "m"], "r", matrices::scaled), 1, 0)),
    ("plane_means", (|| one().function("f", ["t"], ["a", "b"], matrices::plane_means), 2, 0)),
    ("accelerations", (|| one().function("f", BODIES, ["a", "b", "c"], nbody::accelerations), 1, 0)),
    (
        "accelerations_in_order",
        (|| one().function("f", BODIES, ["a", "b", "c"], nbody::accelerations_in_order), 1, 0),
    ),
    (
        "accelerations_staged",
        (|| one().function("f", BODIES, ["a", "b", "c"], staged::accelerations_staged), 1, 0),
    ),
    ("total_staged", (|| one().function("f", ["x"], "r", staged::total_staged), 1, 0)),
    // the weights' sum is a pass of its own as long as nobody knows the radius
    ("convolution", (|| one().function("f", ["x", "n"], "r", staged::convolution), 2, 1)),
    ("convolution_staged", (|| one().function("f", ["x", "n"], "r", staged::convolution_staged), 2, 1)),
];

/// What staging makes of functions, for some values.
#[test]
fn staged_values() {
    let specialised = |package: Package, values: &[Lit]| {
        let f = stage::specialise(&package.functions().expect("a package")[0], values);
        driver::compile_for("t", vec![f], Targets { cpu: true, cuda: true }).expect("it compiles")
    };
    for radius in 1..8 {
        let convolution = one().function("f", ["x", "r"], "s", staged::convolution_staged);
        let convolution = specialised(convolution, &[Lit::i64(radius)]);
        assert_eq!(convolution.functions[0].plan.launches().count(), 1, "radius {radius}");
        let stencils = &convolution.kernels[0].gpu.as_ref().expect("code for GPUs").stencils;
        let [stencil] = &stencils[..] else { panic!("{stencils:?}") };
        assert_eq!((stencil.taps as i64, stencil.strategy == StencilHint::Direct), (2 * radius + 1, false));
    }
    let bodies = one().function("f", BODIES, ["a", "b", "c"], staged::accelerations_staged);
    let bodies = specialised(bodies, &[Lit::i64(1024); 4]);
    let plan = &bodies.functions[0].plan;
    let constant = |host: &HostOp| matches!(host, HostOp::Const(l) if l.as_int() == Some(1024));
    let domain = plan.launches().next().expect("a launch").domain[0];
    assert!(constant(&plan.host[domain.0 as usize].1), "{plan}");
}

#[test]
fn kernels_and_temporaries() {
    let mut wrong = Vec::new();
    for (name, (package, launches, temporaries)) in EXAMPLES {
        let functions = package().functions().expect("a package");
        let targets = Targets { cpu: true, cuda: true };
        let compiled = driver::compile_for("t", functions, targets).unwrap_or_else(|e| panic!("{name}: {e}"));
        let plan = &compiled.functions[0].plan;
        let found = plan.launches().count();
        let stored = plan.steps.iter().filter(|s| matches!(s, Step::Alloc(_))).count();
        if (found, stored) != (*launches, *temporaries) {
            wrong.push(format!("{name}: {found} launches, {stored} temporaries"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
