//! Many seeds, in processes of their own: a program that brings the compiler down ends one of them, and the next goes on behind it.

use crate::case::Case;
use crate::check::{self, Failure, Stage, c};
use crate::count::{self, Counts};
use crate::{dsl, generate, reduce};
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

/// A program that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The stages, one after the other.
    pub stages: Vec<Stage>,
    /// The seeds.
    pub seeds: Range<u64>,
    /// Seeds of a process.
    pub chunk: u64,
    /// Processes at once.
    pub jobs: usize,
    /// When to stop, however many seeds are left.
    pub limit: Option<Duration>,
    /// Where the first program of each kind of failure goes, made small.
    pub small: Option<PathBuf>,
    /// Programs that take too long, or become too much text, are told of and no failures.
    pub any_size: bool,
    /// Programs of the language ([`dsl`]), by their numbers, in place of those of core IR.
    pub language: bool,
}

/// What failures of size and time begin with.
const OF_SIZE: [&str; 4] =
    ["more than ", "the compiler takes more than", "passes and schedule take more than", "hangs"];

/// Whether a kind of failure is about how long a program takes, or how much text it becomes.
pub fn is_of_size(class: &str) -> bool {
    let class = class.trim_start_matches("specialised: ");
    OF_SIZE.iter().any(|s| class.starts_with(s))
}

/// What was seen.
#[derive(Default, Debug)]
pub struct Seen {
    /// Programs that were run.
    pub programs: u64,
    /// Results that were compared.
    pub comparisons: u64,
    /// Operations and operators in them.
    pub counts: Counts,
    /// Of each kind of failure: the first seed, how many, and what the first one says.
    pub failures: BTreeMap<String, (u64, u64, String)>,
}

impl Seen {
    fn failed(&mut self, stage: Stage, seed: u64, class: &str, message: &str) {
        let new = !self.failures.contains_key(class);
        let entry = self.failures.entry(class.into()).or_insert((seed, 0, message.into()));
        entry.1 += 1;
        if new {
            println!("FAILED {} seed {seed}: {message}", stage.name());
        }
    }
}

/// Programs of a file of C.
const BATCH: usize = 25;
/// C that takes the compiler as long as a dozen other programs: one of so many of those is run.
const LONG: usize = 20 << 10;
const OF_LONG: u64 = 16;
/// C that takes the compiler minutes.
const VERY_LONG: usize = 300 << 10;

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn report(seed: u64, f: &Failure) {
    say(&format!("failed {seed}\t{}\t{}", f.class, f.message.replace(['\n', '\t'], " | ")));
}

