//! Many seeds, in processes of their own: a program that brings the compiler down ends one of them,
//! and the next goes on behind it.

mod chunk;

pub use chunk::chunk;

use crate::check::Stage;
use crate::count::Counts;
use crate::reduce;
use crate::seeds::case;
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader};
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
    /// The factor by which the time limits of programs are multiplied.
    pub slow: u32,
    /// Programs of the language in place of those of core IR.
    pub language: bool,
    /// Run all programs that take the C compiler long, not only some.
    pub long: bool,
}

/// One program in this many may be refused because of the amount of its code.
const ONE_REFUSED_OF: u64 = 5000;
/// One program of the language in this many may be refused because of the amount of its code. About
/// one in a hundred multiplies a matrix by a stencil of a padded matrix, which is such a program.
const ONE_CHAIN_REFUSED_OF: u64 = 60;

/// What was seen.
#[derive(Default, Debug)]
pub struct Seen {
    /// Programs that were run.
    pub programs: u64,
    /// Results that were compared.
    pub comparisons: u64,
    /// Operations and operators in them.
    pub counts: Counts,
    /// For each kind of failure: the first seed, the number of failures, and the first message.
    pub failures: BTreeMap<String, (u64, u64, String)>,
    /// Seeds of programs that were refused because of the amount of their code.
    pub refused: Vec<u64>,
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

/// Runs all seeds; whether there was no failure.
pub fn run(asked: &Asked) -> bool {
    let mut fine = true;
    for stage in &asked.stages {
        let start = Instant::now();
        let seen = stage_of(*stage, asked, start);
        summary(*stage, &seen, start.elapsed());
        if let Some(folder) = asked.small.as_ref().filter(|_| *stage != Stage::Interface) {
            seen.failures.values().for_each(|f| write_small(*stage, f.0, folder, asked.language));
        }
        let one_of = if asked.language { ONE_CHAIN_REFUSED_OF } else { ONE_REFUSED_OF };
        let too_many = seen.refused.len() as u64 > 1 + seen.programs / one_of;
        if too_many {
            let seeds = &seen.refused[..seen.refused.len().min(8)];
            println!("FAILED {}: too many programs are refused with E0405: {seeds:?}", stage.name());
        }
        fine &= seen.failures.is_empty() && !too_many;
    }
    fine
}

/// Makes the program of a seed small, and writes it.
fn write_small(stage: Stage, seed: u64, folder: &Path, language: bool) {
    match case(seed, language).and_then(|case| reduce::reduce(stage, case)) {
        Ok(text) => {
            let path = folder.join(format!("{}_{seed}.core", stage.name()));
            match std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, &text)) {
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
                    process(stage, next, &seen, asked);
                }
            });
        }
    });
    seen.into_inner().unwrap_or_default()
}

/// All of a chunk, in as many processes as it takes.
fn process(stage: Stage, mut seeds: Range<u64>, seen: &Mutex<Seen>, asked: &Asked) {
    let mut skip = Vec::new();
    while !seeds.is_empty() {
        match one_process(stage, seeds.clone(), &skip, seen, asked) {
            // the seeds before it in its batch have not run yet
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
    asked: &Asked,
) -> Option<(u64, u64)> {
    let range = format!("{}..{}", seeds.start, seeds.end);
    let skipped = skip.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let mut args = vec!["chunk", "--stage", stage.name(), "--seeds", &range];
    let slow = asked.slow.to_string();
    args.extend(["--slow", &slow]);
    args.extend(asked.language.then_some("--language"));
    args.extend(asked.long.then_some("--long"));
    if !skip.is_empty() {
        args.extend(["--skip", &skipped]);
    }
    let mut child = child(&args).ok()?;
    let lines = lines_of(&mut child);
    let (mut now, mut batch, mut done) = (seeds.start, seeds.start, false);
    let patience = asked.slow * if stage == Stage::C { 5 * PATIENCE } else { PATIENCE };
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
            "refused" => seen.refused.push(number),
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
        "{}: {} programs, {} comparisons, {:.0} s ({:.0} programs a second), {} kinds of failures, {} refused for their size",
        stage.name(),
        seen.programs,
        seen.comparisons,
        seconds,
        seen.programs as f64 / seconds,
        seen.failures.len(),
        seen.refused.len()
    );
    let counts: Vec<String> = seen.counts.iter().map(|(name, n)| format!("{name} {n}")).collect();
    println!("{}", counts.join(", "));
}
