//! The bound of the store: the files that nobody used for the longest time go.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A file takes at least so much.
const BLOCK: u64 = 4096;
/// How often all files are looked at: whenever about this part of the bound was written.
const PART: u64 = 16;
/// A file that is being written for so long belongs to nobody any more.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Whether to look at all files after this entry was written. The name is as good as a die, and asks no process to remember anything, however few
/// entries each of them writes.
pub(super) fn is_time(name: &blake3::Hash, length: u64, size: u64) -> bool {
    let mut die = [0; 8];
    die.copy_from_slice(&name.as_bytes()[..8]);
    let die = u128::from(u64::from_le_bytes(die));
    // die / 2^64 < length / (size / PART)
    die * u128::from(size) < u128::from(length.max(BLOCK) * PART) << 64
}

struct Entry {
    used: SystemTime,
    bytes: u64,
    path: PathBuf,
}

/// Removes the files that were not used for the longest time, of all versions, until three quarters of `size` are left. Files that others
/// remove at the same time do not matter, nor does a folder that cannot be read.
pub(super) fn oldest(root: &Path, size: u64) {
    let mut entries = entries(root);
    let mut total: u64 = entries.iter().map(|e| e.bytes).sum();
    if total <= size {
        return;
    }
    entries.sort_by_key(|e| e.used);
    for e in entries {
        if total <= size / 4 * 3 {
            break;
        }
        if std::fs::remove_file(&e.path).is_ok() {
            total -= e.bytes;
        }
    }
}

/// Our files; those that were abandoned are removed.
fn entries(root: &Path) -> Vec<Entry> {
    let inside = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_version = |name: &str| {
        name.strip_prefix('v').is_some_and(|n| !n.is_empty() && n.bytes().all(|c| c.is_ascii_digit()))
    };
    let folders = inside(root).filter(|f| f.file_name().to_str().is_some_and(is_version));
    let mut found = Vec::new();
    for file in folders.flat_map(|f| inside(&f.path())) {
        let name = file.file_name();
        let Some((digits, rest)) = name.to_str().and_then(|n| n.split_at_checked(2 * blake3::OUT_LEN)) else {
            continue;
        };
        let Ok(about) = file.metadata() else { continue };
        if !digits.bytes().all(|c| c.is_ascii_hexdigit()) || !about.is_file() {
            continue;
        }
        let used = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        if rest.is_empty() {
            let bytes = about.len().next_multiple_of(BLOCK);
            found.push(Entry { used, bytes, path: file.path() });
        } else if rest.ends_with(".tmp") && used.elapsed().is_ok_and(|age| age > ABANDONED) {
            let _ = std::fs::remove_file(file.path());
        }
    }
    found
}
