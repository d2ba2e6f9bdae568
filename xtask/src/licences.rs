//! `cargo xtask licences`: what the crates that we depend on allow, where they come from, and which
//! are there in two versions, as `deny.toml` says; and for the bundle their licences' texts
//! (`THIRD-PARTY.txt`) and a list of them as a program reads it (`sbom.json`, CycloneDX 1.5).

use crate::sh::{self, Result};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The registry that crates may come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";
/// Files with licences begin so.
const TEXTS: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

/// A crate that is not ours.
struct Crate {
    name: String,
    version: String,
    licence: String,
    source: String,
    authors: Vec<String>,
    folder: PathBuf,
}

/// Checks all crates of the workspace.
pub fn run() -> Result {
    let rules = Rules::read()?;
    let complaints = rules.complaints(&crates(&metadata()?, None));
    complaints.iter().for_each(|c| println!("{c}"));
    match complaints.len() {
        0 => Ok(()),
        n => Err(format!("{n} crates are not what deny.toml asks for")),
    }
}

/// The notices and the list of the crates in libarraygpu, and of what generators are built with.
pub fn shipped() -> Result<(String, String)> {
    let list = crates(&metadata()?, Some(&["arraygpu-capi", "arraygpu"]));
    Ok((notices(&list), sbom(&list)))
}

fn metadata() -> Result<Value> {
    let triple = "x86_64-unknown-linux-gnu";
    let text = sh::output(&mut sh::cargo(&[
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        triple,
    ]));
    let text = text.ok_or("cargo metadata failed")?;
    serde_json::from_str(&text).map_err(|e| format!("cargo metadata: {e}"))
}

/// The crates of others, in order; with `roots`, those that these of ours need when they run or are
/// built.
fn crates(metadata: &Value, roots: Option<&[&str]>) -> Vec<Crate> {
    let list = |v: &Value| v.as_array().cloned().unwrap_or_default();
    let text = |v: &Value| v.as_str().unwrap_or_default().to_string();
    let needed = roots.map(|roots| needed(metadata, roots));
    let mut found: Vec<Crate> = list(&metadata["packages"])
        .iter()
        .filter(|p| !p["source"].is_null())
        .filter(|p| needed.as_ref().is_none_or(|n| n.contains(p["id"].as_str().unwrap_or_default())))
        .map(|p| Crate {
            name: text(&p["name"]),
            version: text(&p["version"]),
            licence: text(&p["license"]),
            source: text(&p["source"]),
            authors: list(&p["authors"]).iter().map(text).collect(),
            folder: Path::new(&text(&p["manifest_path"])).parent().unwrap_or(Path::new("")).into(),
        })
        .collect();
    found.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    found
}

/// What these packages depend on, except for tests.
fn needed(metadata: &Value, roots: &[&str]) -> BTreeSet<String> {
    let nodes = metadata["resolve"]["nodes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let edges: BTreeMap<&str, &Value> =
        nodes.iter().filter_map(|n| Some((n["id"].as_str()?, &n["deps"]))).collect();
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_root = |p: &&Value| p["source"].is_null() && roots.iter().any(|r| p["name"] == *r);
    let mut open: Vec<&str> = packages.iter().filter(is_root).filter_map(|p| p["id"].as_str()).collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id.to_string()) {
            continue;
        }
        for d in edges.get(id).and_then(|d| d.as_array()).map(Vec::as_slice).unwrap_or_default() {
            let kinds = d["dep_kinds"].as_array().map(Vec::as_slice).unwrap_or_default();
            if kinds.iter().any(|k| k["kind"] != "dev") {
                open.extend(d["pkg"].as_str());
            }
        }
    }
    seen
}

/// What `deny.toml` asks for.
struct Rules {
    allowed: Vec<spdx::Licensee>,
    /// Names of crates that may be there in several versions.
    several: Vec<String>,
}

impl Rules {
    fn read() -> Result<Rules> {
        let text = fs::read_to_string(sh::root().join("deny.toml")).map_err(|e| format!("deny.toml: {e}"))?;
        Rules::parse(&text)
    }

    fn parse(text: &str) -> Result<Rules> {
        let table: toml::Table = text.parse().map_err(|e| format!("deny.toml: {e}"))?;
        let strings = |section: &str, key: &str| -> Vec<String> {
            let list = table.get(section).and_then(|s| s.get(key)).and_then(|l| l.as_array());
            list.into_iter().flatten().filter_map(|v| v.as_str().map(String::from)).collect()
        };
        let licensee = |name: &String| {
            spdx::Licensee::parse(name).map_err(|e| format!("deny.toml: {name} is no licence: {e}"))
        };
        let allowed = strings("licenses", "allow").iter().map(licensee).collect::<Result<_>>()?;
        Ok(Rules { allowed, several: strings("bans", "skip") })
    }

