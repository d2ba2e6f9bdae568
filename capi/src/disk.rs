//! The store: what was compiled before, in files that all processes of a user share.
//!
//! An entry is a file, named by the hash of its key, which holds everything that the bytes depend on. It is written under another name and then
//! renamed, so nobody sees half of it, and of several processes that write one key the last wins. Nothing is forced out to the disk: after a power
//! failure a file may be cut off, which its checksum tells, as it does of any damage.
//!
//! What it holds is run. So the folders belong to the user of the process and nobody else may write there; a file is opened without following a link, and belongs to the
//! user, too. Of a program with more rights than who started it there is no store ([`environment`]).
//!
//! A store that does not work (no permission, a full disk, damaged files) is no error: there is nothing in it, or nothing comes into it. The first
//! such thing is remembered, for `agpu_cache_problem`.
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

/// Of the files' format, and of their names.
const VERSION: u32 = 1;
const MAGIC: &[u8; 8] = b"AGPUSTOR";
/// Magic, version (u32), nothing (u32), length (u64), checksum.
const HEADER: usize = 8 + 4 + 4 + 8 + blake3::OUT_LEN;
/// Bytes that the files may have together, if nobody says otherwise.
const DEFAULT_SIZE: u64 = 256 << 20;
/// An entry's time is that of its last use, to within this: a file is not touched at every use.
const FRESH: Duration = Duration::from_secs(600);

/// A folder of entries.
pub(super) struct Store {
    root: PathBuf,
    /// Of this version.
    folder: PathBuf,
    /// Bytes of all files, about.
    size: u64,
}

/// Whether there is a store. It may still not work.
pub(crate) fn is_on() -> bool {
    store().is_some()
}

/// The entry of a key. Everything that the bytes depend on is in the key.
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

/// Keeps the bytes of a key, if that can be done.
pub(crate) fn put(key: &[u8], bytes: &[u8]) {
    if let Some(Err(e)) = store().map(|s| s.put(key, bytes)) {
        note(e);
    }
}

/// What is wrong with the store, or with the C compiler, as a sentence; "" if nothing was found so far.
pub(crate) fn problem() -> &'static CStr {
    // a bad setting is found before the first use
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

/// The process's store, as the environment said when it was first needed.
fn store() -> Option<&'static Store> {
    static STORE: OnceLock<Option<Store>> = OnceLock::new();
    STORE.get_or_init(|| from_environment(environment::variable)).as_ref()
}

/// `ARRAYGPU_CACHE` is off or a folder, else there is the user's cache; `ARRAYGPU_CACHE_SIZE` says how many MiB.
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
        // by the rules of these folders, a relative one does not count
        None => {
            let folder = |name, below| variable(name).map(|f| Path::new(&f).join(below));
            let cache = folder("XDG_CACHE_HOME", "").filter(|f| f.is_absolute());
            let cache = cache.or_else(|| folder("HOME", ".cache").filter(|f| f.is_absolute()))?;
            cache.join("arraygpu")
        }
    };
    (size > 0).then(|| Store::new(root, size))
}

/// What failed with which file.
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
                    // the next who needs it makes it again
                    let _ = std::fs::remove_file(&path);
                }
                return Err(failed("reading", &path, e));
            }
        };
        Ok(Some(bytes))
    }

    /// Whether the folders are there; an error if they are not the user's alone.
    fn is_there(&self) -> Result<bool, String> {
        for folder in [&self.root, &self.folder] {
            // the user may have a link to another disk
            match std::fs::metadata(folder).and_then(|about| own(&about)) {
                Ok(()) => {}
                Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
                Err(e) => return Err(failed("reading", folder, e)),
            }
        }
        Ok(true)
    }

    fn read(&self, path: &Path, name: &blake3::Hash) -> io::Result<Vec<u8>> {
        // what is no file must not block
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

/// An error unless it belongs to the user of this process, and nobody else may write it.
fn own(about: &Metadata) -> io::Result<()> {
    // SAFETY: always succeeds.
    let user = unsafe { libc::geteuid() };
    let why = match about.uid() {
        uid if uid != user => format!("it belongs to the user {uid}, not to {user}"),
        _ if about.mode() & 0o022 != 0 => "others may write it".into(),
        _ => return Ok(()),
    };
    Err(io::Error::other(why))
}

/// What a file begins with.
fn start(length: u64) -> [u8; 24] {
    let mut start = [0; 24];
    start[..8].copy_from_slice(MAGIC);
    start[8..12].copy_from_slice(&VERSION.to_le_bytes());
    start[16..].copy_from_slice(&length.to_le_bytes());
    start
}

/// Of the bytes under this name: a file that was renamed is damaged, too.
fn checksum(name: &blake3::Hash, bytes: &[u8]) -> [u8; blake3::OUT_LEN] {
    *blake3::Hasher::new().update(name.as_bytes()).update(bytes).finalize().as_bytes()
}

/// A name beside `path` that no other process or thread takes, nor took before.
fn temporary(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |t| t.as_nanos());
    path.with_extension(format!("{}-{now}-{number}.tmp", std::process::id()))
}

/// Writes a new file of the user's alone.
pub(super) fn write(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let _held = signal::Held::new();
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    parts.iter().try_for_each(|p| file.write_all(p))?;
    // a disk of another machine, or a quota, may say only now that bytes were lost
    // SAFETY: the descriptor was this file's, and nobody has it any more.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
