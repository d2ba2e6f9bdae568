//! Layers: what a folder or file of a crate may import. An import that runs upwards makes a circle
//! sooner or later, so the order is one list for each crate.

use super::imports::{Files, Import};

/// From the lowest on: a folder (or file) of `compiler/src` imports itself and what stands before
/// it.
const COMPILER: [&str; 20] = [
    "counted",
    "loc",
    "error",
    "interrupt",
    "budget",
    "without",
    "scalar",
    "text",
    "core",
    "build",
    "passes",
    "kernel",
    "plan",
    "schedule",
    "counts",
    "stage",
    "backend",
    "driver",
    "explain",
    "package",
];

/// The order of the files of `dsl/src`.
const DSL: [&str; 57] = [
    "scope",
    "node",
    "elem",
    "item",
    "handle",
    "results",
    "rank",
    "record",
    "scalars",
    "element_loop",
    "kernel_fn",
    "ops",
    "scalar",
    "bits",
    "axis",
    "joined",
    "composite",
    "reduce",
    "scan",
    "sort",
    "tuples",
    "choice",
    "local_array",
    "array",
    "vector",
    "segments",
    "scatter",
    "filtered",
    "filter",
    "keyed",
    "sliced",
    "matrix",
    "product",
    "tuple_lines",
    "extremes",
    "kept",
    "moments",
    "softmax",
    "mistakes",
    "windows",
    "widths",
    "stencil",
    "update",
    "complex",
    "complex_lines",
    "states",
    "iterate",
    "iterate_forms",
    "stage",
    "error",
    "lower",
    "package",
    "progress",
    "cli",
    "values",
    "eval",
    "example",
];

/// The layers of `capi/src`, from the lowest on: a file imports files of its own layer and of those
/// before it.
const CAPI: [&[&str]; 8] = [
    // handles, errors, and what surrounds every call
    &[
        "abi",
        "sync",
        "environment",
        "log",
        "error",
        "reserve",
        "float_environment",
        "calls",
        "handle",
        "interrupt",
        "guard",
        "cancel",
        "library",
        "level",
    ],
    // memory of the host and the layout of arrays
    &["span", "overlap", "guards", "usage", "idle", "memory", "span_copy", "disk"],
    // modules: plans with the code of their kernels
    &[
        "block",
        "cpu",
        "cuda/log",
        "cuda/table",
        "cuda/removable",
        "cuda/driver",
        "cuda/device",
        "cuda/open",
        "cuda/images",
        "tuning",
        "module",
    ],
    // devices
    &[
        "pool",
        "profile",
        "device",
        "host",
        "cuda/as_device",
        "cuda/state",
        "cuda/frame",
        "cuda/stamp",
        "cuda/gpu",
        "cuda/profile",
        "cuda/chosen",
        "cuda/code",
        "cuda/copy",
        "cuda/lend",
        "cuda/link",
        "cuda/memory",
        "cuda/stream",
        "cuda/captured",
        "cuda/words",
        "cuda/records",
        "cuda/event",
        "cuda/transfer",
    ],
    // contexts and arrays
    &["context", "devices", "times", "buffer", "view", "pinned"],
    // one call
    &[
        "workspace",
        "arguments",
        "call_options",
        "outputs",
        "places",
        "repeat",
        "check",
        "launch",
        "execute",
        "cuda/call",
        "cuda/choice",
        "cuda/check",
        "cuda/dependent",
        "cuda/launch",
        "cuda/until",
        "cuda/execute",
        "invoke",
        "stream",
        "event",
        "copy",
    ],
    // functions compiled while a program runs
    &["online"],
    // packages
    &["package", "loader"],
];

/// The layer of a file in a list, by the longest name that is the beginning of its path, and that
/// name. The number is `None` for a file that is not in the list.
fn layer(layers: &[&[&str]], root: &str, file: &str) -> (Option<usize>, String) {
    let path = file.trim_start_matches(root).trim_end_matches(".rs");
    let mut parts: Vec<&str> = path.split('/').collect();
    while !parts.is_empty() {
        let name = parts.join("/");
        if let Some(at) = layers.iter().position(|layer| layer.contains(&name.as_str())) {
            return (Some(at), name);
        }
        parts.pop();
    }
    (None, path.to_string())
}

