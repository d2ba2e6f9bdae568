//! Every kernel of the file tests can be printed as CUDA C++, and a C++ compiler takes the text, its types
//! included, with the words of CUDA declared in `common/cuda_words.hpp`: short kernels, and of the others
//! another part each day. `bench/nvcc_package.py` compiles with nvcc.

use arraygpu_compiler::backend::cuda;
use arraygpu_compiler::core::{Function, parse};
use arraygpu_compiler::driver::{Targets, compile_for};
use arraygpu_compiler::kernel::Kernel;
use arraygpu_suite::tests_folder;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// The bytes of a text that is always compiled.
const SHORT: usize = 5000;
/// One of so many others is compiled.
const PARTS: u64 = 64;

/// The kernels of functions; none if they do not compile (some file tests are about errors).
fn kernels(functions: Vec<Function>) -> Vec<Kernel> {
    let Ok(compiled) = compile_for("m", functions, Targets { cpu: false, cuda: true }) else { return vec![] };
    compiled.kernels.into_iter().filter_map(|k| Some(k.gpu?.variants)).flatten().map(|c| c.kernel).collect()
}

/// Compiles a text, and returns what the compiler says.
fn compile(folder: &Path, text: &str) -> Result<(), String> {
    let words = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cuda_words.hpp");
    let file = folder.join("kernels.cpp");
    std::fs::write(&file, text).expect("a file of the text");
    let mut command = Command::new("c++");
    command.args(["-std=c++17", "-fsyntax-only", "-fmax-errors=5", "-include"]).arg(words);
    let out = command.arg("-I").arg(folder).arg(file).output().expect("a C++ compiler");
    if out.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&out.stderr).into()) }
}

/// A folder with empty headers instead of CUDA's.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for header in ["cuda_pipeline.h", "cuda_fp16.h", "cuda_bf16.h"] {
        std::fs::write(folder.path().join(header), "").expect("an empty header");
    }
    folder
}

#[test]
fn every_kernel_is_printed_and_compiles() {
    let tests = tests_folder().join("files");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(tests).expect("the file tests").map(|e| e.expect("a file").path()).collect();
    files.sort();
    let day = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |t| t.as_secs() / 86400);
    let (mut printed, mut chosen) = (0, Vec::new());
    for file in files {
        let Ok(functions) = parse::parse(&std::fs::read_to_string(&file).expect("a text")) else { continue };
        for mut kernel in kernels(functions) {
            printed += 1;
            let is_chosen = cuda::emit([&kernel]).len() < SHORT || printed % PARTS == day % PARTS;
            // kernels of several files have one name
            kernel.name = format!("{}_{printed}", kernel.name);
            chosen.extend(is_chosen.then_some(kernel));
        }
    }
    assert!(printed > 1000 && chosen.len() > 100, "{printed} kernels, {} chosen", chosen.len());
    let folder = folder();
    // one translation unit has one set of helpers
    compile(folder.path(), &cuda::emit(&chosen)).unwrap_or_else(|e| panic!("{e}"));
    // a helper of the wrong type is noticed
    let wrong = cuda::emit(&chosen).replace("agpu_scalar<int>", "agpu_scalar<void>");
    assert!(compile(folder.path(), &wrong).is_err());
}