/// Runs seeds through a stage here, but those to skip, telling how far it is on the standard output: what [`run`] starts.
pub fn chunk(stage: Stage, seeds: Range<u64>, skip: &[u64], language: bool) {
    check::keep_quiet();
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
            Stage::C => together(&cases),
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

/// The program of a seed.
pub fn case(seed: u64, language: bool) -> Result<Case, String> {
    if language { dsl::program(seed).map(|p| p.1) } else { Ok(Case::of(&generate::program(seed))) }
}

fn one_by_one(stage: Stage, cases: &[(u64, Case)]) -> u64 {
    let mut compared = 0;
    for (seed, case) in cases {
        match check::check(stage, case) {
            Ok(n) => compared += n,
            Err(f) => report(*seed, &f),
        }
    }
    compared
}

/// Cases that are compiled to one file of C, for one of the levels in turn: results that were compared, and how many programs they were.
fn together(cases: &[(u64, Case)]) -> (u64, usize) {
    let mut ready = Vec::new();
    for (seed, case) in cases {
        say(&format!("at {seed}"));
        match check::caught(|| c::size(case)) {
            Ok(Some(size)) if size < LONG || size < VERY_LONG && seed % OF_LONG == 0 => {
                ready.push((*seed, case))
            }
            Ok(_) => {}
            Err(f) => report(*seed, &f),
        }
    }
    let level = ready.first().map_or(0, |r| r.0 as usize / BATCH);
    (halved(&ready, level), ready.len())
}

/// Cases in one file; if the C compiler is not content with it, in two, until it is one case that it does not take.
fn halved(ready: &[(u64, &Case)], level: usize) -> u64 {
    let all: Vec<&Case> = ready.iter().map(|r| r.1).collect();
    let batch = match check::caught(|| c::Batch::new(&all, level)) {
        Ok(batch) => batch,
        Err(f) if ready.len() < 2 => {
            ready.iter().for_each(|r| report(r.0, &f));
            return 0;
        }
        Err(_) => {
            let (a, b) = ready.split_at(ready.len() / 2);
            return halved(a, level) + halved(b, level);
        }
    };
    let mut compared = 0;
    for (i, (seed, case)) in ready.iter().enumerate() {
        say(&format!("at {seed}"));
        match check::caught(|| batch.check(i, case)) {
            Ok(n) => compared += n,
            Err(f) => report(*seed, &f),
        }
    }
    compared
}

/// Runs all seeds; whether there was no failure.
pub fn run(asked: &Asked) -> bool {
    let mut fine = true;
    for stage in &asked.stages {
        let start = Instant::now();
        let seen = stage_of(*stage, asked, start);
        summary(*stage, &seen, start.elapsed());
        if let Some(folder) = &asked.small {
            seen.failures.values().for_each(|f| write_small(*stage, f.0, folder, asked.language));
        }
        fine &= seen.failures.keys().all(|class| asked.any_size && is_of_size(class));
    }
    fine
}

/// Makes the program of a seed small, and writes it.
fn write_small(stage: Stage, seed: u64, folder: &Path, language: bool) {
    match case(seed, language).and_then(|case| reduce::reduce(stage, case)) {
        Ok(text) => {
            let path = folder.join(format!("{}_{seed}.core", stage.name()));
            match std::fs::write(&path, &text) {
                Ok(()) => println!("{}:\n{text}", path.display()),
                Err(e) => println!("{}: {e}\n{text}", path.display()),
            }
        }
        Err(e) => println!("seed {seed} is not made small: {e}"),
    }
}

fn stage_of(stage: Stage, asked: &Asked, start: Instant) -> Seen {
    let chunks: VecDeque<Range<u64>> = (asked.seeds.start..asked.seeds.end)
        .step_by(asked.chunk.max(1) as usize)
        .map(|a| a..(a + asked.chunk.max(1)).min(asked.seeds.end))
        .collect();
    let (queue, seen) = (Mutex::new(chunks), Mutex::new(Seen::default()));
    std::thread::scope(|scope| {
        for _ in 0..asked.jobs.max(1) {
            scope.spawn(|| {
                while asked.limit.is_none_or(|limit| start.elapsed() < limit) {
                    let Some(next) = queue.lock().ok().and_then(|mut q| q.pop_front()) else { return };
                    process(stage, next, &seen, asked.language);
                }
            });
        }
    });
    seen.into_inner().unwrap_or_default()
}

/// All of a chunk, in as many processes as it takes.
fn process(stage: Stage, mut seeds: Range<u64>, seen: &Mutex<Seen>, language: bool) {
    let mut skip = Vec::new();
    while !seeds.is_empty() {
        match one_process(stage, seeds.clone(), &skip, seen, language) {
            // what came before in its batch has not run yet
            Some((batch, culprit)) => {
                seeds.start = batch;
                skip.push(culprit);
            }
            None => return,
        }
    }
}

/// The seed that ended the process early, and the first one of its batch.
fn one_process(
    stage: Stage,
    seeds: Range<u64>,
    skip: &[u64],
    seen: &Mutex<Seen>,
    language: bool,
) -> Option<(u64, u64)> {
    let range = format!("{}..{}", seeds.start, seeds.end);
    let skipped = skip.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let mut args = vec!["chunk", "--stage", stage.name(), "--seeds", &range];
    if language {
        args.push("--language");
    }
    if !skip.is_empty() {
        args.extend(["--skip", &skipped]);
    }
    let mut child = child(&args).ok()?;
    let lines = lines_of(&mut child);
    let (mut now, mut batch, mut done) = (seeds.start, seeds.start, false);
    let patience = if stage == Stage::C { 5 * PATIENCE } else { PATIENCE };
    let mut silent = false;
    loop {
        let line = match lines.recv_timeout(patience) {
            Ok(line) => line,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                silent = true;
                let _ = child.kill();
                break;
            }
            Err(_) => break,
        };
        let Some((word, rest)) = line.split_once(' ') else { continue };
        let number = rest.parse().unwrap_or(0);
        let Ok(mut seen) = seen.lock() else { break };
        match word {
            "at" => now = number,
            "batch" => (batch, now) = (number, number),
            "ran" => seen.programs += number,
            "failed" => {
                let mut parts = rest.splitn(3, '\t');
                let seed = parts.next().and_then(|s| s.parse().ok()).unwrap_or(now);
                let (class, message) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
                seen.failed(stage, seed, class, message);
            }
            "count" => {
                if let Some((n, name)) = rest.split_once(' ') {
                    *seen.counts.entry(name.into()).or_default() += n.parse::<u64>().unwrap_or(0);
                }
            }
            "done" => {
                seen.comparisons += number;
                done = true;
            }
            _ => {}
        }
    }
    let status = child.wait();
    if done {
        return None;
    }
    let message = match status {
        _ if silent => format!("hangs: more than {} s", patience.as_secs()),
        Ok(status) => format!("the process ends: {status}"),
        Err(e) => format!("the process is lost: {e}"),
    };
    if let Ok(mut seen) = seen.lock() {
        seen.failed(stage, now, &message, &message);
        seen.programs += 1;
    }
    Some((batch, now))
}

/// This program again, with these arguments.
pub(crate) fn child(args: &[&str]) -> std::io::Result<Child> {
    let own = std::env::current_exe()?;
    Command::new(own).args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()
}

/// What it says, as it comes.
pub(crate) fn lines_of(child: &mut Child) -> mpsc::Receiver<String> {
    let (to, from) = mpsc::channel();
    if let Some(out) = child.stdout.take() {
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if to.send(line).is_err() {
                    return;
                }
            }
        });
    }
    from
}

fn summary(stage: Stage, seen: &Seen, time: Duration) {
    let seconds = time.as_secs_f64();
    for (seed, many, message) in seen.failures.values() {
        println!("  {many} x, first seed {seed}: {message}");
    }
    println!(
        "{}: {} programs, {} comparisons, {:.0} s ({:.0} programs a second), {} kinds of failures",
        stage.name(),
        seen.programs,
        seen.comparisons,
        seconds,
        seen.programs as f64 / seconds,
        seen.failures.len()
    );
    let counts: Vec<String> = seen.counts.iter().map(|(name, n)| format!("{name} {n}")).collect();
    println!("{}", counts.join(", "));
}
