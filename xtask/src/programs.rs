//! The test programs of the workspace, as `cargo test` would run them, but one for each processor
//! at a time: many of them are one long test. Beside them, whatever else cargo does keeps processors
//! busy that wait for a compiler's single thread, or for a program that sleeps.

use crate::count::Counts;
use crate::part::Part;
use crate::sh::{self, Result};
use serde_json::Value;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Programs that take longest, with their folders, the longest first: they begin, so that none of
/// them is left alone at the end. A quick run leaves them out, and a part of a run takes a part of
/// their tests. The order is that of a run's log (bench/NOTES.md).
const LONG: [(&str, &str); 52] = [
    ("sorts", "dsl"),
    ("bits", ""),
    ("nested", "compiler/suite"),
    ("cpp_online", ""),
    ("cpp_records", ""),
    ("runner", "fuzz"),
    ("gpu_tensor_product", "compiler/suite"),
    ("round_trip", "opt"),
    ("gpu_resident_columns", "compiler/suite"),
    ("ptxas", "compiler/suite"),
    ("gpu_resident_rows", "compiler/suite"),
    ("matrices", ""),
    ("contraction", ""),
    ("stencil_chains", ""),
    ("gpu_segments", "compiler/suite"),
    ("row_chains", ""),
    ("gpu_products", "compiler/suite"),
    ("records", "fuzz"),
    ("block", ""),
    ("cpp_along", ""),
    ("corpus", "fuzz"),
    ("cpp", "fuzz"),
    ("growth", "compiler/suite"),
    ("files", "opt"),
    ("cuda_text", "compiler/suite"),
    ("gpu_warpgroups", "compiler/suite"),
    ("nested", ""),
    ("gpu_bits", "compiler/suite"),
    ("gpu_clusters", "compiler/suite"),
    ("package", "compiler/suite"),
    ("lockstep", ""),
    ("long_bins", ""),
    ("fake", "capi"),
    ("needed_ranges", "dsl"),
    ("pairs", ""),
    ("cpp_volumes", ""),
    ("texts", "fuzz"),
    ("gpu_rows_and_columns", "compiler/suite"),
    ("gpu_stored_columns", "compiler/suite"),
    ("structs", ""),
    ("tune", "run"),
    ("gpu_only", "compiler/suite"),
    ("cpp_headers", ""),
    ("size", "cpp-examples/generators"),
    ("scanned_lines", "dsl"),
    ("split_loops", ""),
    ("scatter_unique", "dsl"),
    ("gpu_transposed", "compiler/suite"),
    ("filters", ""),
    ("gpu_contraction", "compiler/suite"),
    ("long_scans", ""),
    ("failing_files", "capi"),
];

/// A program that runs for longer has a test that does not end: it is stopped, and named.
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// Packages that want features of crates that nothing else wants: built with them, all that uses
/// those crates, the compiler among it, would be built once more for the steps that build a part of
/// the workspace. The models are built apart; the derive macros have no tests of their own.
pub const MOST: [&str; 5] = ["--workspace", "--exclude", "arraygpu-models", "--exclude", "arraygpu-derive"];

/// Which programs are run.
#[derive(Clone, Copy, PartialEq)]
pub enum Which {
    /// All, and the examples in the documentation.
    All,
    /// As all, but only this part of the tests of the long ones.
    Part(Part),
    /// Only the test programs, without [`left_out`].
    Quick,
}

