//! The store keeps what was compiled before in files that all processes of a user share.
//!
//! An entry is a file that is named by the hash of its key, and the key holds everything that the
//! bytes depend on. The file is written under another name and then renamed, so nobody sees an
//! incomplete file, and if several processes write one key, the last one wins. Files are not
//! synchronised to the disk. After a power failure a file may be truncated; its checksum detects
//! this and any other damage.
//!
//! The contents of the store are executed. So the folders must belong to the user of the process,
//! and nobody else may have write permission. A file is opened without following a link and must
//! belong to the user, too. A program with more rights than the user who started it has no store
//! ([`environment`]).
//!
//! A store that does not work (no permission, a full disk, damaged files) is not an error: lookups
//! find nothing, or nothing is written. The first such problem is remembered for
//! `agpu_cache_problem`.
//!
//! ```text
//! ~/.cache/arraygpu/v1/<64 hexadecimal digits>        magic, version, length, checksum, bytes
//!                     /<digits>.<process>-<..>.tmp     being written
//! ```

mod evict;
#[cfg(all(test, target_os = "linux"))]
mod failing;
mod signal;
#[cfg(test)]
mod tests;

use crate::environment;
use crate::log::log;
use std::ffi::{CStr, CString, OsString};
use std::fmt::Display;
use std::fs::Metadata;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Version of the files' format and names.
const VERSION: u32 = 1;
const MAGIC: &[u8; 8] = b"AGPUSTOR";
/// Size in bytes of the header: magic, version (u32), padding (u32), length (u64), checksum.
const HEADER: usize = 8 + 4 + 4 + 8 + blake3::OUT_LEN;
/// The default limit of the size of all files together, in bytes.
const DEFAULT_SIZE: u64 = 256 << 20;
/// How exact an entry's time of last use is: a file is not touched at every use.
const FRESH: Duration = Duration::from_secs(600);

/// A folder of entries.
pub(super) struct Store {
    root: PathBuf,
    /// The folder of this version.
    folder: PathBuf,
    /// Approximate limit of the size of all files in bytes.
    size: u64,
}

/// Whether there is a store. It may still fail.
pub(crate) fn is_on() -> bool {
    store().is_some()
}

/// Returns the entry of a key. The key must hold everything that the bytes depend on.
pub(crate) fn get(key: &[u8]) -> Option<Vec<u8>> {
    let found = store()?.get(key).unwrap_or_else(|e| {
        note(e);
        None
    });
    log!(
        Debug,
        "compiled code of {} bytes is {}in the cache on disk",
        key.len(),
        if found.is_some() { "" } else { "not " }
    );
    found
}

/// Stores the bytes of a key, if possible.
pub(crate) fn put(key: &[u8], bytes: &[u8]) {
    if let Some(Err(e)) = store().map(|s| s.put(key, bytes)) {
        note(e);
    }
}

/// Describes what is wrong with the store or with the C compiler, as a sentence; "" if no problem
/// was found so far.
pub(crate) fn problem() -> &'static CStr {
    // This finds a bad setting before the first use.
    store();
    PROBLEM.get().map_or(c"", CString::as_c_str)
}

static PROBLEM: OnceLock<CString> = OnceLock::new();

/// Remembers the first problem of the process.
#[cold]
pub(super) fn note(problem: String) {
    log!(Warn, "{problem}");
    PROBLEM.get_or_init(|| CString::new(problem.replace('\0', " ")).unwrap_or_default());
}

/// The process's store, made from the environment when it is first needed.
fn store() -> Option<&'static Store> {
    static STORE: OnceLock<Option<Store>> = OnceLock::new();
    STORE.get_or_init(|| from_environment(environment::variable)).as_ref()
}

/// `ARRAYGPU_CACHE` is `off` or a folder; without it the store is in the user's cache folder.
/// `ARRAYGPU_CACHE_SIZE` is the limit in MiB.
fn from_environment(variable: impl Fn(&str) -> Option<OsString>) -> Option<Store> {
    let size = match variable("ARRAYGPU_CACHE_SIZE") {
        None => DEFAULT_SIZE,
        Some(text) => match text.to_str().and_then(|t| t.trim().parse::<u64>().ok()) {
            Some(mebibytes) => mebibytes.saturating_mul(1 << 20),
            None => {
                let text = text.to_string_lossy();
                note(format!(
                    "ARRAYGPU_CACHE_SIZE is `{text}`, expected a number of MiB: it is taken as 256"
                ));
                DEFAULT_SIZE
            }
        },
    };
    let root = match variable("ARRAYGPU_CACHE") {
        Some(word) if word == "off" => return None,
        Some(folder) => std::path::absolute(folder).ok()?,
        // The specification of these folders says that a relative path is ignored.
        None => {
            let folder = |name, below| variable(name).map(|f| Path::new(&f).join(below));
            let cache = folder("XDG_CACHE_HOME", "").filter(|f| f.is_absolute());
            let cache = cache.or_else(|| folder("HOME", ".cache").filter(|f| f.is_absolute()))?;
            cache.join("arraygpu")
        }
    };
    (size > 0).then(|| Store::new(root, size))
}

