//! A folder that keeps what the tools made of a package's parts, so that writing the package again
//! compiles, and compresses, only what changed. ptxas runs again.
//!
//! An entry is a file, named by the hash of everything that its bytes depend on: the source, the
//! flags, the tool. It is written under another name and then renamed, so no process sees a part of
//! it. Nothing waits for the disk: a file that was truncated by a power failure, or damaged in
//! another way, fails its checksum, is removed, and counts as missing.
//!
//! The entries are code that will be run, so the folder must belong to the user of this process and
//! be writable for nobody else. A folder that does not work is no error: nothing is found in it, or
//! nothing is kept, and [`Cache::problem`] says why.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

/// The version of the entries' format and of the keys.
const VERSION: &str = "arraygpu package cache 1";
/// Maximum size of all entries in bytes, unless the user sets another one.
const DEFAULT_SIZE: u64 = 256 << 20;
/// Length of an entry's name in hexadecimal digits.
const DIGITS: usize = 2 * blake3::OUT_LEN;
/// A use updates the time of an entry if that is older than this.
const FRESH: Duration = Duration::from_secs(600);
/// A file that has been under construction for this long is abandoned.
const ABANDONED: Duration = Duration::from_secs(3600);

/// A folder of entries.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    /// Maximum size of all entries in bytes, approximately.
    size: u64,
    problem: OnceLock<String>,
}

/// The name of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key(blake3::Hash);

impl Key {
    /// Makes the key of what these parts determine.
    pub fn of(parts: &[&[u8]]) -> Key {
        let mut hasher = blake3::Hasher::new();
        hasher.update(VERSION.as_bytes());
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        Key(hasher.finalize())
    }
}

impl Cache {
    /// Makes a cache in a folder, which is created when the first entry is written.
    pub fn at(folder: impl Into<PathBuf>) -> Cache {
        Cache { folder: folder.into(), size: DEFAULT_SIZE, problem: OnceLock::new() }
    }

    /// Sets the maximum size of all entries in bytes.
    #[must_use]
    pub fn with_size(self, size: u64) -> Cache {
        Cache { size, ..self }
    }

    /// Returns the user's cache, `packages` in the folder where libarraygpu keeps what it compiles,
    /// by the same variables: `ARRAYGPU_CACHE` is `off` or that folder, `ARRAYGPU_CACHE_SIZE` a
    /// number of MiB.
    pub fn of_user() -> Option<Cache> {
        let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
        let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|f| f.is_absolute());
        let root = match variable("ARRAYGPU_CACHE") {
            Some(word) if word == "off" => return None,
            Some(folder) => std::path::absolute(folder).ok()?,
            None => {
                let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
                cache.join("arraygpu")
            }
        };
        let number = |text: std::ffi::OsString| text.to_str()?.trim().parse::<u64>().ok();
        let size = variable("ARRAYGPU_CACHE_SIZE").and_then(number).map(|n| n.saturating_mul(1 << 20));
        let cache = Cache::at(root.join("packages")).with_size(size.unwrap_or(DEFAULT_SIZE));
        (cache.size > 0).then_some(cache)
    }

    /// Returns the bytes of a key, if they are there.
    pub fn get(&self, key: Key) -> Option<Vec<u8>> {
        let path = self.path(key);
        match self.read(&path, key) {
            Ok(bytes) => Some(bytes),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => {
                if e.kind() == ErrorKind::InvalidData {
                    let _ = fs::remove_file(&path);
                }
                self.note("read", &path, &e);
                None
            }
        }
    }

    /// Keeps the bytes of a key, if that is possible.
    pub fn put(&self, key: Key, bytes: &[u8]) {
        if bytes.len() as u64 > self.size {
            return;
        }
        let path = self.path(key);
        if let Err(e) = self.write(&path, key, bytes) {
            self.note("write", &path, &e);
        }
    }

    /// Returns the first problem with the folder, if there was one.
    pub fn problem(&self) -> Option<&str> {
        self.problem.get().map(String::as_str)
    }

    /// Removes the least recently used entries until at most three quarters of the size are left, if
    /// there are more than the size allows.
    pub fn trim(&self) {
        let mut entries = self.entries();
        let mut total: u64 = entries.iter().map(|e| e.1).sum();
        if total <= self.size {
            return;
        }
        entries.sort_by_key(|e| e.0);
        for (_, bytes, path) in entries {
            if total <= self.size / 4 * 3 {
                break;
            }
            if fs::remove_file(path).is_ok() {
                total -= bytes;
            }
        }
    }

    fn path(&self, key: Key) -> PathBuf {
        self.folder.join(key.0.to_hex().as_str())
    }

    fn note(&self, what: &str, path: &Path, why: &io::Error) {
        self.problem.get_or_init(|| format!("cannot {what} {}: {why}", path.display()));
    }

    fn read(&self, path: &Path, key: Key) -> io::Result<Vec<u8>> {
        own(&fs::metadata(&self.folder)?)?;
        // the last part of the path must not be a link
        let about = fs::symlink_metadata(path)?;
        own(&about)?;
        let damaged = || io::Error::new(ErrorKind::InvalidData, "it is damaged");
        if !about.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        let mut bytes = fs::read(path)?;
        let start = bytes.len().checked_sub(blake3::OUT_LEN).ok_or_else(damaged)?;
        if bytes[start..] != checksum(key, &bytes[..start]) {
            return Err(damaged());
        }
        bytes.truncate(start);
        if !about.modified().is_ok_and(|used| used.elapsed().is_ok_and(|age| age < FRESH)) {
            // a failure only means that the entry is removed earlier
            let _ = fs::File::open(path).and_then(|f| f.set_modified(SystemTime::now()));
        }
        Ok(bytes)
    }

    fn write(&self, path: &Path, key: Key, bytes: &[u8]) -> io::Result<()> {
        make(&self.folder)?;
        own(&fs::metadata(&self.folder)?)?;
        let mut file = tempfile::Builder::new().prefix(".tmp").tempfile_in(&self.folder)?;
        file.write_all(bytes)?;
        file.write_all(&checksum(key, bytes))?;
        file.persist(path).map_err(|e| e.error)?;
        Ok(())
    }

    /// Returns time of last use, size and path of all entries. Removes files that were abandoned.
    fn entries(&self) -> Vec<(SystemTime, u64, PathBuf)> {
        let mut found = Vec::new();
        for file in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = file.file_name();
            let (Some(name), Ok(about)) = (name.to_str(), file.metadata()) else { continue };
            let used = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if name.len() == DIGITS && name.bytes().all(|c| c.is_ascii_hexdigit()) && about.is_file() {
                found.push((used, about.len(), file.path()));
            } else if name.starts_with(".tmp") && used.elapsed().is_ok_and(|age| age > ABANDONED) {
                let _ = fs::remove_file(file.path());
            }
        }
        found
    }
}

/// Returns the checksum of the bytes under this name: an entry that was renamed is damaged, too.
fn checksum(key: Key, bytes: &[u8]) -> [u8; blake3::OUT_LEN] {
    *blake3::Hasher::new().update(key.0.as_bytes()).update(bytes).finalize().as_bytes()
}

/// Makes a folder that only the user may use.
fn make(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Returns an error unless this belongs to the user of this process and nobody else may write it.
#[cfg(unix)]
fn own(about: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::geteuid().as_raw();
    match about.uid() {
        uid if uid != user => Err(io::Error::other(format!("it belongs to the user {uid}, not to {user}"))),
        _ if about.mode() & 0o022 != 0 => Err(io::Error::other("others may write it")),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn own(_: &Metadata) -> io::Result<()> {
    Ok(())
}
