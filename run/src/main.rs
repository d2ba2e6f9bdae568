//! `arraygpu-run PACKAGE [FUNCTION] [NAME=VALUE]...`: any function of any package from the command
//! line.

use arraygpu_run::command::{Arguments, run};
use clap::Parser;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // a reader that goes away, such as `head`, is no failure
    let mut print = |text: &str| drop(std::io::stdout().write_all(text.as_bytes()));
    match run(&arguments, &mut print) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            let _ = writeln!(std::io::stderr(), "arraygpu-run: {}", problem.text);
            ExitCode::from(problem.exit)
        }
    }
}
