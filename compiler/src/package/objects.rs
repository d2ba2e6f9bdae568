//! Compiles the C files of a package: each file for each level, several at the same time, and only
//! those that the cache does not have.

use super::cache::{Cache, Key};
use super::cc::{Code, Compiler};
use super::level::Level;
use super::place;
use crate::backend::c::File;
use crate::error::{Error, Result};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How to compile.
pub struct Work<'a> {
    /// The maximum number of compilers that run at the same time.
    pub jobs: usize,
    /// Keeps the objects.
    pub cache: Option<&'a Cache>,
}

/// One file that is compiled for one level.
struct Unit<'a> {
    file: &'a File,
    level: &'a Level,
    object: String,
    key: Option<Key>,
}

/// The objects of a package's kernels, in the scratch folder.
pub(super) struct Objects<'a> {
    units: Vec<Unit<'a>>,
    /// The indices of those that the cache did not have, the largest first.
    missing: Vec<usize>,
}

impl<'a> Objects<'a> {
    /// Puts the sources that are to be compiled, and the objects that the cache has, into the scratch
    /// folder.
    pub fn begin(
        compiler: &Compiler,
        files: &'a [File],
        levels: &'a [Level],
        cache: Option<&Cache>,
        scratch: &Path,
    ) -> Result<Objects<'a>> {
        let mut units = Vec::with_capacity(files.len() * levels.len());
        let mut missing = Vec::new();
        for level in levels {
            for file in files {
                let object = format!("{}_{level}.o", file.name);
                let key = cache.map(|_| compiler.key(file, level));
                let found = cache.zip(key).and_then(|(cache, key)| cache.get(key));
                let name = format!("{}.c", file.name);
                // No file waits for the disk: the linker notices what is not whole, because the
                // table names every function.
                let (name, bytes) = match &found {
                    Some(bytes) => (&object, &bytes[..]),
                    None => {
                        missing.push(units.len());
                        (&name, file.text.as_bytes())
                    }
                };
                let path = scratch.join(name);
                std::fs::write(&path, bytes).map_err(|e| place::failed("write", &path, &e))?;
                units.push(Unit { file, level, object, key });
            }
        }
        missing.sort_by_key(|i| std::cmp::Reverse(units[*i].file.text.len()));
        Ok(Objects { units, missing })
    }

    /// Returns the names of all objects.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.units.iter().map(|u| u.object.as_str())
    }

    /// Returns the number of objects that must be compiled, and of all.
    pub fn count(&self) -> (usize, usize) {
        (self.missing.len(), self.units.len())
    }

    /// Compiles what is missing, and runs `first` at the same time. Returns the objects for which
    /// the compiler had to leave out vectors.
    pub fn compile(
        &self,
        compiler: &Compiler,
        work: &Work,
        scratch: &Path,
        first: impl FnOnce() -> Result<()>,
    ) -> Result<Vec<&str>> {
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        let results: Vec<OnceLock<Result<Code>>> = self.missing.iter().map(|_| OnceLock::new()).collect();
        let run = || {
            while !stop.load(Ordering::Relaxed) {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(unit) = self.missing.get(at).map(|i| &self.units[*i]) else { break };
                let done = self.unit(compiler, work.cache, scratch, unit);
                stop.fetch_or(done.is_err(), Ordering::Relaxed);
                let _ = results[at].set(done);
            }
        };
        let others = work.jobs.clamp(1, self.missing.len().max(1)) - 1;
        let first = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..others).map(|_| scope.spawn(run)).collect();
            let first = first();
            stop.fetch_or(first.is_err(), Ordering::Relaxed);
            run();
            let joined: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
            match joined.into_iter().any(|done| done.is_err()) {
                true => Err(Error::bug("E0604", "a thread of the package writer panicked")),
                false => first,
            }
        });
        first?;
        let mut scalar = Vec::new();
        for (i, result) in self.missing.iter().zip(results) {
            match result.into_inner() {
                Some(Err(e)) => return Err(e),
                Some(Ok(Code { vectors: false, .. })) => scalar.push(self.units[*i].object.as_str()),
                _ => {}
            }
        }
        Ok(scalar)
    }

    fn unit(&self, compiler: &Compiler, cache: Option<&Cache>, scratch: &Path, unit: &Unit) -> Result<Code> {
        let source = format!("{}.c", unit.file.name);
        let flags = compiler.flags_of(unit.file);
        let code = compiler.level(scratch, &source, &unit.object, unit.level, flags);
        let code = code.map_err(|e| e.at(unit.file.line.as_ref()))?;
        // What the compiler has to say must be said again next time.
        if let (Some(cache), Some(key), Code { vectors: true, silent: true }) = (cache, unit.key, code)
            && let Ok(bytes) = std::fs::read(scratch.join(&unit.object))
        {
            cache.put(key, &bytes);
        }
        Ok(code)
    }
}