/// Where an import runs upwards, or a pass imports a pass, in the crate whose sources begin at
/// `root`. A crate without a list of layers has no complaints.
pub fn check(root: &str, files: &Files) -> Vec<String> {
    let layers: Vec<&[&str]> = match root {
        "compiler/src/" => COMPILER.chunks(1).collect(),
        "dsl/src/" => DSL.chunks(1).collect(),
        "capi/src/" => CAPI.to_vec(),
        _ => return vec![],
    };
    let layer = |file: &str| layer(&layers, root, file);
    let mut bad = Vec::new();
    for name in files.names() {
        // such a file only declares modules
        let folder = name.trim_start_matches(root).trim_end_matches("mod.rs");
        let is_root = folder == "lib.rs"
            || layers.iter().flat_map(|l| l.iter()).any(|l| folder.ends_with('/') && l.starts_with(folder));
        if let (None, top) = layer(name)
            && !is_root
        {
            bad.push(format!(
                "{name}: `{top}` has no place in the list of layers (xtask/src/tidy/layers.rs)"
            ));
        }
    }
    for Import { from, to, path } in files.imports() {
        if let ((Some(own), _), (Some(used), top)) = (layer(&from), layer(&to))
            && used > own
        {
            bad.push(format!("{from}: imports `{path}`, but `{top}` stands above it"));
        }
        if [&from, &to].iter().all(|file| is_pass(file)) {
            bad.push(format!("{from}: imports `{path}`, but what passes share belongs to core/"));
        }
    }
    bad
}

fn is_pass(file: &str) -> bool {
    file.strip_prefix("compiler/src/passes/").is_some_and(|f| !["mod.rs", "pipeline.rs"].contains(&f))
}

#[cfg(test)]
mod tests {
    use super::Files;

    /// What the check says of one file, whose crate has these other ones.
    fn check(name: &str, text: &str, others: &[&str]) -> Vec<String> {
        let root = &name[..name.find("src/").unwrap() + 4];
        let mut files = vec![(name.to_string(), text.to_string())];
        files.extend(others.iter().map(|other| (format!("{root}{other}"), String::new())));
        super::check(root, &Files::read(root, files.iter()))
    }

    #[test]
    fn downwards() {
        let select = "compiler/src/schedule/select.rs";
        assert!(
            check(select, "use crate::core::Op; // crate::driver::C\n", &["core/mod.rs", "driver.rs"])
                .is_empty()
        );
        assert!(
            check("compiler/src/passes/pipeline.rs", "use super::fuse::f;\n", &["passes/fuse.rs"]).is_empty()
        );
        assert!(check("dsl/src/example.rs", "use crate::package::f;\n", &["package.rs"]).is_empty());
        let test = "fn f() {}\n#[cfg(test)]\nmod tests {\n    use crate::driver::C;\n}\n";
        assert!(check("compiler/src/core/mod.rs", test, &["driver.rs"]).is_empty());
        assert!(check("capi/src/cuda/mod.rs", "mod state;\n", &["cuda/state.rs"]).is_empty());
        assert!(check("capi/src/invoke.rs", "use crate::cuda::gpu::Gpu;\n", &["cuda/gpu.rs"]).is_empty());
    }

    #[test]
    fn upwards() {
        let said =
            check("compiler/src/schedule/mod.rs", "use crate::driver::Compiled;\n", &["driver/mod.rs"]);
        let expected =
            "compiler/src/schedule/mod.rs: imports `crate::driver::Compiled`, but `driver` stands above it";
        assert_eq!(said, [expected]);
        assert_eq!(check("dsl/src/node.rs", "fn f(h: super::handle::SExp) {}\n", &["handle.rs"]).len(), 1);
        let said = check("compiler/src/passes/fuse.rs", "use super::guard::mark;\n", &["passes/guard.rs"]);
        assert_eq!(said.len(), 1);
        assert_eq!(check("compiler/src/novel/mod.rs", "", &[]).len(), 1);
        let said = check("capi/src/cuda/gpu.rs", "use crate::invoke::invoke;\n", &["invoke.rs"]);
        assert_eq!(
            said,
            ["capi/src/cuda/gpu.rs: imports `crate::invoke::invoke`, but `invoke` stands above it"]
        );
    }
}
