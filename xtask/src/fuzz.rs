//! `cargo xtask fuzz`: random programs through all stages, fresh ones each day.

use crate::sh::{self, Result};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// Seeds of a day: more than a day's machine time gets through.
const OF_A_DAY: u64 = 10_000_000;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Stages; all if none.
    pub stages: Vec<String>,
    /// `A..B`; if none, the day's.
    pub seeds: Option<String>,
    /// Minutes a stage.
    pub minutes: Option<f64>,
    /// Where failures go, made small.
    pub small: Option<PathBuf>,
    /// Programs of the language in place of core IR.
    pub language: bool,
}

/// The day's seeds: fresh ones each day.
fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs());
    let first = seconds / 86_400 * OF_A_DAY;
    format!("{first}..{}", first + OF_A_DAY)
}

/// Runs what is asked for, quickly built, with every check of a debug build.
pub fn run(asked: &Asked) -> Result {
    sh::run(&mut sh::cargo(&["build", "--profile", "fuzz", "-p", "arraygpu-fuzz"]))?;
    let program = sh::target().join("fuzz/arraygpu-fuzz");
    let mut command = sh::program(&program.display().to_string());
    let seeds = asked.seeds.clone().unwrap_or_else(today);
    command.args(["run", "--jobs", &sh::jobs(), "--seeds", &seeds]);
    if !asked.stages.is_empty() {
        command.args(["--stage", &asked.stages.join(",")]);
    }
    // all seeds of a day are too many
    let minutes = asked.minutes.or(asked.seeds.is_none().then_some(5.0));
    if let Some(minutes) = minutes {
        command.args(["--minutes", &minutes.to_string()]);
    }
    if asked.language {
        command.arg("--language");
    }
    if let Some(small) = &asked.small {
        std::fs::create_dir_all(small).map_err(|e| format!("{}: {e}", small.display()))?;
        command.arg("--small").arg(small);
    }
    sh::run(&mut command)
}
