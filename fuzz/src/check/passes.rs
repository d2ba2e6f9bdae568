//! After every pass: the same results and records; texts that read back.

use super::{Failure, clock, compare, is_unpredicted, needs_all};
use crate::case::Case;
use arraygpu_compiler::core::interp::Outcome;
use arraygpu_compiler::core::{Function, encode, interp, parse, print, verify};
use arraygpu_compiler::error::Result;
use arraygpu_compiler::passes::pipeline;
use arraygpu_compiler::{driver, schedule};
use std::time::Duration;

/// Runs the passes.
pub fn check(case: &Case) -> std::result::Result<u64, Failure> {
    let f = &case.function;
    verify::verify(f).map_err(|e| Failure::new(format!("the generator's program is refused: {e}")))?;
    reads_back(f, "the program")?;
    let mut compared = 0;
    let before: Vec<_> = case.calls.iter().map(|c| interp::run(f, &c.args)).collect();
    for (call, outcome) in case.calls.iter().zip(&before) {
        let refused = case.refused.as_deref() == Some("E0310");
        if let Err(e) = outcome
            && (e.code != "E0302" || call.fits && !refused)
        {
            return Err(Failure::new(format!("the interpreter refuses a legal call: {e}")));
        }
    }
    let mut last = encode::encode(f);
    let mut failure = None;
    let start = clock::now();
    let mut away = Duration::ZERO;
    let fused = driver::on_big_stack(|| {
        pipeline::run(f, &mut |name, g| {
            let begin = clock::now();
            // steps come first, and each goes through all passes
            if g.name == f.name && failure.is_none() {
                let now = encode::encode(g);
                if now != last {
                    let wrong = case.calls.iter().zip(&before).find_map(|(call, before)| {
                        compared += 1;
                        compare(before, &interp::run(g, &call.args))
                    });
                    failure = wrong.map(|w| Failure::new(format!("after {name}: {w}")));
                    last = now;
                }
            }
            away += clock::now() - begin;
        })
    });
    if let Some(failure) = failure {
        return Err(failure);
    }
    let fused = match (fused, case.refused.as_deref()) {
        (Err(e), Some("E0310")) if e.code == "E0310" => return Ok(compared),
        (Err(e), _) if is_unpredicted(&e) => return Ok(compared),
        (Err(e), _) => return Err(Failure::new(format!("passes: {e}"))),
        (Ok(_), Some("E0310")) => return Err(Failure::new("passes: E0310 was to be said")),
        (Ok(fused), _) => fused,
    };
    // a change that the structure does not show is found here
    let begin = clock::now();
    for (call, before) in case.calls.iter().zip(&before) {
        compared += 1;
        if let Some(wrong) = compare(before, &interp::run(&fused, &call.args)) {
            return Err(Failure::new(format!("after all passes: {wrong}")));
        }
    }
    if needs_all(f) {
        lost_records(case, &before, &fused)?;
    }
    reads_back(&fused, "the fused program")?;
    away += clock::now() - begin;
    scheduled(case, &fused)?;
    if clock::now() - start - away > clock::longest() {
        return Err(Failure::new("passes and schedule take more than 2 s"));
    }
    Ok(compared)
}

/// A record of what a result needs stays.
fn lost_records(
    case: &Case,
    before: &[Result<Outcome>],
    fused: &Function,
) -> std::result::Result<(), Failure> {
    for (call, before) in case.calls.iter().zip(before) {
        let recorded = |o: &Result<Outcome>| o.as_ref().is_ok_and(|o| o.recorded);
        if recorded(before) && !recorded(&interp::run(fused, &call.args)) {
            return Err(Failure::new("a record is lost by the passes"));
        }
    }
    Ok(())
}

/// It has a plan, or is refused for the reason that was predicted.
fn scheduled(case: &Case, fused: &Function) -> std::result::Result<(), Failure> {
    match (driver::schedule(fused, schedule::Scope::Cpu), case.refused.as_deref()) {
        (Ok(_), _) => Ok(()),
        (Err(e), Some(code)) if e.code == code => Ok(()),
        (Err(e), _) if is_unpredicted(&e) => Ok(()),
        (Err(e), _) => Err(Failure::new(format!("schedule: {e}"))),
    }
}

fn reads_back(f: &Function, what: &str) -> std::result::Result<(), Failure> {
    let text = print::print(f, false);
    let again =
        parse::parse(&text).map_err(|e| Failure::new(format!("{what} does not parse: {e}\n{text}")))?;
    if print::print(&again[0], false) != text {
        return Err(Failure::new(format!("{what} prints otherwise when read back\n{text}")));
    }
    Ok(())
}
