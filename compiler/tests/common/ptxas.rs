//! The ptxas of the tests, which `cargo xtask test` installs, and many texts assembled at once.

#![allow(dead_code, reason = "each test uses its part")]

use arraygpu_compiler::package::ptxas::{Arch, Ptxas, Usage};
use std::path::PathBuf;
use std::sync::Mutex;

/// `ARRAYGPU_PTXAS`, or what xtask left in the target directory, or the system's.
pub fn find() -> Ptxas {
    let given = std::env::var_os("ARRAYGPU_PTXAS").map(PathBuf::from);
    // a test lies in <target>/<profile>/deps
    let exe = std::env::current_exe().expect("this program");
    let installed =
        exe.ancestors().nth(3).map(|target| target.join("tools/ptxas")).filter(|file| file.is_file());
    Ptxas::find(given.or(installed).as_deref())
        .unwrap_or_else(|e| panic!("{e}\n`cargo xtask test` installs one; ARRAYGPU_PTXAS=FILE names another"))
}

/// The oldest architecture, the one that counts, and the newest that this ptxas knows.
pub fn architectures(ptxas: &Ptxas) -> [Arch; 3] {
    let newest = *ptxas.archs.last().expect("an architecture");
    ["sm_80", "sm_90"]
        .map(|a| a.parse().expect("an architecture"))
        .into_iter()
        .chain([newest])
        .collect::<Vec<_>>()
        .try_into()
        .expect("three")
}

/// A module with a name of its own.
pub struct Module {
    /// What the test calls it.
    pub name: String,
    /// Its text.
    pub ptx: String,
}

/// Assembles each module for the architecture beside it. Fails on an error and on a warning.
pub fn assemble(ptxas: &Ptxas, jobs: &[(&Module, Arch)]) -> Vec<Usage> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (next, done) = (Mutex::new(jobs.iter().enumerate()), Mutex::new(vec![Usage::default(); jobs.len()]));
    let work = || {
        loop {
            let Some((i, (module, arch))) = next.lock().expect("no panic").next() else { break };
            let (source, object) = (format!("{i}.ptx"), format!("{i}.cubin"));
            std::fs::write(folder.path().join(&source), &module.ptx).expect("written");
            let report = ptxas.assemble(*arch, folder.path(), &source, &object);
            let report = report.unwrap_or_else(|e| panic!("{}: {e}\n{}", module.name, module.ptx));
            assert!(report.warnings.is_empty(), "{} for {arch}: {}", module.name, report.warnings.join("\n"));
            done.lock().expect("no panic")[i] = report.usage;
        }
    };
    std::thread::scope(|s| {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        (0..threads).for_each(|_| drop(s.spawn(work)));
    });
    done.into_inner().expect("no panic")
}

/// Bytes that a kernel may spill. A few cost nothing that could be measured; loop nests and large squares of products run faster with more warps and some spills than
/// with all registers (an H200, 2026-11-21: a product of 4096^3 at 40.4 and 37.7 TFLOP/s, all pairs with the tree at 32.0 both ways; 9 x 9 weights over a matrix of any strides
/// in 0.42 ms with 64 registers, 0.45 with 80, 0.59 with 123; four clamped Jacobi steps at once in 0.158 ms with 80, 0.177 with 125, the spills being those of blocks at an edge).
fn allowed(name: &str) -> u32 {
    match name {
        n if n.starts_with("product.core") => 1024,
        n if n.starts_with("nest") => 512,
        n if n.contains("square9_0_any") || n.contains("_steps") => 128,
        _ => 64,
    }
}

/// Fails if a kernel needs memory because registers do not suffice.
pub fn refuse_spills(jobs: &[(&Module, Arch)], usage: &[Usage]) {
    let spills = jobs
        .iter()
        .zip(usage)
        .filter(|((m, _), u)| u.stack > allowed(&m.name) || u.spills > allowed(&m.name));
    let list: Vec<String> = spills
        .map(|((m, arch), u)| {
            format!("{} for {arch}: {} bytes of stack, {} of spills", m.name, u.stack, u.spills)
        })
        .collect();
    assert!(list.is_empty(), "{} of {} kernels spill:\n{}", list.len(), jobs.len(), list.join("\n"));
}