    fn complaints(&self, crates: &[Crate]) -> Vec<String> {
        let mut bad = Vec::new();
        for c in crates {
            if c.source != REGISTRY {
                bad.push(format!("{} {} comes from {}", c.name, c.version, c.source));
            }
            if !self.allows(&c.licence) {
                bad.push(format!("{} {}: the licence {} is not allowed", c.name, c.version, c.licence));
            }
        }
        for pair in crates.windows(2).filter(|p| p[0].name == p[1].name && !self.several.contains(&p[0].name))
        {
            bad.push(format!("{} is there as {} and {}", pair[0].name, pair[0].version, pair[1].version));
        }
        bad
    }

    fn allows(&self, licence: &str) -> bool {
        let expression = spdx::Expression::parse_mode(licence, spdx::ParseMode::LAX);
        expression.is_ok_and(|e| e.evaluate(|r| self.allowed.iter().any(|l| l.satisfies(r))))
    }
}

/// Who wrote what is in the library, and the texts of the licences. Equal texts stand once.
fn notices(crates: &[Crate]) -> String {
    let mut out =
        String::from("libarraygpu and its generators contain these crates, each under its licence.\n\n");
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for c in crates {
        let _ = writeln!(out, "{} {}: {}; {}", c.name, c.version, c.licence, c.authors.join(", "));
        let files = fs::read_dir(&c.folder).into_iter().flatten().flatten().map(|e| e.path());
        let is_text = |p: &PathBuf| {
            let name = p.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
            TEXTS.iter().any(|t| name.starts_with(t))
        };
        for path in files.filter(is_text) {
            let text = fs::read_to_string(path).unwrap_or_default();
            texts.entry(text.trim().to_string()).or_default().push(c.name.clone());
        }
    }
    for (text, mut names) in texts {
        names.dedup();
        let _ = write!(out, "\n{}\n{}\n\n{text}\n", "-".repeat(80), names.join(", "));
    }
    out
}

/// CycloneDX 1.5.
fn sbom(crates: &[Crate]) -> String {
    let component = |c: &Crate| {
        let purl = format!("pkg:cargo/{}@{}", c.name, c.version);
        json!({
            "type": "library", "bom-ref": purl, "name": c.name, "version": c.version, "purl": purl,
            "licenses": [{ "expression": c.licence.replace('/', " OR ") }],
        })
    };
    let ours = json!({ "type": "library", "name": "arraygpu", "version": env!("CARGO_PKG_VERSION") });
    let all = json!({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": { "component": ours },
        "components": crates.iter().map(component).collect::<Vec<_>>(),
    });
    format!("{all:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn krate(name: &str, version: &str, licence: &str, source: &str) -> Crate {
        let [name, version, licence, source] = [name, version, licence, source].map(String::from);
        Crate { name, version, licence, source, authors: vec![], folder: PathBuf::new() }
    }

    #[test]
    fn what_is_not_asked_for_is_told() {
        let rules = Rules::parse("[licenses]\nallow = [\"MIT\"]\n[bans]\nskip = [\"twice\"]").unwrap();
        let complaints = |list: &[Crate]| rules.complaints(list).join("; ");
        let fine = [
            krate("a", "1.0.0", "MIT OR GPL-3.0", REGISTRY),
            krate("twice", "1.0.0", "MIT", REGISTRY),
            krate("twice", "2.0.0", "MIT", REGISTRY),
        ];
        assert_eq!(complaints(&fine), "");
        let list = [krate("a", "1.0.0", "GPL-3.0", REGISTRY)];
        assert_eq!(complaints(&list), "a 1.0.0: the licence GPL-3.0 is not allowed");
        let list = [krate("a", "1.0.0", "MIT AND Zlib", REGISTRY)];
        assert_eq!(complaints(&list), "a 1.0.0: the licence MIT AND Zlib is not allowed");
        let list = [krate("a", "1.0.0", "MIT", "git+https://example.org/a")];
        assert_eq!(complaints(&list), "a 1.0.0 comes from git+https://example.org/a");
        let list = [krate("a", "1.0.0", "MIT", REGISTRY), krate("a", "2.0.0", "MIT", REGISTRY)];
        assert_eq!(complaints(&list), "a is there as 1.0.0 and 2.0.0");
    }

    #[test]
    fn the_list_of_crates_names_them_all() {
        let list = [krate("half", "2.7.1", "MIT OR Apache-2.0", REGISTRY)];
        let list: Value = serde_json::from_str(&sbom(&list)).unwrap();
        assert_eq!(list["components"][0]["purl"], "pkg:cargo/half@2.7.1");
    }
}
