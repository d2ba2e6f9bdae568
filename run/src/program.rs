//! What the programs of this crate do beside their own work.

use crate::problem::Result;
use clap::Parser;
use std::io::Write;
use std::process::ExitCode;

/// What a program does for its arguments; what is to be printed goes to the function.
pub type Run<A> = fn(&A, &mut dyn FnMut(&str)) -> Result<()>;

/// Reads the command line, runs a program, and prints what is wrong.
pub fn main<A: Parser>(name: &str, run: Run<A>) -> ExitCode {
    let arguments = A::parse();
    // a reader that goes away, such as `head`, is no failure
    let mut print = |text: &str| drop(std::io::stdout().write_all(text.as_bytes()));
    match run(&arguments, &mut print) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            let _ = writeln!(std::io::stderr(), "{name}: {}", problem.text);
            ExitCode::from(problem.exit)
        }
    }
}
