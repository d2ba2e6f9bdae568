//! How many kernels the examples become, and how many arrays they store between them: fusion, hoisting and nesting as promised. Values are the C++ tests'.

use arraygpu::prelude::*;
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_compiler::plan::Step;
use arraygpu_examples::*;

/// A package of one function, with its launches and temporary arrays.
type Example = (fn() -> Package, usize, usize);

fn one() -> Package {
    Package::new("t")
}

const BODIES: [&str; 5] = ["x", "y", "z", "mass", "epsilon2"];

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
    ("box3", (|| one().function("f", ["m"], "r", filters::box3), 1, 0)),
    ("gaussian3", (|| one().function("f", ["m"], "r", filters::gaussian3), 1, 0)),
    ("row_sums", (|| one().function("f", ["m"], "r", matrices::row_sums), 1, 0)),
    ("col_sums", (|| one().function("f", ["m"], "r", matrices::col_sums), 1, 0)),
    ("means", (|| one().function("f", ["m"], ["a", "b"], matrices::means), 2, 0)),
    ("matvec", (|| one().function("f", ["m", "v"], "r", matrices::matvec), 1, 0)),
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
];

#[test]
fn kernels_and_temporaries() {
    let mut wrong = Vec::new();
    for (name, (package, launches, temporaries)) in EXAMPLES {
        let functions = package().functions().expect("a package");
        let targets = Targets { cpu: true, cuda: true };
        let compiled = driver::compile_for("t", functions, targets).unwrap_or_else(|e| panic!("{name}: {e}"));
        let plan = &compiled.plans[0];
        let found = plan.launches().count();
        let stored = plan.steps.iter().filter(|s| matches!(s, Step::Alloc(_))).count();
        if (found, stored) != (*launches, *temporaries) {
            wrong.push(format!("{name}: {found} launches, {stored} temporaries"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
