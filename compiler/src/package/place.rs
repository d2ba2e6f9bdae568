//! Puts a package into its folder: the package is written beside the folder first and then renamed,
//! so that no incomplete package is ever visible.

use crate::error::{Error, Result};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// The format name in a manifest, which marks a package of arraygpu.
pub(super) const FORMAT: &str = "arraygpu-package";

/// How often something is tried with a folder that another process may replace at the same time.
const ATTEMPTS: usize = 20;

/// Tries again: what the other process had moved away is there again a moment later, or gone.
fn attempts(mut action: impl FnMut() -> Result<()>) -> Result<()> {
    let mut done = action();
    for _ in 1..ATTEMPTS {
        if done.is_ok() {
            break;
        }
        thread::sleep(Duration::from_millis(1));
        done = action();
    }
    done
}

/// A package that is being written.
pub struct Staging {
    out: PathBuf,
    scratch: PathBuf,
    /// The temporary folder. It lies beside `out`, so that the rename stays on one file system, and
    /// is removed at the end, also after an error.
    temp: TempDir,
}

/// Returns the error of a failed file operation.
pub(super) fn failed(what: &str, path: &Path, e: &io::Error) -> Error {
    Error::user("E0504", format!("cannot {what} {}: {e}", path.display()))
}

/// Writes a file and waits until its bytes are on the disk: a network file system, or a quota, may
/// report only then that there is no space.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

impl Staging {
    /// Begins a package for the folder `out`, which is not changed before [`Staging::finish`].
    pub fn begin(out: &Path, name: &str) -> Result<Staging> {
        let out = std::path::absolute(out).map_err(|e| failed("find", out, &e))?;
        let Some(parent) = out.parent() else {
            return Err(Error::user("E0503", format!("{} cannot hold a package", out.display())));
        };
        attempts(|| check_replaceable(&out))?;
        fs::create_dir_all(parent).map_err(|e| failed("make", parent, &e))?;
        let temp = tempfile::Builder::new().prefix(&format!(".{name}-")).suffix(".tmp").tempdir_in(parent);
        let temp = temp.map_err(|e| failed("write into", parent, &e))?;
        for folder in ["package", "scratch"] {
            let path = temp.path().join(folder);
            fs::create_dir(&path).map_err(|e| failed("make", &path, &e))?;
        }
        Ok(Staging { out, scratch: temp.path().join("scratch"), temp })
    }

    /// Returns a folder for files that are not part of the package.
    pub fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// Writes a file of the package.
    pub fn put(&self, name: &str, text: &str) -> Result<()> {
        let path = self.file(name)?;
        write(&path, text.as_bytes()).map_err(|e| failed("write", &path, &e))
    }

    /// Copies a file into the package.
    pub fn copy(&self, from: &Path, name: &str) -> Result<()> {
        let path = self.file(name)?;
        let bytes = fs::read(from).map_err(|e| failed("read", from, &e))?;
        let mode = fs::metadata(from).map(|about| about.permissions());
        let done = write(&path, &bytes).and_then(|()| fs::set_permissions(&path, mode?));
        done.map_err(|e| failed("write", &path, &e))
    }

    fn file(&self, name: &str) -> Result<PathBuf> {
        let path = self.temp.path().join("package").join(name);
        let folder = path.parent().unwrap_or(&path);
        fs::create_dir_all(folder).map_err(|e| failed("make", folder, &e))?;
        Ok(path)
    }

    /// Moves the package to its folder and replaces the one that was there. If another process does the same at the
    /// same time, the package of one of them stays.
    pub fn finish(self) -> Result<()> {
        let old = self.old();
        attempts(|| self.replace()).map_err(|e| {
            if !old.exists() || self.out.exists() {
                return e;
            }
            // The old package must not be removed with the temporary folder.
            let _ = self.temp.keep();
            let message = format!("{}; the package that was there is now {}", e.message, old.display());
            Error { message, ..e }
        })
    }

    /// Where the package that was there is moved to.
    fn old(&self) -> PathBuf {
        self.temp.path().join("old")
    }

    /// Moves away what is there, and the package to its place; if that fails, moves the former back.
    fn replace(&self) -> Result<()> {
        let (new, old) = (self.temp.path().join("package"), self.old());
        // The folder is checked again, because it may have changed meanwhile.
        check_replaceable(&self.out)?;
        if self.out.exists() {
            keep_times(&new, &self.out);
            let _ = fs::remove_dir_all(&old);
            fs::rename(&self.out, &old).map_err(|e| failed("replace", &self.out, &e))?;
        }
        let moved = fs::rename(&new, &self.out).map_err(|e| failed("write", &self.out, &e));
        if moved.is_err() && !self.out.exists() {
            let _ = fs::rename(&old, &self.out);
        }
        moved
    }
}

/// Checks that a folder may be replaced: it does not exist, holds no file, or is a package of
/// arraygpu.
fn check_replaceable(out: &Path) -> Result<()> {
    let refuse =
        |why: &str| Err(Error::user("E0503", format!("{} {why}: it is left as it is", out.display())));
    if out.is_symlink() {
        return refuse("is a link");
    }
    if !out.exists() {
        return Ok(());
    }
    if !out.is_dir() {
        return refuse("is a file");
    }
    let manifests = fs::read_dir(out.join("share")).into_iter().flatten().flatten();
    let ours = |path: PathBuf| fs::read_to_string(path).is_ok_and(|text| is_ours(&text));
    if manifests.map(|e| e.path().join("manifest.json")).any(ours) || holds_no_file(out) {
        return Ok(());
    }
    refuse("holds files, but is not a package made by arraygpu")
}

/// Whether a text is the manifest of a package.
fn is_ours(text: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(text).is_ok_and(|m| m["format"] == FORMAT)
}

fn holds_no_file(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|entries| {
        // An entry that cannot be read may be a file.
        let is_empty = |e: fs::DirEntry| e.file_type().is_ok_and(|t| t.is_dir()) && holds_no_file(&e.path());
        entries.into_iter().all(|e| e.is_ok_and(is_empty))
    })
}

/// Keeps the times of files that did not change, so that what was built from them is not built
/// again.
fn keep_times(new: &Path, old: &Path) {
    for entry in fs::read_dir(new).into_iter().flatten().flatten() {
        let (path, before) = (entry.path(), old.join(entry.file_name()));
        if path.is_dir() {
            keep_times(&path, &before);
        } else if let (Ok(a), Ok(b)) = (fs::read(&path), fs::read(&before))
            && a == b
        {
            let time = fs::metadata(&before).and_then(|m| m.modified());
            // A failure only costs speed.
            let _ = time.and_then(|t| fs::File::options().append(true).open(&path)?.set_modified(t));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both succeed, each time, and nothing but one package is left.
    #[test]
    fn two_write_one_folder() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("p");
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let staging = Staging::begin(&out, "p").unwrap();
                        staging
                            .put("share/p/manifest.json", &format!("{{\"format\": \"{FORMAT}\"}}"))
                            .unwrap();
                        staging.finish().unwrap();
                    }
                });
            }
        });
        assert!(out.join("share/p/manifest.json").is_file());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
