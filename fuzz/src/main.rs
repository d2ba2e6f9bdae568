//! `arraygpu-fuzz`: random programs, run, shown, made small.

use arraygpu_fuzz::case::Case;
use arraygpu_fuzz::check::{self, Stage};
use arraygpu_fuzz::coverage::Table;
use arraygpu_fuzz::run::{Asked, chunk, run};
use arraygpu_fuzz::seeds::{case, of_today};
use arraygpu_fuzz::{reduce, stream};
use clap::{Parser, Subcommand};
use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// A third of the time of the passes is allocations.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(name = "arraygpu-fuzz", about = "Random programs against the interpreter", version)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run seeds through stages, in processes of their own
    Run {
        /// Which stages; all if none is named
        #[arg(long, value_delimiter = ',')]
        stage: Vec<Stage>,
        /// A..B; the day's, of which every day has its own, for five minutes a stage unless told
        #[arg(long, value_parser = seeds)]
        seeds: Option<Range<u64>>,
        /// Seeds of a process
        #[arg(long, default_value_t = 200)]
        chunk: u64,
        /// Processes at once
        #[arg(long, default_value_t = 2, overrides_with = "jobs")]
        jobs: usize,
        /// Stop each stage after this many minutes
        #[arg(long)]
        minutes: Option<f64>,
        /// Make the first program of each kind of failure small, and write it into this folder
        #[arg(long)]
        small: Option<PathBuf>,
        /// Multiply the time limits of programs by this (builds without all optimisations, busy
        /// machines)
        #[arg(long, default_value_t = 1)]
        slow: u32,
        /// Programs of the language: the first seeds are every construct through every reader, all
        /// others chains of them
        #[arg(long)]
        language: bool,
        /// In stage C, run all programs that take the C compiler long, not only one of sixteen
        #[arg(long)]
        long: bool,
    },
    /// Run seeds here (what `run` starts)
    Chunk {
        #[arg(long)]
        stage: Stage,
        #[arg(long, value_parser = seeds)]
        seeds: Range<u64>,
        /// Seeds to leave out
        #[arg(long, value_delimiter = ',')]
        skip: Vec<u64>,
        #[arg(long, default_value_t = 1)]
        slow: u32,
        #[arg(long)]
        language: bool,
        #[arg(long)]
        long: bool,
    },
    /// Print what the programs of seeds reach, and which legal cells none reaches
    Coverage {
        #[arg(long, value_parser = seeds, default_value = "0..200000")]
        seeds: Range<u64>,
    },
    /// Print the program of a seed, with its calls
    Show {
        seed: u64,
        #[arg(long)]
        language: bool,
    },
    /// Print programs with their calls and what the interpreter gives, for `cargo xtask independent
    /// FILE`
    Stream {
        /// A..B
        #[arg(value_parser = seeds)]
        seeds: Range<u64>,
    },
    /// Run a program from a file, as `show` prints it
    Check {
        #[arg(long)]
        stage: Stage,
        file: PathBuf,
    },
    /// Make a failing program small
    Reduce {
        #[arg(long)]
        stage: Stage,
        /// A seed, or a file
        program: String,
        #[arg(long)]
        language: bool,
    },
}

fn seeds(text: &str) -> Result<Range<u64>, String> {
    let (a, b) = text.split_once("..").ok_or("A..B")?;
    let number = |t: &str| t.parse().map_err(|_| format!("{t} is no number"));
    Ok(number(a)?..number(b)?)
}

fn main() -> ExitCode {
    match Cli::parse().task {
        Task::Run { stage, seeds, chunk, jobs, minutes, small, slow, language, long } => {
            // the texts of these programs are like those of the others, and calls of the interface
            // have no program
            let others = if language { &[][..] } else { &[Stage::Texts, Stage::Interface] };
            let all = || Stage::ALL.into_iter().chain(others.iter().copied()).collect();
            let stages = if stage.is_empty() { all() } else { stage };
            // a day's seeds are more than a run can get through
            let minutes = minutes.or(seeds.is_none().then_some(5.0));
            let limit = minutes.map(|m| Duration::from_secs_f64(60.0 * m));
            let seeds = seeds.unwrap_or_else(of_today);
            code(run(&Asked { stages, seeds, chunk, jobs, limit, small, slow, language, long }))
        }
        Task::Chunk { stage, seeds, skip, slow, language, long } => {
            check::clock::allow(slow);
            chunk(stage, seeds, &skip, language, long);
            ExitCode::SUCCESS
        }
        Task::Coverage { seeds } => {
            let table = Table::of(seeds);
            print!("{}", table.text());
            let empty = table.empty();
            empty.iter().for_each(|cell| eprintln!("empty: {cell}"));
            code(empty.is_empty())
        }
        Task::Show { seed, language } => match case(seed, language) {
            Ok(case) => {
                print!("{}", case.text());
                ExitCode::SUCCESS
            }
            Err(e) => {
                eprintln!("{e}");
                ExitCode::FAILURE
            }
        },
        Task::Stream { seeds } => code(print_stream(seeds).is_ok()),
        Task::Check { stage, file } => {
            check::keep_quiet();
            let text = std::fs::read_to_string(&file).map_err(|e| e.to_string());
            match text.and_then(|text| Case::parse(&text)).map(|case| check::check(stage, &case)) {
                Ok(Ok(n)) => println!("fine: {n} comparisons"),
                Ok(Err(f)) => println!("failed\t{}\t{}", f.class, f.message),
                Err(e) => println!("error: {e}"),
            }
            ExitCode::SUCCESS
        }
        Task::Reduce { stage, program, language } => {
            let case = match program.parse() {
                Ok(seed) => case(seed, language),
                Err(_) => std::fs::read_to_string(&program)
                    .map_err(|e| e.to_string())
                    .and_then(|text| Case::parse(&text)),
            };
            match case.and_then(|case| reduce::reduce(stage, case)) {
                Ok(text) => {
                    print!("{text}");
                    ExitCode::SUCCESS
                }
                Err(e) => {
                    eprintln!("{e}");
                    ExitCode::FAILURE
                }
            }
        }
    }
}

/// What the interpreter gives; the programs that the compiler must refuse are left out.
fn print_stream(seeds: Range<u64>) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for seed in seeds {
        stream::seed(&mut out, seed)?;
    }
    out.flush()
}

fn code(fine: bool) -> ExitCode {
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
