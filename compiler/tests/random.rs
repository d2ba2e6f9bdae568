//! Random programs: every pass keeps the meaning to the bit (the interpreter is the oracle), and both IRs read back what they print.

mod common;

use arraygpu_compiler::core::interp::{Outcome, run};
use arraygpu_compiler::core::{Function, parse, print};
use arraygpu_compiler::passes::pipeline;
use arraygpu_compiler::scalar::Ty;
use arraygpu_compiler::{Result, driver, kernel, plan, schedule};
use common::{program, rng::Rng};

const SIZES: [usize; 9] = [0, 1, 2, 3, 5, 127, 129, 300, 2049];
const PROGRAMS: u64 = 400;

fn programs() -> impl Iterator<Item = (u64, Function, Rng)> {
    (1..=PROGRAMS).map(|seed| {
        let mut rng = Rng::new(seed);
        let ty = rng.pick(&Ty::ALL);
        let f = program::function(&format!("f{seed}"), ty, &mut rng);
        (seed, f, rng)
    })
}

fn same(a: &Result<Outcome>, b: &Result<Outcome>) -> bool {
    match (a, b) {
        // a record may go with the value nobody needs any more; it is never added
        (Ok(a), Ok(b)) => a.results == b.results && (a.recorded || !b.recorded),
        (Err(a), Err(b)) => a.code == b.code,
        _ => false,
    }
}

#[test]
fn passes_keep_bits() {
    for (seed, f, mut rng) in programs() {
        for n in [rng.pick(&SIZES), rng.pick(&SIZES[..6])] {
            let n2 = rng.pick(&SIZES[..7]);
            let args = program::arguments(&f, n, n2, &mut rng);
            let before = run(&f, &args);
            let check = |name: &str, g: &Function| {
                let after = run(g, &args);
                let fine = same(&before, &after);
                assert!(fine, "seed {seed}, n = {n}, after {name}:\n{f}\n->\n{g}\n{before:?}\n{after:?}");
            };
            driver::on_big_stack(|| pipeline::run(&f, &mut |name, g| check(name, g)).map(|_| ()))
                .unwrap_or_else(|e| {
                    // a random slice may never fit; anything else is a bug
                    assert_eq!(e.code, "E0310", "seed {seed}: {e}\n{f}");
                });
        }
    }
}

#[test]
fn texts_read_back() {
    for (seed, f, _) in programs() {
        for locs in [false, true] {
            let text = print::print(&f, locs);
            let again = parse::parse(&text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
            assert_eq!(print::print(&again[0], locs), text, "seed {seed}");
        }
        let Ok(compiled) = driver::compile("p", vec![f]) else { continue };
        for v in &compiled.versions {
            for k in [Some(&v.contiguous), v.in_place.as_ref(), v.strided.as_ref()].into_iter().flatten() {
                let text = k.to_string();
                let again =
                    kernel::parse::parse(&text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
                assert_eq!(again[0].to_string(), text, "seed {seed}");
            }
        }
        for p in &compiled.plans {
            let again =
                plan::parse::parse(&p.to_string()).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{p}"));
            assert_eq!(&again[0], p, "seed {seed}");
        }
    }
}

#[test]
fn passes_are_idempotent() {
    for (seed, f, _) in programs().take(100) {
        let Ok(once) = driver::on_big_stack(|| pipeline::run(&f, &mut |_, _| ())) else { continue };
        let twice = driver::on_big_stack(|| pipeline::run(&once, &mut |_, _| ())).unwrap();
        assert_eq!(once.to_string(), twice.to_string(), "seed {seed}\n{f}");
        assert!(schedule::schedule(&once, 0, true).is_ok() || schedule::items::passes(&once).is_err());
    }
}
