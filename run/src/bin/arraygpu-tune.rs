//! `arraygpu-tune PACKAGE [FUNCTION] [NAME=VALUE]...`: measures the variants of kernels on a GPU.

use arraygpu_run::program;
use arraygpu_run::tune::{Arguments, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    program::main("arraygpu-tune", run as fn(&Arguments, &mut dyn FnMut(&str)) -> _)
}
