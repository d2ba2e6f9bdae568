//! Layers: what a folder or file of a crate may import. An import that runs upwards makes a circle
//! sooner or later, so the order is one list for each crate.

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

/// Where an import of a file runs upwards, or a pass imports a pass.
pub fn check(name: &str, text: &str) -> Vec<String> {
    let layers = |root: &str| match root {
        "compiler" => Some(&COMPILER[..]),
        "dsl" => Some(&DSL[..]),
        _ => None,
    };
    let of_crate = name.split_once("/src/").filter(|(_, path)| *path != "lib.rs" && path.ends_with(".rs"));
    let layers = of_crate.and_then(|(root, path)| Some((layers(root)?, path)));
    let Some((layers, path)) = layers else { return vec![] };
    let own = path.split(['/', '.']).next().unwrap_or_default();
    let place = |layer: &str| layers.iter().position(|l| *l == layer);
    let Some(layer) = place(own) else {
        return vec![format!("`{own}` has no place in the list of layers (xtask/src/tidy/layers.rs)")];
    };
    // tests may look at everything
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let is_pass = own == "passes" && !["passes/pipeline.rs", "passes/mod.rs"].contains(&path);
    let mut bad = Vec::new();
    for (line, number) in code.lines().zip(1..) {
        let line = line.split("//").next().unwrap_or_default();
        for used in line.split("crate::").skip(1) {
            let end = |c: char| !c.is_alphanumeric() && c != '_';
            let used = used.split(end).next().unwrap_or_default();
            if place(used).is_some_and(|l| l > layer) {
                bad.push(format!("line {number}: `{own}` imports `{used}`, which stands above it"));
            }
        }
        if is_pass && ["use super::", "crate::passes::"].iter().any(|p| line.contains(p)) {
            bad.push(format!("line {number}: a pass imports a pass: what they share belongs to core/"));
        }
    }
    bad
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn downwards() {
        assert!(check("compiler/src/schedule/mod.rs", "use crate::core::Op; // crate::driver\n").is_empty());
        assert!(check("compiler/src/passes/pipeline.rs", "use super::fuse;\n").is_empty());
        assert!(check("dsl/src/handle.rs", "use crate::node::NodeRef;\n").is_empty());
        assert!(check("dsl/src/example.rs", "use crate::package;\n").is_empty());
        assert!(check("capi/src/lib.rs", "use crate::driver;\n").is_empty());
        let test = "fn f() {}\n#[cfg(test)]\nmod tests {\n    use crate::driver;\n}\n";
        assert!(check("compiler/src/core/mod.rs", test).is_empty());
    }

    #[test]
    fn upwards() {
        assert_eq!(check("compiler/src/schedule/mod.rs", "use crate::driver::Compiled;\n").len(), 1);
        assert_eq!(check("compiler/src/passes/fuse.rs", "use super::guard::mark;\n").len(), 1);
        assert_eq!(check("dsl/src/node.rs", "use crate::handle::SExp;\n").len(), 1);
        assert_eq!(check("compiler/src/novel/mod.rs", "").len(), 1);
    }
}
