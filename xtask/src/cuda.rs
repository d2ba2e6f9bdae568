//! NVIDIA's compiler tools, for the benchmark's peers and for machine code in the bundle. The
//! library never needs them.
//!
//! The machine's own, or those of NVIDIA's wheels on PyPI, which make an nvcc together, in
//! `target/tools/`.

use crate::sh;
use std::path::{Path, PathBuf};
use std::process::Command;

const WHEELS: [&str; 5] = [
    "nvidia-cuda-nvcc==13.0.*",
    "nvidia-nvvm==13.0.*",
    "nvidia-cuda-crt==13.0.*",
    "nvidia-cuda-runtime==13.0.*",
    "nvidia-cuda-cccl==13.0.*",
];
/// The folder of the toolkit in the wheels.
const IN_WHEELS: &str = "nvidia/cu13";

/// A CUDA toolkit: `bin/nvcc`, `bin/ptxas`.
pub struct Toolkit {
    folder: PathBuf,
}

impl Toolkit {
    /// The one of this machine, else the one in `target/tools/`, which is fetched if it is not
    /// there. None without a network.
    pub fn find() -> Option<Toolkit> {
        let on_path = std::env::var_os("PATH").map(|p| std::env::split_paths(&p).collect::<Vec<_>>());
        let on_path = on_path.into_iter().flatten().filter_map(|bin| bin.parent().map(Path::to_path_buf));
        let named = std::env::var_os("CUDA_HOME").map(PathBuf::from);
        let known = named.into_iter().chain(on_path).chain(["/usr/local/cuda".into()]);
        let tools = sh::target().join("tools/cuda");
        let mut places = known.chain([tools.join(IN_WHEELS)]);
        if let Some(folder) = places.find(|f| works(f)) {
            return Some(Toolkit { folder });
        }
        println!("fetching NVIDIA's compiler tools from PyPI ...");
        let mut pip = sh::program("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:", "--target"]);
        let fetched = sh::output(pip.arg(&tools).args(WHEELS)).is_some();
        let folder = tools.join(IN_WHEELS);
        (fetched && works(&folder)).then_some(Toolkit { folder })
    }

    /// What makes a generator write machine code for the GPUs that we measure on.
    pub fn generator_args(&self) -> [String; 4] {
        let ptxas = self.folder.join("bin/ptxas").display().to_string();
        ["--cubin".into(), "sm_90".into(), "--ptxas".into(), ptxas]
    }

    /// A run of nvcc; the wheels' libraries are where it does not look.
    pub fn nvcc(&self) -> Command {
        let mut nvcc = sh::program(&self.folder.join("bin/nvcc").display().to_string());
        nvcc.arg(format!("-L{}", self.folder.join("lib").display()));
        nvcc
    }
}

/// Whether the folder holds both tools, of a version that takes what we write.
fn works(folder: &Path) -> bool {
    let version = |tool: &str| sh::output(Command::new(folder.join("bin").join(tool)).arg("--version"));
    let release = |text: String| {
        let (_, rest) = text.split_once("release ")?;
        rest.split('.').next()?.parse::<u32>().ok()
    };
    version("ptxas").is_some() && version("nvcc").and_then(release).is_some_and(|r| r >= 13)
}
