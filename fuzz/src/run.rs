//! Many seeds, in processes of their own: a program that brings the compiler down ends one of them, and the next goes on behind it.

use crate::case::Case;
use crate::check::{self, Failure, Stage};
use crate::count::{self, Counts};
use crate::generate;
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
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

/// Runs seeds through a stage here, telling how far it is on the standard output: what [`run`] starts.
pub fn chunk(stage: Stage, seeds: Range<u64>) {
    check::keep_quiet();
    let (mut compared, mut counts) = (0, Counts::new());
    let say = |line: String| {
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    };
    for seed in seeds {
        say(format!("at {seed}"));
        let result = check::caught(|| Ok(generate::program(seed))).map_err(|f| Failure {
            class: format!("generator: {}", f.class),
            message: format!("generator: {}", f.message),
        });
        let result = result.and_then(|p| {
            count::add(&p.function, &mut counts);
            check::check(stage, &Case::of(&p))
        });
        match result {
            Ok(n) => compared += n,
            Err(f) => say(format!("failed {seed}\t{}\t{}", f.class, f.message.replace(['\n', '\t'], " | "))),
        }
    }
    for (name, n) in counts {
        say(format!("count {n} {name}"));
    }
    say(format!("done {compared}"));
}

/// Runs all seeds; whether there was no failure.
pub fn run(asked: &Asked) -> bool {
    let mut fine = true;
    for stage in &asked.stages {
        let start = Instant::now();
        let seen = stage_of(*stage, asked, start);
        summary(*stage, &seen, start.elapsed());
        fine &= seen.failures.is_empty();
    }
    fine
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
                    process(stage, next, &seen);
                }
            });
        }
    });
    seen.into_inner().unwrap_or_default()
}

/// All of a chunk, in as many processes as it takes.
fn process(stage: Stage, mut seeds: Range<u64>, seen: &Mutex<Seen>) {
    while !seeds.is_empty() {
        let culprit = one_process(stage, seeds.clone(), seen);
        match culprit {
            Some(seed) => seeds.start = seed + 1,
            None => return,
        }
    }
}

/// The seed that ended the process early.
fn one_process(stage: Stage, seeds: Range<u64>, seen: &Mutex<Seen>) -> Option<u64> {
    let range = format!("{}..{}", seeds.start, seeds.end);
    let mut child = child(&["chunk", "--stage", stage.name(), "--seeds", &range]).ok()?;
    let lines = lines_of(&mut child);
    let (mut now, mut done) = (seeds.start, false);
    let mut silent = false;
    loop {
        let line = match lines.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                silent = true;
                let _ = child.kill();
                break;
            }
            Err(_) => break,
        };
        let Ok(mut seen) = seen.lock() else { break };
        if let Some(seed) = line.strip_prefix("at ") {
            now = seed.parse().unwrap_or(now);
            seen.programs += 1;
        } else if let Some(rest) = line.strip_prefix("failed ") {
            let mut parts = rest.splitn(3, '\t');
            let seed = parts.next().and_then(|s| s.parse().ok()).unwrap_or(now);
            let (class, message) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            seen.failed(stage, seed, class, message);
        } else if let Some((n, name)) = line.strip_prefix("count ").and_then(|rest| rest.split_once(' ')) {
            *seen.counts.entry(name.into()).or_default() += n.parse::<u64>().unwrap_or(0);
        } else if let Some(n) = line.strip_prefix("done ") {
            seen.comparisons += n.parse::<u64>().unwrap_or(0);
            done = true;
        }
    }
    let status = child.wait();
    if done {
        return None;
    }
    let message = match status {
        _ if silent => format!("hangs: more than {} s", PATIENCE.as_secs()),
        Ok(status) => format!("the process ends: {status}"),
        Err(e) => format!("the process is lost: {e}"),
    };
    if let Ok(mut seen) = seen.lock() {
        seen.failed(stage, now, &message, &message);
    }
    Some(now)
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
