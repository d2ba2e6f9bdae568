//! The compiler's layers: what a folder may import. An import that runs upwards makes a circle sooner or later, so the
//! order is one list.

/// From the lowest on: a folder (or file) of `compiler/src` imports itself and what stands before it.
const LAYERS: [&str; 16] = [
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

/// Where an import of a file runs upwards, or a pass imports a pass.
pub fn check(name: &str, text: &str) -> Vec<String> {
    let path = name.strip_prefix("compiler/src/");
    let Some(path) = path.filter(|path| *path != "lib.rs" && path.ends_with(".rs")) else { return vec![] };
    let own = path.split(['/', '.']).next().unwrap_or_default();
    let place = |layer: &str| LAYERS.iter().position(|l| *l == layer);
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
        assert!(check("capi/src/lib.rs", "use crate::driver;\n").is_empty());
        let test = "fn f() {}\n#[cfg(test)]\nmod tests {\n    use crate::driver;\n}\n";
        assert!(check("compiler/src/core/mod.rs", test).is_empty());
    }

    #[test]
    fn upwards() {
        assert_eq!(check("compiler/src/schedule/mod.rs", "use crate::driver::Compiled;\n").len(), 1);
        assert_eq!(check("compiler/src/passes/fuse.rs", "use super::guard::mark;\n").len(), 1);
        assert_eq!(check("compiler/src/novel/mod.rs", "").len(), 1);
    }
}
