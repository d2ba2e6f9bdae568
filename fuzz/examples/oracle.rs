//! The interpreter's side of the comparison with an independent one (`tests/independent`, `cargo xtask independent`).
//!
//! `oracle programs` prints what must occur, then programs with arguments and what the interpreter gives:
//!
//! ```text
//! operator unary exp f32          an operator and a type that it takes: both must have been computed
//! operation map                   an operation of core IR
//! program NAME
//! | func @f(%x: [f32]) -> ..      its text; the last function is what is called
//! call
//! arg [f32] 3 3f800000 40000000 0 type, extents (none of a scalar), the elements' bits in row-major order
//! gives value                     or `record` (an error record was left), or `refused` (a shape rule does not hold)
//! result [f32] 3 ..
//! ```
//!
//! `oracle functions` answers lines `exp f32 3f800000`, `pow f64 .. ..` with the bits of the elementary function's value.

#[path = "oracle/cases.rs"]
mod cases;

use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, UnaryOp, eval_binary, eval_unary};
use std::io::{self, BufRead, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let done = match mode.as_str() {
        "programs" => cases::print_all(&mut io::BufWriter::new(io::stdout().lock())),
        "functions" => functions(),
        _ => Err(io::Error::other("usage: oracle programs|functions")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("oracle: {e}");
            ExitCode::FAILURE
        }
    }
}

/// A value for each line of the input.
fn functions() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let value =
            function(&line?).ok_or_else(|| io::Error::other("expected: FUNCTION TYPE BITS [BITS]"))?;
        writeln!(out, "{:x}", value.bits)?;
        out.flush()?;
    }
    Ok(())
}

fn function(line: &str) -> Option<Lit> {
    let mut words = line.split_whitespace();
    let (name, ty) = (words.next()?, Ty::parse(words.next()?)?);
    let mut operand = || Some(Lit { ty, bits: u64::from_str_radix(words.next()?, 16).ok()? });
    let a = operand()?;
    match operand() {
        None => Some(eval_unary(UnaryOp::parse(name)?, a).canonical()),
        Some(b) => Some(eval_binary(BinaryOp::parse(name)?, a, b).0.canonical()),
    }
}
