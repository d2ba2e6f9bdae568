//! Layers: what a folder or file of a crate may import. An import that runs upwards makes a circle
//! sooner or later, so the order is one list for each crate.

use super::imports::{Files, Import};

/// From the lowest on: a folder (or file) of `compiler/src` imports itself and what stands before
/// it.
const COMPILER: [&str; 16] = [
    "loc",
    "error",
    "interrupt",
    "scalar",
    "text",
    "core",
    "build",
    "passes",
    "kernel",
    "plan",
    "schedule",
    "stage",
    "backend",
    "driver",
    "explain",
    "package",
];

/// The order of the files of `dsl/src`.
const DSL: [&str; 23] = [
    "scope",
    "node",
    "elem",
    "handle",
    "results",
    "kernel_fn",
    "ops",
    "scalar",
    "axis",
    "reduce",
    "array",
    "vector",
    "matrix",
    "stencil",
    "update",
    "iterate",
    "stage",
    "error",
    "lower",
    "package",
    "progress",
    "cli",
    "example",
];

/// Where an import runs upwards, or a pass imports a pass, in the crate whose sources begin at
/// `root`. A crate without a list of layers has no complaints.
pub fn check(root: &str, files: &Files) -> Vec<String> {
    let layers = match root {
        "compiler/src/" => &COMPILER[..],
        "dsl/src/" => &DSL[..],
        _ => return vec![],
    };
    let layer = |file: &str| {
        let top = file.trim_start_matches(root).split(['/', '.']).next().unwrap_or_default().to_string();
        (layers.iter().position(|l| *l == top), top)
    };
    let mut bad = Vec::new();
    for name in files.names() {
        if let (None, top) = layer(name)
            && top != "lib"
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
    }
}
