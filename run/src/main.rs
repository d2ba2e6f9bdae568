//! `arraygpu-run PACKAGE [FUNCTION] [NAME=VALUE]...`: any function of any package from the command
//! line.

use arraygpu_run::command::{Arguments, run};
use arraygpu_run::program;
use std::process::ExitCode;

fn main() -> ExitCode {
    program::main("arraygpu-run", run as fn(&Arguments, &mut dyn FnMut(&str)) -> _)
}
