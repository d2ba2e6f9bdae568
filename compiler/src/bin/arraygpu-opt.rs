//! `arraygpu-opt FILE|- [options]`: core IR text in, any stage out. For tests and for people; see `opt::USAGE`.

use arraygpu_compiler::error::{Error, Result};
use arraygpu_compiler::opt;
use std::io::Read;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
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

fn run(mut args: Vec<String>) -> Result<String> {
    let usage = format!("usage: arraygpu-opt FILE|- {}", opt::USAGE);
    if args.iter().any(|a| a == "--help") {
        return Ok(usage + "\n");
    }
    let is_file = |a: &String| !a.starts_with("--");
    let options = |at: usize, args: &[String]| at == 0 || !opt::WITH_VALUE.contains(&args[at - 1].as_str());
    let at = (0..args.len()).find(|i| is_file(&args[*i]) && options(*i, &args));
    let file = args.remove(at.ok_or_else(|| Error::user("E0104", usage))?);
    opt::run(&read(&file)?, &args)
}

fn read(file: &str) -> Result<String> {
    let mut text = String::new();
    let result = if file == "-" {
        std::io::stdin().read_to_string(&mut text).map(|_| ())
    } else {
        std::fs::read_to_string(file).map(|t| text = t)
    };
    result.map(|()| text).map_err(|e| Error::user("E0105", format!("{file}: {e}")))
}
