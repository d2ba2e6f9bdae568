//! `manifest.json`: what is in a package and how it was made. A directory with one is a package of ours.

use super::cc::{Compiler, levels};
use super::model::{Entry, Package, Value};
use serde_json::{Value as Json, json};

/// Says that a manifest is ours.
const FORMAT: &str = "arraygpu-package";

/// Its place in the package.
pub fn path(name: &str) -> String {
    format!("share/{name}/manifest.json")
}

/// The text.
pub fn print(package: &Package, compiler: &Compiler) -> String {
    let levels: Vec<Json> =
        levels().iter().map(|(name, flags)| json!({ "name": name, "flags": flags })).collect();
    let manifest = json!({
        "format": FORMAT,
        "name": package.name,
        "version": package.version,
        "arraygpu": super::VERSION,
        "abi": super::ABI_VERSION,
        "arith": super::ARITH_VERSION,
        "functions": package.entries.iter().map(|e| function(&package.name, e)).collect::<Vec<_>>(),
        "kernels": package.kernels,
        "cpu": {
            "arch": std::env::consts::ARCH,
            "compiler": compiler.version,
            "flags": compiler.flags,
            "levels": levels,
        },
    });
    let mut text = serde_json::to_string_pretty(&manifest).unwrap_or_default();
    text.push('\n');
    text
}

fn function(package: &str, e: &Entry) -> Json {
    json!({
        "name": e.name,
        "symbol": format!("{package}_{}", e.name),
        "doc": e.doc,
        "params": e.params.iter().map(value).collect::<Vec<_>>(),
        "results": e.results.iter().map(value).collect::<Vec<_>>(),
        "rules": e.rules,
        "kernels": e.launches,
        "temporaries": e.temporaries,
    })
}

fn value(v: &Value) -> Json {
    let mut json = json!({ "name": v.name, "type": v.ty.elem.name(), "rank": v.ty.rank });
    if let Some(extent) = &v.extent {
        json["extent"] = json!([extent]);
    }
    json
}

/// Whether a text is the manifest of a package.
pub fn is_ours(text: &str) -> bool {
    serde_json::from_str::<Json>(text).is_ok_and(|m| m["format"] == FORMAT)
}
