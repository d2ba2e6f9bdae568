//! What is predicted for programs of several kinds is near what was measured on a GPU.

use arraygpu_programs::{corpus, measure, measured};

/// Programs, each with why its prediction could be far.
const PROGRAMS: [(&str, &str); 9] = [
    ("axpy", "bytes alone"),
    ("gemm", "a product, which computes more than it moves"),
    ("matrix_power", "products of few threads, each with many results at once"),
    ("layer_norm", "a launch runs instead of those that read rows again"),
    ("softmax_stored", "what is stored between stays in registers"),
    ("normalised_scan_steps", "a launch runs instead of others in each step of an iteration"),
    ("black_scholes", "many operations an element"),
    ("monte_carlo", "a loop of each of few threads"),
    ("exponential_smoothing", "a fold: one thread"),
];

#[test]
fn predictions_are_within_a_factor_of_two() {
    let (corpus, rows) = (corpus(), measured().expect("the rows"));
    for (name, why) in PROGRAMS {
        let p = corpus.programs.iter().find(|p| p.name == name).expect(name);
        let found = measure::prediction(p, &rows).expect(name);
        let (_, [_, now, measured]) = found.unwrap_or_else(|| panic!("{name}: no row"));
        let ratio = now / measured;
        assert!(
            (0.5..=2.0).contains(&ratio),
            "{name} ({why}): predicted {now:.1} us, measured {measured:.1}"
        );
    }
}
