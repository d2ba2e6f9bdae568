//! Programs keep their promises: they are legal in the call that they are made for, one seed is one program, and texts read back.

use arraygpu_compiler::core::{interp, verify};
use arraygpu_fuzz::case::Case;
use arraygpu_fuzz::check::needs_all;
use arraygpu_fuzz::generate::program;
use arraygpu_fuzz::legal::is_legal;

const SEEDS: u64 = 1500;

#[test]
fn programs_are_legal_by_construction() {
    let (mut values, mut records) = (0, 0);
    for seed in 0..SEEDS {
        let p = program(seed);
        let mut case = Case::of(&p);
        verify::verify(&p.function).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        case.calls.retain(|c| c.fits);
        if p.refused == Some("E0310") {
            let refused = interp::run(&p.function, &case.calls[0].args);
            assert!(refused.is_err_and(|e| e.code == "E0302"), "seed {seed} holds a rule that never holds");
            continue;
        }
        assert!(is_legal(&case), "seed {seed}\n{}", case.text());
        let outcome = interp::run(&p.function, &case.calls[0].args);
        let outcome = outcome.unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", case.text()));
        values += u64::from(!outcome.recorded);
        records += u64::from(outcome.recorded);
    }
    assert!(values > SEEDS / 2 && records > SEEDS / 100, "{values} values, {records} records");
}

/// Some programs need everything that they compute, and leave a record: passes must keep it.
#[test]
fn some_records_must_stay() {
    let must_stay = |seed: &u64| {
        let case = Case::of(&program(*seed));
        let mut fitting = case.calls.iter().filter(|c| c.fits);
        needs_all(&case.function)
            && fitting.any(|c| interp::run(&case.function, &c.args).is_ok_and(|o| o.recorded))
    };
    let found = (0..4 * SEEDS).filter(must_stay).count();
    assert!(found > 0, "{found} programs");
}

#[test]
fn one_seed_is_one_program_and_reads_back() {
    for seed in 0..SEEDS / 3 {
        let text = Case::of(&program(seed)).text();
        assert_eq!(text, Case::of(&program(seed)).text(), "seed {seed}");
        let again = Case::parse(&text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
        assert_eq!(again.text(), text, "seed {seed}");
    }
}

/// A shape rule taken away does not make an illegal call legal.
#[test]
fn calls_are_judged_without_rules() {
    let text = "func @f(%x: [f32], %y: [f32]) -> (r: [f32]) {
  %0 = map (%a: f32, %b: f32) over %x, %y {
    yield %a
  }
  return %0
}
;: ([1f32, 2f32], [1f32])
";
    let case = Case::parse(text).unwrap();
    assert!(!is_legal(&case));
    let fits = Case::parse(&text.replace("[1f32])", "[1f32, 2f32])")).unwrap();
    assert!(is_legal(&fits));
}
