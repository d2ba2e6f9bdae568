//! Files of arrays, by the end of their names.

use crate::array::Array;
use crate::kind::Kind;
use crate::problem::{Result, failure};
use crate::{npy, picture, table};
use std::path::Path;

/// The ends of names.
const ENDS: [&str; 5] = ["npy", "csv", "png", "pgm", "ppm"];

/// What is done to elements of another type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// `:as`: the same numbers.
    As,
    /// `:scale`: what an integer type has at most is 1.
    Scale,
}

/// Splits `FILE:as` and `FILE:scale`.
pub fn changed(text: &str) -> (&str, Option<Change>) {
    match text.rsplit_once(':') {
        Some((path, "as")) => (path, Some(Change::As)),
        Some((path, "scale")) => (path, Some(Change::Scale)),
        _ => (text, None),
    }
}

fn end(path: &str) -> Option<String> {
    Some(Path::new(path).extension()?.to_str()?.to_ascii_lowercase())
}

/// Whether a text is the name of a file that can be read, by its end.
pub fn is_known(text: &str) -> bool {
    end(changed(text).0).is_some_and(|end| ENDS.contains(&end.as_str()))
}

/// Reads a file for a parameter of a type and rank. A picture also has its sample of full light.
pub fn read(path: &str, kind: Kind, rank: usize) -> Result<(Array, Option<f64>)> {
    let bytes = std::fs::read(path).map_err(|e| failure(format!("{path}: cannot be read: {e}")))?;
    let picture = match end(path).as_deref() {
        Some("npy") => return Ok((npy::read(&bytes, path)?, None)),
        Some("csv") => return Ok((table::read(&bytes, path, kind, rank)?, None)),
        Some("png") => picture::read_png(&bytes, path)?,
        _ => picture::read_pnm(&bytes, path)?,
    };
    let full = picture.full;
    Ok((picture.of_rank(path, rank)?, Some(full)))
}

/// Whether a result can be written to a file of this name, before anything runs.
pub fn check_output(text: &str) -> Result<()> {
    if is_known(text) {
        return Ok(());
    }
    Err(crate::problem::usage(format!("--output {text}: the file is one of .{}", ENDS.join(", ."))))
}

/// Writes an array to a file.
pub fn write(text: &str, array: &Array) -> Result<()> {
    let (path, change) = changed(text);
    let scaled;
    let array = match change {
        Some(Change::Scale) => {
            scaled = picture::to_bytes(array, path)?;
            &scaled
        }
        _ => array,
    };
    let bytes = match end(path).as_deref() {
        Some("npy") => npy::write(array),
        Some("csv") => table::write(array, path)?,
        Some("png") => picture::write_png(array, path)?,
        _ => picture::write_pnm(array, path)?,
    };
    std::fs::write(path, bytes).map_err(|e| failure(format!("{path}: cannot be written: {e}")))
}