/// The message of an operation that failed on a file.
fn failed(what: &str, path: &Path, why: impl Display) -> String {
    format!("the cache of compiled code is not used as it should: {what} {}: {why}", path.display())
}

impl Store {
    fn new(root: PathBuf, size: u64) -> Store {
        Store { folder: root.join(format!("v{VERSION}")), root, size }
    }

    fn path(&self, name: &blake3::Hash) -> PathBuf {
        self.folder.join(name.to_hex().as_str())
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, String> {
        let name = blake3::hash(key);
        let path = self.path(&name);
        if !self.is_there()? {
            return Ok(None);
        }
        let bytes = match self.read(&path, &name) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => {
                if e.kind() == ErrorKind::InvalidData {
                    // The next process that needs the entry makes it again.
                    let _ = std::fs::remove_file(&path);
                }
                return Err(failed("reading", &path, e));
            }
        };
        Ok(Some(bytes))
    }

    /// Whether the folders exist; an error if anybody else may write to them.
    fn is_there(&self) -> Result<bool, String> {
        for folder in [&self.root, &self.folder] {
            // Links are followed, because the user may have placed the folder on another disk.
            match std::fs::metadata(folder).and_then(|about| own(&about)) {
                Ok(()) => {}
                Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
                Err(e) => return Err(failed("reading", folder, e)),
            }
        }
        Ok(true)
    }

    fn read(&self, path: &Path, name: &blake3::Hash) -> io::Result<Vec<u8>> {
        // Opening something that is not a regular file must not block.
        let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
        let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        own(&about)?;
        let damaged = || io::Error::new(ErrorKind::InvalidData, "it is damaged");
        let mut header = [0; HEADER];
        file.read_exact(&mut header).map_err(|_| damaged())?;
        let length = u64::from_le_bytes(header[16..24].try_into().map_err(|_| damaged())?);
        if header[..24] != start(length) || about.len().checked_sub(HEADER as u64) != Some(length) {
            return Err(damaged());
        }
        if about.len() > self.size {
            return Err(io::Error::other("it is larger than all files may be together"));
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length as usize)?;
        file.read_to_end(&mut bytes)?;
        if header[24..] != checksum(name, &bytes) {
            return Err(damaged());
        }
        let is_fresh = |used: SystemTime| used.elapsed().is_ok_and(|age| age < FRESH);
        if !about.modified().is_ok_and(is_fresh) {
            let _ = file.set_modified(SystemTime::now());
        }
        Ok(bytes)
    }

    fn put(&self, key: &[u8], bytes: &[u8]) -> Result<(), String> {
        let length = bytes.len() as u64;
        if length.saturating_add(HEADER as u64) > self.size {
            return Ok(());
        }
        let name = blake3::hash(key);
        let path = self.path(&name);
        let folder = DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        folder.map_err(|e| failed("making", &self.folder, e))?;
        self.is_there()?;
        let temporary = temporary(&path);
        let written = write(&temporary, &[&start(length), &checksum(&name, bytes), bytes]);
        let done = written.and_then(|()| std::fs::rename(&temporary, &path)).map_err(|e| {
            let _ = std::fs::remove_file(&temporary);
            failed("writing", &path, e)
        });
        if evict::is_time(&name, length, self.size) {
            evict::oldest(&self.root, self.size);
        }
        done
    }
}

/// Returns an error unless the file belongs to the user of this process and nobody else may write
/// to it.
fn own(about: &Metadata) -> io::Result<()> {
    // SAFETY: this function always succeeds.
    let user = unsafe { libc::geteuid() };
    let why = match about.uid() {
        uid if uid != user => format!("it belongs to the user {uid}, not to {user}"),
        _ if about.mode() & 0o022 != 0 => "others may write it".into(),
        _ => return Ok(()),
    };
    Err(io::Error::other(why))
}

/// The first bytes of a file: everything before the checksum.
fn start(length: u64) -> [u8; 24] {
    let mut start = [0; 24];
    start[..8].copy_from_slice(MAGIC);
    start[8..12].copy_from_slice(&VERSION.to_le_bytes());
    start[16..].copy_from_slice(&length.to_le_bytes());
    start
}

/// The checksum covers the name, so a file that was renamed counts as damaged.
fn checksum(name: &blake3::Hash, bytes: &[u8]) -> [u8; blake3::OUT_LEN] {
    *blake3::Hasher::new().update(name.as_bytes()).update(bytes).finalize().as_bytes()
}

/// Returns a name beside `path` that no other process or thread uses or has used.
fn temporary(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |t| t.as_nanos());
    path.with_extension(format!("{}-{now}-{number}.tmp", std::process::id()))
}

/// Writes a new file that only the user may access.
pub(super) fn write(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let _held = signal::Held::new();
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    parts.iter().try_for_each(|p| file.write_all(p))?;
    // A network file system or a quota may report only here that bytes were lost.
    // SAFETY: the descriptor belonged to this file, and nobody else has it.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
