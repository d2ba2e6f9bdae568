//! A package that is a library of its own, made with the C compiler if there is one.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes the package libtiny.so beside its source, if there is a C compiler.
pub fn build(folder: &Path) -> Option<PathBuf> {
    std::fs::create_dir_all(folder).unwrap();
    let [header, source, library] = ["arraygpu.h", "tiny.c", "libtiny.so"].map(|name| folder.join(name));
    std::fs::write(header, include_str!("../../../include/arraygpu.h")).unwrap();
    std::fs::write(&source, include_str!("tiny.c")).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source);
    cc.output().is_ok_and(|done| done.status.success()).then_some(library)
}
