//! Shared libraries. The system's loader maps a file without checking its length, and a truncated
//! file (for example because the disk was full when it was copied) ends the process by SIGBUS. So
//! the length is checked first.

use libloading::Library;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Loads a library.
///
/// # Safety
/// The initialisers of the library run.
pub(crate) unsafe fn open(path: &Path) -> Result<Library, String> {
    if is_cut_off(path).unwrap_or(false) {
        return Err("the file is cut off".into());
    }
    // SAFETY: the caller guarantees this.
    unsafe { Library::new(path) }.map_err(|e| e.to_string())
}

/// Whether the file ends before its last mapped byte. If the file is not a library for this
/// processor, the loader reports the error.
fn is_cut_off(path: &Path) -> io::Result<bool> {
    // This is the beginning of a 64-bit little-endian ELF file.
    const START: [u8; 6] = [0x7f, b'E', b'L', b'F', 2, 1];
    const LOAD: u64 = 1;
    const PROGRAM_HEADER: usize = 56;
    if !path.is_file() {
        return Ok(false);
    }
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut header = [0; 64];
    let is_whole = file.read_exact(&mut header).is_ok();
    if header[..6] != START {
        return Ok(false);
    }
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |n, b| n << 8 | u64::from(*b));
    let (at, size, count) = (number(&header[32..40]), number(&header[54..56]), number(&header[56..58]));
    if !is_whole || at.saturating_add(size * count) > length {
        return Ok(true);
    }
    if size != PROGRAM_HEADER as u64 {
        return Ok(false);
    }
    file.seek(SeekFrom::Start(at))?;
    let mut headers = vec![0; PROGRAM_HEADER * count as usize];
    file.read_exact(&mut headers)?;
    let end = |h: &[u8]| number(&h[8..16]).saturating_add(number(&h[32..40]));
    Ok(headers.chunks(PROGRAM_HEADER).any(|h| number(&h[..4]) == LOAD && end(h) > length))
}
