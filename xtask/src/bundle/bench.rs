//! The benchmark in the bundle: the program, its packages, and its peers, which nvcc compiles;
//! where there is none here, the script compiles them there.

use super::{Bundle, projects};
use crate::cuda::Toolkit;
use crate::sh::{self, Result};

/// `NAME.cu` becomes `libarraygpu-NAME.so`.
const PEERS: [&str; 4] = ["peers", "options", "shapes", "functions"];

const PROGRAMS: [&str; 7] = [
    "arraygpu-gpu-bench",
    "arraygpu-options-bench",
    "arraygpu-shape-bench",
    "arraygpu-gpu-functions",
    "arraygpu-first-call",
    "arraygpu-online-bench",
    "arraygpu-calls-bench",
];

/// Adds `bench/`.
pub fn add(bundle: &mut Bundle, toolkit: Option<&Toolkit>) -> Result {
    let source = sh::root().join("bench/gpu");
    let build = projects::build("bench/gpu", toolkit)?;
    for program in PROGRAMS {
        bundle.put(&build.join(program), "bench")?;
    }
    projects::packages(bundle, &build)?;
    let sources = PEERS.map(|name| format!("{name}.cu"));
    let headers = ["peers.h", "function_peers.h", "function_list.h"].map(String::from);
    // the kernels of shapes.cu
    let kernels = ["pairs", "planes", "products", "sums", "windows"].map(|name| format!("{name}.cuh"));
    let jit = "jit.cu".to_string();
    for file in sources.iter().chain(&headers).chain(&kernels).chain([&jit]) {
        bundle.put(&source.join(file), "share/bench")?;
    }
    let Some(toolkit) = toolkit else {
        println!("no nvcc: run-bench.sh compiles the peers, if there is one where it runs");
        return Ok(());
    };
    for name in PEERS {
        let library = super::work().join("build").join(format!("libarraygpu-{name}.so"));
        let mut nvcc = toolkit.nvcc();
        nvcc.args(["-O3", "-std=c++17", "-arch=sm_90", "-shared", "-cudart", "static"]);
        nvcc.args(["-Xcompiler", "-fPIC,-static-libstdc++,-static-libgcc"]);
        nvcc.arg("-o").arg(&library).arg(source.join(format!("{name}.cu"))).arg("-ldl");
        sh::run(&mut nvcc)?;
        bundle.put(&library, "lib")?;
    }
    Ok(())
}