/// The programs that are not quick.
pub fn left_out() -> String {
    let name = |(name, folder): &(&str, &str)| match *folder {
        "" => name.to_string(),
        folder => format!("{name} of {folder}"),
    };
    LONG.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// A program with tests.
struct Program {
    name: String,
    package: String,
    path: PathBuf,
    arguments: Vec<String>,
    folder: PathBuf,
}

/// What the programs said so far: their counts, which of them failed, and the seconds of each.
#[derive(Default)]
struct Told {
    counts: Counts,
    failed: Vec<String>,
    times: Vec<(f64, String)>,
}

/// Builds and runs them with these variables; `beside` runs beside them, when the last of them are built.
pub fn run(
    which: Which,
    variables: &[(&str, &OsStr)],
    counts: &mut Counts,
    beside: impl FnOnce() -> Result + Send,
) -> Result {
    let mut programs = wanted(which, build(&MOST)?);
    programs.sort_by_key(|p| p.long().unwrap_or(LONG.len()));
    if let Which::Part(part) = which {
        programs = share(part, programs)?;
    }
    let (sender, queue) = mpsc::channel();
    let send = |programs: Vec<Program>, queue: &mpsc::Sender<Program>| {
        programs.into_iter().try_for_each(|p| queue.send(p)).map_err(|_| "no thread runs tests".to_string())
    };
    send(programs, &sender)?;
    let (queue, told) = (Mutex::new(queue), Mutex::new(Told::default()));
    let next = || queue.lock().ok().and_then(|queue| queue.recv().ok());
    let others = thread::scope(|scope| {
        for _ in 0..sh::processors() {
            scope.spawn(|| {
                while let Some(program) = next() {
                    program.tell(variables, &told);
                }
            });
        }
        let others = scope.spawn(|| {
            send(wanted(which, build_others()?), &sender)?;
            // the threads above end with the programs
            drop(sender);
            if which != Which::Quick {
                documentation().tell(variables, &told);
            }
            beside()
        });
        others.join().unwrap_or_else(|_| Err("a thread that builds tests panicked".into()))
    });
    let Told { counts: ran, mut failed, mut times } =
        told.into_inner().map_err(|_| "a thread that ran tests panicked")?;
    times.sort_by(|a, b| b.0.total_cmp(&a.0));
    let longest = times.iter().take(LONG.len()).map(|(seconds, name)| format!("{name} {seconds:.0}"));
    println!("seconds of the longest programs: {}", longest.collect::<Vec<_>>().join(", "));
    counts.add(ran);
    failed.extend(others.err());
    if failed.is_empty() { Ok(()) } else { Err(failed.join(", ")) }
}

/// Those of the programs that are run.
fn wanted(which: Which, mut programs: Vec<Program>) -> Vec<Program> {
    if which == Which::Quick {
        programs.retain(|p| p.long().is_none());
    }
    programs
}

/// The programs with what belongs to a part: all tests of the short ones.
fn share(part: Part, programs: Vec<Program>) -> Result<Vec<Program>> {
    let (mut out, mut before, mut taken) = (Vec::new(), 0, 0);
    for mut program in programs {
        if program.long().is_some() {
            let tests = part.share(program.tests()?, &mut before);
            if tests.is_empty() {
                continue;
            }
            taken += tests.len();
            program.arguments = tests;
            program.arguments.push("--exact".into());
        }
        out.push(program);
    }
    println!("part {part} of the tests of the long programs: {taken} of {before}");
    Ok(out)
}

/// The programs that are built apart.
fn build_others() -> Result<Vec<Program>> {
    let mut programs = build(&["-p", "arraygpu-models"])?;
    // the compiler is optimised for the programs that use it; its own unit tests do not need that
    let config = "profile.dev.package.arraygpu-compiler.opt-level=0";
    programs.extend(build(&["-p", "arraygpu-compiler", "--lib", "--config", config])?);
    Ok(programs)
}

/// The examples of the documentation, which cargo builds and runs.
fn documentation() -> Program {
    let mut arguments = vec!["test", "--no-fail-fast", "--doc"];
    arguments.extend(MOST);
    let command = sh::cargo(&arguments);
    Program {
        name: "examples".into(),
        package: "the documentation".into(),
        path: command.get_program().into(),
        arguments: arguments.into_iter().map(String::from).collect(),
        folder: sh::root(),
    }
}

fn build(what: &[&str]) -> Result<Vec<Program>> {
    let mut cargo = sh::cargo(&["test", "--no-run", "--message-format", "json-render-diagnostics"]);
    println!("$ cargo test --no-run {}", what.join(" "));
    let out = cargo.args(what).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let out = out.map_err(|e| format!("cargo: {e}"))?;
    if !out.status.success() {
        return Err("the tests do not compile".into());
    }
    let program = |line: &str| -> Option<Program> {
        let artifact: Value = serde_json::from_str(line).ok()?;
        let path = artifact["executable"].as_str().filter(|_| artifact["profile"]["test"] == true)?;
        let folder = Path::new(artifact["manifest_path"].as_str()?).parent()?;
        let package = folder.strip_prefix(sh::root()).unwrap_or(folder).display().to_string();
        let name = artifact["target"]["name"].as_str()?.to_string();
        Some(Program { name, package, path: path.into(), arguments: Vec::new(), folder: folder.into() })
    };
    Ok(String::from_utf8_lossy(&out.stdout).lines().filter_map(program).collect())
}

impl Program {
    /// Its place among the long ones, if it is one.
    fn long(&self) -> Option<usize> {
        LONG.iter().position(|long| *long == (self.name.as_str(), self.package.as_str()))
    }

    /// The names of its tests.
    fn tests(&self) -> Result<Vec<String>> {
        let mut command = sh::program(&self.path.display().to_string());
        let list = command.args(["--list", "--format", "terse"]).current_dir(&self.folder);
        let list = sh::output(list).ok_or_else(|| format!("{} does not list its tests", self.name))?;
        Ok(list.lines().filter_map(|line| line.strip_suffix(": test")).map(String::from).collect())
    }

    /// Runs it, prints what it says, and adds that to what others have told.
    fn tell(&self, variables: &[(&str, &OsStr)], told: &Mutex<Told>) {
        let start = Instant::now();
        let (text, fine) = self.run(variables);
        let seconds = start.elapsed().as_secs_f64();
        let name = format!("{} of {}", self.name, self.package);
        let Ok(mut told) = told.lock() else { return };
        println!("$ {name} ({seconds:.1} s)\n{text}");
        text.lines().for_each(|line| told.counts.line(line));
        if !fine {
            told.failed.push(name.clone());
        }
        told.times.push((seconds, name));
    }

    /// What it says, and whether it succeeds.
    fn run(&self, variables: &[(&str, &OsStr)]) -> (String, bool) {
        let run = || -> std::io::Result<(String, bool)> {
            let (reader, writer) = std::io::pipe()?;
            let mut command = sh::program(&self.path.display().to_string());
            command.args(&self.arguments).current_dir(&self.folder);
            command.env("CARGO_MANIFEST_DIR", &self.folder);
            command.envs(variables.iter().copied());
            command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
            let mut child = command.spawn()?;
            // the command holds an end of the pipe, which must close for the reader to finish
            drop(command);
            let (text, start) = (thread::spawn(move || read(reader)), Instant::now());
            while child.try_wait()?.is_none() && start.elapsed() < LIMIT {
                thread::sleep(Duration::from_millis(20));
            }
            let late = child.try_wait()?.is_none();
            if late {
                child.kill()?;
            }
            let status = child.wait()?;
            let mut text = text.join().unwrap_or_default();
            if late {
                text += &format!("stopped after {} minutes\n", LIMIT.as_secs() / 60);
            }
            Ok((text, status.success()))
        };
        run().unwrap_or_else(|e| (format!("{}: {e}", self.path.display()), false))
    }
}

/// All that a program says.
fn read(mut from: impl Read) -> String {
    let mut text = Vec::new();
    match from.read_to_end(&mut text) {
        Ok(_) => String::from_utf8_lossy(&text).into_owned(),
        Err(e) => e.to_string(),
    }
}
