//! C, compiled with the package's own flags, through the runtime. Many functions make one file.

use super::runtime::{Contexts, calls};
use super::{Failure, compiled};
use crate::case::Case;
use crate::runtime::{Loaded, build};
use arraygpu_compiler::core::Function;
use arraygpu_compiler::driver::{self, Compiled, Targets};
use arraygpu_compiler::package::level::Level;
use std::path::Path;

const TARGETS: Targets = Targets { cpu: true, cuda: false };
/// The most bytes of C.
const LARGEST: usize = 5 << 20;

/// Programs that are compiled together, for one level.
pub struct Batch {
    loaded: Loaded,
    functions: Vec<Function>,
    contexts: Contexts,
    _folder: tempfile::TempDir,
}

/// How much C a case is, or what is wrong with it; none if it is refused as it should be.
pub fn size(case: &Case) -> Result<Option<usize>, Failure> {
    let Some(compiled) = compiled(case, TARGETS)? else { return Ok(None) };
    let size = compiled.c_source.len();
    if size > LARGEST { Err(Failure::new("more than 5 MB of C")) } else { Ok(Some(size)) }
}

impl Batch {
    /// Compiles cases that have a size, for a level.
    pub fn new(cases: &[&Case], level: &Level) -> Result<Batch, Failure> {
        let functions = cases.iter().map(|c| c.function.clone()).collect();
        let compiled = driver::compile_for("fuzz", functions, TARGETS)
            .map_err(|e| Failure::new(format!("together: {e}")))?;
        let folder = tempfile::tempdir().map_err(|e| Failure::new(e.to_string()))?;
        let loaded = library(&compiled, level, folder.path())?;
        Ok(Batch {
            loaded,
            functions: compiled.functions.into_iter().map(|f| f.fused).collect(),
            contexts: Contexts::new()?,
            _folder: folder,
        })
    }

    /// Runs all calls of the case of that number.
    pub fn check(&self, i: usize, case: &Case) -> Result<u64, Failure> {
        calls(&self.loaded, i, case, &self.functions[i], &self.contexts)
    }
}

fn library(compiled: &Compiled, level: &Level, folder: &Path) -> Result<Loaded, Failure> {
    build(compiled, level, folder).map_err(|e| {
        // the compiler's message, from a line without names of this program
        let says = e.lines().find_map(|l| l.split_once("error:").or(l.split_once("warning:")));
        let says = says.unwrap_or_default().1;
        Failure::new(format!("the C compiler is not content: {says}\n{e}"))
    })
}

/// A case alone, for these levels.
pub fn check(case: &Case, levels: &[Level]) -> Result<u64, Failure> {
    if size(case)?.is_none() {
        return Ok(0);
    }
    let mut compared = 0;
    for level in levels {
        compared += Batch::new(&[case], level)?.check(0, case)?;
    }
    Ok(compared)
}
