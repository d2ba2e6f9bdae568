//! `arraygpu-opt FILE|- [options]`: IR as text in, any stage out. For tests and for people.

use arraygpu_compiler::error::{Error, Result};
use arraygpu_opt::{Arguments, run};
use clap::Parser;
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let text = arguments.file().map_or(Ok(String::new()), read);
    match text.and_then(|text| run(&text, &arguments)) {
        Ok(text) => {
            // a reader that has closed the pipe (`| head`) has what it wants
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn read(file: &Path) -> Result<String> {
    let mut text = String::new();
    let result = if file.as_os_str() == "-" {
        std::io::stdin().read_to_string(&mut text).map(|_| ())
    } else {
        std::fs::read_to_string(file).map(|t| text = t)
    };
    result.map(|()| text).map_err(|e| Error::user("E0105", format!("{}: {e}", file.display())))
}
