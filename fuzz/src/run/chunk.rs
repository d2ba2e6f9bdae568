//! What one of the processes does: some seeds through a stage, telling how far it is line by line
//! on the standard output.

use crate::case::Case;
use crate::check::{self, Failure, Stage, c};
use crate::count::{self, Counts};
use crate::interface::session;
use crate::seeds::case;
use arraygpu_compiler::package::level::Level;
use std::io::Write;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// The number of programs in a file of C.
const BATCH: usize = 25;
/// The size of C from which on a program takes the compiler as long as a dozen others. One in
/// [`OF_LONG`] of these programs is run, unless all are asked for.
const LONG: usize = 20 << 10;
const OF_LONG: u64 = 16;
/// The size of C that takes the compiler minutes.
const VERY_LONG: usize = 300 << 10;

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn report(seed: u64, f: &Failure) {
    say(&format!("failed {seed}\t{}\t{}", f.class, f.message.replace(['\n', '\t'], " | ")));
}

/// Runs seeds through a stage here, but those to skip, telling how far it is on the standard
/// output: what [`run`] starts.
pub fn chunk(stage: Stage, seeds: Range<u64>, skip: &[u64], language: bool, long: bool) {
    check::keep_quiet();
    if stage == Stage::Interface {
        return sessions(seeds, skip);
    }
    let (mut compared, mut counts) = (0, Counts::new());
    let seeds: Vec<u64> = seeds.filter(|s| !skip.contains(s)).collect();
    let batch = if stage == Stage::C { BATCH } else { 1 };
    for seeds in seeds.chunks(batch) {
        say(&format!("batch {}", seeds[0]));
        let mut cases = Vec::new();
        for &seed in seeds {
            say(&format!("at {seed}"));
            match check::caught(|| case(seed, language).map_err(Failure::new)) {
                Ok(case) => {
                    count::add(&case.function, &mut counts);
                    cases.push((seed, case));
                }
                Err(f) => report(seed, &Failure::new(format!("generator: {}", f.message))),
            }
        }
        let (results, programs) = match stage {
            Stage::C => together(&cases, long),
            _ => (one_by_one(stage, &cases), seeds.len()),
        };
        compared += results;
        say(&format!("ran {programs}"));
    }
    for (name, n) in counts {
        say(&format!("count {n} {name}"));
    }
    say(&format!("done {compared}"));
}

/// Random calls of the C interface.
fn sessions(seeds: Range<u64>, skip: &[u64]) {
    let (mut calls, mut counts) = (0, Counts::new());
    for seed in seeds.filter(|seed| !skip.contains(seed)) {
        say(&format!("batch {seed}"));
        match check::caught(|| session(seed, &mut counts)) {
            Ok(n) => calls += n,
            Err(f) => report(seed, &f),
        }
        say("ran 1");
    }
    for (name, n) in counts {
        say(&format!("count {n} {name}"));
    }
    say(&format!("done {calls}"));
}

fn one_by_one(stage: Stage, cases: &[(u64, Case)]) -> u64 {
    let mut compared = 0;
    for (seed, case) in cases {
        match telling_refusals(*seed, || check::check(stage, case)) {
            Ok(n) => compared += n,
            Err(f) => report(*seed, &f),
        }
    }
    compared
}

/// Tells whether the program of a seed was refused for its size meanwhile.
fn telling_refusals<T>(seed: u64, f: impl FnOnce() -> T) -> T {
    let refused = || check::REFUSED.load(Ordering::Relaxed);
    let before = refused();
    let result = f();
    if refused() > before {
        say(&format!("refused {seed}"));
    }
    result
}

/// Cases that are compiled to one file of C, for one of the levels in turn: results that were
/// compared, and how many programs they were.
fn together(cases: &[(u64, Case)], long: bool) -> (u64, usize) {
    let mut ready = Vec::new();
    for (seed, case) in cases {
        say(&format!("at {seed}"));
        match telling_refusals(*seed, || check::caught(|| c::size(case))) {
            Ok(Some(size)) if long || size < LONG || size < VERY_LONG && seed % OF_LONG == 0 => {
                ready.push((*seed, case))
            }
            Ok(_) => {}
            Err(f) => report(*seed, &f),
        }
    }
    let all = Level::here();
    let level = &all[ready.first().map_or(0, |r| r.0 as usize / BATCH) % all.len()];
    (halved(&ready, level).0, ready.len())
}

/// Cases in one file; if the C compiler is not content with it, in two, until it is one case that
/// it does not take: how many results were compared, and whether nothing failed.
fn halved(ready: &[(u64, &Case)], level: &Level) -> (u64, bool) {
    let all: Vec<&Case> = ready.iter().map(|r| r.1).collect();
    let batch = match check::caught(|| c::Batch::new(&all, level)) {
        Ok(batch) => batch,
        Err(f) if ready.len() < 2 => {
            ready.iter().for_each(|r| report(r.0, &f));
            return (0, false);
        }
        Err(f) => {
            let (a, b) = ready.split_at(ready.len() / 2);
            let (a, b) = (halved(a, level), halved(b, level));
            if a.1 && b.1 {
                let others: Vec<String> = ready[1..].iter().map(|r| r.0.to_string()).collect();
                let message = format!("only together with {}: {}", others.join(", "), f.message);
                report(ready[0].0, &Failure::new(message));
            }
            return (a.0 + b.0, false);
        }
    };
    let (mut compared, mut fine) = (0, true);
    for (i, (seed, case)) in ready.iter().enumerate() {
        say(&format!("at {seed}"));
        match check::caught(|| batch.check(i, case)) {
            Ok(n) => compared += n,
            Err(f) => {
                report(*seed, &f);
                fine = false;
            }
        }
    }
    (compared, fine)
}
